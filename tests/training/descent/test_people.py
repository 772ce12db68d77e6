"""The cap looks at one person at a time, and no batch has two records of one."""

from __future__ import annotations

import numpy as np
import pytest

from shiftdp import InvalidInput, NoisyCGD
from shiftdp.training.descent.batches import batches
from shiftdp.training.descent.entropy import Seeded
from shiftdp.training.descent.people import arranged, can_be_apart, people_of, within_cap


def test_people_are_numbered_as_they_come() -> None:
    assert people_of(["b", "a", "b", "c"], 4).tolist() == [0, 1, 0, 2]
    with pytest.raises(InvalidInput, match="groups"):
        people_of([1, 2], 3)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_first_records_of_each_person_are_kept_whoever_the_others_are(k: int) -> None:
    rng = np.random.default_rng(0)
    people = rng.integers(0, 20, 200)
    kept = within_cap(people, k)
    assert np.bincount(people[kept]).max() <= k
    for person in range(20):
        own = np.flatnonzero(people == person)
        assert kept[people[kept] == person].tolist() == own[:k].tolist()
        # the same without anybody else
        assert within_cap(people[own], k).tolist() == list(range(min(k, own.size)))


@pytest.mark.parametrize(("n", "b"), [(60, 10), (64, 10), (61, 10), (59, 10), (20, 3)])
@pytest.mark.parametrize("order", ["fixed", "shuffled_once", "reshuffled"])
def test_no_batch_has_two_records_of_a_person(n: int, b: int, order: str) -> None:
    rng = np.random.default_rng(n)
    k = n // b
    if n % b and order != "fixed":
        pytest.skip("whole batches in a random order are of one size")
    assert can_be_apart(n, b, k)
    people = within_people(rng, n, k)
    run = NoisyCGD(
        n=n, batch_size=b, epochs=2, learning_rate=0.1, noise=1.0, order=order,  # type: ignore[arg-type]
        last_batch="divide_by_b", records_per_person=k, arrangement="one_per_batch",
    )  # fmt: skip
    places = arranged(people, run)
    assert sorted(places.tolist()) == list(range(n))
    seen = []
    for batch in batches(run, Seeded(0).open("batches")):
        rows = people[places[batch.rows]]
        assert np.unique(rows).size == rows.size
        seen += places[batch.rows].tolist()
    assert sorted(seen) == sorted([*range(n), *range(n)])


def within_people(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """People with up to k records each, in random places."""
    people = np.repeat(np.arange(n), rng.integers(1, k + 1, n))[:n]
    return rng.permutation(people)


def test_too_many_records_cannot_be_apart() -> None:
    assert not can_be_apart(10, 10, 2)
    assert not can_be_apart(25, 10, 3)
    assert can_be_apart(30, 10, 3)
