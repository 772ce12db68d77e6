"""Theorem B1 for equal steps with c > 1, at a cost that does not grow with the run.

A *chain* of n equal visits (sensitivity e), l steps apart, the last of them at step Z; then perhaps
a final visit of another sensitivity at step F > Z; t steps in all. This is a periodic schedule (no
final visit), and a reshuffled one. Write `r = 1/c < 1`.

**The minorant.** As in `shiftdp.interpolation.shifts`, the path of least energy is the greatest
convex minorant of the obstacle, which can bend only at the points Q in front of a visit, and at the
end. From one Q of the chain to the next the obstacle rises by r^l as much and the clock advances by
r^2l as much, so the slopes grow: the Q of the chain are convex. So of the chain, the minorant has

- on its left, a block of what comes before and the first m periods: those not steeper than what
  they are pooled with. Once a period is too steep to be absorbed, so are all that follow it;
- on its right, a block of the last k periods and what comes after them, for the same reason;
- in between, every period by itself, each with the same energy `e^2 / (1 + r^2 + ... + r^2(l-1))`.

From the start (distance 0) nothing is absorbed on the left.

**Starts from the diameter D at tau.** Divide by the weight of step tau: the jump is D, and if tau
moves forward to just behind the visit before it, pushes only weigh less, and the clock is longer.
So a best start is just behind a visit: i visits of the chain follow, i = 1, ..., n - 1, or none. A
start with periods between its left and its right block is worse than the one that leaves them out.
So i is at most m + k + 1, and then at most one Q of the chain, the one in front of the last k
periods, is a corner of the minorant. As a function of i the energy falls and then rises: it is one
of few forms `const + (A - B y)^2 / (1 - y^2)` with `y = r^(il)`, each of which falls and then
rises, and where one takes over from another they touch (see `shiftdp.interpolation.periodic`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shiftdp._errors import UnmetHypothesis
from shiftdp._roots import least_whole
from shiftdp.interpolation.equal_steps import (
    Piece,
    Plan,
    as_shifts,
    geometric_sum,
    least_energy,
    lowest,
    minorant,
    stated_mu,
)
from shiftdp.interpolation.schedule import Shifts, frozen_shifts

MOST_BLOCKS = 1 << 16
"""From the start every visit is a block of its own; so many are listed at most."""


@dataclass(frozen=True)
class Chain:
    """Equal steps with c > 1, in units of the noise; see the module.

    Args:
        contraction: c > 1.
        visit: e > 0, the sensitivity of a visit of the chain.
        visits: n >= 1.
        period: l, steps from one visit of the chain to the next.
        first: the step of the first visit.
        gap: steps from the last visit of the chain to the final visit; 0 if there is none.
        final: sensitivity of the final visit.
        tail: steps after the last visit of all.
        diameter: D.
    """

    contraction: float
    visit: float
    visits: int
    period: int
    first: int
    gap: int
    final: float
    tail: int
    diameter: float

    @property
    def end(self) -> int:
        """Z, the last step of the chain."""
        return self.first + self.period * (self.visits - 1)

    @property
    def steps(self) -> int:
        return self.end + self.gap + self.tail


def expanding_shifts(
    chain: Chain, noise: float, start: float, *, from_diameter: bool = False
) -> Shifts:
    """The best shifts, for steps whose noise is `noise`; `start` is the diameter in its units.

    `from_diameter` allows only starts from the diameter, where there are any.
    Raises `UnmetHypothesis` where the shifts have too many blocks to be listed.

    >>> shape = dict(visits=10**9, period=4, first=4, gap=0, final=0.0, tail=0)
    >>> round(expanding_shifts(Chain(1.5, 1.0, diameter=2.0, **shape), 1.0, 2.0).mu, 6)
    2.545821
    """
    log_r = -math.log(chain.contraction)
    right = _right_end(chain, log_r)
    # the slope of a period, in units of the weight of its first step
    period = chain.visit / geometric_sum(2.0 * log_r, chain.period)
    pooled = _pooled(chain, log_r, right[0], period)
    ends = [_with_periods(right[0], pooled, chain, log_r), *right[1:]]
    between = chain.visits - 1 - pooled
    energy = math.fsum([between * (chain.visit * period), *map(_energy, ends)])
    plans = _bounded_plans(chain, log_r, right, pooled, period)
    finite = [plan for plan in plans if plan.energy < math.inf]
    if finite:
        best = least_energy(finite)
        if from_diameter or best.energy < energy or between > MOST_BLOCKS:
            return as_shifts(best._replace(start=start), noise)
    if between > MOST_BLOCKS:
        raise UnmetHypothesis(
            "steps",
            chain.steps,
            f"has {chain.visits} visits of one record: with contraction {chain.contraction:.17g} "
            f"above 1 and no diameter the proof has a part for each, and may have {MOST_BLOCKS}",
            "rely on composition, or give fewer steps, a ridge, or a bounded set",
        )
    return _listed(chain, noise, period, between, ends, stated_mu(math.sqrt(energy)))


def _listed(
    chain: Chain, noise: float, period: float, between: int, ends: list[Piece], mu: float
) -> Shifts:
    """Shifts from the start: periods one by one, then the last pieces."""
    starts = chain.first + chain.period * np.arange(between, dtype=np.int64)
    idle = [chain.first - 1] if chain.first > 1 else []
    first = np.concatenate(([1] * len(idle), starts, [piece.first for piece in ends]))
    last = np.concatenate((idle, starts + (chain.period - 1), [piece.last for piece in ends]))
    slopes = np.concatenate(
        ([0.0] * len(idle), np.full(between, period), [piece.slope for piece in ends])
    )
    return frozen_shifts(0, 0.0, (first, last, first), slopes * noise, mu)


def _right_end(chain: Chain, log_r: float) -> list[Piece]:
    """The minorant from the last visit of the chain on."""
    Z, t = chain.end, chain.steps
    if not chain.gap:
        return [_piece(Z, t, chain.visit, log_r)]
    F = Z + chain.gap
    return _minorant(
        [_piece(Z, F - 1, chain.visit, log_r), _piece(F, t, chain.final, log_r)], log_r
    )


def _with_periods(head: Piece, count: int, chain: Chain, log_r: float) -> Piece:
    """The block at the right end together with the `count` periods in front of it."""
    if not count:
        return head
    e, ell = chain.visit, chain.period
    fall = math.exp(count * ell * log_r)
    p = e * geometric_sum(ell * log_r, count) + head.p * fall
    v = geometric_sum(2.0 * log_r, count * ell) + head.v * fall * fall
    first = head.first - count * ell
    return Piece(first, head.last, first, p, v)


def _pooled(chain: Chain, log_r: float, head: Piece, period: float) -> int:
    """How many periods of the chain are at least as steep as what follows them, from the right."""
    slope = period * math.exp(chain.period * log_r)

    def steep(count: int) -> bool:
        block = _with_periods(head, count, chain, log_r)
        return slope * block.v >= block.p

    return _first_failure(steep, chain.visits - 1)


def _first_failure(holds: Callable[[int], bool], most: int) -> int:
    """The least count in 0..most at which `holds` fails (or most), if it stays false from there."""
    if most == 0 or not holds(0):
        return 0
    return least_whole(lambda count: not holds(count), 0, most)


def _bounded_plans(
    chain: Chain, log_r: float, right: list[Piece], pooled: int, period: float
) -> list[Plan]:
    """The best starts from the diameter: behind the last visits, and behind one of the chain."""
    D, e, ell, Z, t = chain.diameter, chain.visit, chain.period, chain.end, chain.steps
    if math.isinf(D):
        return []
    jump = D * chain.contraction  # in units of the weight of the step behind tau

    def left(tau: int, count: int) -> Piece:
        """The block after a start just behind a visit: the jump, then `count` whole periods."""
        size = (count + 1) * ell - 1
        p = jump + e * math.exp((ell - 1) * log_r) * geometric_sum(ell * log_r, count)
        return _piece(tau + 1, tau + size, p, log_r)

    def absorbed(count: int) -> bool:
        block = left(0, count)
        return block.p * math.exp(block.last * log_r) >= period * block.v

    def plan(tau: int, pieces: list[Piece]) -> Plan:
        blocks = _minorant(pieces, log_r)
        return Plan(math.fsum(map(_energy, blocks)), tau, D, blocks)

    def back(i: int) -> Plan:
        tau, apart = Z - i * ell, min(pooled, i - 1)
        head = _with_periods(right[0], apart, chain, log_r)
        return plan(tau, [left(tau, i - 1 - apart), head, *right[1:]])

    plans = []
    if t > Z:
        size = chain.gap - 1 if chain.gap else chain.tail
        pieces = [_piece(Z + 1, Z + size, jump, log_r)]
        if chain.gap:
            pieces.append(_piece(Z + chain.gap, t, chain.final, log_r))
        plans.append(plan(Z, pieces))
    if chain.gap and chain.tail:
        F = Z + chain.gap
        plans.append(plan(F, [_piece(F + 1, t, jump, log_r)]))
    if chain.visits > 1:
        most = _first_failure(absorbed, chain.visits - 1) + pooled + 1
        plans.append(lowest(back, min(most, chain.visits - 1)))
    return plans


def _piece(first: int, last: int, p: float, log_r: float) -> Piece:
    """The steps `first` to `last` with displacement p, in units of the weight at `first`."""
    return Piece(first, last, first, p, geometric_sum(2.0 * log_r, last - first + 1))


def _minorant(pieces: list[Piece], log_r: float) -> list[Piece]:
    return minorant(pieces, lambda n: math.exp(n * log_r), expanding=True)


def _energy(piece: Piece) -> float:
    """p^2 / v, in an order in which a large p does not overflow."""
    return piece.p * (piece.p / piece.v)
