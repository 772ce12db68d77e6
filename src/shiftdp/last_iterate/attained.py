"""What some instance of the class attains: the other side of a certificate. Theorems B5, B8."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, EIGHT_ROUNDINGS
from shiftdp.fdp import GaussianTradeoff
from shiftdp.interpolation.lower_bound import (
    lower_mu,
    lower_mu_periodic,
    no_lower_bound,
    slope_floor,
)
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.last_iterate.attained_sampled import RANDOM_BATCHES_LEAK, LowerBound, sampled_epsilon
from shiftdp.last_iterate.endless import stand_in
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import has_random_visits, outcomes
from shiftdp.last_iterate.runs import (
    ExponentialMechanism,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    Run,
    Unlearning,
    one_record,
    people,
)
from shiftdp.last_iterate.schedules.deletion import deletion_schedule
from shiftdp.last_iterate.schedules.people import person_schedule
from shiftdp.last_iterate.schedules.releases import Segment, segments_of
from shiftdp.last_iterate.schedules.segments import cut_schedule
from shiftdp.last_iterate.schedules.visits import (
    BatchRun,
    StepSchedule,
    Visits,
    has_equal_steps,
    schedule_of,
    schedules_of,
)
from shiftdp.last_iterate.theorems.derived.people import scaled_losses

ATTAINED_DOWN = 1.0 - AMPLE
"""What is attained is rounded down by this: epsilon of G(mu) is rounded up by less."""

DESCENT_LEAKS = LowerBound("Theorem B5", "Theorem B5", "theorem-b5-theorem-b1-cannot-be-improved")
MECHANISM_LEAKS = LowerBound(
    "two Gaussians", "[BSA24, Remark Tightness]", "statements-of-the-paper-that-the-code-cites"
)

_LONGEST = 200_000  # steps of an uneven run whose slopes are taken one by one
_MOST_WORK = 200_000  # steps times positions that are tried one by one
_MOST_UNEQUAL = 50_000  # the same where steps differ, about a second


def attained_mu(run: Run, geometry: Geometry) -> float | None:
    """The largest mu that losses of this class are known to attain, rounded down, or None."""
    if geometry.prox_convexity:  # no instance with a prox is known
        return None
    if run.endless and not run.sampled:
        # what some number of steps attains is attained
        run = stand_in(run, geometry)
    if people(run) > 1:
        return _person(run, geometry)
    return _ATTAINED[type(run)](run, geometry)


def lower_bound_of(run: Run) -> LowerBound:
    """Which statement `attained_mu` and `attained_epsilon` rest on, for such a run."""
    if run.sampled:
        return RANDOM_BATCHES_LEAK
    return MECHANISM_LEAKS if run.one_draw else DESCENT_LEAKS


def _person(run: Run, geometry: Geometry) -> float | None:
    """A person whose records are all in the worst batch, or in the last ones of each epoch."""
    if run.cyclic and run.arrangement == "one_per_batch":
        return _arranged(run, geometry)
    k, single = people(run), one_record(run)
    room = run.size_of(run.batches) if run.in_turn else 0
    if k > room:
        return None
    return _ATTAINED[type(run)](single, scaled_losses(geometry, k, side=-math.inf))


def _arranged(run: NoisyCGD, geometry: Geometry) -> float | None:
    m, M = geometry.strong_convexity, geometry.smoothness
    if math.isinf(m) or math.isinf(M) or has_random_visits(run) or run.left_over:
        return None
    if no_lower_bound(m, M, geometry.diameter, geometry.adjacency) is not None:
        return None
    if run.steps > _LONGEST:
        return None
    visits = Visits("every", run.steps % run.batches or run.batches)
    schedule = person_schedule(run, geometry, visits, attained=True)
    floor = slope_floor(run.learning_rate, m, M)
    bound = lower_mu(schedule, np.minimum(floor, schedule.contraction))
    return None if bound is None else bound.mu


def attained_epsilon(run: Run, geometry: Geometry, delta: float) -> float | None:
    """The largest epsilon that losses of this class are known to need at this delta, or None.

    Rounded down: no bound that holds for the whole class is below it.
    """
    if geometry.prox_convexity:
        return None
    if run.sampled:
        # a person with more records is no better protected
        return sampled_epsilon(one_record(run), geometry, delta)
    mu = attained_mu(run, geometry)
    return None if mu is None else GaussianTradeoff(mu).epsilon(delta) * ATTAINED_DOWN


def _descent(run: BatchRun, geometry: Geometry) -> float | None:
    m, M = geometry.strong_convexity, geometry.smoothness
    if math.isinf(m) or math.isinf(M) or has_random_visits(run):
        return None
    if no_lower_bound(m, M, geometry.diameter, geometry.adjacency) is not None:
        return None
    best: float | None = None
    for visits in _positions(run, geometry):
        if visits.pattern != "every":
            return None
        schedule = schedule_of(run, geometry, visits, attained=True)
        floor = slope_floor(run.learning_rate, m, M)
        last = _last_batch(run, geometry)
        if last is not None:
            schedule, floor = _with_last_batch(run, schedule, floor, last)
        bound = _attained(schedule, floor, segments_of(run))
        if bound is not None:
            best = bound if best is None else max(best, bound)
    return best


def _attained(schedule: StepSchedule, floor: Array, segments: Sequence[Segment]) -> float | None:
    """mu that is attained at one position: the squares of its segments between releases add up.

    Given what was released, the drifting instance goes on, and what it shows in a segment is a pair
    of Gaussians whose distance and variance do not depend on it. (Theorem V1)
    """
    squares, known = [], dict[StepSchedule, float]()
    for segment, part in zip(segments, cut_schedule(schedule, segments), strict=True):
        bound = None
        # the steepest slope is one that the class shows, however the two were rounded
        if isinstance(part, PeriodicSchedule):
            if part not in known:
                bound = lower_mu_periodic(part, min(float(floor), part.contraction))
                if bound is None:
                    return None
                known[part] = bound.mu
            mu = known[part]
        elif isinstance(part, Schedule):
            own = floor if floor.ndim == 0 else floor[segment.begin : segment.end]
            bound = lower_mu(part, np.minimum(own, part.contraction))
            if bound is None:
                return None
            mu = bound.mu
        else:
            return None
        if len(segments) == 1 and segment.count == 1:
            return mu
        squares.append(mu * mu * segment.count)
    return math.sqrt(math.fsum(squares)) * (1.0 - EIGHT_ROUNDINGS)


def _positions(run: BatchRun, geometry: Geometry) -> list[Visits]:
    """Where a record may sit; the worst position need not be the one where most is known.

    Where there are too many to try, those that cost most.
    """
    listed = run.batches * run.steps <= _MOST_WORK and isinstance(run.learning_rate, float)
    if listed and geometry.contraction(float(np.max(run.learning_rate))) > 1.0:
        return [Visits("every", j) for j in range(1, run.batches + 1)]
    cases = [case.visits for case in outcomes(run, geometry)]
    if has_equal_steps(run) and geometry.contraction(float(np.max(run.learning_rate))) <= 1.0:
        return cases  # each has a closed form
    if len(cases) * run.steps <= _MOST_UNEQUAL:
        return cases
    costs = [
        optimal_shifts(schedule).mu if isinstance(schedule, Schedule) else math.inf
        for schedule in schedules_of(run, geometry, cases)
    ]
    costly = sorted(range(len(cases)), key=costs.__getitem__, reverse=True)
    return [cases[i] for i in costly[: max(1, _MOST_UNEQUAL // run.steps)]]


def _last_batch(run: BatchRun, geometry: Geometry) -> Geometry | None:
    """The curvatures that a step on the last batch can show, where they are not those of others.

    A sum over r records that is divided by b > r has the ridge outside: from m to m + (M - m) r/b,
    or from m r/b to M r/b without a ridge. None where the last batch is like the others.
    """
    size, divisor = run.size_of(run.batches), run.divisor_of(run.batches)
    if size == divisor:
        return None
    share, ridge = size / divisor * (1.0 - EIGHT_ROUNDINGS), max(geometry.strong_convexity, 0.0)
    return replace(
        geometry,
        strong_convexity=ridge + share * (geometry.strong_convexity - ridge),
        smoothness=ridge + share * (geometry.smoothness - ridge),
    )


def _with_last_batch(
    run: BatchRun, schedule: StepSchedule, floor: Array, last: Geometry
) -> tuple[StepSchedule, Array]:
    """The schedule and the floors with the slopes that the last batch of each epoch can show.

    In very long runs every step is held to what all can show: a subclass, so still a lower bound.
    """
    own_floor = slope_floor(run.learning_rate, last.strong_convexity, last.smoothness)
    if isinstance(schedule, PeriodicSchedule):
        steepest = last.steepest(float(np.max(run.learning_rate)))
        if schedule.steps > _LONGEST:
            contraction = min(schedule.contraction, steepest)
            return replace(schedule, contraction=contraction), np.maximum(floor, own_floor)
        schedule = schedule.expand()
    if not isinstance(schedule, Schedule):
        return schedule, floor
    rates = np.broadcast_to(np.asarray(run.learning_rate), run.steps)
    on_last = np.arange(1, run.steps + 1) % run.batches == 0
    slopes = schedule.contraction.copy()
    slopes[on_last] = [last.steepest(float(rate)) for rate in rates[on_last]]
    floors = np.where(on_last, own_floor, floor)
    return Schedule(slopes, schedule.sensitivity, schedule.noise, schedule.diameter), floors


def _langevin(run: LangevinMC, geometry: Geometry) -> float | None:
    if math.isinf(run.steps):
        return None
    return _descent(run.as_descent(int(run.steps)), geometry)


def _exponential(run: ExponentialMechanism, geometry: Geometry) -> float | None:
    """L / sqrt(m) is attained by two Gaussians. [BSA24, Remark Tightness]"""
    if geometry.bounded or not geometry.strong_convexity > 0:
        return None
    return geometry.sensitivity / math.sqrt(geometry.strong_convexity) * (1.0 - EIGHT_ROUNDINGS)


def _unlearning(run: Unlearning, geometry: Geometry) -> float | None:
    """[Theorem B5] The drift goes on through the further steps, whose slopes are the steepest."""
    training, K = run.training, run.further_steps
    if K == 0:
        return attained_mu(training, geometry)
    m, M = geometry.strong_convexity, geometry.smoothness
    if not training.in_turn or math.isinf(m) or math.isinf(M):
        return None
    if has_random_visits(training) or people(training) > 1 or training.steps > _LONGEST:
        return None
    if run.records > training.size_of(training.batches) or run.grid or run.later_requests:
        return None
    equal = isinstance(run.learning_rate, float) and isinstance(run.noise, float)
    if not equal or no_lower_bound(m, M, geometry.diameter, geometry.adjacency) is not None:
        return None
    if _last_batch(training, geometry) is not None:
        return None
    best: float | None = None
    floor = np.broadcast_to(slope_floor(training.learning_rate, m, M), training.steps)
    for visits in _positions(training, geometry):
        if visits.pattern != "every":
            return None
        schedule = deletion_schedule(run, geometry, visits, attained=True)
        slopes = np.append(floor, schedule.contraction[-1])
        bound = lower_mu(schedule, np.minimum(slopes, schedule.contraction))
        if bound is not None:
            best = bound.mu if best is None else max(best, bound.mu)
    return best


_ATTAINED: dict[type, Callable[[Any, Geometry], float | None]] = {
    NoisyGD: _descent,
    NoisyCGD: _descent,
    NoisySGD: lambda run, geometry: None,
    NoisyStream: lambda run, geometry: _descent(run.window, geometry),
    LangevinMC: _langevin,
    ExponentialMechanism: _exponential,
    Unlearning: _unlearning,
}
