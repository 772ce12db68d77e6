"""What bounds on a deletion have in common."""

from __future__ import annotations

from shiftdp import NoisyCGD, NoisyGD, Unlearning
from shiftdp.last_iterate.theorems.derived.deletion import deletion_assumed, training_of

DESCENT = NoisyGD(n=20, steps=9, learning_rate=0.1, noise=1.0)


def test_training_protects_as_many_records_as_are_deleted() -> None:
    assert training_of(Unlearning(training=DESCENT, further_steps=2)) is DESCENT
    three = training_of(Unlearning(training=DESCENT, further_steps=2, records=3))
    assert three.records_per_person == 3
    people = NoisyCGD(
        n=20, batch_size=5, steps=9, learning_rate=0.1, noise=1.0, records_per_person=2
    )
    assert training_of(Unlearning(training=people, further_steps=2)) is people


def test_what_is_assumed_names_every_request_and_the_rounding() -> None:
    run = Unlearning(
        training=DESCENT, further_steps=7, records=2, later_requests=[(3, 1)], grid=0.5, dimension=4
    )
    (assumed,) = deletion_assumed(run, ())
    for words in (
        "2 records are deleted after 9 steps",
        "7 further steps",
        "after 3 of them, one record is deleted",
        "a grid of 0.5 in 4 dimensions",
    ):
        assert words in assumed.statement
