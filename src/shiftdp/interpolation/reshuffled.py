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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import stated_mu
from shiftdp.interpolation._geometric import geometric_sum, lowest
from shiftdp.interpolation.expanding import Chain, expanding_shifts
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.interpolation.shifts import Shifts, frozen_shifts
from shiftdp.interpolation.verify_equal_steps import Progression

__all__ = ["ReshuffledSchedule", "optimal_shifts_reshuffled"]


@dataclass(frozen=True)
class ReshuffledSchedule:
    """Equal steps: `epochs` of them with a visit at the end, then `rest` steps with one or none.

    Args:
        contraction: c of each step.
        earlier: sensitivity of the visits at the ends of the epochs.
        final: sensitivity of the final visit.
        noise: deviation of each step.
        period: steps in an epoch.
        epochs: how many there are before the last one; may be 0.
        rest: steps of the last epoch.
        position: where in the last epoch the final visit is, 1 to `rest`; 0 for none.
        diameter: of the constraint set.

    >>> shape = dict(period=3, epochs=1, rest=2, position=1)
    >>> ReshuffledSchedule(0.9, 2.0, 1.0, noise=1.0, **shape).expand().sensitivity
    array([0., 0., 2., 1., 0.])
    """

    contraction: float
    earlier: float
    final: float
    noise: float
    period: int
    epochs: int
    rest: int
    position: int
    diameter: float = math.inf

    @property
    def steps(self) -> int:
        return self.epochs * self.period + self.rest

    @property
    def progressions(self) -> tuple[Progression, ...]:
        """The visits."""
        final = self.epochs * self.period + self.position
        return (
            Progression(self.period, self.period, self.epochs, self.earlier),
            Progression(final, 1, 1 if self.position else 0, self.final),
        )

    def window(self, begin: int, end: int) -> tuple[Array, Array, Array]:
        """Contraction, sensitivity and noise of the steps `begin + 1` to `end`, counted from 1."""
        size, whole = end - begin, self.epochs * self.period
        s = np.zeros(size)
        s[-(begin + 1) % self.period : max(0, whole - begin) : self.period] = self.earlier
        place = whole + self.position - 1 - begin
        if self.position and 0 <= place < size:
            s[place] = self.final
        return np.full(size, self.contraction), s, np.full(size, self.noise)

    def expand(self) -> Schedule:
        """The same schedule, step by step."""
        return Schedule(*self.window(0, self.steps), self.diameter)


class _Piece(NamedTuple):
    """Steps `first` to `last` with pooled p and v of Theorem B1, in units of w at `last`."""

    first: int
    last: int
    p: float
    v: float


class _Plan(NamedTuple):
    energy: float
    tau: int
    blocks: list[_Piece]


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
    best = min(plans, key=_energy)
    mu = stated_mu(math.sqrt(best.energy), schedule.rest + schedule.period)
    first, last = ([piece[i] for piece in best.blocks] for i in (0, 1))
    amounts = [piece.p / piece.v * schedule.noise for piece in best.blocks]
    start = schedule.diameter if best.tau else 0.0
    return frozen_shifts(best.tau, start, (first, last, last), amounts, mu)


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


def _plan(schedule: ReshuffledSchedule, tau: int) -> _Plan:
    """The best shifts from distance 0 at `tau = 0`, or from D just after a visit at `tau`."""
    log_c = math.log(schedule.contraction)
    unit, ell, K = schedule.noise, schedule.period, schedule.epochs
    jump = schedule.diameter / unit if tau else 0.0
    blocks: list[_Piece] = []

    def add(end: int, visits: int, s: float, every: int) -> None:
        """Steps up to `end`, the first of them a visit, and so on `every` so many."""
        nonlocal jump
        begin = blocks[-1].last if blocks else tau
        size = end - begin
        if size == 0:
            return
        p = jump * math.exp(size * log_c)
        if visits:
            p += s / unit * math.exp((every - 1) * log_c) * geometric_sum(every * log_c, visits)
        jump = 0.0
        piece = _Piece(begin + 1, end, p, geometric_sum(2.0 * log_c, size))
        while blocks:
            ahead = blocks[-1]
            shrink = math.exp((piece.last - piece.first + 1) * log_c)
            if ahead.p * piece.v <= piece.p * shrink * ahead.v:
                break
            blocks.pop()
            p, v = ahead.p * shrink + piece.p, ahead.v * shrink * shrink + piece.v
            piece = _Piece(ahead.first, piece.last, p, v)
        blocks.append(piece)

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
    return _Plan(math.fsum(b.p * b.p / b.v for b in blocks), tau, blocks)


def _bounded_plans(schedule: ReshuffledSchedule, from_diameter: bool) -> list[_Plan]:
    """Starts from D: after the final visit, the one before it, and the best of the earlier ones."""
    ell, K, t = schedule.period, schedule.epochs, schedule.steps
    starts = [K * ell + schedule.position] if schedule.position else []
    starts += [K * ell]
    plans = [_plan(schedule, tau) for tau in starts if 0 < tau < t]
    gap = -math.expm1(ell * math.log(schedule.contraction))
    # otherwise the two runs never come so far apart
    if K > 1 and (from_diameter or schedule.diameter * gap < schedule.earlier):

        def back(i: int) -> _Plan:
            return _plan(schedule, (K - i) * ell)

        plans.append(lowest(back, K - 1))
    return plans


def _energy(plan: _Plan) -> float:
    return plan.energy
