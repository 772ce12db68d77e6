"""The hypotheses of theorems on one record, read for people and for deletion."""

from __future__ import annotations

from typing import Any

import pytest

from shiftdp import Geometry, NoisyCGD, NoisyGD, Unlearning, certify
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.theorems.derived.hypotheses import (
    deletion_assumed,
    for_people,
    training_of,
)

SHAPE: dict[str, Any] = {"n": 12, "learning_rate": 0.1, "noise": 1.0, "records_per_person": 3}


def words(run: Any, adjacency: Any = "replace_one") -> dict[str, str]:
    geometry = Geometry(strong_convexity=0.5, smoothness=2.0, sensitivity=1.0, adjacency=adjacency)
    return {item.name: item.statement for item in certify(run, geometry).assumptions}


@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
def test_neighbours_differ_in_all_records_of_a_person(adjacency: str) -> None:
    found = words(NoisyGD(**SHAPE, steps=5), adjacency)
    assert "one person" in found["adjacency"]
    assert "one record" not in found["adjacency"]
    assert found["people"] == "a person has at most 3 of the 12 records, anywhere in the data"


def test_it_is_said_where_the_records_are() -> None:
    run = NoisyCGD(**SHAPE, batch_size=3, epochs=2, arrangement="one_per_batch")
    assert words(run)["people"].endswith("no two of them in one batch")


@pytest.mark.parametrize("order", ["shuffled_once", "reshuffled"])
def test_a_random_order_is_one_of_whole_batches_then(order: Any) -> None:
    shape = {**SHAPE, "batch_size": 3, "epochs": 2, "order": order}
    apart = words(NoisyCGD(**shape, arrangement="one_per_batch"))
    assert "batches, put together without a look" in apart["batches"]
    assert "permutation" in words(NoisyCGD(**shape))["batches"]


def test_other_hypotheses_stay_as_they_are() -> None:
    plain = (given.GAUSSIAN_NOISE, given.hidden_iterates())
    assert for_people(NoisyGD(**SHAPE, steps=5), plain)[:2] == plain


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
