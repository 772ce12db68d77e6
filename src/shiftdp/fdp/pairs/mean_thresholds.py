"""Thresholds of likelihood-ratio tests between mixtures of Gaussians with many means.

With l_i(x) = m_i (x - m_i/2) and A(x) = sum_i w_i e^{l_i(x)},

    one-sided   sum_i w_i N(m_i) against N(0):                 the ratio is A(x),
    two-sided   sum_i w_i N(m_i) against sum_i w_i N(-m_i):    A(x) / A(-x),
    capped      the integrand of Theorem B7:                   A(x) with min(m_i, x) for m_i, x > 0.

All rise with x. log A is convex, and so is its capped form, whose slope is the average of the
min(m_i, x) with weights that move towards larger ones; so Newton's method from the right stays
there. Each component alone reaches the ratio right of the threshold, and n times each together left
of it, which gives the bracket.

An x that is a little off is no harm: `Miss` says by how much the ratio misses e^e there, with a
bound on the rounding error of that number; `shiftdp.fdp.pairs.mean_profiles` makes up for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import FAR_TAIL, GENEROUS, NOT_ZERO, ROOMY_EXPONENT, UNIT
from shiftdp.fdp.pairs.mean_law import MeanLaw, total

_MOST_STEPS = 80  # of a search for a threshold
# Newton's method ends where the logarithm of the ratio misses e by this times the slope over
# |x| + 3. One more step, with what is known of the miss, makes it the square: then what (2) of
# `mean_profiles` costs is less than a rounding error.
_FOUND = 1e-4
_LAST_STEP = (0.1, 1e-6)  # the longest such step, plus this part of |x|: others lead out of reach
_NOISE = 16 * UNIT  # of a sum of exponentials, and of the exponents, as a part of 1 + |exponent|
_LARGE = 1.0  # e from which on e^e - w is taken as e^e (1 - w e^-e)
# Exponents that count are at most |e| + 745 in size, so each carries a few roundings of |e| + this.
_COUNTING = 1500.0
_LARGEST = 1e12  # |e| from which on exponents have lost so many digits that nothing is known


class Miss(NamedTuple):
    """By how much the ratio at x misses e^e: it is (1 + z) e^e, z being known up to `error`.

    `slope` is at most that of the logarithm of the ratio, `log_terms` are l_i(x), `excess` those
    less e, and `terms` w_i e^{l_i(x) - e}; two-sided, these two are divided by A(-x) as well.
    """

    x: Array
    z: Array
    error: Array
    slope: Array
    log_terms: Array
    excess: Array
    terms: Array


# --- where it is -------------------------------------------------------------------------------


def solve(law: MeanLaw, e: Array, capped: bool = False, reach: float = FAR_TAIL) -> Array:
    """x where the one-sided ratio is about e^e; minus the reach where it is larger even there.

    A mean of 0 is taken to the other side of the equation, so that what is left falls to 0.
    """
    goal = e if law.mean[0, 0] > 0.0 else _log_less(e, law)
    part = law.positive
    log_weight = np.log(part.weight)
    x = np.full(e.shape, -reach)
    here = np.flatnonzero(goal > -math.inf)
    if here.size == 0:
        return x
    c = goal[here]
    high = _alone(part, c - log_weight, capped)
    low = _alone(part, c - log_weight - math.log(part.size), capped)
    least, most = (0.0 if capped else -reach), part.largest + reach
    high, low = np.clip(high, least, most), np.clip(low, least, most)

    def ratio(x: Array, c: Array) -> tuple[Array, Array]:
        means = np.minimum(part.mean, x) if capped else part.mean
        value, slope = log_sum(log_weight + means * (x - 0.5 * means), means)
        return value - c, slope

    x[here] = _newton(ratio, c, low, high)
    return x


def solve_two_sided(law: MeanLaw, e: Array, reach: float = FAR_TAIL) -> Array:
    """x >= 0 where A(x)/A(-x) is about e^e, e >= 0. A(-x) <= 1, so A(x) = e^e lies right of it."""
    high = np.maximum(solve(law, e, reach=reach), 0.0)
    log_weight = np.log(law.weight)

    def ratio(x: Array, e: Array) -> tuple[Array, Array]:
        half = 0.5 * law.mean
        up, slope_up = log_sum(log_weight + law.mean * (x - half), law.mean)
        down, slope_down = log_sum(log_weight - law.mean * (x + half), law.mean)
        return (up - down) - e, slope_up + slope_down

    return _newton(ratio, e, np.zeros(e.shape), high)


def _log_less(e: Array, law: MeanLaw) -> Array:
    """log(e^e - w_0); -inf where that is no number."""
    first = float(law.weight[0, 0])
    with np.errstate(divide="ignore"):
        near = np.log(np.maximum(np.expm1(np.minimum(e, _LARGE)) + law.rest, 0.0))
        large = np.maximum(e, _LARGE)
        return np.where(e < _LARGE, near, large + np.log1p(-first * np.exp(-large)))


def _alone(part: MeanLaw, c: Array, capped: bool) -> Array:
    """The least x at which one of the components reaches its c_i."""
    with np.errstate(over="ignore"):
        x = 0.5 * part.mean + c / part.mean
        if capped:  # x^2/2 up to x = m_i
            x = np.where(c < 0.5 * part.mean * part.mean, np.sqrt(2.0 * np.maximum(c, 0.0)), x)
    return np.asarray(x.min(axis=0))


def log_sum(exponents: Array, means: Array) -> tuple[Array, Array]:
    """The logarithm of a sum of exponentials, and the average mean with these weights; roughly."""
    top = exponents.max(axis=0)
    terms = np.exp(exponents - top)
    size = terms.sum(axis=0)
    return np.asarray(top + np.log(size)), np.asarray((terms * means).sum(axis=0) / size)


def _newton(
    ratio: Callable[[Array, Array], tuple[Array, Array]], goal: Array, low: Array, high: Array
) -> Array:
    """Newton's method from the right, in a shrinking bracket, until what is missed is small."""
    found, active = high.copy(), np.arange(goal.size)
    x = high
    for _ in range(_MOST_STEPS):
        value, slope = ratio(x, goal)
        enough = np.maximum(_FOUND * slope / (np.abs(x) + 3.0), _NOISE * (1.0 + np.abs(goal)))
        go = np.abs(value) > enough
        above = value > 0.0
        high, low = np.where(above, x, high), np.where(above, low, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            new = x - value / slope
        new = np.where((new > low) & (new < high), new, 0.5 * (low + high))
        go &= new != x
        if not go.any():
            break
        active, x, goal, low, high = active[go], new[go], goal[go], low[go], high[go]
        found[active] = x
    return found


# --- by how much it is missed ------------------------------------------------------------------


def missed(law: MeanLaw, x: Array, e: Array, capped: bool = False) -> Miss:
    """What the one-sided, or capped, ratio misses e^e by at x.

    z = sum_i w_i (e^{k_i} - 1), k_i = l_i - e, as the weights add up to 1. The exponents carry
    2|l| + |k| roundings and the products seven at most. The last addition of the sum is rounded by
    a part of z itself, all others by a part of the sum of the sizes.
    """
    means = np.minimum(law.mean, x) if capped else law.mean
    log_terms = means * (x - 0.5 * means)
    excess = np.minimum(log_terms - e, ROOMY_EXPONENT)
    parts, terms = law.weight * np.expm1(excess), law.weight * np.exp(excess)
    z = total(parts)
    error = total(terms * (2.0 * np.abs(log_terms) + np.abs(excess)))
    error += (6.0 + law.sum_error) * total(np.abs(parts))
    slope = total(terms * means) / np.maximum(total(terms), NOT_ZERO) * (1.0 - GENEROUS)
    error = _certain(error + 3.0 * np.abs(z), e)
    return Miss(x, z, error, slope, log_terms, excess, terms)


def missed_two_sided(law: MeanLaw, x: Array, e: Array) -> tuple[Miss, Array]:
    """What the ratio A(x)/A(-x) misses e^e by at x, and the shares of the components of A(-x).

    z is (sum_i w_i (e^{k_i} - 1) - w_i (e^{j_i} - 1)) / sum_i w_i e^{j_i} with k_i = l_i - e - J
    and j_i = -m_i (x + m_i/2) - J, for any number J: log A(-x), nearly.
    """
    half = 0.5 * law.mean
    log_terms, back = law.mean * (x - half), -law.mean * (x + half)
    scale, _ = log_sum(np.log(law.weight) + back, law.mean)
    above = log_terms - e
    excess, fall = np.minimum(above - scale, ROOMY_EXPONENT), back - scale
    up, down = law.weight * np.expm1(excess), law.weight * np.expm1(fall)
    terms, other = law.weight * np.exp(excess), law.weight * np.exp(fall)
    base = total(other)
    error = total(terms * (2.0 * np.abs(log_terms) + np.abs(above) + np.abs(excess)))
    error += total(other * (2.0 * np.abs(back) + np.abs(fall)))
    error += (7.0 + law.sum_error) * (total(np.abs(up)) + total(np.abs(down)))
    z = (total(up) - total(down)) / base
    slope = total(terms * law.mean) / np.maximum(total(terms), NOT_ZERO)
    slope = (slope + total(other * law.mean) / base) * (1.0 - GENEROUS)
    error = _certain(error / base + 4.0 * np.abs(z), e)
    return Miss(x, z, error, slope, log_terms, excess, terms), other / base


def polished(at: Miss, low: float = -math.inf) -> Array:
    """x after one more step of Newton's method, which knows the miss to more digits; at least low.

    >>> law, e = MeanLaw.of((0.0, 1.0), (0.5, 0.5)), np.array([1e-9])
    >>> abs(float(missed(law, polished(missed(law, solve(law, e), e)), e).z[0])) < 1e-15
    True
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        step = np.log1p(np.maximum(at.z, -0.5)) / np.maximum(at.slope, NOT_ZERO)
        good = np.abs(step) <= _LAST_STEP[0] + _LAST_STEP[1] * np.abs(at.x)
        return np.maximum(np.where(good, at.x - step, at.x), low)


def _certain(roundings: Array, e: Array) -> Array:
    """A bound on the error from its first order: what the exponents carry enters as its expm1."""
    slip = 8 * UNIT * (np.abs(e) + _COUNTING)
    return np.where(np.abs(e) < _LARGEST, UNIT * roundings * (1.0 + slip + GENEROUS), math.inf)
