"""The shifted-interpolation engine: from a schedule of steps to the best shifts and their mu.

A `Schedule` says what each step of a run does: how much it contracts, how far one record can
displace it, how much noise it adds. `optimal_shifts` finds the shifts with which Theorem shift
proves the smallest mu (Theorem B1), `verify` checks them independently, and `lower_mu` says what
some run of the class attains (Theorem B5).

>>> schedule = Schedule([0.9] * 3, sensitivity=[1.0, 0.0, 0.0], noise=[1.0] * 3)
>>> shifts = optimal_shifts(schedule)
>>> round(shifts.mu, 6), verify(schedule, shifts) <= shifts.mu
(0.515798, True)
"""

from shiftdp.interpolation.lower_bound import (
    LowerBound,
    lower_mu,
    lower_mu_periodic,
    no_lower_bound,
    slope_floor,
)
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.reshuffled import optimal_shifts_reshuffled
from shiftdp.interpolation.schedule import (
    PeriodicSchedule,
    ReshuffledSchedule,
    Schedule,
    ShiftPath,
    Shifts,
)
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.interpolation.verification import proved_mu, verify

__all__ = [
    "LowerBound",
    "PeriodicSchedule",
    "ReshuffledSchedule",
    "Schedule",
    "ShiftPath",
    "Shifts",
    "lower_mu",
    "lower_mu_periodic",
    "no_lower_bound",
    "optimal_shifts",
    "optimal_shifts_periodic",
    "optimal_shifts_reshuffled",
    "proved_mu",
    "slope_floor",
    "verify",
]
