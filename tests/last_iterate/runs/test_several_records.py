"""What a run asks where one person has several of its records."""

from typing import Any

import pytest

from shiftdp import InvalidInput, NoisyCGD, NoisyGD, NoisySGD

STEPS: dict[str, Any] = {"n": 12, "steps": 8, "learning_rate": 0.1, "noise": 1.0}
EVERY = [
    (NoisyGD, STEPS),
    (NoisyCGD, {**STEPS, "batch_size": 3}),
    (NoisySGD, {**STEPS, "batch_size": 3}),
]


@pytest.mark.parametrize(("kind", "shape"), EVERY)
def test_a_person_has_no_more_records_than_there_are(kind: Any, shape: Any) -> None:
    assert kind(**shape, records_per_person=12).records_per_person == 12
    with pytest.raises(InvalidInput, match="records_per_person=13 exceeds n=12; give at most 12"):
        kind(**shape, records_per_person=13)
    with pytest.raises(InvalidInput, match="records_per_person=0"):
        kind(**shape, records_per_person=0)


@pytest.mark.parametrize(("kind", "shape"), EVERY)
def test_several_records_and_several_releases_are_not_proved_together(
    kind: Any, shape: Any
) -> None:
    with pytest.raises(InvalidInput, match=r"not covered with releases=<2 steps>"):
        kind(**shape, records_per_person=2, releases=[3])


def test_an_arrangement_that_cannot_be_is_refused() -> None:
    arranged = {**STEPS, "arrangement": "one_per_batch"}
    assert NoisyCGD(**arranged, batch_size=3, records_per_person=4).batches == 4
    with pytest.raises(InvalidInput, match="records_per_person=5 exceeds the 4 batches"):
        NoisyCGD(**arranged, batch_size=3, records_per_person=5)
    assert NoisyCGD(**arranged, batch_size=5, records_per_person=2).left_over == 2
    with pytest.raises(InvalidInput, match="batch_size=5 does not divide n=12"):
        NoisyCGD(**arranged, batch_size=5, records_per_person=2, order="reshuffled")


def test_one_record_is_arranged_anyhow() -> None:
    run = NoisyCGD(**STEPS, batch_size=5, arrangement="one_per_batch", order="reshuffled")
    assert run.arrangement == "anywhere"
