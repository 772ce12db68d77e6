"""Theorem B5: what some instance of the class attains, and when that makes Theorem B1 exact.

Losses that are m-strongly convex and M-smooth with m < M can show any slope c'_k between
`floor_k = max(0, 1 - eta_k M, eta_k m - 1)` and `c_k` at step k (`drifting_instance` builds them).
The last iterates are then Gaussians with quotient of mean shift and deviation

    (sum w'_k s_k) / sqrt(sum (w'_k sd_k)^2),     w'_k = prod_{j>k} c'_j,

so no run of the class is mu-GDP below it. The best slopes are found by a projection on a convex
cone (`bounded_slopes`); where no floor is active they are the isotonic ones and mu is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from shiftdp._checks import Array, array_in, finite
from shiftdp._errors import InvalidInput
from shiftdp._rounding import AMPLE, FOUR_ROUNDINGS, NINE_ROUNDINGS, NOT_ZERO, round_down
from shiftdp.interpolation.bounded_slopes import unconstrained_ends, walk_back
from shiftdp.interpolation.closed_forms._shared import one_minus_power, per_step
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule

# Longest stretch on which the isotonic slopes are sought; what lies before keeps the slopes c.
_LONGEST = 200_000
# Longest stretch on which slopes are optimised against active floors, which costs more.
_LONGEST_WITH_FLOORS = 20_000
# Weights below this part of the last one cannot change a float.
_FORGOTTEN = math.log(1e-200)
# A slope that is short of its floor by less than this part is a tie that rounding broke.
_TIE = 1e-11
# A floor above the contraction by no more than this, a part and an addend, is that by rounding.
_FLOOR_PART, _FLOOR_BY = AMPLE, NINE_ROUNDINGS
# Optimising a step against a floor f costs as much as 1 + _PRICE / sqrt(1 - f) without (measured).
_PRICE, _NEAREST_TO_1 = 0.05, 1e-12
# Exponents up to which products of weights are used as they are: their squares are floats.
_LARGEST_EXPONENT = 256


@dataclass(frozen=True, eq=False)
class LowerBound:
    """A mu that the class attains (in the limit of long drifts), rounded down.

    Args:
        mu: no member of the family G(mu') with mu' < mu holds for the whole class.
        exact: whether Theorem B1 gives the same number, up to rounding.
        slopes: c' of the last `len(slopes)` steps. Before them it is c (of equal steps, the floor
            up to the first visit). None are listed for very long runs of steps that expand.
    """

    mu: float
    exact: bool
    slopes: Array = field(repr=False)


def slope_floor(learning_rate: ArrayLike, strong_convexity: float, smoothness: float) -> Array:
    """floor = max(0, 1 - eta M, eta m - 1): the least |1 - eta h| over curvatures h in [m, M].

    Rounded up, so that every slope above it is allowed.

    >>> slope_floor([0.05, 0.2, 0.5], 1.0, 10.0).round(3)
    array([0.5, 0. , 0. ])
    """
    eta = array_in("learning_rate", learning_rate, 0.0, open_low=True, open_high=True)
    m, M = finite("strong_convexity", strong_convexity), finite("smoothness", smoothness)
    raw = np.maximum(1.0 - eta * M, eta * m - 1.0)
    return np.where(raw > 0.0, raw + FOUR_ROUNDINGS * (1.0 + eta * abs(M)), 0.0)


def no_lower_bound(
    strong_convexity: float, smoothness: float, diameter: float, adjacency: str
) -> str | None:
    """Why Theorem B5 does not apply, or None if it does.

    >>> no_lower_bound(1.0, 1.0, math.inf, "replace_one")
    'strong_convexity = smoothness: all losses are one quadratic up to a linear term'
    >>> no_lower_bound(0.0, 1.0, math.inf, "replace_one") is None
    True
    """
    if adjacency != "replace_one":
        return f"adjacency {adjacency!r}: the drifting instance exchanges a record"
    if not strong_convexity < smoothness:
        return "strong_convexity = smoothness: all losses are one quadratic up to a linear term"
    if diameter != math.inf:
        return "finite diameter: the drifting instance needs unbounded room"
    return None


def lower_mu(schedule: Schedule, floor: ArrayLike) -> LowerBound | None:
    """Theorem B5 for any schedule without projection, replace-one, m < M.

    Steps may be without noise; mu is infinite where one of them shows the record and nothing after
    it hides or forgets it. The caller vouches for adjacency and m < M (`no_lower_bound` says why
    not). The contraction is taken at its word: a caller who computes it must not round it up.

    Args:
        schedule: the steps; None is returned if its diameter is finite.
        floor: least slope that the class allows at each step (`slope_floor`), or one for all;
            None is returned if one exceeds 1 (eta m > 2: that step expands whatever the loss).

    >>> visits = [0, 0, 1, 0, 0, 1, 0, 0, 1]
    >>> bound = lower_mu(Schedule([0.9] * 9, visits, [1.0] * 9), floor=0.0)
    >>> round(bound.mu, 4), bound.exact
    (1.2326, True)
    """
    c, t = schedule.contraction, schedule.steps
    f = _floor(floor, c)
    if schedule.diameter != math.inf or np.any(f > 1.0):
        return None
    if _is_shown(schedule):
        return LowerBound(math.inf, True, c)
    unit = float(schedule.noise.max())
    if unit == 0.0:
        return LowerBound(0.0, True, c)
    s, d = schedule.sensitivity / unit, (schedule.noise / unit) ** 2
    first, negligible = _tail(c)
    if first > 0:
        # The steps before `first`, with their largest slopes, act as one step of weight w = 1.
        w, exponent = _weights(c[:first])
        if exponent <= _LARGEST_EXPONENT:
            w = np.ldexp(w, exponent)
            s = np.append(float(np.sum(w * s[:first])), s[first:])
            d = np.append(float(np.sum(w * w * d[:first])), d[first:])
            c, f = c[first - 1 :], f[first - 1 :]
        else:
            negligible = True  # c > 1: the past weighs more than the end, keep all of it
    slopes, value, raised = _optimise(c, f, s, d)
    kept = slopes if c.size == t else slopes[1:]
    return LowerBound(round_down(value, 2 * t), not raised and (negligible or first == 0), kept)


def lower_mu_periodic(schedule: PeriodicSchedule, floor: float) -> LowerBound | None:
    """Theorem B5 for equal steps, in closed form where the floor is not active.

    With c <= 1 the isotonic fit has at most two blocks, cut at the last visit v: the points before
    each visit lie on a concave chain, of which only the ends can be on its convex minorant. So
    every slope is c, save at v and, if something comes before it, at the first visit. If the floor
    forbids that, the last steps are optimised one by one and the earlier ones keep the slope c.

    Args:
        schedule: the steps; None is returned if its diameter is finite.
        floor: least slope that the class allows; None is returned if it exceeds 1.

    >>> run = PeriodicSchedule(0.9999, 1.0, 1.5, period=40, first=40, steps=40 * 10**6)
    >>> bound = lower_mu_periodic(run, floor=0.0)
    >>> round(bound.mu, 4), bound.exact
    (2.445, True)
    """
    c, s, sd, t = schedule.contraction, schedule.sensitivity, schedule.noise, schedule.steps
    f = float(_floor(floor, np.array([c]))[0])
    if schedule.diameter != math.inf or f > 1.0:
        return None
    v, none = schedule.last_visit, np.empty(0)
    if v == 0 or s == 0.0:
        return LowerBound(0.0, True, none)
    if c > 1.0:
        return _long_expanding(schedule, f) if t > _LONGEST else lower_mu(schedule.expand(), f)
    r = s / sd
    A, B = _pinned(c, f, schedule.period, schedule.first, v - 1)
    fade, end = c ** (t - v), _square_sum(c, t - v + 1)
    if fade == 0.0:
        return LowerBound(0.0, c == 0.0, none)
    # The best weight x of step v - 1 maximises (fade + x A) / sqrt(end + x^2 B); x = c' fade.
    wanted = A * end / (B * fade * fade) if B > 0.0 else c
    at_visit = min(c, max(f, wanted))
    value = fade * (1.0 + at_visit * A) / math.sqrt(end + (at_visit * fade) ** 2 * B)
    slopes = np.full(t - v + 1, c)
    slopes[0] = at_visit
    exact = wanted >= f * (1.0 - _TIE) and (f == 0.0 or schedule.first == 1)
    if not exact:
        tail = min(t, max(_affordable(f), min(4 * schedule.period, _LONGEST)))
        gain, cost = np.zeros(tail), np.ones(tail)
        k = np.arange(t - tail + 1, t + 1)
        gain[(k >= schedule.first) & ((k - schedule.first) % schedule.period == 0)] = 1.0
        A, B = _pinned(c, f, schedule.period, schedule.first, t - tail)
        if tail < t:
            gain, cost = np.append(A, gain), np.append(B, cost)
        every = np.ones(gain.size)
        better, other, _ = _optimise(c * every, f * every, gain, cost)
        if other > value:
            value, slopes = other, better[gain.size - tail :]
    return LowerBound(round_down(r * value, 2 * slopes.size), exact, slopes)


def _long_expanding(schedule: PeriodicSchedule, f: float) -> LowerBound:
    """c > 1, too many steps to list: slopes of 1 throughout, or the isotonic ones if allowed.

    These are c, but `c^(1 - period)` at every visit, and 0 at the first one if it is not step 1.
    Every visit is then a block of its own: Theorem B1 gives the same number.
    """
    c, n, t, period = schedule.contraction, schedule.visits, schedule.steps, schedule.period
    squares = n * (n / t)
    exact = (f == 0.0 or schedule.first == 1) and (1 - period) * math.log(c) >= math.log(
        f or NOT_ZERO
    )
    if exact:
        block, end = (_square_sum(1.0 / c, size) for size in (period, t - schedule.last_visit + 1))
        squares = max(squares, (n - 1) / block + 1.0 / end)
    r = schedule.sensitivity / schedule.noise
    return LowerBound(round_down(r * math.sqrt(squares), 64), exact, np.empty(0))


def _optimise(c: Array, f: Array, gain: Array, cost: Array) -> tuple[Array, float, bool]:
    """Good slopes, their quotient (not yet rounded down), and whether a floor is active.

    The best ones if no floor is, or if the stretch is affordable. On a longer one, the early steps
    take the isotonic slopes, raised to the floor, and the late ones the best that goes with them.
    """
    if not gain.any():
        return c, 0.0, False
    slopes = _project(c, np.zeros_like(f), gain, cost)
    raised = bool(np.any(slopes[1:] < f[1:] * (1.0 - _TIE)))
    slopes = np.maximum(slopes, f)
    candidates = [c, slopes]
    if raised:
        late = max(0, c.size - _affordable(float(np.median(f))))
        w, exponent = _weights(slopes[: late + 1])
        if exponent <= _LARGEST_EXPONENT:
            w = np.ldexp(w, exponent)
            folded_gain, folded_cost = gain[late:].copy(), cost[late:].copy()
            folded_gain[0] = float(np.sum(w * gain[: late + 1]))
            folded_cost[0] = float(np.sum(w * w * cost[: late + 1]))
            found = _project(c[late:], f[late:], folded_gain, folded_cost)
            candidates.append(np.concatenate((slopes[: late + 1], found[1:])))
    values = [_quotient(candidate, gain, cost) for candidate in candidates]
    best = int(np.argmax(values))
    return candidates[best], values[best], raised


def _project(c: Array, f: Array, gain: Array, cost: Array) -> Array:
    """The best slopes, a stretch of steps without noise being one with the noisy step after it.

    In such a stretch all slopes but the first are as large as they may be: that makes the gains in
    it largest, and how much of the past it keeps is left to the first one. (Where the floor of that
    one is active, another choice may be better still.)
    """
    noisy = np.flatnonzero(cost)
    first = np.append(0, noisy[:-1] + 1)
    total, passed = gain.copy(), np.ones(noisy.size)
    for i in np.flatnonzero(first < noisy).tolist():
        for k in range(first[i] + 1, noisy[i] + 1):
            total[k] += total[k - 1] * c[k]
            passed[i] *= c[k]
    floors, ceilings = (f[first] * passed).tolist(), (c[first] * passed).tolist()
    ends = unconstrained_ends(floors, ceilings, total[noisy].tolist(), cost[noisy].tolist())
    chosen = np.array(walk_back(ends, floors, ceilings))
    slopes = c.copy()
    chosen = np.divide(chosen, passed, out=c[first], where=passed > 0.0)
    slopes[first] = np.minimum(np.maximum(chosen, f[first]), c[first])
    return slopes


def _is_shown(schedule: Schedule) -> bool:
    """Whether a visit comes after the last noise, and no step after it has slope 0."""
    noisy = np.flatnonzero(schedule.noise)
    c, s, _ = schedule.window(int(noisy[-1]) + 1 if noisy.size else 0, schedule.steps)
    forgets = np.flatnonzero(c == 0.0)
    return bool(np.any(s[forgets[-1] :] if forgets.size else s))


def _affordable(floor: float) -> int:
    """How many steps to optimise against floors: the nearer to 1 they are, the more a step costs.

    And the less there is to gain.
    """
    price = 1.0 + _PRICE / math.sqrt(max(1.0 - floor, _NEAREST_TO_1))
    return max(1_000, int(_LONGEST_WITH_FLOORS / price))


def _quotient(slopes: Array, gain: Array, cost: Array) -> float:
    w, _ = _weights(slopes)
    # The addend outweighs every square that was lost to underflow.
    spread = float(np.sum(w * w * cost)) + w.size * NOT_ZERO
    return float(np.sum(w * gain)) / math.sqrt(spread)


def _weights(slopes: Array) -> tuple[Array, int]:
    """`prod_{j>k} slope_j`, divided by a power of two that makes the largest about 1."""
    mantissa, exponent = np.frexp(slopes[:0:-1])
    total = np.concatenate(([0], np.cumsum(exponent.astype(np.int64))))
    product = np.ones(slopes.size)
    # The mantissas are at least 1/2 (or 0): in pieces of 512 their product stays a normal number.
    carried, shift = 1.0, 0
    for low in range(0, mantissa.size, 512):
        piece = np.cumprod(mantissa[low : low + 512]) * carried
        product[low + 1 : low + 1 + piece.size] = piece
        total[low + 1 : low + 1 + piece.size] += shift
        carried, extra = math.frexp(float(piece[-1]))
        shift += extra
    product, extra_places = np.frexp(product)
    total += extra_places
    largest = int(np.max(np.where(product > 0.0, total, total.min())))
    places = np.maximum(total - largest, -2000).astype(np.int32)
    return np.ldexp(product, places)[::-1], largest


def _tail(c: Array) -> tuple[int, bool]:
    """From which step on to optimise, and whether all that comes before is beyond notice."""
    with np.errstate(divide="ignore"):
        logs = np.cumsum(np.log(c[::-1]))
    gone = np.flatnonzero(logs < _FORGOTTEN)
    kept = c.size if gone.size == 0 else int(gone[0]) + 1
    if kept <= _LONGEST:
        return c.size - kept, True
    return c.size - _LONGEST, False


def _pinned(c: float, f: float, period: int, first: int, steps: int) -> tuple[float, float]:
    """`sum w` over the visits and `sum w^2` over all of the first steps; w = 1 at their end.

    Slopes are c, but f up to the first visit.
    """
    if steps < first:
        return 0.0, _square_sum(f, steps)
    visits = (steps - first) // period + 1
    since = steps - first - period * (visits - 1)
    gap = one_minus_power(1.0 - c, period)
    chain = one_minus_power(1.0 - c, period * visits) / gap if gap > 0.0 else float(visits)
    fade = c ** (steps - first)
    return c**since * chain, _square_sum(c, steps - first + 1) + (fade * f) ** 2 * _square_sum(
        f, first - 1
    )


def _square_sum(q: float, terms: int) -> float:
    """1 + q^2 + ... with that many terms, for 0 <= q <= 1."""
    if q == 1.0:
        return float(terms)
    return one_minus_power(1.0 - q, 2 * terms) / ((1.0 - q) * (1.0 + q))


def _floor(floor: ArrayLike, c: Array) -> Array:
    f = per_step("floor", floor, c.size)
    if np.any(f > c * (1.0 + _FLOOR_PART) + _FLOOR_BY):
        k = int(np.argmax(f - c))
        raise InvalidInput(
            "floor", float(f[k]), f"exceeds the contraction {c[k]}", "give floor <= contraction"
        )
    return np.minimum(f, c)
