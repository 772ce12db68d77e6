"""The steps of a segment: parts of those of the whole run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.last_iterate import Geometry, NoisyCGD
from shiftdp.last_iterate.runs import Order
from shiftdp.last_iterate.schedules.releases import Segment, release_steps, segments_of
from shiftdp.last_iterate.schedules.segments import cut_schedule, segment_schedules
from shiftdp.last_iterate.schedules.visits import Visits, schedule_of
from shiftdp.last_iterate.theorems.descent import solve
from tests.last_iterate.random_runs import cyclic_runs


@st.composite
def with_releases(draw: st.DrawFn, order: Order = "fixed") -> tuple[NoisyCGD, Geometry]:
    run, geometry = draw(cyclic_runs(order))
    wanted = draw(st.lists(st.integers(1, run.steps), max_size=4))
    return NoisyCGD(**{**vars(run), "releases": wanted}), geometry


@settings(max_examples=150)
@given(with_releases(), st.integers(1, 5))
def test_segments_are_solved_as_parts_of_the_whole(
    setting: tuple[NoisyCGD, Geometry], position: int
) -> None:
    run, geometry = setting
    visits = Visits("every", min(position, run.batches))
    (found,) = segment_schedules(run, geometry, [visits])
    whole = schedule_of(run, geometry, visits)
    listed = whole if isinstance(whole, Schedule) else whole.expand()
    segments = segments_of(run)
    for segment, schedule in zip(segments, found, strict=True):
        part = Schedule(*listed.window(segment.begin, segment.end), geometry.diameter)
        assert solve(schedule).mu == pytest.approx(solve(part).mu, rel=1e-9, abs=1e-200)
    assert sum(segment.count for segment in segments) == len(release_steps(run))


def test_a_periodic_schedule_is_cut_without_being_listed() -> None:
    whole = PeriodicSchedule(0.9, 1.0, 2.0, period=5, first=3, steps=10**15)
    segments = [Segment(0, 7), Segment(7, 4), Segment(11, 10**15 - 11)]
    for segment, part in zip(segments, cut_schedule(whole, segments), strict=True):
        assert isinstance(part, PeriodicSchedule)
        seen = whole.window(segment.begin, segment.begin + 4)[1]
        assert np.array_equal(part.window(0, 4)[1], seen)
