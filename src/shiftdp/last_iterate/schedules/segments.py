"""The steps of each segment between two releases, as one record sees them. Theorem V1.

Given the iterate that was released before it, a segment is a run from a known point: steps without
a visit in front of its first one change nothing. So the segments of a run of equal steps are again
periodic schedules, and of unequal steps parts of a table whose rows are the epochs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.schedules.merged_steps import StepTable, strongest, visited_each_epoch
from shiftdp.last_iterate.schedules.releases import Segment, segments_of
from shiftdp.last_iterate.schedules.visits import (
    BatchRun,
    StepSchedule,
    Visits,
    can_merge,
    has_equal_steps,
    schedule_of,
    tables_of,
)


def segment_schedules(
    run: BatchRun, geometry: Geometry, cases: Sequence[Visits]
) -> Iterator[list[StepSchedule]]:
    """For each case, with positions in rising order: the steps of each of `segments_of(run)`."""
    segments = segments_of(run)
    if has_equal_steps(run):
        for case in cases:
            yield cut_schedule(schedule_of(run, geometry, case), segments)
        return
    tables = tables_of(run, geometry)
    each = [
        _visited(table, segment, cases) for table, segment in zip(tables, segments, strict=True)
    ]
    yield from (list(schedules) for schedules in zip(*each, strict=True))


def cut_schedule(schedule: StepSchedule, segments: Sequence[Segment]) -> list[StepSchedule]:
    """A schedule of the whole run, cut into segments.

    >>> whole = PeriodicSchedule(0.9, 1.0, 1.0, period=4, first=2, steps=12)
    >>> [part.first for part in cut_schedule(whole, [Segment(0, 7), Segment(7, 5)])]
    [2, 3]
    """
    if isinstance(schedule, PeriodicSchedule):
        return [
            replace(
                schedule,
                first=(schedule.first - 1 - segment.begin) % schedule.period + 1,
                steps=segment.steps,
            )
            for segment in segments
        ]
    return [
        Schedule(*schedule.window(segment.begin, segment.end), schedule.diameter)
        for segment in segments
    ]


def _visited(table: StepTable, segment: Segment, cases: Sequence[Visits]) -> Iterator[StepSchedule]:
    """Idle steps are merged where that leaves mu as it is; else they are listed."""
    c, sd = table.c.ravel(), table.sd.ravel()
    begin = segment.begin % table.batches
    part = slice(begin, begin + segment.steps)
    if can_merge(table) and sd[part][-1] > 0.0:
        yield from visited_each_epoch(table, [case.group for case in cases])
        return
    for case in cases:
        visited = np.zeros(table.s.shape)
        if case.position:
            visited[:, case.position - 1] = strongest(table, case.group)
        yield Schedule(c[part], visited.ravel()[part], sd[part], table.diameter)
