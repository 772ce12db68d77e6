"""Schedules refuse what has no meaning, and both kinds describe the same steps."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp._errors import InvalidInput
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule, Shifts, frozen_shifts
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.interpolation.verification import verify
from tests.interpolation.random_schedules import random_schedule


@pytest.mark.parametrize(
    ("c", "s", "sd", "D"),
    [
        ([-0.1], [1.0], [1.0], 1.0),
        ([math.inf], [1.0], [1.0], 1.0),
        ([1.0], [-1.0], [1.0], 1.0),
        ([1.0], [math.nan], [1.0], 1.0),
        ([1.0], [1.0], [-1.0], 1.0),
        ([1.0], [1.0], [1.0], 0.0),
        ([1.0, 1.0], [1.0], [1.0], 1.0),
        ([], [], [], 1.0),
    ],
)
def test_meaningless_steps_are_refused(
    c: list[float], s: list[float], sd: list[float], D: float
) -> None:
    with pytest.raises(InvalidInput):
        Schedule(c, s, sd, D)


@pytest.mark.parametrize(
    "change", [{"period": 0}, {"first": 5}, {"first": 0}, {"steps": 0}, {"noise": 0.0}]
)
def test_meaningless_periods_are_refused(change: dict[str, float]) -> None:
    good = {"contraction": 0.9, "sensitivity": 1.0, "noise": 1.0, "period": 4, "first": 2}
    with pytest.raises(InvalidInput):
        PeriodicSchedule(**{**good, "steps": 9, **change})  # type: ignore[arg-type]


def test_a_schedule_cannot_be_written_to() -> None:
    mine = np.array([1.0])
    schedule = Schedule(mine, mine, mine)
    mine[0] = 2.0
    assert schedule.noise[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        schedule.noise[0] = 3.0


@given(st.integers(1, 9), st.data())
def test_windows_visits_and_expansion_agree(period: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, period))
    steps = data.draw(st.integers(1, 60))
    begin = data.draw(st.integers(0, steps - 1))
    end = data.draw(st.integers(begin + 1, steps))
    short = PeriodicSchedule(0.9, 2.0, 3.0, period, first, steps)
    k = np.arange(1, steps + 1)
    s = np.where((k >= first) & ((k - first) % period == 0), 2.0, 0.0)
    whole = short.expand()
    assert whole.sensitivity.tolist() == s.tolist()
    assert short.visits == np.count_nonzero(s)
    assert short.last_visit == (np.flatnonzero(s)[-1] + 1 if s.any() else 0)
    for mine, theirs in zip(short.window(begin, end), whole.window(begin, end), strict=True):
        assert mine.tolist() == theirs.tolist()


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


def test_shifts_are_equal_if_all_their_numbers_are() -> None:
    shifts = optimal_shifts_periodic(PeriodicSchedule(0.9, 1.0, 1.0, period=2, first=1, steps=6))
    again = Shifts.from_dict(shifts.to_dict())
    assert again == shifts
    assert hash(again) == hash(shifts)
    assert replace(shifts, mu=2.0) != shifts
    assert replace(shifts, amount=2.0 * shifts.amount) != shifts
    assert shifts != shifts.to_dict()
