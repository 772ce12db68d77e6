"""Theorem B1 for equal steps of which every `period`-th touches the record, at a cost free of t.

Notation: l the period, j the first visit, K the last one, n the number of visits, `e = t - K` the
tail. `w_k = c^(t-k)`, clock `V_k` and obstacle `O_k` as in `shiftdp.interpolation.shifts`. Between
visits the obstacle is flat, so the greatest convex minorant can only bend at the points `Q`
reached just *before* a visit, and at the end.

**c <= 1, from the start.** From one Q to the next the obstacle rises by a factor `c^-l` more each
time and the clock advances by `c^-2l` more, so the slopes between successive Q do not increase:
the Q form a concave chain, whose minorant is the chord from the first Q (just before step j) to
the last (just before step K). It remains to join the piece from there to the end: two blocks
`[j, K-1]` and `[K, t]` if the first slope is at most the second, one block `[j, t]` otherwise:
`mu^2 = O1^2/V1 + O2^2/V2` or `(O1 + O2)^2/(V1 + V2)`. For j = l this is mgd-sc, for l = 1 gd-sc.

**c <= 1, starting from distance D at tau.** Only visits can be best starts (a step without a visit
takes a distance D to at most D): `tau = K - i l`, and `tau = K` if e > 0. Put `d = D/s`.
For i >= 1 the minorant goes from the start to the last Q and then to the end, or straight to the
end, whichever the slopes say; it might also touch the *first* Q after tau, but not if D > s (the
slope to it exceeds that of the chain), and for D <= s that only happens where `i = 1` is at least
as good (the energy is a constant plus that of a run from the start, which grows with i).
Write `f1(i)` for the energy via the last Q, `f2(i)` for the chord to the end. With
`y = c^(i l - 1)` and `y = c^(i l + e)` respectively, both are of the form
`(A - B y)^2 / (1 - y^2)`, `B = s/(1-c^l) - D`, which for 0 < B < A falls in y up to `y = B/A` and
rises beyond; if B <= 0 the start is no gain, since the distance never exceeds D. So f1 and f2 have
one minimum each, at `i1 = (2 - l + q)/l` and `i2 = (q - 2e)/l`, where `c^q = 1 - d (1 - c^l)`
(c = 1: `q = d l`). `f1 - f2` is a positive multiple of the squared difference of the two slopes, so
where the slopes cross, f1 and f2 touch: the energy E(i), as a function of real i, has a continuous
derivative, whose sign at a crossing is that of `i - i1` *and* that of `i - i2`. Hence i1 and i2 lie
between the same two crossings, E has one minimum, at i1 or i2, and the best integer is next to one
of them.

**c > 1.** See `shiftdp.interpolation.expanding`.
"""

from __future__ import annotations

import math

from shiftdp.interpolation.equal_steps import (
    Piece,
    Plan,
    as_shifts,
    geometric_sum,
    least_energy,
    minorant,
)
from shiftdp.interpolation.expanding import Chain, expanding_shifts
from shiftdp.interpolation.schedule import PeriodicSchedule, Shifts, frozen_shifts


def optimal_shifts_periodic(schedule: PeriodicSchedule, *, from_diameter: bool = False) -> Shifts:
    """The same as `optimal_shifts(schedule.expand())`, at a cost that does not grow with t.

    [Theorem B1; contains BSA24, Thm gd-sc, gd-proj, mgd-sc, mgd-proj]

    `from_diameter` allows only starts from distance D, where there is one: such shifts ask nothing
    of the steps before theirs, so they hold for every longer run that ends with the same steps.

    >>> a_million_epochs = PeriodicSchedule(0.9, 1.0, 1.0, period=40, first=40, steps=40 * 10**6)
    >>> round(optimal_shifts_periodic(a_million_epochs).mu, 6)
    1.000026
    """
    c, t, n = float(schedule.contraction), int(schedule.steps), schedule.visits
    if n == 0 or schedule.sensitivity == 0.0:
        return frozen_shifts(0, 0.0, ([1], [t], [t]), [0.0], 0.0)
    if c > 1.0:
        return _expanding(schedule, from_diameter)
    if c == 0.0:
        # The last step forgets everything before it.
        s = float(schedule.sensitivity) if schedule.last_visit == t else 0.0
        pieces = [_idle(t - 1)] if t > 1 else []
        ratio = s / float(schedule.noise)
        plan = Plan(ratio * ratio, 0, 0.0, [*pieces, Piece(t, t, t, s, 1.0)])
        return as_shifts(plan, 1.0)
    return _contracting(schedule, from_diameter)


