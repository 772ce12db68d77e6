"""From the profile of a pair for eps >= 0 to all that a tradeoff function is asked.

The profiles themselves are in `mean_profiles`. A profile is given together with its slope, so that
epsilon is found by Newton's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._roots import least
from shiftdp._rounding import FAR_TAIL, GENEROUS, HUGE, NOT_ZERO, THIRTY_SIX_ROUNDINGS, UNIT

Profile = Callable[[Array], tuple[Array, Array]]
"""eps >= 0 -> delta(eps), rounded up, and -d delta/d eps, roughly."""

_MOST_STEPS = 80  # of a search for epsilon
_BLOCK = 3400  # numbers at once: arrays that the allocator need not ask the system for
# Newton's method for epsilon ends with a step, or a bracket, of this part of it
_LAST_STEP, _LAST_BRACKET = 1e-13, 1e-14


def sum_up(a: float, s: float) -> float:
    """a + s, rounded up: every profile here rises with d."""
    total = a + s
    # the rounding error of the sum, exactly [Knuth]
    back = total - a
    lost = (a - (total - back)) + (s - back)
    return math.nextafter(total, math.inf) if lost > 0.0 else total


def widest(distance: float) -> float:
    """An eps beyond which no float can hold delta, for means at most this far apart."""
    return min(distance * (0.5 * distance + FAR_TAIL) * (1.0 + GENEROUS) + NOT_ZERO, HUGE)


def reflected(epsilon: Array, forward: Profile, backward: Profile) -> Array:
    """delta for all real eps from the profiles of f and f^-1 for eps >= 0:

    delta_f(-e) = 1 - e^-e + e^-e delta_{f^-1}(e).
    """
    if epsilon.size > _BLOCK:
        blocks = _blocks(epsilon)
        return np.concatenate([reflected(block, forward, backward) for block in blocks])
    negative = epsilon < 0.0
    if not negative.any():
        return np.where(epsilon < math.inf, forward(epsilon)[0], 0.0)
    delta = np.empty(epsilon.shape)
    e = -epsilon[negative]
    shrink = np.exp(-e)
    delta[negative] = np.minimum((shrink * backward(e)[0] - np.expm1(-e)) * (1.0 + 8 * UNIT), 1.0)
    if not negative.all():
        e = epsilon[~negative]
        delta[~negative] = np.where(e < math.inf, forward(e)[0], 0.0)
    return delta


def tangents(profile: Profile, epsilon: Array) -> tuple[Array, Array]:
    """delta and P(loss > eps) = -d delta / d e^eps for eps >= 0.

    The slope is that of the test {X > x} at hand, whose line is below the profile whatever x is.
    """
    if epsilon.size > _BLOCK:
        parts = [tangents(profile, block) for block in _blocks(epsilon)]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    delta, slope = profile(epsilon)
    return delta, slope * np.exp(-epsilon)


def _blocks(epsilon: Array) -> list[Array]:
    """The array cut into parts of at most _BLOCK entries."""
    return np.array_split(epsilon, -(-epsilon.size // _BLOCK))


def epsilon_from_profile(
    profile: Profile, delta: Array, far: float, start: Array | None = None
) -> Array:
    """The least eps >= 0 with delta(eps) <= delta: Newton's method on log delta, then bisection of
    what rounding leaves open, so that the end is certified by the profile itself.

    Args:
        far: an eps that is enough, where any is.
        start: where Newton's method begins, if something is known.
    """

    def enough(e: Array) -> NDArray[np.bool_]:
        return profile(e)[0] <= delta

    low, high = np.zeros(delta.shape), np.full(delta.shape, far)
    at_zero, slope = profile(low)
    zero, never = at_zero <= delta, ~enough(high)
    settled = zero | never
    goal = np.where(settled, at_zero, delta)
    done = settled.copy()
    if start is None:
        start = np.minimum((at_zero - goal) / np.maximum(slope, NOT_ZERO), 0.5 * far)
    x = np.where(done, 0.0, np.clip(start, 0.0, far))
    for _ in range(_MOST_STEPS):
        if done.all():
            break
        value, slope = profile(x)
        high, low = np.where(value <= goal, x, high), np.where(value > goal, x, low)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = np.where(done, 0.0, value / slope * np.log(value / goal))
        inside = (x + step > low) & (x + step < high)
        done |= (np.abs(step) <= _LAST_STEP * x) | (high - low <= _LAST_BRACKET * high)
        x = np.where(done, x, np.where(inside, x + step, 0.5 * (low + high)))
    # a bracket around x that holds the answer, and its left end
    width = _LAST_BRACKET * x
    for _ in range(_MOST_STEPS):
        high = np.minimum(x + width, far)
        short = ~(enough(high) | settled)
        if not short.any():
            break
        width = np.where(short, 8.0 * width + NOT_ZERO, width)
    low = np.maximum(x - 8.0 * width, 0.0)
    found = least(lambda e: enough(e) | settled, np.where(settled, high, low), high)
    return np.where(never, math.inf, np.where(zero, 0.0, found))


def upper_point(alpha: Array) -> Array:
    """x with Phi(-x) = alpha, rounded down."""
    x: Array = -scipy.special.ndtri(alpha)
    return x - THIRTY_SIX_ROUNDINGS * (1.0 + np.abs(x))


def between(curve: Callable[[Array], Array], alpha: Array) -> Array:
    """f on [0, 1] from its formula on (0, 1), where f(0) = 1 and f(1) = 0."""
    beta = np.where(alpha <= 0.0, 1.0, 0.0)
    inner = (alpha > 0.0) & (alpha < 1.0)
    if inner.any():
        beta[inner] = curve(alpha[inner])
    return beta
