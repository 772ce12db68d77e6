"""Merged steps against steps one by one, and rounded restarts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftdp import Geometry, NoisyCGD, NoisyGD, Unlearning, UnmetHypothesis
from shiftdp.interpolation.schedule import Schedule
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.last_iterate.schedules.deletion import (
    deletion_outcomes,
    deletion_schedule,
    further_idle,
    require_deletion,
    restart_distance,
)
from shiftdp.last_iterate.schedules.visits import step_constants

SHAPE: dict[str, Any] = {"n": 12, "batch_size": 3, "learning_rate": 0.3, "noise": 0.5}
RIDGE = Geometry(strong_convexity=0.4, smoothness=3.0, sensitivity=1.0)
BALL = Geometry(strong_convexity=0.0, smoothness=3.0, sensitivity=1.0, diameter=0.1)


def listed(run: Unlearning, geometry: Geometry, position: int) -> float:
    """Theorem B1 on every step, none of them merged."""
    training: Any = run.training
    t = training.steps + run.further_steps
    longer = type(training)(**{**vars(training), "steps": t})
    c, s, sd = step_constants(longer, geometry, t)
    step = np.arange(1, t + 1)
    visited = (step <= training.steps) & ((step - position) % training.batches == 0)
    strength = np.where(visited, s * run.records, 0.0)
    if run.grid:
        strength[training.steps] += c[0] * run.grid * np.sqrt(run.dimension)
    return optimal_shifts(Schedule(c, strength, sd, geometry.diameter)).mu


@pytest.mark.parametrize("geometry", [RIDGE, BALL], ids=["ridge", "ball"])
@pytest.mark.parametrize("further", [1, 7, 40])
@pytest.mark.parametrize("steps", [12, 10])
@pytest.mark.parametrize("extra", [{}, {"records": 2}, {"grid": 0.01, "dimension": 9}])
def test_merged_steps_prove_what_all_steps_prove(
    geometry: Geometry, further: int, steps: int, extra: dict[str, Any]
) -> None:
    run = Unlearning(training=NoisyCGD(**SHAPE, steps=steps), further_steps=further, **extra)
    if geometry.bounded and run.records > 1 and steps % 4:
        with pytest.raises(UnmetHypothesis, match="diameter"):
            require_deletion(run, geometry)
        return
    require_deletion(run, geometry)
    for case in deletion_outcomes(run, geometry):
        merged = optimal_shifts(deletion_schedule(run, geometry, case.visits)).mu
        assert merged == pytest.approx(listed(run, geometry, case.visits.position), rel=1e-9)


def test_further_steps_are_rounded_to_the_safe_side() -> None:
    training = NoisyGD(n=10, steps=5, learning_rate=0.3, noise=0.5)
    equal = Unlearning(training=training, further_steps=6)
    many = Unlearning(training=training, further_steps=6, learning_rate=[0.3] * 6)
    first, second = further_idle(equal, RIDGE), further_idle(many, RIDGE)
    assert first == pytest.approx(second, rel=1e-12)
    c = RIDGE.contraction(0.3)
    assert first[0] >= c**6 * (1 - 1e-15)
    noise = 0.15 * np.sqrt(sum(c ** (2 * i) for i in range(6)))
    assert first[2] <= noise * (1 + 1e-15)


def test_a_million_further_steps_neither_overflow_nor_vanish() -> None:
    training = NoisyGD(n=10, steps=5, learning_rate=0.3, noise=0.5)
    slope, _, noise = further_idle(Unlearning(training=training, further_steps=10**6), RIDGE)
    assert 0.0 < slope < 1e-300
    assert noise > 0.0


def test_a_restart_is_as_far_as_the_grid_lets_it_be() -> None:
    training = NoisyGD(n=10, steps=5, learning_rate=0.3, noise=0.5)
    assert restart_distance(Unlearning(training=training, further_steps=1), RIDGE) == 0.0
    run = Unlearning(training=training, further_steps=1, grid=1e-3, dimension=400)
    assert restart_distance(run, RIDGE) == pytest.approx(0.02)
    prox = Geometry(strong_convexity=0.4, smoothness=3.0, sensitivity=1.0, prox_convexity=2.0)
    assert restart_distance(run, prox) == pytest.approx(0.02 * 1.6)


def test_steps_that_expand_in_a_bounded_set_are_refused() -> None:
    curved = Geometry(strong_convexity=-1.0, smoothness=3.0, sensitivity=1.0, diameter=1.0)
    run = Unlearning(training=NoisyCGD(**SHAPE, epochs=2), further_steps=3)
    with pytest.raises(UnmetHypothesis, match="expand"):
        require_deletion(run, curved)


def test_visits_without_end_are_refused_before_they_are_listed() -> None:
    run = Unlearning(
        training=NoisyGD(n=100, steps=10**12, learning_rate=0.05, noise=0.01), further_steps=5
    )
    losses = Geometry(strong_convexity=0.002, smoothness=30.0, sensitivity=1.0)
    (case,) = deletion_outcomes(run, losses)
    with pytest.raises(UnmetHypothesis, match="too many to be treated one by one"):
        deletion_schedule(run, losses, case.visits)
