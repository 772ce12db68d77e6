"""Shifts: what they expand to, and what can be written down and read again."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp._errors import InvalidInput
from shiftdp.interpolation.shift_path import Shifts, frozen_shifts
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.interpolation.verification import verify
from tests.interpolation.random_schedules import random_schedule


@given(st.integers(0, 2**32), st.integers(1, 30))
@settings(max_examples=300)
def test_expanded_shifts_satisfy_the_theorem(seed: int, steps: int) -> None:
    schedule = random_schedule(np.random.default_rng(seed), steps)
    shifts = optimal_shifts(schedule)
    a, z, lam = shifts.expand(schedule)
    c, s, sd = schedule.window(shifts.tau, steps)
    reach = c * np.append(shifts.start, z[:-1]) + s
    assert np.all(a >= 0.0)
    assert np.all(z >= 0.0)
    assert z[-1] == 0.0
    assert np.all((lam >= 0.0) & (lam <= 1.0))
    np.testing.assert_allclose(a + z, reach, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(lam * reach, a, rtol=1e-9, atol=1e-12)
    assert math.sqrt(np.sum((a / sd) ** 2)) == pytest.approx(shifts.mu, rel=1e-10, abs=1e-12)


@given(st.integers(0, 2**32), st.integers(1, 20))
@settings(max_examples=200)
def test_json_round_trip(seed: int, steps: int) -> None:
    schedule = random_schedule(np.random.default_rng(seed), steps)
    shifts = optimal_shifts(schedule)
    again = Shifts.from_dict(json.loads(json.dumps(shifts.to_dict())))
    assert again.to_dict() == shifts.to_dict()
    assert verify(schedule, again) <= shifts.mu


def test_incomplete_data_is_refused() -> None:
    with pytest.raises(InvalidInput, match="lacks amount, mu"):
        Shifts.from_dict({"tau": 0, "start": 0.0, "first": [1], "last": [1], "peak": [1]})


def test_shifts_cannot_be_written_to() -> None:
    mine = np.array([1.0])
    shifts = frozen_shifts(0, 0.0, ([1], [1], [1]), mine, 1.0)
    mine[0] = 2.0
    assert shifts.amount[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        shifts.amount[0] = 3.0
