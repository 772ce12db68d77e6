"""The steps of a run as one record sees them, given where it is visited."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol, cast

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import EIGHT_ROUNDINGS, ROOMY_EXPONENT
from shiftdp.interpolation.reshuffled import ReshuffledSchedule
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.last_iterate.geometry import Geometry, contractions_of
from shiftdp.last_iterate.runs import Order, PerStep, Releases
from shiftdp.last_iterate.schedules.merged_steps import (
    StepTable,
    step_table,
    strongest,
    visited_each_epoch,
    visited_last,
)
from shiftdp.last_iterate.schedules.releases import segments_of

Pattern = Literal["every", "final"]
StepSchedule = Schedule | PeriodicSchedule | ReshuffledSchedule

_UP, _DOWN = 1.0 + EIGHT_ROUNDINGS, 1.0 - EIGHT_ROUNDINGS  # of products of a few factors
_POWER_UP = 1.0 + 2.0**-40  # of a power whose logarithm is at most _LARGEST, and rounded
_MOST_STEPS = 1 << 24  # that are listed, and followed by whoever verifies
_LARGEST = ROOMY_EXPONENT  # logarithm of the largest factor by which a visit may have grown


class BatchRun(Protocol):
    """What NoisyGD and NoisyCGD have in common."""

    @property
    def n(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def learning_rate(self) -> PerStep: ...
    @property
    def noise(self) -> PerStep: ...
    @property
    def order(self) -> Order: ...
    @property
    def batches(self) -> int: ...
    @property
    def releases(self) -> Releases: ...
    def size_of(self, position: int) -> int: ...
    def divisor_of(self, position: int) -> int: ...


@dataclass(frozen=True)
class Visits:
    """Where a record is visited.

    `every`: at `position` in each epoch (0: never). `final`: at `position` in the last epoch (0:
    not at all), and before it once at the end of each epoch, strongly enough to dominate every
    position.

    If `first` is not 0, the position stands for a group of them, which begins there: it is visited
    as strongly as the strongest of their visits would be after the steps up to it.
    """

    pattern: Pattern
    position: int = 0
    first: int = 0

    @property
    def group(self) -> range:
        """The positions that this one stands for; none if it is 0."""
        begin = self.first or self.position
        return range(max(begin, 1), self.position + 1)


def schedules_of(
    run: BatchRun, geometry: Geometry, cases: Sequence[Visits]
) -> Iterator[StepSchedule]:
    """The steps as the record sees them in each of several cases, with positions in rising order.

    Unequal steps between two visits are merged into one, which leaves mu as it is and makes the
    schedules as short as there are visits. (With a projection and steps that expand the best start
    may lie between visits: there they are not; nor where the run ends without noise, which is
    refused step by step.)
    """
    if not has_equal_steps(run):
        table = table_of(run, geometry)
        if can_merge(table) and _last_noise(run) > 0.0:
            visited = visited_last if cases[0].pattern == "final" else visited_each_epoch
            yield from visited(table, [case.group for case in cases])
            return
    yield from (schedule_of(run, geometry, case) for case in cases)


def schedule_of(
    run: BatchRun, geometry: Geometry, visits: Visits, *, attained: bool = False
) -> StepSchedule:
    """The steps as this record sees them, in the units of the iterate, none of them merged.

    Contraction and sensitivity are rounded up, or down for what instances attain.
    """
    if visits.pattern != "every":
        return _dominated(run, geometry, visits)
    j = visits.position
    if isinstance(run.learning_rate, float) and isinstance(run.noise, float):
        eta = run.learning_rate
        visit = eta * geometry.sensitivity / run.divisor_of(j) if j else 0.0
        return PeriodicSchedule(
            contraction=geometry.steepest(eta) if attained else geometry.contraction(eta),
            sensitivity=visit * (_DOWN if attained else _UP),
            noise=eta * run.noise,
            period=run.batches,
            first=max(j, 1),
            steps=run.steps,
            diameter=geometry.diameter,
        )
    c, s, sd = step_constants(run, geometry, run.steps, attained)
    visited = np.zeros(run.steps)
    if j:
        steps = slice(j - 1, None, run.batches)
        visited[steps] = s[steps]
        if not attained:
            table = step_table(c, s, sd, run.batches, geometry.diameter)
            visited[steps] = strongest(table, visits.group)[: visited[steps].size]
    return Schedule(c, visited, sd, geometry.diameter)


def table_of(run: BatchRun, geometry: Geometry) -> StepTable:
    """All steps; those of the last run that was asked for are kept, for its other positions."""
    return _table_of(cast(Any, run), geometry)


@lru_cache(maxsize=1)
def _table_of(run: Any, geometry: Geometry) -> StepTable:
    require_short(run.steps)
    return step_table(*step_constants(run, geometry, run.steps), run.batches, geometry.diameter)


def tables_of(run: BatchRun, geometry: Geometry) -> list[StepTable]:
    """The steps of each segment that ends with a release, in rows that are those of the epochs.

    The steps of the first row that come before the segment do nothing, as do those after it.
    """
    segments, batches = segments_of(run), run.batches
    if len(segments) == 1:
        return [table_of(run, geometry)]
    require_short(run.steps + 2 * batches * len(segments))
    c, s, sd = step_constants(run, geometry, run.steps)
    found = []
    for segment in segments:
        part, ahead = slice(segment.begin, segment.end), segment.begin % batches
        own_c, own_s, own_sd = (
            np.pad(x[part], (ahead, 0), constant_values=idle)
            for x, idle in ((c, 1.0), (s, 0.0), (sd, 0.0))
        )
        found.append(step_table(own_c, own_s, own_sd, batches, geometry.diameter))
    return found


def _last_noise(run: BatchRun) -> float:
    return run.noise if isinstance(run.noise, float) else run.noise[-1]


def can_merge(table: StepTable) -> bool:
    return math.isinf(table.diameter) or bool(np.all(table.c <= 1.0))


def step_constants(
    run: BatchRun, geometry: Geometry, steps: int, attained: bool = False
) -> tuple[Array, Array, Array]:
    """c_k, the sensitivity that a visit at step k would have, and the noise, step by step."""
    eta = np.broadcast_to(np.asarray(run.learning_rate, dtype=np.float64), steps)
    first = float(eta[0])
    differ = bool(np.any(eta != first))
    if differ and geometry.prox_convexity:
        raise UnmetHypothesis(
            "prox_convexity",
            geometry.prox_convexity,
            "is used where all steps have the same learning rate",
            "give prox_convexity=0, which is valid for any prox, or one learning rate",
        )
    if differ:
        m, M = geometry.strong_convexity, geometry.smoothness
        c = contractions_of(m, M, eta, side=-1 if attained else 1)
    else:
        slope = geometry.steepest if attained else geometry.contraction
        c = np.full(steps, slope(first))
    small = np.arange(1, steps + 1) % run.batches == 0
    divisor = np.where(small, float(run.divisor_of(run.batches)), float(run.divisor_of(1)))
    s = eta * geometry.sensitivity / divisor * (_DOWN if attained else _UP)
    return c, s, eta * np.asarray(run.noise, dtype=np.float64)


def has_equal_steps(run: BatchRun) -> bool:
    return isinstance(run.learning_rate, float) and isinstance(run.noise, float)


def _dominated(run: BatchRun, geometry: Geometry, visits: Visits) -> Schedule | ReshuffledSchedule:
    """One visit at the end of each epoch that stands for any; in the last one, as `visits` says."""
    batches = run.batches
    whole, last = divmod(run.steps, batches)
    dominated = whole if last else whole - 1
    if isinstance(run.learning_rate, float) and isinstance(run.noise, float):
        c, eta = geometry.contraction(run.learning_rate), run.learning_rate
        one = eta * geometry.sensitivity * _UP  # of a batch of one record
        return ReshuffledSchedule(
            contraction=c,
            earlier=_strongest_of_equal(run, c, one, range(1, batches + 1)),
            final=_strongest_of_equal(run, c, one, visits.group) if visits.position else 0.0,
            noise=eta * run.noise,
            period=batches,
            epochs=dominated,
            rest=last or batches,
            position=visits.position,
            diameter=geometry.diameter,
        )
    table = table_of(run, geometry)
    slopes, sd = (x.ravel()[: run.steps] for x in (table.c, table.sd))
    visited = np.zeros(run.steps)
    earlier = dominated * batches
    visited[batches - 1 : earlier : batches] = strongest(table, range(1, batches + 1))[:dominated]
    if visits.position:
        visited[earlier + visits.position - 1] += strongest(table, visits.group)[-1]
    return Schedule(slopes, visited, sd, geometry.diameter)


def _strongest_of_equal(run: BatchRun, c: float, one: float, group: range) -> float:
    """max_k s_k c^(end-k) over a group of positions, rounded up; the last divisor is the least."""
    at_end = one / run.divisor_of(group[-1])
    if c <= 1.0 or len(group) == 1:
        return at_end
    growth = (len(group) - 1) * math.log(c)
    if growth > _LARGEST:
        raise UnmetHypothesis(
            "order",
            run.order,
            f"may bring a record first in an epoch, and its effect then grows by a factor of "
            f"{c:.6g} in each of {len(group) - 1} steps, out of the range of floats",
            "rely on composition, or give fewer batches an epoch or a lower learning rate",
        )
    return max(at_end, one / run.divisor_of(group[0]) * math.exp(growth) * _POWER_UP)


def require_short(steps: int) -> None:
    """Refuse more steps than are listed one by one."""
    if steps > _MOST_STEPS:
        raise UnmetHypothesis(
            "steps",
            steps,
            f"are too many to be treated one by one (at most {_MOST_STEPS})",
            "give fewer, a learning rate with which a step contracts, or ask for "
            'bounds="composition"',
        )
