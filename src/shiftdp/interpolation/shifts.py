"""Theorem B1: the best shifts of any schedule, from an isotonic regression, for all starts at once.

Write `w_k = prod_{j>k} c_j`, `p_k = w_k s_k`, `v_k = (w_k sd_k)^2`. Shifts a are a path
`A_k = sum_{j<=k} w_j a_j` over the clock `V_k = sum_{j<=k} v_j`, which has to stay below the
obstacle `O_k = sum_{j<=k} p_j` and meet it at the end; `mu^2` is the path's energy. The path of
least energy is the greatest convex minorant: on each of its straight pieces, the *blocks*, all
`p` and `v` are pooled and contribute `(sum p)^2 / (sum v)`.

A start `tau > 0` replaces what came before by the diameter D: a jump `w_tau D` in front of step
`tau + 1`. Only `tau = 0` and starts with `c_tau D + s_tau > D` can be best: otherwise starting one
step earlier, without a shift there, leads to a distance of at most D at `tau` as well.

A step without noise has `v = 0`: the obstacle rises there while the clock stands still, and the
path cannot. So such a step belongs to the block of the next step with noise, and after the last
of those nothing may visit the record.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import PROVED
from shiftdp.interpolation.convex_minorant import Minorant, blocks_of, units_of
from shiftdp.interpolation.schedule import Schedule, ShiftPath, Shifts, frozen_shifts
from shiftdp.interpolation.verification import proved_mu

__all__ = ["ShiftPath", "Shifts", "frozen_shifts", "optimal_shifts"]

# What a clock before the first shift may be, against the whole: it changes mu^2 by < 3 * 2^-100.
_NEGLIGIBLE = 2.0**-100
# log2 of the range of w_k sd_k that is kept in one unit. Slopes are compared by products of a p, of
# the order of w, and a v, of the order of its square: three times this is far from underflow, also
# for sensitivities that are 2^-300 of the largest.
_RANGE = 150.0
_GREATEST = sys.float_info.max
# log2 of the largest D, over the largest sensitivity, that is tried as a start.
_FARTHEST = 200.0


def optimal_shifts(schedule: Schedule) -> Shifts:
    """The smallest mu that Theorem shift can give, over all starts and all shifts. [Theorem B1]

    Let `g` be the increasing isotonic regression of `y_k = w_k s_k / v_k` with weights `v_k` on
    `tau < k <= t`, after adding `c_{tau+1} z_tau` to `s_{tau+1}`. Then `a_k = g_k w_k sd_k^2` and
    `mu^2 = sum v_k g_k^2`. The start is `tau = 0, z = 0` or any `tau` with `z = D`; all of them
    together cost O(t log t). `mu` is what `shiftdp.interpolation.verification` proves with the
    shifts found, rounded up, so it does not lean on the arithmetic here.

    Steps may be without noise. Raises `UnmetHypothesis` if one of them visits the record and no
    noise comes after it.

    >>> round(optimal_shifts(Schedule([1.0] * 4, [1.0, 0.0] * 2, [1.0] * 4)).mu, 9)
    1.0
    >>> round(optimal_shifts(Schedule([1.0] * 99, [1.0] * 99, [1.0] * 99, diameter=4.0)).mu, 9)
    4.0
    >>> round(optimal_shifts(Schedule([1.0] * 4, [1.0] * 4, [0.0, 0.0, 0.0, 2.0])).mu, 9)
    2.0
    """
    t = schedule.steps
    end = _last_noise(schedule)
    if end == 0 or not np.any(schedule.sensitivity > 0.0):
        return frozen_shifts(0, 0.0, ([1], [t], [t]), [0.0], 0.0)
    clock = _clock(schedule, end)
    shifts = _up_to(t, _shifts_from(clock, _best_start(clock)))
    mu = proved_mu(schedule, shifts)
    if mu == math.inf:
        # Distances beyond the range of floats on the way: take back every visit at once instead.
        shifts = _up_to(t, _composition(schedule, end))
        mu = proved_mu(schedule, shifts)
    return replace(shifts, mu=mu * (1.0 + PROVED))


def _last_noise(schedule: Schedule) -> int:
    """The last step with noise, after which nothing may visit the record; 0 if nothing counts."""
    noisy = np.flatnonzero(schedule.noise)
    end = int(noisy[-1]) + 1 if noisy.size else 0
    if end == schedule.steps:
        return end
    c, s, _ = schedule.window(end, schedule.steps)
    forgets = np.flatnonzero(c == 0.0)
    seen = s[forgets[-1] :] if forgets.size else s
    if np.any(seen > 0.0):
        k = schedule.steps - seen.size + 1 + int(np.flatnonzero(seen)[-1])
        raise UnmetHypothesis(
            "noise",
            0.0,
            f"is the noise of step {k}, which uses the record, and of all after it: what the "
            "record does there is released as it is",
            f"give noise to the last step, {schedule.steps}",
        )
    return 0 if forgets.size else end


def _up_to(steps: int, shifts: Shifts) -> Shifts:
    """The shifts with a block that does nothing for the steps after the last noise, if any."""
    end = int(shifts.last[-1])
    if end == steps:
        return shifts
    first, last, peak, amount = (
        np.append(x, tail)
        for x, tail in (
            (shifts.first, end + 1),
            (shifts.last, steps),
            (shifts.peak, steps),
            (shifts.amount, 0.0),
        )
    )
    return frozen_shifts(shifts.tau, shifts.start, (first, last, peak), amount, shifts.mu)


def _composition(schedule: Schedule, end: int) -> Shifts:
    """Composition as shifts: each step with noise removes the whole distance; a block for each."""
    c, s, sd = schedule.window(0, end)
    last = np.flatnonzero(sd) + 1
    amount, z = [], 0.0
    for ck, sk, noisy in zip(c.tolist(), s.tolist(), (sd > 0.0).tolist(), strict=True):
        z = ck * z + sk
        if noisy:
            amount.append(z)
            z = 0.0
    first = np.append(1, last[:-1] + 1)
    return frozen_shifts(0, 0.0, (first, last, last), _held(np.array(amount)), math.inf)


def _held(amount: Array) -> Array:
    """Amounts beyond the range of floats, cut to the greatest: with them nothing is proved."""
    return np.nan_to_num(amount, nan=_GREATEST, posinf=_GREATEST)


@dataclass(frozen=True, eq=False)
class _Clock:
    """The steps after `lead` up to the last noise in the variables of Theorem B1.

    Nothing is shifted up to `lead`. Noises are in units of about the largest one, sensitivities and
    distances in units in which the largest sensitivity is about as large as its noise. `log_w` is
    log2 of `w_k`, `log_q` that of `w_k sd_k`. Entry i of `p`, `v` and `jump` is in units of
    `2^unit[i]` (v: its square) or, if `unit` is None, of one power of two for all. `jump[i]` is
    what a start in front of step `lead + 1 + i` with distance D adds to `p[i]`; `before` what the
    steps up to `lead` add to p[0]. Where there is no noise, `v` is 0 and `log_q` minus infinity.
    """

    lead: int
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


def _clock(schedule: Schedule, end: int) -> _Clock:
    """Weights through sums of logarithms, cut where the clock is negligible or c = 0."""
    # A power of two: changing units and back must not move the diameter by a rounding error.
    scale = 2.0 ** min(math.frexp(float(np.max(schedule.noise)))[1], sys.float_info.max_exp - 1)
    zeros = np.flatnonzero(schedule.contraction[:end] == 0.0)
    lead = int(zeros[-1]) if zeros.size else 0
    c, s, sd = schedule.window(lead, end)
    sd = sd / scale
    noisy = np.flatnonzero(sd)
    # for each step, the first one from there on that has noise
    ahead = noisy[np.searchsorted(noisy, np.arange(sd.size))]
    strongest = float(np.max(s / scale / sd[ahead]))
    signal = 2.0 ** math.frexp(strongest)[1] if strongest > 0.0 else 1.0
    s, diameter = s / scale / signal, schedule.diameter / scale / signal
    if diameter > 2.0**_FARTHEST:
        diameter = math.inf
    log_w = np.zeros(c.size)
    log_w[:-1] = np.cumsum(np.log2(c[:0:-1]))[::-1]
    log_q = np.full(sd.size, -math.inf)
    log_q[noisy] = log_w[noisy] + np.log2(sd[noisy])
    top = float(np.max(log_q))
    with np.errstate(under="ignore"):
        clock = np.cumsum(np.exp2(2.0 * (log_q - top)))
        cut = int(np.searchsorted(clock, clock[-1] * _NEGLIGIBLE, side="right"))
        # steps without noise in front of the first one that counts may be good places to start
        cut = int(noisy[noisy < cut][-1]) + 1 if np.any(noisy < cut) else 0
        # The sum of w_k s_k up to the cut, as a multiple of w at the first step kept.
        before = float(np.sum(np.exp2(log_w[:cut] - log_w[cut]) * s[:cut]))
    level = log_q[ahead[cut:]]
    # log2 of the most by which a distance grows on the way to the next step with noise
    grown = float(np.max(log_w[cut:] - log_w[ahead[cut:]]))
    c, s, sd, log_w, log_q = (x[cut:] for x in (c, s, sd, log_w, log_q))
    unit: list[int] | None = None
    # A weight that no float can hold makes mu infinite, or 0, in what is tried here.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if float(np.min(level)) >= top - _RANGE and grown <= _RANGE:
            w = np.exp2(log_w - top)
        else:
            unit = units_of(level.tolist())
            w = np.exp2(log_w - np.array(unit, dtype=np.float64))
        p = np.where(s > 0.0, w * s, 0.0)
        v = np.where(sd > 0.0, (w * sd) ** 2, 0.0)
        # An infinite diameter starts nothing.
        jump = c * w * diameter if diameter < math.inf else np.zeros(0)
    return _Clock(
        lead=lead + cut,
        diameter=diameter,
        scale=scale,
        signal=signal,
        c=c,
        s=s,
        log_w=log_w,
        log_q=log_q,
        p=p,
        v=v,
        jump=jump,
        before=before * float(w[0]),
        log_before=math.log2(before) + float(log_w[0]) if before > 0.0 else -math.inf,
        unit=unit,
    )


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
    minorant = Minorant()
    p, v, jump = clock.p[lowest:].tolist(), clock.v[lowest:].tolist(), clock.jump[lowest:].tolist()
    unit = [0] * len(p) if clock.unit is None else clock.unit
    for i in range(len(p) - 1, -1, -1):
        minorant.prepend(i, p[i], v[i], unit[i])
        if minorant.energy[-1] >= best:
            # Every earlier start pays at least for what follows here from distance 0.
            return index
        if bounds[i] < best:
            energy = minorant.touch(jump[i], unit[i])
            if energy < best:
                best, index = energy, lowest + i
    if clock.unit is not None:
        whole = minorant.touch(clock.before, unit[0]) if clock.before > 0.0 else minorant.energy[-1]
        if whole <= best:
            return -1
    return index


def _obstacle(clock: _Clock, index: int) -> tuple[Array, list[int] | None]:
    """The steps from a start on, with its jump added to the first one."""
    begin = max(index, 0)
    p = clock.p[begin:].copy()
    p[0] += clock.jump[index] if index >= 0 else clock.before
    return p, None if clock.unit is None else clock.unit[begin:]


def _energy(clock: _Clock, index: int) -> float:
    """mu^2 of one start (weights in a single unit)."""
    p, unit = _obstacle(clock, index)
    v = clock.v[max(index, 0) :]
    blocks = blocks_of(p, v, unit)
    return float(np.sum(np.add.reduceat(p, blocks) ** 2 / np.add.reduceat(v, blocks)))


def _shifts_from(clock: _Clock, index: int) -> Shifts:
    """Blocks, peaks and amounts of one start, each block in units of its own peak."""
    p, unit = _obstacle(clock, index)
    begin = max(index, 0)
    blocks = blocks_of(p, clock.v[begin:], unit)
    log_q = clock.log_q[begin:]
    ends = np.append(blocks[1:], log_q.size) - 1
    highest = np.maximum.reduceat(log_q, blocks)
    sizes = ends - blocks + 1
    at = np.flatnonzero(log_q == np.repeat(highest, sizes))
    # The last of the highest steps in each block.
    peak = at[np.searchsorted(at, ends, side="right") - 1]
    log_w = clock.log_w[begin:]
    sd_peak = np.exp2(log_q[peak] - log_w[peak])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        rows = np.repeat(np.arange(blocks.size), sizes)
        v = np.exp2(2.0 * (log_q - highest[rows]))
        pushes = np.exp2(log_w - highest[rows]) * clock.s[begin:]
        first_w = np.exp2(log_w[0] - highest[0])
        if index >= 0:
            pushes[0] += clock.c[begin] * first_w * clock.diameter
        elif clock.log_before > -math.inf:
            pushes[0] += np.exp2(clock.log_before - highest[0])
        amount = np.add.reduceat(pushes, blocks) / np.add.reduceat(v, blocks) * sd_peak
        amount = _held(amount * clock.signal * clock.scale)
    tau = clock.lead + begin
    first, last, peak = blocks + (tau + 1), ends + (tau + 1), peak + (tau + 1)
    if index >= 0:
        start = clock.diameter * clock.signal * clock.scale
        return frozen_shifts(tau, start, (first, last, peak), amount, math.inf)
    if tau > 0:
        first, last, peak, amount = (
            np.append(head, x) for head, x in ((1, first), (tau, last), (tau, peak), (0.0, amount))
        )
    return frozen_shifts(0, 0.0, (first, last, peak), amount, math.inf)
