"""Theorem B1 for equal steps that expand: against high precision, and however long the run."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shiftdp._errors import UnmetHypothesis
from shiftdp.interpolation.expanding import MOST_BLOCKS
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.reshuffled import ReshuffledSchedule, optimal_shifts_reshuffled
from shiftdp.interpolation.schedule import PeriodicSchedule
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.interpolation.verification import verify
from tests.interpolation.brute_force import precise_mu

EXACT = 2e-12  # the stated mu is at most this much above the optimum, and never below it

growth = st.one_of(st.floats(1e-9, 1e-3), st.floats(1e-3, 0.5), st.floats(0.5, 30.0))
diameters = st.one_of(
    st.just(math.inf), st.floats(0.01, 3.0), st.integers(1, 20), st.floats(1.0, 1e4)
)


@settings(max_examples=200)
@given(
    growth,
    st.floats(0.01, 10.0),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 50),
    diameters,
)
@example(0.3, 1.0, 1, 1, 50, 3.0)
@example(1e-9, 0.5, 1, 1, 40, 7.3)
def test_periodic_visits_get_the_optimum(
    grown: float, s: float, period: int, first: int, steps: int, ratio: float
) -> None:
    schedule = PeriodicSchedule(1.0 + grown, s, 1.3, period, min(first, period), steps, ratio * s)
    found, best = optimal_shifts_periodic(schedule), precise_mu(schedule)
    assert best <= found.mu <= best * (1.0 + EXACT) + 1e-140
    assert verify(schedule, found) <= found.mu


@settings(max_examples=200)
@given(
    growth,
    st.floats(0.05, 20.0),
    st.integers(1, 6),
    st.integers(0, 12),
    st.integers(1, 6),
    st.integers(0, 6),
    diameters,
)
@example(0.2, 1.0, 3, 12, 3, 1, 4.0)  # the final visit pools several epochs with it
@example(1e-6, 5.0, 2, 12, 2, 1, 30.0)
def test_reshuffled_visits_get_the_optimum(
    grown: float, share: float, ell: int, epochs: int, rest: int, position: int, ratio: float
) -> None:
    rest = min(rest, ell)
    position = min(position, rest)
    schedule = ReshuffledSchedule(
        1.0 + grown, 0.7 * share, 0.7, 1.1, ell, epochs, rest, position, 0.7 * ratio
    )
    found, best = optimal_shifts_reshuffled(schedule), precise_mu(schedule)
    assert best <= found.mu <= best * (1.0 + EXACT) + 1e-140
    assert verify(schedule, found) <= found.mu


@pytest.mark.parametrize(
    ("c", "period", "ratio"),
    [(1.2, 6, 6.0), (1.24, 5, 2.5), (1.782, 100, 1.026), (1.0001, 40, 300.0), (3.0, 1, 50.0)],
)
def test_longer_runs_leak_no_less_and_reach_a_limit(c: float, period: int, ratio: float) -> None:
    def mu(epochs: int) -> float:
        steps = period * epochs
        return optimal_shifts_periodic(
            PeriodicSchedule(c, 0.3, 1.0, period, period, steps, 0.3 * ratio)
        ).mu

    lengths = [1, 2, 3, 5, 8, 20, 100, 200, 250, 300, 400, 1000, 10**5, 10**9, 2**53 // period]
    levels = [mu(epochs) for epochs in lengths]
    assert all(x <= y for x, y in itertools.pairwise(levels))
    assert levels[-1] == levels[-2] == levels[-3]


@pytest.mark.parametrize("steps", [200, 380, 400, 440, 470, 500, 700])
def test_the_engine_agrees_where_weights_leave_the_range_of_floats(steps: int) -> None:
    """Products of three weights underflowed between 2^-360 and 2^-480: starts were passed over."""
    for period, D in ((1, 0.9), (5, 0.31), (100, 0.2996)):
        schedule = PeriodicSchedule(1.78, 0.292, 1.0, period, 1, steps, D)
        engine = optimal_shifts(schedule.expand()).mu
        assert optimal_shifts_periodic(schedule).mu == pytest.approx(engine, rel=EXACT)


def test_sensitivities_far_below_the_noise_change_nothing_else() -> None:
    def mu(unit: float, *, engine: bool) -> float:
        schedule = PeriodicSchedule(1.5, unit, 1.0, 4, 2, 600, 3.0 * unit)
        if engine:
            return optimal_shifts(schedule.expand()).mu
        return optimal_shifts_periodic(schedule).mu

    for engine in (True, False):
        ordinary = mu(1.0, engine=engine)
        for unit in (1e-100, 1e-30, 1e30, 1e100):
            assert mu(unit, engine=engine) / unit == pytest.approx(ordinary, rel=EXACT)


def test_visits_that_cannot_be_listed_are_refused_with_a_remedy() -> None:
    few, many = (
        PeriodicSchedule(1.01, 1.0, 1.0, 1, 1, visits) for visits in (1000, 2 * MOST_BLOCKS)
    )
    assert optimal_shifts_periodic(few).mu == pytest.approx(math.sqrt(1000), rel=EXACT)
    with pytest.raises(UnmetHypothesis, match="rely on composition"):
        optimal_shifts_periodic(many)
    # a bounded set forgets: its start is found at any length
    bounded = PeriodicSchedule(1.01, 1.0, 1.0, 1, 1, 10**15, 5.0)
    assert optimal_shifts_periodic(bounded).mu < 5.0
