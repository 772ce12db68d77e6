"""What some instance of the class attains: the other side of a certificate. Theorem B5."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftdp.interpolation.lower_bound import (
    lower_mu,
    lower_mu_periodic,
    no_lower_bound,
    slope_floor,
)
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.last_iterate.endless import is_endless, stand_in
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import BatchRun, outcomes, schedule_of
from shiftdp.last_iterate.runs import (
    ExponentialMechanism,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    Run,
)

__all__ = ["attained_mu"]


def attained_mu(run: Run, geometry: Geometry) -> float | None:
    """The largest mu that losses of this class are known to attain, rounded down, or None."""
    if is_endless(run) and not isinstance(run, NoisySGD):
        # what some number of steps attains is attained
        run = stand_in(run, geometry)
    return _ATTAINED[type(run)](run, geometry)


def _descent(run: BatchRun, geometry: Geometry) -> float | None:
    m, M = geometry.strong_convexity, geometry.smoothness
    if math.isinf(m) or math.isinf(M) or (run.order != "fixed" and run.batches > 1):
        return None
    if no_lower_bound(m, M, geometry.diameter, geometry.adjacency) is not None:
        return None
    best: float | None = None
    for case in outcomes(run, geometry):
        if case.visits.pattern != "every":
            return None
        schedule = schedule_of(run, geometry, case.visits, attained=True)
        # the steepest slope is one that the class shows, however the two were rounded
        floor = slope_floor(run.learning_rate, m, M)
        bound = None
        if isinstance(schedule, PeriodicSchedule):
            bound = lower_mu_periodic(schedule, min(float(floor), schedule.contraction))
        elif isinstance(schedule, Schedule):
            bound = lower_mu(schedule, np.minimum(floor, schedule.contraction))
        if bound is not None:
            best = bound.mu if best is None else max(best, bound.mu)
    return best


def _langevin(run: LangevinMC, geometry: Geometry) -> float | None:
    if math.isinf(run.steps):
        return None
    return _descent(run.as_descent(int(run.steps)), geometry)


def _exponential(run: ExponentialMechanism, geometry: Geometry) -> float | None:
    """L / sqrt(m) is attained by two Gaussians. [BSA24, Remark Tightness]"""
    if geometry.bounded or not geometry.strong_convexity > 0:
        return None
    return geometry.sensitivity / math.sqrt(geometry.strong_convexity) * (1.0 - 2.0**-50)


_ATTAINED: dict[type, Callable[[Any, Geometry], float | None]] = {
    NoisyGD: _descent,
    NoisyCGD: _descent,
    NoisySGD: lambda run, geometry: None,
    LangevinMC: _langevin,
    ExponentialMechanism: _exponential,
}
