"""Theorem B1: the best shifts of any schedule, from an isotonic regression, for all starts at once.

Write `w_k = prod_{j>k} c_j`, `p_k = w_k s_k`, `v_k = (w_k sd_k)^2`. Shifts a are a path
`A_k = sum_{j<=k} w_j a_j` over the clock `V_k = sum_{j<=k} v_j`, which has to stay below the
obstacle `O_k = sum_{j<=k} p_j` and meet it at the end; `mu^2` is the path's energy. The path of
least energy is the greatest convex minorant: on each of its straight pieces, the *blocks*, all
`p` and `v` are pooled and contribute `(sum p)^2 / (sum v)`.

A start `tau > 0` replaces what came before by the diameter D: a jump `w_tau D` in front of step
`tau + 1`. Only `tau = 0` and starts with `c_tau D + s_tau > D` can be best: otherwise starting one
step earlier, without a shift there, leads to a distance of at most D at `tau` as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from shiftdp._checks import Array, array_in, count, number_in
from shiftdp._errors import InvalidInput
from shiftdp._rounding import PROVED
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.interpolation.verify import proved_mu

__all__ = ["ShiftPath", "Shifts", "optimal_shifts"]

Indices = NDArray[np.int64]

# What a clock before the first shift may be, against the whole: it changes mu^2 by < 3 * 2^-100.
_NEGLIGIBLE = 2.0**-100
# log2 of the range of w_k sd_k that is kept in one unit. Slopes are compared by products of a p, of
# the order of w, and a v, of the order of its square: three times this is far from underflow, also
# for sensitivities that are 2^-300 of the largest.
_RANGE = 150.0
# Half the range of one unit, where the weights need several.
_UNIT = 100.0
# log2 of the largest D, over the largest sensitivity, that is tried as a start.
_FARTHEST = 200.0


class ShiftPath(NamedTuple):
    """The shifts step by step, for the steps `tau + 1` to `t`."""

    a: Array
    z: Array
    lam: Array


@dataclass(frozen=True, eq=False)
class Shifts:
    """A start and shifts for Theorem shift, block by block, with the mu that they prove.

    The distance is at most `start` after step `tau`. Block i covers the steps `first[i]` to
    `last[i]`; within it `a_k / (w_k sd_k^2)` is constant, that is `a_{k-1} / sd_{k-1}^2 = c_k a_k /
    sd_k^2`, so that one number fixes all shifts: `amount[i] = a_k` at `k = peak[i]`, the step with
    the largest `a_k / sd_k` (the last one if c <= 1 and the noise is constant). The distance is 0
    at the end of every block with a positive amount.
    """

    tau: int
    start: float
    first: Indices
    last: Indices
    peak: Indices
    amount: Array
    mu: float

    def expand(self, schedule: Schedule | PeriodicSchedule) -> ShiftPath:
        """The arrays `a_k`, `z_k` and `lambda_k = a_k / (c_k z_{k-1} + s_k)`.

        >>> schedule = Schedule([1.0, 1.0], [3.0, 0.0], [1.0, 1.0])
        >>> [x.tolist() for x in optimal_shifts(schedule).expand(schedule)]
        [[1.5, 1.5], [1.5, 0.0], [0.5, 1.0]]
        """
        c, s, sd = (x.tolist() for x in schedule.window(self.tau, schedule.steps))
        n = len(c)
        a, z = [0.0] * n, [0.0] * (n + 1)
        z[0] = self.start
        for first, last, peak, amount in zip(
            *(x.tolist() for x in (self.first, self.last, self.peak, self.amount)), strict=True
        ):
            i, j, m = first - 1 - self.tau, last - 1 - self.tau, peak - 1 - self.tau
            a[m] = amount
            for k in range(m, i, -1):
                a[k - 1] = a[k] * c[k] * (sd[k - 1] / sd[k]) ** 2
            for k in range(m, j):
                a[k + 1] = a[k] / c[k + 1] * (sd[k + 1] / sd[k]) ** 2 if c[k + 1] else 0.0
            top = m if amount > 0.0 else j + 1
            for k in range(i, min(top, n)):
                x = c[k] * z[k] + s[k]
                a[k] = min(a[k], x)
                z[k + 1] = x - a[k]
            for k in range(j, top, -1):
                # z = 0 after step j; behind the peak the recursion is stable backwards.
                z[k] = max(0.0, z[k + 1] + a[k] - s[k]) / c[k] if c[k] else 0.0
            if top <= j:
                a[top] = max(0.0, c[top] * z[top] + s[top] - z[top + 1])
        a[-1], z[-1] = c[-1] * z[-2] + s[-1], 0.0
        before = np.array(c) * np.array(z[:-1]) + np.array(s)
        lam = np.divide(a, before, out=np.zeros(n), where=before > 0.0)
        return ShiftPath(np.array(a), np.array(z[1:]), np.minimum(lam, 1.0))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            "tau": self.tau,
            "start": self.start,
            "first": self.first.tolist(),
            "last": self.last.tolist(),
            "peak": self.peak.tolist(),
            "amount": self.amount.tolist(),
            "mu": self.mu,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Shifts:
        """The inverse of `to_dict`. Whether the numbers prove anything is for `verify` to say."""
        names = {"tau", "start", "first", "last", "peak", "amount", "mu"}
        missing = sorted(names - data.keys())
        if missing:
            remedy = "give what Shifts.to_dict returns"
            raise InvalidInput("data", sorted(data), f"lacks {', '.join(missing)}", remedy)
        first, last, peak = (array_in(x, data[x], 1.0, 2.0**53) for x in ("first", "last", "peak"))
        return frozen_shifts(
            count("tau", data["tau"]),
            number_in("start", data["start"], 0.0),
            (first, last, peak),
            array_in("amount", data["amount"], 0.0, open_high=True),
            number_in("mu", data["mu"], 0.0),
        )


def optimal_shifts(schedule: Schedule) -> Shifts:
    """The smallest mu that Theorem shift can give, over all starts and all shifts. [Theorem B1]

    Let `g` be the increasing isotonic regression of `y_k = w_k s_k / v_k` with weights `v_k` on
    `tau < k <= t`, after adding `c_{tau+1} z_tau` to `s_{tau+1}`. Then `a_k = g_k w_k sd_k^2` and
    `mu^2 = sum v_k g_k^2`. The start is `tau = 0, z = 0` or any `tau` with `z = D`; all of them
    together cost O(t log t). `mu` is what `shiftdp.interpolation.verify.proved_mu` proves with the
    shifts found, rounded up, so it does not lean on the arithmetic here.

    >>> round(optimal_shifts(Schedule([1.0] * 4, [1.0, 0.0] * 2, [1.0] * 4)).mu, 9)
    1.0
    >>> round(optimal_shifts(Schedule([1.0] * 99, [1.0] * 99, [1.0] * 99, diameter=4.0)).mu, 9)
    4.0
    """
    if not np.any(schedule.sensitivity > 0.0):
        t = schedule.steps
        return frozen_shifts(0, 0.0, ([1], [t], [t]), [0.0], 0.0)
    clock = _clock(schedule)
    shifts = _shifts_from(clock, _best_start(clock))
    mu = proved_mu(schedule, shifts)
    if mu == math.inf:
        # Distances beyond the range of floats on the way: take back every visit at once instead.
        shifts = _composition(schedule)
        mu = proved_mu(schedule, shifts)
    return replace(shifts, mu=mu * (1.0 + PROVED))


def _composition(schedule: Schedule) -> Shifts:
    """`a_k = s_k`: each step a block of its own, the distance always 0."""
    k = np.arange(1, schedule.steps + 1)
    return frozen_shifts(0, 0.0, (k, k, k), schedule.sensitivity, math.inf)


def frozen_shifts(
    tau: int,
    start: float,
    blocks: tuple[ArrayLike, ArrayLike, ArrayLike],
    amount: ArrayLike,
    mu: float,
) -> Shifts:
    """Shifts with arrays of their own that cannot be written to; `blocks`: first, last, peak."""
    first, last, peak = (np.array(x, dtype=np.int64) for x in blocks)
    a = np.array(amount, dtype=np.float64)
    for array in (first, last, peak, a):
        array.flags.writeable = False
    return Shifts(tau, start, first, last, peak, a, mu)


@dataclass(frozen=True, eq=False)
class _Clock:
    """The steps after `lead` in the variables of Theorem B1; nothing is shifted up to `lead`.

    Noises are in units of about the largest one, sensitivities and distances in units in which the
    largest sensitivity is about as large as its noise. `log_w` is log2 of `w_k`, `log_q` that of
    `w_k sd_k`. Entry i of `p`, `v` and `jump` is in units of `2^unit[i]` (v: its square) or, if
    `unit` is None, of one power of two for all. `jump[i]` is what a start in front of step
    `lead + 1 + i` with distance D adds to `p[i]`; `before` what the steps up to `lead` add to p[0].
    """

    lead: int
    steps: int
    diameter: float
    scale: float
    signal: float
    c: Array
    s: Array
    log_w: Array
    log_q: Array
    p: Array
    v: Array
    jump: Array
    before: float
    log_before: float
    unit: list[int] | None


def _clock(schedule: Schedule) -> _Clock:
    """Weights through sums of logarithms, cut where the clock is negligible or c = 0."""
    # A power of two: changing units and back must not move the diameter by a rounding error.
    scale = 2.0 ** math.frexp(float(np.max(schedule.noise)))[1]
    zeros = np.flatnonzero(schedule.contraction == 0.0)
    lead = int(zeros[-1]) if zeros.size else 0
    c, s, sd = schedule.window(lead, schedule.steps)
    sd = sd / scale
    strongest = float(np.max(s / scale / sd))
    signal = 2.0 ** math.frexp(strongest)[1] if strongest > 0.0 else 1.0
    s, diameter = s / scale / signal, schedule.diameter / scale / signal
    if diameter > 2.0**_FARTHEST:
        diameter = math.inf
    log_w = np.zeros(c.size)
    log_w[:-1] = np.cumsum(np.log2(c[:0:-1]))[::-1]
    log_q = log_w + np.log2(sd)
    top = float(np.max(log_q))
    with np.errstate(under="ignore"):
        clock = np.cumsum(np.exp2(2.0 * (log_q - top)))
        cut = int(np.searchsorted(clock, clock[-1] * _NEGLIGIBLE, side="right"))
        # The sum of w_k s_k up to the cut, as a multiple of w at the first step kept.
        before = float(np.sum(np.exp2(log_w[:cut] - log_w[cut]) * s[:cut]))
    c, s, sd, log_w, log_q = (x[cut:] for x in (c, s, sd, log_w, log_q))
    unit: list[int] | None = None
    if float(np.min(log_q)) >= top - _RANGE:
        w = np.exp2(log_w - top)
    else:
        unit = _units(log_q.tolist())
        w = np.exp2(log_w - np.array(unit, dtype=np.float64))
    # An infinite diameter starts nothing.
    jump = c * w * diameter if diameter < math.inf else np.zeros(0)
    return _Clock(
        lead=lead + cut,
        steps=schedule.steps,
        diameter=diameter,
        scale=scale,
        signal=signal,
        c=c,
        s=s,
        log_w=log_w,
        log_q=log_q,
        p=w * s,
        v=(w * sd) ** 2,
        jump=jump,
        before=before * float(w[0]),
        log_before=math.log2(before) + float(log_w[0]) if before > 0.0 else -math.inf,
        unit=unit,
    )


def _units(log_q: Sequence[float]) -> list[int]:
    """A unit for every step, changed only when the weight has left its range."""
    units = []
    unit = math.floor(log_q[-1])
    for x in reversed(log_q):
        if abs(x - unit) > _UNIT:
            unit = math.floor(x)
        units.append(unit)
    units.reverse()
    return units


def _best_start(clock: _Clock) -> int:
    """The entry of the clock in front of which to start with distance D, or -1 for `tau = 0`.

    The chord from the start to the end bounds the energy below, for all starts in one go. What it
    cannot exclude, against the exact energy of the most promising start, is left to a scan.
    """
    n, D = clock.p.size, clock.diameter
    if math.isinf(D):
        return -1
    worth = np.empty(n, dtype=np.bool_)
    worth[0] = clock.lead > 0
    worth[1:] = clock.c[:-1] * D + clock.s[:-1] > D
    best, index = math.inf, -1
    if clock.unit is None:
        best = _energy(clock, -1)
        chord = np.cumsum(clock.p[::-1])[::-1] + clock.jump
        chord = chord**2 / np.cumsum(clock.v[::-1])[::-1]
        chord[~worth] = math.inf
        promising = int(np.argmin(chord))
        if chord[promising] < best:
            energy = _energy(clock, promising)
            if energy < best:
                best, index = energy, promising
        chord[promising] = math.inf
        candidates = np.flatnonzero(chord < best)
        if not candidates.size:
            return index
        lowest = int(candidates[0])
        bounds = chord[lowest:].tolist()
    else:
        lowest = 0
        bounds = np.where(worth, 0.0, math.inf).tolist()
    hull = _Hull()
    p, v, jump = clock.p[lowest:].tolist(), clock.v[lowest:].tolist(), clock.jump[lowest:].tolist()
    unit = [0] * len(p) if clock.unit is None else clock.unit
    for i in range(len(p) - 1, -1, -1):
        hull.prepend(i, p[i], v[i], unit[i])
        if hull.energy[-1] >= best:
            # Every earlier start pays at least for what follows here from distance 0.
            return index
        if bounds[i] < best:
            energy = hull.touch(jump[i], unit[i])
            if energy < best:
                best, index = energy, lowest + i
    if clock.unit is not None:
        whole = hull.touch(clock.before, unit[0]) if clock.before > 0.0 else hull.energy[-1]
        if whole <= best:
            return -1
    return index


def _obstacle(clock: _Clock, index: int) -> tuple[Array, list[int] | None]:
    """The steps from a start on, with its jump added to the first one."""
    begin = max(index, 0)
    p = clock.p[begin:].copy()
    p[0] += clock.jump[index] if index >= 0 else clock.before
    return p, None if clock.unit is None else clock.unit[begin:]


def _blocks(p: Array, v: Array, unit: list[int] | None) -> Indices:
    """The first entry of every block of the greatest convex minorant."""
    if unit is None:
        fit = scipy.optimize.isotonic_regression(p / v, weights=v)
        return np.asarray(fit.blocks[:-1], dtype=np.int64)
    hull = _Hull()
    steps = zip(p.tolist()[::-1], v.tolist()[::-1], unit[::-1], strict=True)
    for i, (pk, vk, uk) in enumerate(steps):
        hull.prepend(p.size - 1 - i, pk, vk, uk)
    return np.array(hull.first[::-1], dtype=np.int64)


def _energy(clock: _Clock, index: int) -> float:
    """mu^2 of one start (weights in a single unit)."""
    p, unit = _obstacle(clock, index)
    v = clock.v[max(index, 0) :]
    blocks = _blocks(p, v, unit)
    return float(np.sum(np.add.reduceat(p, blocks) ** 2 / np.add.reduceat(v, blocks)))


def _shifts_from(clock: _Clock, index: int) -> Shifts:
    """Blocks, peaks and amounts of one start, each block in units of its own peak."""
    p, unit = _obstacle(clock, index)
    begin = max(index, 0)
    blocks = _blocks(p, clock.v[begin:], unit)
    log_q = clock.log_q[begin:]
    ends = np.append(blocks[1:], log_q.size) - 1
    highest = np.maximum.reduceat(log_q, blocks)
    sizes = ends - blocks + 1
    at = np.flatnonzero(log_q == np.repeat(highest, sizes))
    # The last of the highest steps in each block.
    peak = at[np.searchsorted(at, ends, side="right") - 1]
    log_w = clock.log_w[begin:]
    sd_peak = np.exp2(log_q[peak] - log_w[peak])
    with np.errstate(under="ignore"):
        rows = np.repeat(np.arange(blocks.size), sizes)
        v = np.exp2(2.0 * (log_q - highest[rows]))
        pushes = np.exp2(log_w - highest[rows]) * clock.s[begin:]
        first_w = math.exp2(log_w[0] - highest[0])
        if index >= 0:
            pushes[0] += clock.c[begin] * first_w * clock.diameter
        elif clock.log_before > -math.inf:
            pushes[0] += math.exp2(clock.log_before - highest[0])
        amount = np.add.reduceat(pushes, blocks) / np.add.reduceat(v, blocks) * sd_peak
    tau = clock.lead + begin
    first, last, peak = blocks + (tau + 1), ends + (tau + 1), peak + (tau + 1)
    amount = amount * clock.signal * clock.scale
    if index >= 0:
        start = clock.diameter * clock.signal * clock.scale
        return frozen_shifts(tau, start, (first, last, peak), amount, math.inf)
    if tau > 0:
        first, last, peak, amount = (
            np.append(head, x) for head, x in ((1, first), (tau, last), (tau, peak), (0.0, amount))
        )
    return frozen_shifts(0, 0.0, (first, last, peak), amount, math.inf)


class _Hull:
    """The greatest convex minorant of the last steps, as steps are put in front of it.

    A stack of blocks, the leftmost on top: its first step, pooled p and v in units of `2^unit`, the
    energy from it to the end, and sums of p and v down the stack as far as the unit is the same.
    """

    __slots__ = ("bottom", "energy", "first", "p", "sum_p", "sum_v", "unit", "v")

    def __init__(self) -> None:
        self.first: list[int] = []
        self.p: list[float] = []
        self.v: list[float] = []
        self.unit: list[int] = []
        self.energy: list[float] = []
        self.sum_p: list[float] = []
        self.sum_v: list[float] = []
        self.bottom: list[int] = []

    def prepend(self, k: int, p: float, v: float, unit: int) -> None:
        """Put one step in front, pooling while the slope ahead is not larger."""
        ps, vs, units = self.p, self.v, self.unit
        while ps:
            if units[-1] == unit:
                if p * vs[-1] < ps[-1] * v:
                    break
                p += ps.pop()
                v += vs.pop()
                units.pop()
            else:
                factor = _power(unit - units[-1])
                if p * vs[-1] < ps[-1] * v * factor:
                    break
                p2, v2, unit2 = ps.pop(), vs.pop(), units.pop()
                if unit2 > unit:  # the heavier unit is kept: the lighter one may underflow
                    p, p2, v, v2, unit, factor = p2, p, v2, v, unit2, 1.0 / factor
                p, v = p + p2 / factor, v + v2 / factor**2
            self.first.pop()
            self.energy.pop()
            self.sum_p.pop()
            self.sum_v.pop()
            self.bottom.pop()
        if ps and units[-1] == unit:
            self.sum_p.append(self.sum_p[-1] + p)
            self.sum_v.append(self.sum_v[-1] + v)
            self.bottom.append(self.bottom[-1])
        else:
            self.sum_p.append(p)
            self.sum_v.append(v)
            self.bottom.append(len(ps))
        self.first.append(k)
        self.energy.append(p * p / v + (self.energy[-1] if ps else 0.0))
        ps.append(p)
        vs.append(v)
        units.append(unit)

    def touch(self, q: float, unit: int) -> float:
        """The energy if a jump q comes first: it absorbs blocks while they are less steep."""
        ps, vs, sum_p, sum_v = self.p, self.v, self.sum_p, self.sum_v
        top = len(ps) - 1
        v = 0.0
        while True:
            if unit != self.unit[top]:
                factor = _power(unit - self.unit[top])
                if v > 0.0 and not q * vs[top] >= ps[top] * v * factor:
                    return q * q / v + self.energy[top]  # before v leaves the range of floats
                q, v, unit = q * factor, v * factor * factor, self.unit[top]
            # A few blocks one by one, which is exact and often enough.
            m = top
            low = max(self.bottom[top], top - 4)
            while m >= low and q * vs[m] >= ps[m] * v:
                q += ps[m]
                v += vs[m]
                m -= 1
            if m >= low:
                return q * q / v + self.energy[m]
            low = self.bottom[top]
            if m >= low:
                # Blocks down to m + 1 are absorbed; find the first that is not.
                total_p, total_v = q + sum_p[m], v + sum_v[m]
                high = m + 1
                while low < high:
                    middle = (low + high) >> 1
                    if (total_p - sum_p[middle]) * vs[middle] >= ps[middle] * (
                        total_v - sum_v[middle]
                    ):
                        high = middle
                    else:
                        low = middle + 1
                # Blocks from `low` up are absorbed, the one below it is not (if it is in reach).
                bottom = self.bottom[top]
                if low > bottom:
                    q = total_p - sum_p[low - 1]
                    # Differences of sums may have lost v; the slope lies between its neighbours.
                    slope = ps[low - 1] / vs[low - 1]
                    rest = total_v - sum_v[low - 1]
                    if rest > 0.0:
                        slope = min(slope, q / rest)
                    return q * slope + self.energy[low - 1]
                q, v = total_p, total_v
            if self.bottom[top] == 0:
                return q * q / v
            top = self.bottom[top] - 1


def _power(exponent: int) -> float:
    """A power of two, held within the range of floats and of their squares."""
    return 2.0 ** max(-500, min(500, exponent))
