"""The root-finders. Those that certify something end on the safe side of their tolerance.

- `least`, `most`: bisection of a monotone condition, many at once, to the last bit.
- `least_whole`: the same for one whole number.
- `narrowed`, `largest`: so many halvings and no more, of many brackets and of one.
- `peak`: golden sections, for the largest value of functions with one hump, many at once.
- `bracket_up`: a point where a condition holds, to begin a bisection with.
- `regula_falsi`: secants for many decreasing functions at once, which ends on the safe side; for
  functions that cost too much for 60 bisections and have no slope.
- `sign_change`: one place where a very costly function changes sign, real or whole, by secants
  inside a bracket that it finds itself.

Other iterations stay where they are used. Those of `fdp.pairs.gaussian_profile` are three steps of
Halley's method in plain floats: a call of a general routine would cost more than a step. Those of
`fdp.pairs.profiles`, `fdp.pairs.mean_thresholds`, `fdp.composition.grid_law` and
`fdp.contour.estimate` know how much of a value is noise, and stop there; what they end with is then
tested, or said to be an estimate. `training.losses.envelope` solves for a whole vector a record,
`privacy.opacus.residuals` in tensors. `interpolation.equal_steps.lowest` looks for the best whole
number by thirds and answers with the plan found there, not its value; `cheapest_cells` likewise
with the cells. And verifiers (`interpolation.verification_equal_steps`,
`interpolation.participation.verification`) share nothing with the searches that they check.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._rounding import HUGE

Condition = Callable[[Array], NDArray[np.bool_]]

_HALVINGS = 200  # from any bracket of floats to neighbours, but for brackets that reach to 0
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_SIGNED = 1e-16  # an excess is taken to be at least this, so that its secants keep the sign
_DEEPEST = -1e3  # an excess further below 0 says nothing about where the root is
_RELATIVE = 1e-7  # how close two points of a sign change are, if nothing else is asked for
_MOST_STEPS = 400  # of the search for a sign change
_LONGEST_LEAP = math.log(1e4)  # of a step that looks for the other side
_LARGEST_LOG = 709.0  # exp of more is no float
_PATIENCE = 3  # secants that may fail to halve the bracket
_NEAR = 0.02  # between two points whose secant is trusted to say how far the change is
_BESIDE = 0.3  # how far beside the estimated root to aim, as a part of the width asked for


def least(holds: Condition, low: Array, high: Array) -> Array:
    """The least x in [low, high] from which `holds` is true, as a float that satisfies it.

    To the last bit, or to 2^-200 of the bracket. `high` must satisfy it.

    >>> least(lambda x: x * x >= 2, np.array([0.0]), np.array([2.0])) ** 2 >= 2
    array([ True])
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    done = holds(low)
    high[done] = low[done]
    return narrowed(holds, low, high, _HALVINGS)


def most(holds: Condition, low: Array, high: Array) -> Array:
    """The greatest x in [low, high] up to which `holds` is true; `low` must satisfy it.

    >>> most(lambda x: x * x <= 2, np.array([0.0]), np.array([2.0])) ** 2 <= 2
    array([ True])
    """
    return -least(lambda x: holds(-x), -np.asarray(high), -np.asarray(low))


def narrowed(holds: Condition, low: Array, high: Array, halvings: int) -> Array:
    """The right ends of brackets after so many halvings: `holds` there, and not at the left ends.

    Neither end is asked: it is taken to hold at `high`.

    >>> narrowed(lambda x: x * x >= 2, np.array([0.0]), np.array([2.0]), 3)
    array([1.5])
    """
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        if np.all((middle <= low) | (middle >= high)):
            break
        good = holds(middle)
        low, high = np.where(good, low, middle), np.where(good, middle, high)
    return high


def largest(holds: Callable[[float], bool], low: float, high: float, halvings: int) -> float:
    """The largest x in [low, high) up to which `holds`, rounded down, after so many halvings.

    Neither end is asked: it is taken to hold at `low`, which is the answer if it holds nowhere.

    >>> largest(lambda x: x * x <= 2, 0.0, 2.0, 3)
    1.25
    """
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def peak(objective: Callable[[Array], Array], low: Array, high: Array, sections: int) -> Array:
    """The largest values met on the way to the tops of functions with one hump on [low, high].

    Golden sections: each costs one evaluation and leaves .618 of the intervals.

    >>> peak(lambda x: 1.0 - (x - 2.0) ** 2, np.array([0.0]), np.array([5.0]), 40).round(12)
    array([1.])
    """
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = objective(left), objective(right)
    best = np.maximum(objective(low), np.maximum(at_left, at_right))
    for _ in range(sections):
        rise = at_right > at_left
        low, high = np.where(rise, left, low), np.where(rise, high, right)
        probe = np.where(rise, low + _GOLDEN * (high - low), high - _GOLDEN * (high - low))
        at_probe = objective(probe)
        left, right = np.where(rise, right, probe), np.where(rise, probe, left)
        at_left, at_right = np.where(rise, at_right, at_probe), np.where(rise, at_probe, at_left)
        best = np.maximum(best, at_probe)
    return best


def bracket_up(holds: Condition, start: Array, limit: float = HUGE) -> Array:
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


