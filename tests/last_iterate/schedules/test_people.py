"""Where a person's records are: the worst arrangement against all of them, the law by counting."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from shiftdp import Geometry, InvalidInput, NoisyCGD, UnmetHypothesis
from shiftdp.interpolation.schedule import Schedule
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.last_iterate.schedules.people import (
    person_outcomes,
    person_schedule,
    position_law,
    require_arranged,
    visited_by,
)
from shiftdp.last_iterate.schedules.visits import step_constants

SHAPE: dict[str, Any] = {"n": 10, "batch_size": 2, "learning_rate": 0.3, "noise": 0.5}
RIDGE = Geometry(strong_convexity=0.4, smoothness=3.0, sensitivity=1.0)
BALL = Geometry(strong_convexity=0.0, smoothness=3.0, sensitivity=1.0, diameter=0.2)


def mu_of(run: NoisyCGD, geometry: Geometry, positions: tuple[int, ...]) -> float:
    """Theorem B1 for records at these positions, in each epoch."""
    c, s, sd = step_constants(run, geometry, run.steps)
    strength = np.zeros(run.steps)
    for j in positions:
        strength[j - 1 :: run.batches] += s[j - 1 :: run.batches]
    return optimal_shifts(Schedule(c, strength, sd, geometry.diameter)).mu


@pytest.mark.parametrize("geometry", [RIDGE, BALL], ids=["ridge", "ball"])
@pytest.mark.parametrize("steps", [15, 13, 11])
@pytest.mark.parametrize("k", [2, 3])
def test_no_arrangement_is_worse_than_the_one_that_is_certified(
    geometry: Geometry, steps: int, k: int
) -> None:
    run = NoisyCGD(**SHAPE, steps=steps, records_per_person=k, arrangement="one_per_batch")
    (case,) = person_outcomes(run)
    certified = optimal_shifts(person_schedule(run, geometry, case.visits)).mu
    each = [mu_of(run, geometry, positions) for positions in combinations(range(1, 6), k)]
    assert max(each) <= certified * (1 + 1e-11)
    assert max(each) == pytest.approx(certified, rel=1e-9)


@pytest.mark.parametrize("geometry", [RIDGE, BALL], ids=["ridge", "ball"])
def test_anywhere_nothing_is_worse_than_all_in_the_last_batch(geometry: Geometry) -> None:
    run = NoisyCGD(**SHAPE, epochs=3)
    each = [mu_of(run, geometry, positions) for positions in product(range(1, 6), repeat=3)]
    assert max(each) == pytest.approx(mu_of(run, geometry, (5, 5, 5)), rel=1e-12)


@pytest.mark.parametrize("arrangement", ["anywhere", "one_per_batch"])
def test_given_the_last_position_the_case_is_the_worst(arrangement: Any) -> None:
    run = NoisyCGD(
        **SHAPE,
        epochs=3,
        order="shuffled_once",
        records_per_person=2,
        arrangement=arrangement,
    )
    pairs = list(product(range(1, 6), repeat=2))
    if arrangement == "one_per_batch":
        pairs = list(combinations(range(1, 6), 2))
    for case in person_outcomes(run):
        certified = optimal_shifts(person_schedule(run, RIDGE, case.visits)).mu
        own = [pair for pair in pairs if max(pair) == case.visits.position]
        assert max(mu_of(run, RIDGE, pair) for pair in own) <= certified * (1 + 1e-11)


def test_the_law_of_the_last_position_by_counting() -> None:
    shape = {**SHAPE, "epochs": 2, "order": "shuffled_once", "records_per_person": 3}
    batch = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    draws = [max(batch[i] for i in places) for places in combinations(range(10), 3)]
    law = position_law(NoisyCGD(**shape), range(6))
    assert law == [Fraction(sum(j <= x for j in draws), len(draws)) for x in range(6)]
    subsets = [max(places) for places in combinations(range(1, 6), 3)]
    law = position_law(NoisyCGD(**shape, arrangement="one_per_batch"), range(6))
    assert law == [Fraction(sum(j <= x for j in subsets), len(subsets)) for x in range(6)]


def test_dropped_records_are_counted() -> None:
    shape = {**SHAPE, "batch_size": 3, "epochs": 2, "order": "reshuffled", "last_batch": "drop"}
    run = NoisyCGD(**shape, records_per_person=1)
    law = position_law(run, range(4))
    assert law == [Fraction(1, 10), Fraction(4, 10), Fraction(7, 10), Fraction(1)]


def test_only_the_positions_that_are_asked_for_are_counted() -> None:
    """A billion batches are no reason to count to a billion; a million records a person are."""
    shape: dict[str, Any] = {**SHAPE, "n": 10**9, "batch_size": 1, "epochs": 1}
    run = NoisyCGD(**shape, order="reshuffled", records_per_person=2)
    assert position_law(run, [10**9 // 2, 10**9])[1] == 1
    assert sum(case.weight for case in person_outcomes(run)) == pytest.approx(1.0)
    many = NoisyCGD(**shape, order="reshuffled", records_per_person=10**6)
    with pytest.raises(UnmetHypothesis, match="records_per_person"):
        person_outcomes(many)


def test_weights_add_up_and_the_last_epoch_is_drawn() -> None:
    run = NoisyCGD(
        **{**SHAPE, "n": 2000},
        epochs=2,
        order="reshuffled",
        records_per_person=3,
        arrangement="one_per_batch",
    )
    cases = person_outcomes(run)
    assert sum(case.share for case in cases) == 1
    assert len(cases) <= 130
    visited = visited_by(run, cases[-1].visits)
    assert np.flatnonzero(visited).tolist() == [997, 998, 999, 1997, 1998, 1999]


def test_what_is_not_covered_is_refused() -> None:
    falling = NoisyCGD(
        **{**SHAPE, "learning_rate": [0.3 * 0.5**k for k in range(10)]},
        epochs=2,
        records_per_person=2,
    )
    with pytest.raises(UnmetHypothesis, match="learning_rate"):
        require_arranged(falling, RIDGE)
    unfinished = NoisyCGD(**SHAPE, steps=7, order="reshuffled", records_per_person=2)
    with pytest.raises(UnmetHypothesis, match="steps=7"):
        require_arranged(unfinished, RIDGE)
    with pytest.raises(InvalidInput, match="records_per_person=6"):
        NoisyCGD(**SHAPE, epochs=2, records_per_person=6, arrangement="one_per_batch")
    with pytest.raises(InvalidInput, match="does not divide"):
        NoisyCGD(
            **{**SHAPE, "batch_size": 3},
            epochs=2,
            records_per_person=2,
            arrangement="one_per_batch",
            order="reshuffled",
        )
    with pytest.raises(InvalidInput, match="exceeds n=10"):
        NoisyCGD(**SHAPE, epochs=2, records_per_person=11)
