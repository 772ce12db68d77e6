"""The simulated processes keep the bounds of the proofs on every path, and meet at the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp._checks import Array
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.interpolation.simulation.process import Map, simulate_shifted

ROUNDING = 1e-12  # some 1e4 roundings of numbers of size 1
ETA, M_LOW, M_HIGH, L = 0.3, 0.5, 3.0, 2.0


def gradient(x: Array) -> Array:
    """Curvature between M_LOW and M_HIGH, direction by direction; not linear."""
    return M_LOW * x + (M_HIGH - M_LOW) * np.tanh(x)


def still(k: int, x: Array) -> Array:
    return x


def step(k: int, x: Array) -> Array:
    return x - ETA * gradient(x)


def pair(d: int, visited: Array, wobble: float) -> tuple[Map, Map]:
    """Maps whose difference at a visited step has norm ETA * L, in a direction that turns."""

    def shift(k: int, x: Array) -> Array:
        direction = np.zeros(d)
        if d == 1:
            direction[0] = (-1.0) ** k
        else:
            direction[0], direction[-1] = np.cos(wobble * k), np.sin(wobble * k)
        return np.asarray(float(visited[k - 1]) * 0.5 * ETA * L * direction)

    return (lambda k, x: step(k, x) + shift(k, x)), (lambda k, x: step(k, x) - shift(k, x))


CONTRACTION = max(abs(1 - ETA * M_LOW), abs(1 - ETA * M_HIGH))


@given(
    d=st.integers(1, 3),
    steps=st.integers(1, 30),
    period=st.integers(1, 5),
    wobble=st.floats(0, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_proof_holds_on_every_path(
    d: int, steps: int, period: int, wobble: float, seed: int
) -> None:
    visited = np.zeros(steps)
    visited[period - 1 :: period] = 1.0
    schedule = Schedule(
        np.full(steps, CONTRACTION), ETA * L * visited, np.full(steps, 0.4), diameter=np.inf
    )
    shifts = optimal_shifts(schedule)
    maps = pair(d, visited, wobble)
    rng = np.random.default_rng(seed)
    paths = simulate_shifted(*maps, schedule, shifts, np.zeros((20, d)), rng)
    assert (paths.original[-1] == paths.interpolated[-1]).all()
    assert (paths.interpolated[0] == paths.adjacent[paths.tau]).all()
    assert (paths.distances <= paths.z[:, None] + ROUNDING).all()
    assert (paths.shifted <= paths.a[:, None] + ROUNDING).all()
    # what composition charges along a path is at most the mu of the certificate
    spent = np.sqrt(np.sum((paths.shifted / 0.4) ** 2, axis=0))
    assert (spent <= shifts.mu * (1 + 1e-9) + ROUNDING).all()


@given(steps=st.integers(12, 40), seed=st.integers(0, 2**32 - 1), own=st.booleans())
def test_with_a_projection_the_interpolation_starts_late(steps: int, seed: int, own: bool) -> None:
    schedule = PeriodicSchedule(1.0, 0.25, 0.2, period=1, first=1, steps=steps, diameter=2.0)
    shifts = optimal_shifts_periodic(schedule)
    paths = simulate_shifted(
        lambda k, x: x + 0.125,
        lambda k, x: x - 0.125,
        schedule,
        shifts,
        np.zeros((10, 1)),
        np.random.default_rng(seed),
        project=lambda x: np.clip(x, -1.0, 1.0),
        own_noise=own,
    )
    assert paths.tau == shifts.tau
    assert paths.tau > 0 or steps <= 33  # composition is best up to 4 D/s = 32 steps
    assert (paths.distances <= paths.z[:, None] + ROUNDING).all()
    assert (paths.original[-1] == paths.interpolated[-1]).all()
    assert np.abs(paths.interpolated).max() <= 1.0


def test_the_bound_is_attained_by_linear_maps() -> None:
    """Where the maps are c x +- s/2, the distance is z_k exactly: the proof is not loose here."""
    schedule = Schedule([0.9] * 10, [1.0] * 10, [1.0] * 10)
    paths = simulate_shifted(
        lambda k, x: 0.9 * x + 0.5,
        lambda k, x: 0.9 * x - 0.5,
        schedule,
        optimal_shifts(schedule),
        [0.0],
        np.random.default_rng(0),
    )
    assert paths.distances == pytest.approx(paths.z, abs=ROUNDING)
    assert paths.shifted == pytest.approx(paths.a, abs=ROUNDING)


def test_the_adjacent_run_has_its_own_noise_only_after_tau() -> None:
    schedule = PeriodicSchedule(1.0, 0.25, 0.2, period=1, first=1, steps=60, diameter=2.0)
    shifts = optimal_shifts_periodic(schedule)
    paths = simulate_shifted(
        still, still, schedule, shifts, [0.0], np.random.default_rng(3), project=lambda x: x
    )
    tau = paths.tau
    assert 0 < tau < 60
    assert (paths.original[: tau + 1] == paths.adjacent[: tau + 1]).all()
    assert (paths.original[tau + 1 :] != paths.adjacent[tau + 1 :]).all()


def test_a_diameter_needs_a_projection() -> None:
    schedule = Schedule([1.0], [1.0], [1.0], diameter=1.0)
    with pytest.raises(InvalidInput, match="project"):
        simulate_shifted(
            step, step, schedule, optimal_shifts(schedule), [0.0], np.random.default_rng(0)
        )