def least_whole(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least whole n with low < n <= high from which on `holds` is true; `high` is not asked.

    First at low + 1, low + 2, low + 4, ..., as the answer is often close to `low`.

    >>> least_whole(lambda n: n * n >= 1000, 0, 10**6)
    32
    """
    step = 1
    while low + step < high and not holds(low + step):
        low, step = low + step, 2 * step
    high = min(low + step, high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def regula_falsi(
    excess: Callable[[Array], Array], low: Array, high: Array, relative: float, steps: int
) -> tuple[Array, NDArray[np.bool_]]:
    """The right ends of brackets of x > 0 where decreasing functions pass 0, and which were found.

    By secants of the values at the two ends. Where one end stays twice, its value is halved
    (Illinois), so that both ends move. `excess` <= 0 at every x that is returned as found, which is
    at most the part `relative` right of the root.

    Args:
        excess: of all x at once; its sign is exact, and its size roughly right.
        low: where excess > 0, unless the answer is `low` itself.
        high: where excess <= 0; where it is not, nothing is found.
        relative: the width of a bracket, as a part of its right end, at which it is narrow enough.
        steps: evaluations at most.

    >>> roots = np.array([2.0, 30.0])
    >>> x, found = regula_falsi(lambda x: roots - x, np.zeros(2), np.full(2, 99.0), 1e-9, 60)
    >>> bool(found.all()), bool((x >= roots).all()), bool((x <= roots * (1 + 1e-9)).all())
    (True, True, True)
    """

    def signed(x: Array) -> Array:
        value = excess(x)
        return np.where(value <= 0.0, np.minimum(value, -_SIGNED), np.maximum(value, _SIGNED))

    above, below = signed(low), signed(high)
    at_low = above <= 0.0
    lost = ~at_low & ~((below <= 0.0) & np.isfinite(below))
    high = np.where(at_low, low, high)
    side = np.zeros(low.shape)
    for _ in range(steps):
        active = ~(at_low | lost) & (high - low > relative * high)
        if not active.any():
            break
        with np.errstate(divide="ignore", invalid="ignore"):  # of those that are not active
            share = np.where(active, above / np.where(active, above - below, 1.0), 0.5)
            # not nearer to an end than what is asked for: the end may be the answer
            inset = np.where(active, 0.25 * relative * high / (high - low), 0.5)
        inset = np.minimum(inset, 0.5)
        middle = low + np.clip(share, inset, 1.0 - inset) * (high - low)
        value = signed(middle)
        met = value <= 0.0
        above = np.where(active & met & (side > 0), 0.5 * above, above)
        below = np.where(active & ~met & (side < 0), 0.5 * below, below)
        high, below = (
            np.where(active & met, middle, high),
            np.where(active & met, np.maximum(value, _DEEPEST), below),
        )
        low, above = np.where(active & ~met, middle, low), np.where(active & ~met, value, above)
        side = np.where(active, np.where(met, 1.0, -1.0), side)
    return high, at_low | ~lost & (high - low <= relative * high)


class SignChange(NamedTuple):
    """Where a condition changes: it holds at `meets` and not at `misses`, beside it.

    One of them is None if the condition is the same up to the end of the interval.
    """

    meets: float | None
    misses: float | None


def sign_change(
    excess: Callable[[float], float],
    start: float,
    low: float,
    high: float,
    *,
    slope: float,
    relative: float = _RELATIVE,
    whole: bool = False,
    trust: bool = False,
) -> SignChange:
    """The place nearest to `start` where `excess` changes sign, on the side where it is <= 0.

    Args:
        excess: of x > 0; met where <= 0. Infinite where nothing is known but the sign.
        start: where to begin, inside [low, high].
        low, high: the ends of the interval.
        slope: a guess of d excess / d log x; its sign says on which side the condition is met.
        relative: the two x that come back differ by no more, as a part; unless `whole`, where they
            differ by 1.
        trust: the point that misses need not be evaluated, if the last secant puts it there.

    >>> place = sign_change(lambda x: math.log(2 / (x * x)), 1.0, 1e-9, 1e9, slope=-1.0)
    >>> place.meets**2 >= 2 > place.misses**2
    True
    >>> sign_change(lambda n: n * n - 1000.0, 1.0, 1.0, 1e9, slope=1.0, whole=True)
    SignChange(meets=31.0, misses=32.0)
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
        aim = root + (_BESIDE if ahead else -_BESIDE) * relative * side
        if meets is None or misses is None:
            onward = side if value > 0.0 else -side
            step = (aim - at) * onward if math.isfinite(aim) else leap
            step = min(max(step, crawl, math.log1p(1.0 / x) if whole else 0.0), leap)
            leap, crawl = min(4.0 * leap, _LONGEST_LEAP), 8.0 * crawl
            x = min(max(math.exp(min(at + onward * step, _LARGEST_LOG)), low), high)
            if whole:
                x = min(max(float(round(x)), low), high)
            continue
        stale = stale + 1 if _width(meets, misses) > 0.5 * width else 0
        inside = min(meets, misses), max(meets, misses)
        x = math.exp(aim) if aim < _LARGEST_LOG else math.nan
        if whole and math.isfinite(x):
            x = min(max(float(round(x)), inside[0] + 1.0), inside[1] - 1.0)
        if not inside[0] < x < inside[1] or stale >= _PATIENCE:
            x, stale = _middle(*inside, whole), 0
            if not inside[0] < x < inside[1]:
                break  # neighbouring floats
    return SignChange(meets, misses)


def _width(meets: float | None, misses: float | None) -> float:
    if meets is None or misses is None:
        return math.inf
    return abs(math.log(meets) - math.log(misses))


def _middle(low: float, high: float, whole: bool) -> float:
    """The geometric mean, or the arithmetic one of ends that are close; a whole number if asked."""
    middle = math.sqrt(low) * math.sqrt(high) if high > 2.0 * low else 0.5 * (low + high)
    return min(max(float(round(middle)), low + 1.0), high - 1.0) if whole else middle
