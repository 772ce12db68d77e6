"""Profiles of pairs of two-component Gaussian mixtures, read off at a likelihood-ratio threshold.

All pairs here are laws on the line whose likelihood ratio rises, so for P against Q the best test
is {X > x} with x where dP/dQ = gamma = e^eps, and

    delta(eps) = max_x F(x),      F(x) = P(X > x) - gamma Q(X > x).

*No cancellation.* With the Mills ratio R(v) = Phi(-v)/phi(v), and d = a + s, the value at the
threshold is a sum of positive terms, each the profile of a Gaussian:

    forward    (1-p) N(a) + p N(d) against N(0):        sum_i w_i D_i(x)
    backward   N(0) against (1-p) N(-a) + p N(-d):      sum_i w'_i delta_{G(m_i)}(m_i (x + m_i/2))
    two-sided  (1-p) N(a) + p N(d) against (1-p) N(0) + p N(-s):
                                                        sum_i w_i D_i(x) + v A (R(x) - R(x+s))

where D_i(x) = phi(x - m_i) (R(x - m_i) - R(x)), m = (a, d), w = (1-p, p), A is the density of P at
x, w' and v the shares of the components of Q in its density at x.

*No understatement.* An inexact x understates a maximum. Let the x at hand be the threshold of
gamma_x = (1 + z) gamma, and write delta_x for the profile there and t = gamma_x Q(X > x).

(1) A profile falls with slope -Q(X > threshold) in gamma. Hence delta(eps) <= delta_x if z <= 0,
    and delta(eps) <= delta_x + gamma z T if z > 0, T being at least Q(X > threshold).
(2) F(x) = delta_x + t z/(1+z), and delta(eps) - F(x) is the integral of |dP - gamma dQ| between x
    and the threshold. The integrand is at most 1.2 A |z| there, and the interval at most
    h = 2.2 |z| / r', r' being the slope of log dP/dQ at x, provided that h (|x| + s + 1) <= 0.1 and
    |z| <= 0.05: r' is an average of shifts that differ by s, so it changes by a factor of at most
    e^{s h}, and the density of Q (backward: P) by at most e^{h (|x| + s + h)}.

z is computed as a sum of expm1's, with a bound on its rounding error, and the better of (1) and (2)
is returned, rounded up. Whatever the root-finder did, the result is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._roots import least
from shiftdp._rounding import (
    FAR_TAIL,
    GENEROUS,
    HUGE,
    LARGEST_EXPONENT,
    LEAST_FLOAT,
    NINE_ROUNDINGS,
    NOT_ZERO,
    ROOMY_EXPONENT,
    UNIT,
)
from shiftdp.fdp.pairs.gaussian_profile import MILLS_CONDITION, SERIES_CONDITION, mills_array
from shiftdp.fdp.pairs.thresholds import Threshold, solve_down, solve_up

__all__ = [
    "Profile",
    "backward_profile",
    "epsilon_from_profile",
    "forward_profile",
    "gaussian_terms",
    "reflected",
    "sum_up",
    "tangents",
    "two_sided_profile",
    "widest",
]

Profile = Callable[[Array], tuple[Array, Array]]
"""eps >= 0 -> delta(eps), rounded up, and -d delta/d eps, roughly."""

_TINY = 20 * LEAST_FLOAT  # more than what a sum of a few products can lose to underflow
# below: Taylor's series for R(x) - R(y), with more terms from _VERY_SMALL_MU on
_SMALL_MU, _VERY_SMALL_MU = 0.1, 0.01
_SOME = 24.0  # roundings of a density, two Mills ratios and their product
_MOST_ERROR = 1e-9  # errors that are bounded by more than this are of means too far apart to matter
_MOST_STEPS = 80  # of a search for epsilon
_BLOCK = 3400  # numbers at once: arrays that the allocator need not ask the system for
# (2): the interval is at most _APART |z| / slope long where |z| <= _SMALL_Z and that, times
# |x| + s + 1, is at most _SHORT
_APART, _SMALL_Z, _SHORT = 2.2, 0.05, 0.1
# Newton's method for epsilon ends with a step, or a bracket, of this part of it
_LAST_STEP, _LAST_BRACKET = 1e-13, 1e-14
_INVERSE_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)


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


# --- one Gaussian ------------------------------------------------------------------------------


def _density(v: Array) -> Array:
    return _INVERSE_SQRT_2PI * np.exp(-0.5 * v * v)


def _drop(lower: Array, upper: Array, upper_mills: Array, mu: float) -> Array:
    """R(lower) - R(upper) for lower >= -1 and upper = lower + mu >= 0.

    For small mu by the odd Taylor series around the middle; R' = v R - 1 and
    R^(k+1) = v R^(k) + k R^(k-1).
    """
    if mu >= _SMALL_MU:
        return mills_array(lower) - upper_mills
    h = 0.5 * mu
    v = np.minimum(upper - h, 1.5 * FAR_TAIL)  # beyond, no density is left
    before = mills_array(v)
    derivative = v * before - 1.0
    total = derivative.copy()
    scale = 1.0
    for k in range(1, 5 if mu < _VERY_SMALL_MU else 9):
        before, derivative = derivative, v * derivative + k * before
        if k % 2 == 0:
            scale *= h * h / (k * (k + 1))
            total += scale * derivative
    return -mu * total


def _drop_error(right: Array, upper: Array, mu: float) -> Array:
    """A bound on the relative error of phi(lower) (R(lower) - R(upper)); right = max(lower, 0).

    In units of the rounding error: some for R, whose difference loses a factor of (1.3 + upper)/mu,
    or with Taylor's series (1.3 + upper)(10 + upper); lower^2 for the density; and what the
    rounding of `lower` does to either.
    """
    reach = np.minimum(upper, right + SERIES_CONDITION) + MILLS_CONDITION
    loss = 8.0 * reach * np.minimum(1.0 / mu, SERIES_CONDITION + reach)
    loss += (right + 1.0) * (reach + min(1.0 / mu, SERIES_CONDITION))
    return 2 * UNIT * (_SOME + right * right + loss)


def _excess(lower: Array, upper: Array, upper_mills: Array, mu: float) -> tuple[Array, Array]:
    """phi(lower) (R(lower) - R(upper)) for upper = lower + mu >= 0, rounded up; and phi(lower)."""
    v = np.minimum(lower, 1.5 * FAR_TAIL)
    density = _density(v)
    if mu == 0.0:
        return np.zeros(lower.shape), density
    value = density * _drop(np.maximum(v, -1.0), upper, upper_mills, mu)
    left = v < -1.0  # so mu > 1, and the difference loses nothing
    if left.any():
        value[left] = scipy.special.ndtr(-v[left]) - density[left] * upper_mills[left]
    return np.maximum(value, 0.0) * (1.0 + _drop_error(np.maximum(v, 0.0), upper, mu)), density


def gaussian_terms(
    weights: tuple[float, float], shifts: tuple[float, float], epsilon: Array
) -> tuple[Array, Array]:
    """sum_i w_i delta_{G(m_i)}(eps) for eps >= 0, rounded up, and its slope in eps."""
    delta, slope = np.full(epsilon.shape, _TINY), np.zeros(epsilon.shape)
    for weight, mu in zip(weights, shifts, strict=True):
        if mu > 0.0:
            u = np.minimum(epsilon / mu, mu + 2 * FAR_TAIL)
            lower, upper = u - 0.5 * mu, u + 0.5 * mu
            mills = mills_array(upper)
            # eps/mu and eps/mu - mu/2 are rounded separately from the mu of the formula
            argument = 2 * UNIT * (1.0 / mu + np.minimum(upper, 2 * FAR_TAIL) + MILLS_CONDITION) * u
            near = np.where(lower > -FAR_TAIL, np.minimum(argument, _MOST_ERROR), 0.0)
            excess, density = _excess(lower, upper, mills, mu)
            delta += weight * excess * (1.0 + 4 * UNIT + near)
            slope += weight * density * mills
    return delta, slope


# --- the profiles ------------------------------------------------------------------------------


def _bound(
    at: Threshold,
    delta: Array,
    tail: Array,
    density: Array,
    z: Array,
    worst: Array,
) -> Array:
    """The better of (1) and (2), from delta_x, t, A, z and gamma T."""
    rise = z + at.error
    plain = np.where(rise < 0.5, delta + np.maximum(rise, 0.0) * worst, 1.0)
    size = np.abs(z) + at.error
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        h = _APART * size / at.slope  # no number where both are 0, and then (2) is not used
    near = (size <= _SMALL_Z) & (h * (np.abs(at.x) + at.s + 1.0) <= _SHORT)
    h = np.where(near, h, 0.0)
    sharp = delta + tail * rise + 1.5 * density * size * h
    return np.where(near, np.minimum(sharp, plain), plain) * (1.0 + 8 * UNIT) + _TINY


_LOUD = np.errstate(over="ignore", invalid="ignore")  # errors of means too far apart; see `at`


@_LOUD
def forward_profile(p: float, a: float, d: float, epsilon: Array) -> tuple[Array, Array]:
    """H_gamma((1-p) N(a) + p N(d) || N(0)) for eps >= 0, rounded up, and -d delta/d eps.

    0 < p < 1, 0 <= a < d; d is taken as exact.
    """
    return _rising(solve_up(p, a, d, np.minimum(epsilon, widest(d))))


@_LOUD
def two_sided_profile(p: float, a: float, s: float, epsilon: Array) -> tuple[Array, Array]:
    """H_gamma((1-p) N(a) + p N(a+s) || (1-p) N(0) + p N(-s)) for eps >= 0, rounded up."""
    d = sum_up(a, s)
    return _rising(solve_up(p, a, d, np.minimum(epsilon, widest(sum_up(d, s))), s))


def _rising(at: Threshold) -> tuple[Array, Array]:
    p, q, a, d, s, x = at.p, at.q, at.a, at.d, at.s, at.x
    mills = mills_array(x)
    excess_a, density_a = _excess(x - a, x, mills, a)
    excess_d, density_d = _excess(x - d, x, mills, d)
    delta, density = q * excess_a + p * excess_d, q * density_a + p * density_d
    tail = density * mills
    if s > 0.0:
        upper = x + s
        part = at.v * density * _drop(x, upper, mills_array(upper), s)
        right = np.clip(x - a, 0.0, FAR_TAIL)
        share = 4 * UNIT * (8.0 + s * (x + s) + right * right)
        part *= (
            1.0 + _drop_error(np.minimum(x, FAR_TAIL), upper, s) + np.minimum(share, _MOST_ERROR)
        )
        delta, tail = delta + part, np.maximum(tail - part, 0.0)
    worst = 0.5 * np.exp(np.minimum(at.e, LARGEST_EXPONENT))
    return _bound(at, delta, tail, density, at.z, worst), tail


@_LOUD
def backward_profile(p: float, a: float, d: float, epsilon: Array) -> tuple[Array, Array]:
    """H_gamma(N(0) || (1-p) N(a) + p N(d)) for eps >= 0, rounded up, and -d delta/d eps."""
    e = -np.minimum(epsilon, widest(d))
    at = solve_down(p, a, d, e)
    y = -at.x
    delta, total = np.zeros(y.shape), np.zeros(y.shape)
    for weight, mu, loss in ((at.q, a, at.l0), (p, d, at.l1)):
        k = np.minimum(loss - e, ROOMY_EXPONENT)
        share = weight * np.exp(k)
        total += share
        if mu > 0.0:
            error = 2 * UNIT * (12 + 4.0 * np.abs(loss) + np.abs(k))
            delta += share * _profile_at(y, mu) * (1.0 + np.minimum(error, _MOST_ERROR))
    delta *= (1.0 + NINE_ROUNDINGS) / total
    mass = scipy.special.ndtr(-y)
    density = _density(y)
    tail = np.maximum(mass - delta, 0.0)
    # gamma_y = gamma/(1 + z): the test {Y > y} has F = delta_y - t z
    worst = np.exp(np.minimum(-e, LARGEST_EXPONENT)) * 2.0
    return _bound(at, delta, tail, density, -at.z, worst), tail


def _profile_at(y: Array, mu: float) -> Array:
    """delta_{G(mu)}(eps) at eps = mu (y + mu/2), rounded up; through -eps where eps < 0."""
    lower = np.where(y >= -0.5 * mu, y, -y - mu)
    upper = np.where(y >= -0.5 * mu, y + mu, -y)
    delta, _ = _excess(lower, upper, mills_array(upper), mu)
    negative = y < -0.5 * mu
    if negative.any():
        e = mu * (y[negative] + 0.5 * mu)
        delta[negative] = (np.exp(e) * delta[negative] - np.expm1(e)) * (1.0 + 12 * UNIT)
    return delta


# --- all of them -------------------------------------------------------------------------------


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
