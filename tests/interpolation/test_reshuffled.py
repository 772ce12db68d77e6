"""The closed form for reshuffled epochs against the exact engine, step by step."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shiftdp.interpolation.reshuffled import ReshuffledSchedule, optimal_shifts_reshuffled
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.interpolation.verification import verify
from tests.last_iterate.brute_force import least_mu


@given(
    st.one_of(
        st.just(1.0),
        st.just(0.0),
        st.floats(0.05, 1.0),
        st.floats(0.99, 1.0),
        st.floats(1.0, 1.01),
        st.floats(1.0, 4.0),
    ),
    st.floats(0.05, 3.0),
    st.floats(0.1, 4.0),
    st.integers(1, 6),
    st.integers(0, 40),
    st.integers(1, 6),
    st.integers(0, 6),
    st.one_of(st.just(math.inf), st.floats(0.02, 30.0), st.integers(1, 12)),
)
@settings(max_examples=500)
@example(1.0, 1.0, 1.0, 4, 30, 4, 1, 6.5)
@example(0.999, 0.25, 1.0, 4, 30, 3, 0, 7.0)
@example(0.97, 1.0, 1.0, 3, 40, 1, 1, 2.0)
def test_equals_the_exact_engine(
    c: float, share: float, sd: float, ell: int, epochs: int, rest: int, position: int, ratio: float
) -> None:
    rest = min(rest, ell)
    schedule = ReshuffledSchedule(
        c, 0.7, 0.7 * share, sd, ell, epochs, rest, min(position, rest), 0.7 * ratio
    )
    closed = optimal_shifts_reshuffled(schedule)
    engine = optimal_shifts(schedule.expand())
    assert closed.mu == pytest.approx(engine.mu, rel=1e-11, abs=1e-20)
    assert verify(schedule, closed) <= closed.mu


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.5, 9.7, 40.0, math.inf])
@pytest.mark.parametrize("c", [0.9, 0.999, 1.0])
@pytest.mark.parametrize("position", [0, 1, 3, 5])
def test_no_start_is_better(c: float, position: int, ratio: float) -> None:
    """All starts one by one, by SciPy alone."""
    schedule = ReshuffledSchedule(c, 1.0, 0.8, 1.3, 5, 60, 5, position, ratio)
    slow = least_mu(*schedule.window(0, schedule.steps), ratio)
    assert optimal_shifts_reshuffled(schedule).mu == pytest.approx(slow, rel=1e-10)


@pytest.mark.parametrize("diameter", [math.inf, 50.0])
def test_epochs_beyond_count_cost_nothing_and_only_add(diameter: float) -> None:
    def mu(c: float, epochs: int) -> float:
        schedule = ReshuffledSchedule(c, 1.0, 1.0, 1.0, 40, epochs, 40, 20, diameter)
        return optimal_shifts_reshuffled(schedule).mu

    for c in (1.0, 0.9999, 0.9):
        levels = [mu(c, 10**power) for power in range(8)]
        # the stated mu is rounded up by a part in 10^12
        assert all(a <= b * (1 + 1e-11) for a, b in itertools.pairwise(levels))
    assert mu(0.9, 10**12) == pytest.approx(mu(0.9, 100), rel=1e-11)


def test_windows_agree_with_the_whole() -> None:
    schedule = ReshuffledSchedule(0.9, 2.0, 1.0, 0.5, 3, 4, 2, 2)
    whole = schedule.window(0, 14)
    np.testing.assert_array_equal(np.flatnonzero(whole[1]), [2, 5, 8, 11, 13])
    for begin in range(14):
        for end in range(begin + 1, 15):
            for part, all_of_it in zip(schedule.window(begin, end), whole, strict=True):
                np.testing.assert_array_equal(part, all_of_it[begin:end])


def test_what_nobody_sees_leaks_nothing() -> None:
    idle = ReshuffledSchedule(0.9, 0.0, 0.0, 1.0, 3, 4, 2, 2)
    assert optimal_shifts_reshuffled(idle).mu == 0.0
    unseen = ReshuffledSchedule(0.9, 1.0, 1.0, 1.0, 3, 0, 2, 0)
    assert optimal_shifts_reshuffled(unseen).mu == 0.0