def _contracting(schedule: PeriodicSchedule, from_diameter: bool) -> Shifts:
    """0 < c <= 1: the closed forms of the module's docstring, in units of the noise."""
    c, ell, n = float(schedule.contraction), int(schedule.period), schedule.visits
    K, t, j = schedule.last_visit, int(schedule.steps), int(schedule.first)
    sd = float(schedule.noise)
    s, D = schedule.sensitivity / sd, schedule.diameter / sd
    tail = t - K
    log_c = math.log(c)
    final = Piece(K, t, t, s * c**tail, geometric_sum(2.0 * log_c, tail + 1))

    def plan(tau: int, start: float, jump: float, visits: int) -> Plan:
        """Shifts that start at step tau from the distance `start`: one piece for steps tau+1..K-1,
        one for K..t, merged into one where `minorant` merges them.

        `jump` is what is left of `start` at step K-1, and `visits` how many visits there are up to
        then.
        """
        steps, pieces = K - 1 - tau, [final]
        if steps or jump:
            O1 = jump + s * c ** (ell - 1) * geometric_sum(ell * log_c, visits)
            V1 = geometric_sum(2.0 * log_c, steps)
            pieces = minorant([Piece(tau + 1, K - 1, K - 1, O1, V1), final], lambda n: c**n)
        return Plan(math.fsum(x.p * x.p / x.v for x in pieces), tau, start, pieces)

    best = plan(j - 1, 0.0, 0.0, n - 1)
    best = best._replace(tau=0, pieces=[*([_idle(j - 1)] if j > 1 else []), *best.pieces])
    forced = from_diameter and math.inf > D
    if forced:
        best = best._replace(energy=math.inf)
        if n == 1:
            # nothing moves the runs apart before the only visit: the longest clock is best
            best = plan(0, D, D * c ** (K - 1), 0)
    d = D / s
    gain = -math.expm1(ell * log_c)  # 1 - c^ell
    if d * gain < 1.0 or forced:
        if tail:
            O3, V3 = D * c**tail, geometric_sum(2.0 * log_c, tail)
            last = Plan(O3 * O3 / V3, K, D, [Piece(K + 1, t, t, O3, V3)])
            best = least_energy([best, last])
        # forced, it may start in front of the first step: longer runs have steps before it
        most = n if forced and j >= ell else n - 1
        if most > 0:
            # if the distance never reaches D, the later it starts from there, the worse
            q = math.inf
            if d * gain < 1.0:
                q = d * ell if c == 1.0 else math.log1p(-d * gain) / log_c
            for middle in ((2 - ell + q) / ell, (q - 2 * tail) / ell):
                i = math.floor(min(max(middle, 1.0), float(most)))
                for periods in (i, min(i + 1, most)):
                    jump = D * c ** (periods * ell - 1)
                    start = plan(K - periods * ell, D, jump, periods - 1)
                    best = least_energy([best, start])
    if best.start:
        best = best._replace(start=float(schedule.diameter))
    return as_shifts(best, sd, tail)


def _idle(steps: int) -> Piece:
    """The first steps, without any shift."""
    return Piece(1, steps, steps, 0.0, 1.0)


def _expanding(schedule: PeriodicSchedule, from_diameter: bool) -> Shifts:
    """c > 1."""
    sd, D = float(schedule.noise), float(schedule.diameter)
    chain = Chain(
        contraction=float(schedule.contraction),
        visit=schedule.sensitivity / sd,
        visits=schedule.visits,
        period=int(schedule.period),
        first=int(schedule.first),
        gap=0,
        final=0.0,
        tail=int(schedule.steps) - schedule.last_visit,
        diameter=D / sd,
    )
    return expanding_shifts(chain, sd, D, from_diameter=from_diameter)
