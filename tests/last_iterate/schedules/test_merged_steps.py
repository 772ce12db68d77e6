"""Steps between two visits as one: the same mu, rounded to the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import UnmetHypothesis
from shiftdp.interpolation import Schedule, optimal_shifts
from shiftdp.last_iterate.schedules.merged_steps import (
    StepTable,
    step_table,
    strongest,
    visited_each_epoch,
    visited_last,
)


def random_table(seed: int, batches: int, steps: int, *, expanding: bool = False) -> StepTable:
    rng = np.random.default_rng(seed)
    c = rng.choice([0.3, 0.9, 1.0, 1.2 if expanding else 0.0], steps)
    sd = rng.uniform(0.2, 3.0, steps) * (rng.random(steps) < 0.8)
    sd[-1] = 1.0
    diameter = math.inf if expanding or seed % 2 else 1.5
    return step_table(c, rng.uniform(0.1, 4.0, steps), sd, batches, diameter)


def unmerged(table: StepTable, steps: int, visited: np.ndarray) -> float:
    c, sd = table.c.ravel()[:steps], table.sd.ravel()[:steps]
    return optimal_shifts(Schedule(c, visited, sd, table.diameter)).mu


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 20), st.booleans())
def test_merging_leaves_mu_as_it_is(seed: int, batches: int, steps: int, expanding: bool) -> None:
    """Every position of every epoch, against the schedule with all its steps."""
    table = random_table(seed, batches, steps, expanding=expanding)
    groups = [range(j, j + 1) for j in range(1, batches + 1)]
    for j, schedule in enumerate(visited_each_epoch(table, groups)):
        visited = np.zeros(steps)
        visited[j::batches] = table.s.ravel()[:steps][j::batches]
        exact = unmerged(table, steps, visited)
        assert schedule.steps <= 2 * len(table.c) + 1
        assert optimal_shifts(schedule).mu == pytest.approx(exact, rel=1e-9, abs=1e-200)


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 15))
def test_merging_leaves_mu_as_it_is_where_the_last_epoch_is_apart(
    seed: int, batches: int, steps: int
) -> None:
    table = random_table(seed, batches, steps)
    begin = (steps - 1) // batches * batches
    seen = steps - begin
    groups = [*(range(j, j + 1) for j in range(1, seen + 1)), range(1, 1)]
    ends = np.zeros(steps)
    ends[batches - 1 : begin : batches] = strongest(table, range(1, batches + 1))[
        : begin // batches
    ]
    for j, schedule in enumerate(visited_last(table, groups), 1):
        visited = ends.copy()
        if j <= seen:
            visited[begin + j - 1] += table.s[-1, j - 1]
        exact = unmerged(table, steps, visited)
        assert optimal_shifts(schedule).mu == pytest.approx(exact, rel=1e-9, abs=1e-200)


def test_constants_are_rounded_to_the_safe_side() -> None:
    """Two visits with 99 idle steps between them, in fractions."""
    rng = np.random.default_rng(5)
    c, sd, s = rng.uniform(0.7, 1.0, 200), rng.uniform(0.5, 2.0, 200), rng.uniform(0.5, 2.0, 200)
    table = step_table(c, s, sd, 100, math.inf)
    (schedule,) = visited_each_epoch(table, [range(31, 41)])
    weight, variance = Fraction(1), Fraction(0)
    for k in range(138, 39, -1):
        variance += (weight * Fraction(sd[k])) ** 2
        weight *= Fraction(c[k])
    # visit, idle, visit, idle
    assert schedule.steps == 4
    assert 0 <= Fraction(schedule.contraction[1]) / weight - 1 < 1e-12
    assert 0 <= 1 - Fraction(schedule.noise[1]) ** 2 / variance < 1e-12
    best, factor = Fraction(0), Fraction(1)
    for k in range(39, 29, -1):
        best = max(best, Fraction(s[k]) * factor)
        factor *= Fraction(c[k])
    assert 0 <= Fraction(schedule.sensitivity[0]) / best - 1 < 1e-12


def test_steps_that_neither_contract_nor_expand_are_merged_without_rounding() -> None:
    table = step_table(np.ones(3000), np.ones(3000), np.ones(3000), 1000, math.inf)
    (schedule,) = visited_each_epoch(table, [range(1, 2)])
    assert set(schedule.contraction) == {1.0}


def test_a_step_that_forgets_is_kept_apart_from_a_product_that_underflows() -> None:
    c = np.full(400, 0.1)
    (faint,) = visited_each_epoch(
        step_table(c, np.ones(400), np.ones(400), 400, math.inf), [range(1, 2)]
    )
    assert 0.0 < faint.contraction[1] < 1e-290
    c[200] = 0.0
    (gone,) = visited_each_epoch(
        step_table(c, np.ones(400), np.ones(400), 400, math.inf), [range(1, 2)]
    )
    assert gone.contraction[1] == 0.0


def test_what_grows_out_of_range_is_refused() -> None:
    table = step_table(np.full(4000, 2.0), np.ones(4000), np.ones(4000), 2000, math.inf)
    with pytest.raises(UnmetHypothesis, match="grow out of the range of floats"):
        list(visited_each_epoch(table, [range(1, 2)]))


def test_a_record_that_is_never_used_costs_nothing() -> None:
    table = step_table(np.ones(4), np.ones(4), np.ones(4), 2, math.inf)
    for schedule in visited_each_epoch(table, [range(1, 1)]):
        assert optimal_shifts(schedule).mu == 0.0


def test_an_epoch_of_more_batches_than_memory_holds_is_refused() -> None:
    """Found by fuzzing: nine steps of an epoch of 10^14."""
    with pytest.raises(UnmetHypothesis, match="are too many for a table of 9 steps"):
        step_table(np.ones(9), np.ones(9), np.ones(9), 10**14, math.inf)
