"""Theorem B1 for a record that is visited at the end of each epoch, but anywhere in the last one.

This is the schedule that Theorem B4 asks for when equal steps are reshuffled, once for each
position in the last epoch, so it has to be cheap: its cost does not grow with the number of epochs.

Between visits the obstacle of Theorem B1 is flat, so its greatest convex minorant bends only in
front of a visit. For c <= 1 the points in front of the equal visits form a concave chain (see
`shiftdp.interpolation.periodic`), of which only the ends count. That leaves at most four pieces:
up to the first visit that follows the start, from there to the last visit of an earlier epoch, from
there to the final visit, and the rest; neighbours are pooled while the slopes do not increase.

A start from distance D can only be best just after a visit. Whichever is taken, the shifts prove
their mu; `tests/interpolation/test_reshuffled.py` has the search find the best.
"""

from __future__ import annotations

import math

from shiftdp.interpolation.equal_steps import (
    Piece,
    Plan,
    as_shifts,
    geometric_sum,
    least_energy,
    lowest,
    minorant,
)
from shiftdp.interpolation.expanding import Chain, expanding_shifts
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule, ReshuffledSchedule, Shifts

__all__ = ["ReshuffledSchedule", "optimal_shifts_reshuffled"]


def optimal_shifts_reshuffled(
    schedule: ReshuffledSchedule, *, from_diameter: bool = False
) -> Shifts:
    """The same as `optimal_shifts(schedule.expand())`, at a cost that does not grow with it.

    `from_diameter` allows only starts from distance D, where there is one.

    >>> args = dict(period=40, epochs=10**6, rest=40, position=7)
    >>> round(optimal_shifts_reshuffled(ReshuffledSchedule(0.9, 1.0, 1.0, 1.0, **args)).mu, 6)
    0.02001
    """
    if not schedule.earlier > 0.0 or schedule.contraction == 0.0 or not schedule.epochs:
        return _last_visit_alone(schedule, from_diameter)
    if schedule.contraction > 1.0:
        return _expanding(schedule, from_diameter)
    plans = [] if from_diameter and schedule.diameter < math.inf else [_plan(schedule, 0)]
    if schedule.diameter < math.inf:
        plans += _bounded_plans(schedule, from_diameter)
    best = least_energy(plans)
    return as_shifts(best, schedule.noise, schedule.rest + schedule.period)


def _last_visit_alone(schedule: ReshuffledSchedule, from_diameter: bool) -> Shifts:
    """Earlier visits do nothing, there are none, or c = 0 forgets them: at most one counts."""
    t, K = schedule.steps, schedule.epochs
    at, s = K * schedule.period + schedule.position, schedule.final
    if not schedule.position and K and schedule.earlier > 0.0:
        at, s = K * schedule.period, schedule.earlier
    elif not schedule.position:
        at, s = t, 0.0
    once = PeriodicSchedule(schedule.contraction, s, schedule.noise, t, at, t, schedule.diameter)
    return optimal_shifts_periodic(once, from_diameter=from_diameter)


def _expanding(schedule: ReshuffledSchedule, from_diameter: bool) -> Shifts:
    """c > 1."""
    sd, rest, at = schedule.noise, schedule.rest, schedule.position
    chain = Chain(
        contraction=schedule.contraction,
        visit=schedule.earlier / sd,
        visits=schedule.epochs,
        period=schedule.period,
        first=schedule.period,
        gap=at,
        final=schedule.final / sd,
        tail=rest - at,
        diameter=schedule.diameter / sd,
    )
    return expanding_shifts(chain, sd, schedule.diameter, from_diameter=from_diameter)


def _plan(schedule: ReshuffledSchedule, tau: int) -> Plan:
    """The best shifts from distance 0 at `tau = 0`, or from D just after a visit at `tau`."""
    log_c = math.log(schedule.contraction)
    unit, ell, K = schedule.noise, schedule.period, schedule.epochs
    jump = schedule.diameter / unit if tau else 0.0
    pieces: list[Piece] = []

    def power(n: int) -> float:
        return math.exp(n * log_c)

    def add(end: int, visits: int, s: float, every: int) -> None:
        """Append the steps up to `end`: visits of size s at the first and every `every` steps."""
        begin = pieces[-1].last if pieces else tau
        size = end - begin
        if size == 0:
            return
        p = 0.0 if pieces else jump * power(size)
        if visits:
            p += s / unit * power(every - 1) * geometric_sum(every * log_c, visits)
        pieces.append(Piece(begin + 1, end, end, p, geometric_sum(2.0 * log_c, size)))

    t = schedule.steps
    final = K * ell + schedule.position if schedule.position else t + 1
    before = tau // ell  # epochs whose visit lies before the start
    if tau < K * ell:
        add((before + 1) * ell - 1, 0, 0.0, 0)
        add(K * ell - 1, K - before - 1, schedule.earlier, ell)
        add(final - 1, 1, schedule.earlier, final - K * ell)
    else:
        add(max(final - 1, tau), 0, 0.0, 0)
    if tau < final:
        add(t, int(final <= t), schedule.final, t - final + 1)
    else:
        add(t, 0, 0.0, 0)
    blocks = minorant(pieces, power)
    energy = math.fsum(x.p * x.p / x.v for x in blocks)
    return Plan(energy, tau, schedule.diameter if tau else 0.0, blocks)


def _bounded_plans(schedule: ReshuffledSchedule, from_diameter: bool) -> list[Plan]:
    """Starts from D: after the final visit, the one before it, and the best of the earlier ones."""
    ell, K, t = schedule.period, schedule.epochs, schedule.steps
    starts = [K * ell + schedule.position] if schedule.position else []
    starts += [K * ell]
    plans = [_plan(schedule, tau) for tau in starts if 0 < tau < t]
    gap = -math.expm1(ell * math.log(schedule.contraction))
    # otherwise the two runs never come so far apart
    if K > 1 and (from_diameter or schedule.diameter * gap < schedule.earlier):

        def back(i: int) -> Plan:
            return _plan(schedule, (K - i) * ell)

        plans.append(lowest(back, K - 1))
    return plans
