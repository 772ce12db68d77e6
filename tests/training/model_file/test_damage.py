"""Whatever is wrong with a file is one refusal, with its name and what to do."""

from pathlib import Path

import pytest

from shiftdp import InvalidInput
from shiftdp.training.model_file import load_model
from shiftdp.training.model_file.damage import Damaged


def test_a_refusal_has_the_name_of_the_file_the_problem_and_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    path.write_bytes(b"PK" + bytes(100))
    with pytest.raises(InvalidInput) as refusal:
        load_model(path)
    cause = refusal.value.__cause__
    assert isinstance(cause, Damaged)
    assert (refusal.value.problem, refusal.value.remedy) == (cause.problem, cause.remedy)
    assert (refusal.value.name, refusal.value.value) == ("path", str(path))
    assert cause.remedy == "give a file as save_model wrote it, unchanged"


def test_another_remedy_takes_the_place_of_looking_for_a_copy() -> None:
    damaged = Damaged("is of a later format", "upgrade shiftdp")
    assert (damaged.problem, damaged.remedy) == ("is of a later format", "upgrade shiftdp")
