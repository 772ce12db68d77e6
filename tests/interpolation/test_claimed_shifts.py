"""Shifts that a certificate claims, window by window, are those that it expands to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.interpolation import claimed_shifts
from shiftdp.interpolation.claimed_shifts import (
    ClaimedShifts,
    Window,
    distances_backwards,
    distances_forwards,
)
from shiftdp.interpolation.schedule import Schedule, Shifts
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.interpolation.verification import proved_mu
from tests.interpolation.random_schedules import random_schedule


def claimed(schedule: Schedule, shifts: Shifts) -> tuple[ClaimedShifts, np.ndarray]:
    """All that is claimed from the first step that counts on, in one array."""
    whole = ClaimedShifts(schedule, shifts, shifts.tau)
    windows = [whole.at(lo, hi, schedule.window(lo, hi)[2]).a for lo, hi in whole.windows()]
    return whole, np.concatenate(windows)


@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(max_examples=100)
def test_they_are_what_the_shifts_expand_to(seed: int, steps: int) -> None:
    schedule = random_schedule(np.random.default_rng(seed), steps)
    shifts = optimal_shifts(schedule)
    whole, a = claimed(schedule, shifts)
    expanded = shifts.expand(schedule).a[whole.begin - shifts.tau :]
    scale = max(float(np.max(a)), 1e-300)
    # the last shift of a block takes back what is left
    np.testing.assert_allclose(a, expanded, rtol=1e-6, atol=1e-9 * scale)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_the_size_of_a_window_changes_nothing(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = random_schedule(np.random.default_rng(5), 60)
    shifts = optimal_shifts(schedule)
    _, before = claimed(schedule, shifts)
    mu = proved_mu(schedule, shifts)
    monkeypatch.setattr(claimed_shifts, "WINDOW", size)
    monkeypatch.setattr("shiftdp.interpolation.verification.WINDOW", size)
    _, after = claimed(schedule, shifts)
    np.testing.assert_allclose(after, before, rtol=1e-12)
    assert proved_mu(schedule, shifts) == pytest.approx(mu, rel=1e-12)


def test_distances_follow_the_recursion_and_close() -> None:
    c, s, a = np.array([0.5, 2.0, 1.0]), np.array([1.0, 0.0, 3.0]), np.array([0.5, 2.0, 0.0])
    closes, nowhere = np.array([False, False, True]), np.zeros(3, dtype=np.bool_)
    window = Window(a, closes, nowhere, np.flatnonzero(nowhere))
    # 0.5 * 2 + 1 - 0.5, then 2 * 1.5 - 2, then 0 whatever is left
    assert distances_forwards(2.0, (c, s, np.ones(3)), window, None).tolist() == [1.5, 1.0, 0.0]
    # without noise nothing is taken off, and nothing closes
    silent = distances_forwards(2.0, (c, s, np.zeros(3)), window, None)
    assert np.all(silent >= [2.0, 4.0, 7.0])
    np.testing.assert_allclose(silent, [2.0, 4.0, 7.0], rtol=1e-14)


def test_contractions_of_equal_noise_need_no_recursion_from_behind() -> None:
    contracting = Schedule([0.9] * 5, [1.0] * 5, [1.0] * 5)
    expanding = Schedule([1.5] * 5, [0.0, 1.0, 0.0, 0.0, 0.0], [1.0] * 5)
    whole, _ = claimed(contracting, optimal_shifts(contracting))
    assert distances_backwards(whole) is None
    whole, _ = claimed(expanding, optimal_shifts(expanding))
    assert distances_backwards(whole) is not None
