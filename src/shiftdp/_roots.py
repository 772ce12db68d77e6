"""The one root-finder: it ends on the safe side of its tolerance.

`least` and `most` bisect a monotone condition, many at once. `settle` looks for one place where a
costly condition changes, real or whole, by secants inside a bracket that it finds itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array

__all__ = ["Settled", "bracket_up", "least", "most", "settle"]

Condition = Callable[[Array], NDArray[np.bool_]]
_HALVINGS = 200
_MOST_STEPS = 400
_LONGEST_LEAP = math.log(1e4)
_PATIENCE = 3  # secants that may fail to halve the bracket
_NEAR = 0.02  # between two points whose secant is trusted to say how far the change is


def least(holds: Condition, low: Array, high: Array) -> Array:
    """The least x in [low, high] from which `holds` is true, as a float that satisfies it.

    To the last bit, or to 2^-200 of the bracket. `high` must satisfy it.

    >>> least(lambda x: x * x >= 2, np.array([0.0]), np.array([2.0])) ** 2 >= 2
    array([ True])
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    done = holds(low)
    high[done] = low[done]
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if np.all((middle <= low) | (middle >= high)):
            break
        good = holds(middle)
        high = np.where(good, middle, high)
        low = np.where(good, low, middle)
    return high


def most(holds: Condition, low: Array, high: Array) -> Array:
    """The greatest x in [low, high] up to which `holds` is true; `low` must satisfy it.

    >>> most(lambda x: x * x <= 2, np.array([0.0]), np.array([2.0])) ** 2 <= 2
    array([ True])
    """
    return -least(lambda x: holds(-x), -np.asarray(high), -np.asarray(low))


def bracket_up(holds: Condition, start: Array, limit: float = 1e300) -> Array:
    """A point right of `start` > 0 where `holds`, by squaring the factor; infinity if none."""
    high = np.array(start, dtype=np.float64)
    factor = 2.0
    while True:
        missing = ~holds(high)
        if not missing.any():
            return high
        with np.errstate(over="ignore"):
            further = high[missing] * factor
        high[missing] = np.where(further < limit, further, math.inf)
        if np.all(np.isinf(high[missing])):
            return high
        factor *= factor


class Settled(NamedTuple):
    """Where a condition changes: `meets` holds and `misses`, beside it, does not.

    One of them is None if the condition is the same up to the end of the interval.
    """

    meets: float | None
    misses: float | None


def settle(
    excess: Callable[[float], float],
    start: float,
    low: float,
    high: float,
    *,
    slope: float,
    relative: float = 1e-7,
    whole: bool = False,
    trust: bool = False,
) -> Settled:
    """The place nearest to `start` where `excess` changes sign, on the side where it is <= 0.

    Args:
        excess: of x > 0; met where <= 0. Infinite where nothing is known but the sign.
        start: where to begin, inside [low, high].
        low, high: the ends of the interval.
        slope: a guess of d excess / d log x; its sign says on which side the condition is met.
        relative: the two x that come back differ by no more, as a part; unless `whole`, where they
            differ by 1.
        trust: the point that misses need not be evaluated, if the last secant puts it there.

    >>> place = settle(lambda x: math.log(2 / (x * x)), 1.0, 1e-9, 1e9, slope=-1.0)
    >>> place.meets**2 >= 2 > place.misses**2
    True
    >>> settle(lambda n: n * n - 1000.0, 1.0, 1.0, 1e9, slope=1.0, whole=True)
    Settled(meets=31.0, misses=32.0)
    """
    side = -math.copysign(1.0, slope)  # towards where it is met
    meets: float | None = None
    misses: float | None = None
    before: tuple[float, float] | None = None
    x, leap, crawl, stale = start, math.log(2.0), 0.5 * relative, 0
    for _ in range(_MOST_STEPS):
        value = excess(x)
        width = _width(meets, misses)
        if value <= 0.0:
            meets = x
        else:
            misses = x
        at, steep, near = math.log(x), slope, False
        if before is not None and before[0] != at and math.isfinite(before[1] - value):
            secant = (before[1] - value) / (before[0] - at)
            if secant * slope > 0.0:
                steep, near = secant, abs(before[0] - at) < _NEAR
        before = at, value
        if trust and near and value <= 0.0 and -value <= 0.5 * relative * abs(steep):
            break
        if meets is not None and misses is not None:
            if whole and abs(meets - misses) <= 1.0:
                break
            if not whole and abs(meets - misses) <= relative * meets:
                break
        elif x == (high if (value > 0.0) == (side > 0.0) else low):
            break
        root = at - value / steep if math.isfinite(value) else math.nan
        # aim beyond the root, where it is met, or just before it if the last point is so close
        ahead = value > 0.0 or -value > relative * abs(steep)
        aim = root + (0.3 if ahead else -0.3) * relative * side
        if meets is None or misses is None:
            onward = side if value > 0.0 else -side
            step = (aim - at) * onward if math.isfinite(aim) else leap
            step = min(max(step, crawl, math.log1p(1.0 / x) if whole else 0.0), leap)
            leap, crawl = min(4.0 * leap, _LONGEST_LEAP), 8.0 * crawl
            x = min(max(math.exp(min(at + onward * step, 709.0)), low), high)
            if whole:
                x = min(max(float(round(x)), low), high)
            continue
        stale = stale + 1 if _width(meets, misses) > 0.5 * width else 0
        inside = min(meets, misses), max(meets, misses)
        x = math.exp(aim) if aim < 709.0 else math.nan
        if whole and math.isfinite(x):
            x = min(max(float(round(x)), inside[0] + 1.0), inside[1] - 1.0)
        if not inside[0] < x < inside[1] or stale >= _PATIENCE:
            x, stale = _middle(*inside, whole), 0
            if not inside[0] < x < inside[1]:
                break  # neighbouring floats
    return Settled(meets, misses)


def _width(meets: float | None, misses: float | None) -> float:
    if meets is None or misses is None:
        return math.inf
    return abs(math.log(meets) - math.log(misses))


def _middle(low: float, high: float, whole: bool) -> float:
    """Half-way in magnitude, or in number where that is close."""
    middle = math.sqrt(low) * math.sqrt(high) if high > 2.0 * low else 0.5 * (low + high)
    return min(max(float(round(middle)), low + 1.0), high - 1.0) if whole else middle
