"""The closed forms of periodic schedules against the exact engine, step by step."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shiftdp.interpolation.expanding import MOST_BLOCKS
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.interpolation.verification import proved_mu, verify

contractions = st.one_of(
    st.just(0.0),
    st.just(1.0),
    st.floats(0.01, 1.0),
    st.floats(0.99, 1.0),
    st.floats(1.0, 1.5),
    st.floats(1.0, 1.01),
)


@given(
    contractions,
    st.floats(0.1, 3.0),
    st.floats(0.1, 4.0),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 150),
    st.one_of(st.just(math.inf), st.floats(0.01, 30.0), st.integers(1, 20), st.floats(0.5, 2.0)),
)
@settings(max_examples=1500)
@example(1.0, 1.0, 1.0, 1, 1, 100, 2.1)
@example(0.999, 0.25, 1.0, 4, 3, 97, 7.0)
def test_equals_the_exact_engine(
    c: float, s: float, sd: float, period: int, first: int, steps: int, ratio: float
) -> None:
    schedule = PeriodicSchedule(c, s, sd, period, min(first, period), steps, ratio * s)
    closed = optimal_shifts_periodic(schedule)
    engine = optimal_shifts(schedule.expand())
    # Below 1e-9 the checker's absolute rounding shows in the engine's number.
    assert closed.mu == pytest.approx(engine.mu, rel=1e-12, abs=1e-21)
    assert verify(schedule, closed) <= closed.mu


@pytest.mark.parametrize("c", [0.5, 0.97, 0.9995, 1.0])
@pytest.mark.parametrize("period", [1, 2, 3, 10])
def test_every_start_is_no_better(c: float, period: int) -> None:
    # All tau and all tails, by the engine's energy, where the best start lies inside the run.
    for tail in range(period):
        for ratio in (0.3, 0.9, 1.0, 1.7, 2.5, 6.0, 6.5, 19.3):
            steps = period * 30 + tail
            schedule = PeriodicSchedule(c, 0.7, 1.1, period, period, steps, 0.7 * ratio)
            closed, engine = optimal_shifts_periodic(schedule), optimal_shifts(schedule.expand())
            assert closed.mu == pytest.approx(engine.mu, rel=1e-12)


@pytest.mark.parametrize("c", [0.9, 0.9999, 1.0, 1.0001])
@pytest.mark.parametrize("D", [math.inf, 3.0, 50.0])
@pytest.mark.parametrize("first", [1, 13, 40])
def test_equals_the_exact_engine_on_long_runs(c: float, D: float, first: int) -> None:
    schedule = PeriodicSchedule(c, 0.6, 0.8, 40, first, 40 * 500 + 17, D)
    closed, engine = optimal_shifts_periodic(schedule), optimal_shifts(schedule.expand())
    assert closed.mu == pytest.approx(engine.mu, rel=1e-12)
    assert proved_mu(schedule, closed) <= closed.mu
    # The engine's number is proved for the periodic run too, and the other way round.
    assert proved_mu(schedule.expand(), closed) <= closed.mu
    assert proved_mu(schedule, engine) <= engine.mu


def test_mgd_sc_of_the_paper() -> None:
    # [BSA24, Thm mgd-sc] at j = l, in units of the noise.
    c, period, epochs, r = 0.9999, 40, 200, 2.0 / 3.0
    far = c ** (period * (epochs - 1))
    rest = c ** (2 * period - 2) * (1 - c * c) / (1 - c**period) ** 2 * (1 - far) / (1 + far)
    schedule = PeriodicSchedule(c, r, 1.0, period, period, period * epochs)
    assert optimal_shifts_periodic(schedule).mu == pytest.approx(r * math.sqrt(1 + rest), rel=1e-11)


def test_convex_cyclic_batches_gain_a_root_of_the_period() -> None:
    # Theorem B1 without projection, c = 1: s/sd sqrt(1 + (E-1)/l).
    for period, epochs in ((1, 5), (10, 41), (40, 10**6)):
        schedule = PeriodicSchedule(1.0, 0.5, 1.0, period, period, period * epochs)
        exact = 0.5 * math.sqrt(1.0 + (epochs - 1) / period)
        assert optimal_shifts_periodic(schedule).mu == pytest.approx(exact, rel=2e-12)


def test_early_batches_are_better_protected() -> None:
    mus = [
        optimal_shifts_periodic(PeriodicSchedule(0.999, 1.0, 1.0, 40, j, 40 * 50, 30.0)).mu
        for j in range(1, 41)
    ]
    assert all(x < y for x, y in itertools.pairwise(mus))


@pytest.mark.parametrize("D", [math.inf, 20.0])
@pytest.mark.parametrize("c", [0.0, 0.3, 0.999, 1.0, 1.002])
def test_longer_runs_leak_more_until_they_converge(c: float, D: float) -> None:
    # with expanding steps and no diameter, a proof may have no more parts than that
    longest = MOST_BLOCKS if c > 1.0 and math.isinf(D) else 10**6
    mus = [
        optimal_shifts_periodic(PeriodicSchedule(c, 1.0, 1.0, 5, 5, 5 * epochs, D)).mu
        for epochs in (1, 2, 3, 10, 100, longest // 10, longest)
    ]
    assert all(y >= x * (1.0 - 1e-12) for x, y in itertools.pairwise(mus))
    if c < 1.0 or math.isfinite(D):
        assert mus[-1] == pytest.approx(mus[-2], rel=1e-12)


def test_runs_before_the_first_visit_leak_nothing() -> None:
    schedule = PeriodicSchedule(0.9, 1.0, 1.0, period=5, first=4, steps=3)
    assert optimal_shifts_periodic(schedule).mu == 0.0
    assert verify(schedule, optimal_shifts_periodic(schedule)) == 0.0


def test_cost_does_not_grow_with_the_run() -> None:
    # Blocks are the memory of the result: a handful, however long the run.
    for c, D in ((0.9, math.inf), (1.0, math.inf), (1.0, 1e5), (0.99999, 30.0), (1.001, 30.0)):
        schedule = PeriodicSchedule(c, 1.0, 1.0, 40, 7, 40 * 10**9, D)
        assert optimal_shifts_periodic(schedule).first.size <= 60


def test_shifts_expand_like_those_of_the_engine() -> None:
    schedule = PeriodicSchedule(0.95, 1.0, 2.0, 4, 2, 41, 3.0)
    closed = optimal_shifts_periodic(schedule)
    engine = optimal_shifts(schedule.expand())
    assert closed.tau == engine.tau
    for mine, theirs in zip(closed.expand(schedule), engine.expand(schedule.expand()), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("c", [0.9, 0.9995, 1.0, 1.02])
@pytest.mark.parametrize("first", [1, 3])
@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.5, 9.7, 200.0])
def test_starts_from_the_diameter_alone(c: float, first: int, ratio: float) -> None:
    """A far longer run that has come to its limit starts there too, and can do no better."""
    for epochs in (1, 2, 6, 40):
        schedule = PeriodicSchedule(c, 0.7, 1.1, 3, first, 3 * epochs, 0.7 * ratio)
        shifts = optimal_shifts_periodic(schedule, from_diameter=True)
        assert verify(schedule, shifts) <= shifts.mu
        assert shifts.mu >= optimal_shifts_periodic(schedule).mu * (1 - 1e-12)
        if shifts.start:
            longer = PeriodicSchedule(c, 0.7, 1.1, 3, first, 3 * 5000, 0.7 * ratio)
            assert shifts.start == schedule.diameter
            assert shifts.mu >= optimal_shifts_periodic(longer).mu * (1 - 1e-12)
        else:
            assert c > 1.0  # one visit at the last step
        best = optimal_shifts_periodic(schedule)
        if best.tau:
            assert shifts.mu == pytest.approx(best.mu, rel=1e-12)
