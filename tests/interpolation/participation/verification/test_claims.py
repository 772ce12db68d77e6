"""Honest laws are accepted, and laws that are a little lower are refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shiftdp._errors import VerificationFailed
from shiftdp.fdp.functions.law_coarsening import coarsened
from shiftdp.interpolation.participation.ages import ages_of_steps, equal_ages
from shiftdp.interpolation.participation.allocation import Allocation, allocation_on_grid
from shiftdp.interpolation.participation.law import Grid, ParticipationLaw, law_on_grid
from shiftdp.interpolation.participation.long_run import long_run_law
from shiftdp.interpolation.participation.path import Resolution
from shiftdp.interpolation.participation.start import cut_ages
from shiftdp.interpolation.participation.verification.claims import (
    verify_allocation,
    verify_cut_run,
    verify_equal_steps,
    verify_long_run,
    verify_schedule,
)
from shiftdp.interpolation.participation.verification.classes import (
    classes_of,
    steps_of_schedule,
)
from shiftdp.interpolation.participation.verification.tail import proved_tail
from tests.interpolation.participation.patterns import all_patterns

Claim = tuple[ParticipationLaw, Grid]
SOME = Resolution(1.15, 400, 30, rung=1.2, cells=400)


def inflated(found: tuple[ParticipationLaw, Any], delta: float) -> tuple[ParticipationLaw, Any]:
    """As a certificate has it: a little more tail, and few values."""
    law, grid = found
    assert grid is not None
    tail = np.cumsum(law.weight[::-1])[::-1] * (1.0 + 1e-6) + 1e-4 * delta
    tail = np.minimum(tail, 1.0)
    weight = tail - np.append(tail[1:], 0.0)
    weight[0] += 1.0 - tail[0]
    kept = weight > 0.0
    values = np.array(law.mu)[kept].tolist()
    return ParticipationLaw(*coarsened(values, weight[kept].tolist(), 300)), grid


def verified(claim: Claim, delta: float = 1e-5) -> None:
    verify_equal_steps(0.05, 0.9, 1.0, 1.0, 60, law=claim[0], grid=claim[1], delta=delta)


@pytest.fixture(scope="module")
def honest() -> Claim:
    found = law_on_grid(equal_ages(0.05, 0.9, 1.0, 1.0, 60), delta=1e-5, resolution=SOME)
    return inflated(found, 1e-5)


@pytest.mark.parametrize(
    ("p", "c", "steps"),
    [(0.3, 0.95, 60), (0.01, 1.0, 1000), (0.05, 1.0, 150), (0.01, 0.99, math.inf), (1.0, 0.5, 3)],
)
@pytest.mark.parametrize("delta", [1e-5, 1e-12])
def test_honest_laws_of_equal_steps_are_accepted(
    p: float, c: float, steps: float, delta: float
) -> None:
    found = law_on_grid(equal_ages(p, c, 1.5, 0.7, steps), delta=delta, resolution=SOME)
    law, grid = inflated(found, delta)
    verify_equal_steps(p, c, 1.5, 0.7, steps, law=law, grid=grid, delta=delta)


@pytest.mark.parametrize("seed", range(6))
def test_honest_laws_of_schedules_are_accepted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = int(rng.integers(1, 60))
    steps = [rng.uniform(low, high, t) for low, high in ((0, 0.5), (0.5, 1.2), (0.2, 3), (0.3, 3))]
    p, c, s, sd = steps
    found = law_on_grid(ages_of_steps(p, c, s, sd), delta=1e-6, resolution=SOME)
    law, grid = inflated(found, 1e-6)
    verify_schedule(p, c, s, sd, law=law, grid=grid, delta=1e-6)
    with pytest.raises(VerificationFailed):  # less noise, same law
        verify_schedule(p, c, s, 0.99 * sd, law=law, grid=grid, delta=1e-6)


def test_honest_laws_of_steps_in_a_bounded_set_are_accepted() -> None:
    for c, last in ((1.0, 40), (0.95, 20), (0.95, 200)):
        found = law_on_grid(
            cut_ages(0.05, c, 2.0, 1.0, 200, 6.0, last), delta=1e-5, resolution=SOME
        )
        law, grid = inflated(found, 1e-5)
        verify_cut_run(0.05, c, 2.0, 1.0, 200, 6.0, last, law=law, grid=grid, delta=1e-5)
        if last < 200:
            with pytest.raises(VerificationFailed):  # of a larger set
                verify_cut_run(0.05, c, 2.0, 1.0, 200, 7.0, last, law=law, grid=grid, delta=1e-5)


def test_honest_laws_of_random_allocation_are_accepted() -> None:
    for batches, epochs, c in ((20, 30, 1.0), (10, 8, 0.98)):
        ones = np.ones(batches * epochs)
        run = Allocation(ages_of_steps(ones, c * ones, ones, ones), batches)
        law, grid = inflated(allocation_on_grid(run, delta=1e-5, resolution=SOME), 1e-5)
        parts = (c * ones, ones, ones)
        verify_allocation(*parts, batches, law=law, grid=grid, delta=1e-5)
        with pytest.raises(VerificationFailed):
            verify_allocation(c * ones, 1.01 * ones, ones, batches, law=law, grid=grid, delta=1e-5)


def lower_values(law: ParticipationLaw) -> ParticipationLaw:
    return ParticipationLaw(tuple(mu * 0.99 for mu in law.mu), law.weight)


def lighter_tail(law: ParticipationLaw) -> ParticipationLaw:
    """A tenth of the weight of the largest values moves to the smallest."""
    weight = np.array(law.weight)
    moved = 0.1 * weight[20:].sum()
    weight[20:] *= 0.9
    weight[0] += moved
    return ParticipationLaw(law.mu, tuple((weight / weight.sum()).tolist()))


def without_top(law: ParticipationLaw) -> ParticipationLaw:
    last = law.weight[-2] + law.weight[-1]
    return ParticipationLaw(law.mu[:-1], (*law.weight[:-2], last))


@pytest.mark.parametrize("forge", [lower_values, lighter_tail, without_top])
def test_laws_that_are_lower_are_refused(
    forge: Callable[[ParticipationLaw], ParticipationLaw], honest: Claim
) -> None:
    verified(honest)
    with pytest.raises(VerificationFailed, match="only prove"):
        verified((forge(honest[0]), honest[1]))


@pytest.mark.parametrize("at", [0.3, 0.6, 0.9])
def test_a_single_step_of_the_tail_cannot_be_lowered(at: float) -> None:
    """Where the claim is what was computed, and nothing more, a part of 1e-3 shows."""
    law, grid = law_on_grid(equal_ages(0.05, 0.9, 1.0, 1.0, 60), delta=1e-5, resolution=SOME)
    assert grid is not None
    weight = np.array(law.weight)
    n = int(at * np.count_nonzero(np.cumsum(weight[::-1])[::-1] > 1e-4))
    tail = weight[n:].sum()
    weight[n:] *= 1.0 - 0.05
    weight[0] += 0.05 * tail
    with pytest.raises(VerificationFailed):
        verified((ParticipationLaw(law.mu, tuple((weight / weight.sum()).tolist())), grid))


@pytest.mark.parametrize(
    "change",
    [
        {"unit": 0.0},
        {"unit": math.nan},
        {"unit": 1e-9},
        {"tick": -1.0},
        {"cell": math.inf},
        {"starts": ()},
        {"starts": (1, 5)},
        {"starts": (0, 5, 3)},
        {"starts": (0, 10**9)},
        {"slopes": (5, 0)},
        {"slopes": (0,)},
        {"slopes": (1 << 60, 3, 3, 0)},
        {"slopes": (1 << 60, 3)},
        {"values": 0},
        {"values": 5000},
        {"cap": 0},
        {"cap": 3},
        {"cap": 10**7},
        {"cells": 10**6},
    ],
)
def test_no_other_grid_proves_the_law(change: dict[str, object], honest: Claim) -> None:
    if change == {"values": 5000}:  # a finer one may
        change = {"values": 5000, "cells": 10**5}
    grid = replace(honest[1], **change)  # type: ignore[arg-type]
    with pytest.raises(VerificationFailed):
        verified((honest[0], grid))


@pytest.mark.parametrize(
    "law",
    [
        ParticipationLaw((), ()),
        ParticipationLaw((1.0, 0.5), (0.5, 0.5)),
        ParticipationLaw((0.0, 100.0), (0.5, 0.4)),
        ParticipationLaw((0.0, 100.0), (1.5, -0.5)),
        ParticipationLaw((-1.0, 100.0), (0.5, 0.5)),
        ParticipationLaw((0.0, math.nan), (0.5, 0.5)),
    ],
)
def test_what_is_no_law_is_refused(law: ParticipationLaw, honest: Claim) -> None:
    with pytest.raises(VerificationFailed, match="the law is none"):
        verified((law, honest[1]))


def test_the_largest_value_of_all_is_always_accepted(honest: Claim) -> None:
    ceiling = equal_ages(0.05, 0.9, 1.0, 1.0, 60).ceiling
    verified((ParticipationLaw((ceiling,), (1.0,)), honest[1]))


@pytest.mark.parametrize("seed", range(30))
def test_whatever_the_grid_no_pattern_is_above_what_is_proved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = int(rng.integers(1, 8))
    p, c = rng.uniform(0.05, 0.9, t), rng.uniform(0.5, 1.2, t)
    s, sd = rng.uniform(0.2, 3.0, t), rng.uniform(0.3, 3.0, t)
    mu, chance = all_patterns(p, c, s, sd)
    steps = steps_of_schedule(p, c, s, sd)
    cut = rng.uniform(size=t) < 0.6
    starts = tuple(sorted({0, *np.flatnonzero(cut).tolist()}))
    unit = float(steps.jump.max() / rng.uniform(0.7, 40.0))
    tick = float(steps.clock[0] / rng.uniform(1.5, 3000.0))
    cell = float(mu.max() / rng.uniform(5.0, 300.0))
    classes = classes_of(steps, starts, unit, tick, int(rng.integers(1, 20)))
    highest = np.cumsum([int(table.values[-1]) for table in classes.tables])
    steepest = float(np.max(highest / np.array(classes.ticks[1:]))) * 1.01
    ratio = float(rng.uniform(1.02, 4.0))
    slopes = [math.ceil(steepest * ratio**-k * 2.0**46) for k in range(int(rng.integers(1, 60)))]
    slopes = [*dict.fromkeys(slopes), 0]
    cap, cells = int(highest[-1] * rng.uniform(0.5, 1.2)) + 1, int(rng.integers(3, 400))
    grid = Grid(starts, unit, tick, 20, cap, tuple(slopes), cell, cells)
    square = unit / tick * unit / cell / cell * (1.0 + 1e-10)
    lattice = (classes, grid.slopes, cap, square, cells)
    tail, lost = proved_tail(*lattice, rare=1e-9, small=float(rng.choice([1e-8, 1e-3])))
    for n in range(cells + 1):
        exact = math.fsum(chance[mu > n * cell * (1.0 + 1e-9)])
        assert exact <= tail[n + 1] + lost + 1e-15


@pytest.mark.parametrize(("p", "t", "recent"), [(0.5, 40, 7), (0.2, 10**9, 20)])
def test_long_runs_are_accepted_and_lower_laws_are_refused(p: float, t: int, recent: int) -> None:
    law, grid = inflated(long_run_law(p, t, recent, delta=1e-5), 1e-5)
    verify_long_run(p, t, recent, law=law, grid=grid, delta=1e-5)
    lower = replace(law, mu=tuple(0.999 * mu for mu in law.mu))
    with pytest.raises(VerificationFailed):
        verify_long_run(p, t, recent, law=lower, grid=grid, delta=1e-5)
    with pytest.raises(VerificationFailed):  # the line of fewer recent steps is steeper
        verify_long_run(p, t, recent // 3, law=law, grid=grid, delta=1e-5)
    with pytest.raises(VerificationFailed):
        verify_long_run(p, 1.01 * t, recent, law=law, grid=grid, delta=1e-5)
