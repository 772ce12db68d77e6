"""The file of a run: nobody reads it without its key, changes it or goes back unnoticed."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.training.descent.state_file import EncryptedState, StateFile, StateRefused, new_key

CONTENT = {"models": np.arange(5.0), "step": np.array(3)}


@pytest.fixture
def state(tmp_path: Path) -> EncryptedState:
    return EncryptedState(tmp_path / "run", new_key())


def written(state: EncryptedState) -> StateFile:
    file = StateFile(state)
    file.write(CONTENT)
    return file


def test_what_is_written_is_read_with_the_name_of_its_run(state: EncryptedState) -> None:
    first = written(state)
    again = StateFile(state)
    assert again.run != first.run
    found = again.read()
    again.require_last()
    assert again.run == first.run
    np.testing.assert_array_equal(found["models"], CONTENT["models"])
    assert b"models" not in Path(state.path).read_bytes()


def test_without_the_key_nothing_is_read(state: EncryptedState) -> None:
    written(state)
    with pytest.raises(StateRefused, match="was changed, or has another key"):
        StateFile(replace(state, key=new_key())).read()


def test_an_older_version_is_not_the_last_one(state: EncryptedState) -> None:
    file = written(state)
    older = Path(state.path).read_bytes()
    file.write(CONTENT)
    Path(state.path).write_bytes(older)
    again = StateFile(state)
    again.read()
    with pytest.raises(StateRefused, match="is not the last state of its run"):
        again.require_last()


def test_the_counter_is_of_one_run(state: EncryptedState) -> None:
    file = written(state)
    counter = Path(f"{state.path}.count")
    assert json.loads(counter.read_text()) == {"run": file.run, "count": 1}
    counter.write_text(json.dumps({"run": "another", "count": 1}))
    with pytest.raises(StateRefused, match="is not the last state of its run"):
        file.require_last()


def test_a_file_is_held_by_one_run_at_a_time(state: EncryptedState) -> None:
    pytest.importorskip("fcntl")
    with (
        StateFile(state).locked(),
        pytest.raises(StateRefused, match="in use by another process"),
        StateFile(state).locked(),
    ):
        pass
    with StateFile(state).locked():
        pass


def test_a_folder_that_is_not_there_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is in no folder that is there"):
        StateFile(EncryptedState(tmp_path / "a" / "run", new_key()))
