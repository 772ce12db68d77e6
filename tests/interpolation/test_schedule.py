"""Schedules refuse what has no meaning, and both kinds describe the same steps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp._errors import InvalidInput
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule


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
