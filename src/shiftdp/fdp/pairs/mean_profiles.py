"""Profiles of pairs of Gaussian mixtures, read off at a likelihood-ratio threshold.

A mixture has weights w_i and means m_i: two for one sampled step (Theorem B2), hundreds for a law
of Theorem B7. Likelihood ratios rise along the line, so for P against Q the best test is {X > x}
with x where dP/dQ = gamma = e^eps (`mean_thresholds`), and

    delta(eps) = max_x F(x),      F(x) = P(X > x) - gamma Q(X > x).

*No cancellation.* With the Mills ratio R(v) = Phi(-v)/phi(v) and
D_i(x) = phi(x - m_i) (R(x - m_i) - R(x)), the value at the threshold is a sum of terms that are not
negative, each the profile of a Gaussian:

    forward     sum_i w_i N(m_i) against N(0):         sum_i w_i D_i(x)
    backward    N(0) against sum_i w_i N(-m_i):        sum_i w'_i delta_{G(m_i)}(m_i (x + m_i/2))
    two-sided   sum_i w_i N(m_i) against sum_i w_i N(-m_i):
                                        sum_i w_i D_i(x) + A sum_i v_i (R(x) - R(x + m_i))
    capped      int_x^inf phi(y) (sum_i w_i e^{c_i y - c_i^2/2} - gamma) dy, c_i = min(m_i, y):
                sum_i w_i D_i(x), where for m_i > x it is (R(0) - R(x) + m_i - x) / sqrt(2 pi)

A being the density of the first law at x, and w', v shares of the components of the second in its
density at x.

*No understatement.* An inexact x understates a maximum. Let the x at hand be the threshold of
gamma_x = (1 + z) gamma, and write delta_x for the profile there and t = gamma_x Q(X > x).

(1) A profile falls with slope -Q(X > threshold) in gamma. Hence delta(eps) <= delta_x if z <= 0,
    and delta(eps) <= delta_x + gamma z T if z > 0, T being at least Q(X > threshold).
(2) F(x) = delta_x + t z/(1+z), and delta(eps) - F(x) is the integral of |dP - gamma dQ| between x
    and the threshold. The integrand is at most 1.2 A |z| there, and the interval at most
    h = 2.2 |z| / r', r' being the slope of log dP/dQ at x, provided that h (|x| + s + 1) <= 0.1 and
    |z| <= 0.05, where r' changes by a factor of at most e^{s h} over a distance h, and the density
    of Q (backward: P) by at most e^{h (|x| + s + h)}.

The slope r' is an average of the m_i (two-sided: a sum of two), whose derivative is a variance (a
difference of two), at most the spread of the m_i times r'. So s may be the spread, or backward a
number that is less (`_steepest`). For the capped ratio the derivative is the variance of the
min(m_i, x) plus the share of those that are capped; that share is at most r'/x, so s is x + 1/x.

*Far means.* Those above `_FAR` are told from 0 by everybody, and no threshold is known well enough
near them. With w = Pr(W > _FAR), and P', Q' for the laws given W <= _FAR,

    forward     delta(gamma) <= w + (1-w) H_{gamma/(1-w)}(P' || N(0)),
    backward    delta(gamma) <= H_{gamma (1-w)}(N(0) || Q'),
    two-sided   delta(gamma) <= w + (1-w) H_gamma(P' || Q'),

since (a + b)_+ <= a_+ + b for b >= 0, and since a mass that is left out of Q only adds. These fall
with eps as they should. The capped ratio has no large means in it: they are cut off at x.

z is computed as a sum of expm1's, with a bound on its rounding error, and the better of (1) and (2)
is returned, rounded up. Whatever the root-finder did, the result is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._rounding import FAR_TAIL, GENEROUS, LARGEST_EXPONENT, LEAST_FLOAT, NOT_ZERO, UNIT
from shiftdp.fdp.pairs.gaussian_arrays import mills_array
from shiftdp.fdp.pairs.gaussian_profile import MILLS_CONDITION, SERIES_CONDITION
from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.fdp.pairs.mean_thresholds import (
    Miss,
    log_sum,
    missed,
    missed_two_sided,
    polished,
    solve,
    solve_two_sided,
)
from shiftdp.fdp.pairs.profiles import widest

_SMALL_MU = 0.1  # below: Taylor's series for R(x) - R(y), with _TERMS terms
_TERMS = 9  # of that series: the rest is below 1e-17 of it
_SOME = 24.0  # roundings of a density, two Mills ratios and their product
_FAR = 1e6  # means beyond are as good as infinite: eps up to 5e11 are the same
_LARGEST = 9.9e11  # eps beyond are taken for it, where thresholds are still known
_BLOCK = 1 << 16  # numbers at once: arrays that stay in the cache
# (2): |z| up to _SMALL_Z, the interval at most _APART |z| / slope, and that times the
# rate at which everything changes at most _SHORT
_APART, _SMALL_Z, _SHORT = 2.2, 0.05, 0.1
_INVERSE_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)

_LOUD = np.errstate(over="ignore", invalid="ignore", divide="ignore")  # of means too far apart


# --- one Gaussian, many times ------------------------------------------------------------------


def _density(v: Array) -> Array:
    return np.asarray(_INVERSE_SQRT_2PI * np.exp(-0.5 * v * v))


def _drop(lower: Array, upper: Array, upper_mills: Array, mu: Array) -> Array:
    """R(lower) - R(upper) for lower >= -1 and upper = lower + mu >= 0; all of one shape.

    For small mu by the odd Taylor series around the middle; R' = v R - 1 and
    R^(k+1) = v R^(k) + k R^(k-1).
    """
    drop = mills_array(lower) - upper_mills
    small = mu < _SMALL_MU
    if small.any():
        h = 0.5 * mu[small]
        v = np.minimum(upper[small] - h, 1.5 * FAR_TAIL)  # beyond, no density is left
        before = mills_array(v)
        derivative = v * before - 1.0
        series, scale = derivative.copy(), np.ones(h.shape)
        for k in range(1, _TERMS):
            before, derivative = derivative, v * derivative + k * before
            if k % 2 == 0:
                scale *= h * h / (k * (k + 1))
                series += scale * derivative
        drop[small] = -2.0 * h * series
    return drop


def _drop_error(right: Array, upper: Array, mu: Array) -> Array:
    """A bound on the relative error of phi(lower) (R(lower) - R(upper)); right = max(lower, 0).

    In units of the rounding error: some for R, whose difference loses a factor of (1.3 + upper)/mu,
    or with Taylor's series (1.3 + upper)(10 + upper); lower^2 for the density; and what the
    rounding of `lower` does to either.
    """
    reach = np.minimum(upper, right + SERIES_CONDITION) + MILLS_CONDITION
    inverse = 1.0 / mu
    loss = 8.0 * reach * np.minimum(inverse, SERIES_CONDITION + reach)
    loss += (right + 1.0) * (reach + np.minimum(inverse, SERIES_CONDITION))
    return np.asarray(2 * UNIT * (_SOME + right * right + loss))


def excesses(mu: Array, upper: Array) -> tuple[Array, Array]:
    """phi(upper - mu) (R(upper - mu) - R(upper)), rounded up, and phi(upper - mu); upper >= 0."""
    mu, upper = np.broadcast_arrays(mu, upper)
    v = np.minimum(upper - mu, 1.5 * FAR_TAIL)
    density, mills = _density(v), mills_array(upper)
    value = density * _drop(np.maximum(v, -1.0), upper, mills, mu)
    left = v < -1.0  # so mu > 1, and the difference loses nothing
    if left.any():
        value[left] = scipy.special.ndtr(-v[left]) - density[left] * mills[left]
    error = _drop_error(np.maximum(v, 0.0), upper, np.maximum(mu, NOT_ZERO))
    return np.where(mu > 0.0, np.maximum(value, 0.0) * (1.0 + error), 0.0), density


def _gaussian_at(mu: Array, y: Array) -> Array:
    """delta_{G(mu)}(eps) at eps = mu (y + mu/2), rounded up; through -eps where eps < 0."""
    mu, y = np.broadcast_arrays(mu, y)
    negative = y < -0.5 * mu
    delta, _ = excesses(mu, np.where(negative, -y, y + mu))
    if negative.any():
        e = mu[negative] * (y[negative] + 0.5 * mu[negative])
        delta[negative] = (np.exp(e) * delta[negative] - np.expm1(e)) * (1.0 + 12 * UNIT)
    return delta


def gaussian_terms(law: MeanLaw, epsilon: Array) -> tuple[Array, Array]:
    """sum_i w_i delta_{G(m_i)}(eps) for eps >= 0, rounded up, and -d delta/d eps."""
    if law.largest > _FAR:
        return _with_far(gaussian_terms, law, epsilon, 1.0)
    return _gaussian_terms(law, epsilon)


def _gaussian_terms(law: MeanLaw, epsilon: Array) -> tuple[Array, Array]:
    part = law.positive
    if part.size == 0:
        return np.zeros(epsilon.shape), np.zeros(epsilon.shape)
    mu = part.mean
    u = np.minimum(epsilon / mu, mu + 2 * FAR_TAIL)
    upper = u + 0.5 * mu
    # eps/mu and eps/mu + mu/2 are rounded separately from the mu of the formula
    reach = 1.0 / mu + np.minimum(upper, 2 * FAR_TAIL) + MILLS_CONDITION
    error = 2 * UNIT * reach * (u + upper) + 4 * UNIT
    excess, density = excesses(mu, upper)
    delta = law.summed(part.weight * excess * (1.0 + np.where(upper - mu > -FAR_TAIL, error, 0.0)))
    slope = law.summed(part.weight * density * mills_array(upper))
    return delta + 20 * law.size * LEAST_FLOAT, slope


# --- the profiles ------------------------------------------------------------------------------

Many = Callable[[MeanLaw, Array], tuple[Array, Array]]
"""A profile of a law for eps >= 0, rounded up, and its slope."""


def _with_far(
    profile: Many, law: MeanLaw, epsilon: Array, times: float, divided: bool = False
) -> tuple[Array, Array]:
    """w + (1-w) times the profile given W <= _FAR, at eps or, divided, at eps - log(1-w).

    Args:
        times: the profile is that of G(times W) where W is a number.
    """
    if law.mean[0, 0] > _FAR:
        return np.ones(epsilon.shape), np.zeros(epsilon.shape)
    near, likely = law.within(_FAR)
    e = np.minimum(epsilon, _LARGEST)
    if divided:
        e = np.maximum((e - math.log(likely)) * (1.0 - 8 * UNIT) - 2 * UNIT, 0.0)
    delta, slope = profile(near, e) if near.size > 1 else _one(near, e, times)
    likely *= 1.0 + 4 * UNIT
    far = math.fsum(law.weight[law.mean > _FAR].tolist()) * (1.0 + 4 * UNIT)
    return np.minimum(far + likely * delta * (1.0 + 4 * UNIT), 1.0), likely * slope


def _one(law: MeanLaw, epsilon: Array, times: float) -> tuple[Array, Array]:
    """The profile of G(times W), where W is a number."""
    return _gaussian_terms(MeanLaw(times * law.mean, law.weight, 0.0), epsilon)


def _bound(
    law: MeanLaw, at: Miss, z: Array, values: tuple[Array, Array, Array], worst: Array,
    reach: Array,
) -> Array:  # fmt: skip
    """The better of (1) and (2).

    Args:
        z: by which the ratio of the profile misses gamma, from `at` or its negative.
        values: the profile at x, gamma_x times the mass of the second law right of x, and the
            density of the first.
        worst: at least gamma times the mass of the second law right of the threshold.
        reach: how fast densities and slopes change.
    """
    delta, tail, density = values
    rise, size = z + at.error, np.abs(z) + at.error
    plain = np.where(rise < 0.5, delta + np.maximum(rise, 0.0) * worst, 1.0)
    h = _APART * size / at.slope  # no number where both are 0, and then (2) is not used
    near = (size <= _SMALL_Z) & (h * reach <= _SHORT)
    h = np.where(near, h, 0.0)
    sharp = delta + tail * rise + 1.5 * density * size * h
    best = np.where(near, np.minimum(sharp, plain), plain)
    # more than what a sum of products can lose to underflow
    return np.asarray(best * (1.0 + 8 * UNIT) + 20 * law.size * LEAST_FLOAT)


@_LOUD
def _by_blocks(profile: Many, law: MeanLaw, epsilon: Array) -> tuple[Array, Array]:
    epsilon = np.minimum(epsilon, _LARGEST)
    columns = max(1, _BLOCK // law.size)
    if epsilon.size <= columns:
        return profile(law, epsilon)
    parts = [profile(law, b) for b in np.array_split(epsilon, -(-epsilon.size // columns))]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def forward_profile(law: MeanLaw, epsilon: Array) -> tuple[Array, Array]:
    """H_gamma(E N(W, 1) || N(0, 1)) for eps >= 0, rounded up, and -d delta/d eps.

    >>> law = MeanLaw.of((0.0, 1.0), (0.99, 0.01))
    >>> forward_profile(law, np.array([0.005]))[0].round(9).tolist()
    [0.002635151]
    """
    if law.largest > _FAR:
        return _with_far(forward_profile, law, epsilon, 1.0, divided=True)
    return _by_blocks(_forward, law, epsilon)


def _forward(law: MeanLaw, epsilon: Array) -> tuple[Array, Array]:
    e = np.minimum(epsilon, widest(law.largest))
    x = polished(missed(law, np.maximum(solve(law, e), 0.0), e), 0.0)
    at = missed(law, x, e)
    excess, density = excesses(law.mean, x)
    delta, there = law.summed(law.weight * excess), law.summed(law.weight * density)
    tail = there * mills_array(x)
    worst = 0.5 * np.exp(np.minimum(e, LARGEST_EXPONENT))
    reach = x + law.spread + 1.0
    return _bound(law, at, at.z, (delta, tail, there), worst, reach), tail


def capped_profile(law: MeanLaw, epsilon: Array) -> tuple[Array, Array]:
    """int_0^inf phi(y) (E exp(y c - c^2/2) - gamma)_+ dy, c = min(W, y), for eps > 0, rounded up.

    And -d/d eps of it. It may be above 1.
    """
    return _by_blocks(_capped, law, epsilon)


def _capped(law: MeanLaw, epsilon: Array) -> tuple[Array, Array]:
    e = np.minimum(epsilon, widest(law.largest))
    y = np.maximum(solve(law, e, capped=True), NOT_ZERO)
    y = polished(missed(law, y, e, capped=True), NOT_ZERO)
    at = missed(law, y, e, capped=True)
    excess, density = excesses(np.minimum(law.mean, y), y)
    beyond = np.maximum(law.mean - y, 0.0) * (_INVERSE_SQRT_2PI * (1.0 + 4 * UNIT))
    delta = law.summed(law.weight * (excess + beyond))
    there = law.summed(law.weight * density)
    tail = there * mills_array(y)
    worst = 0.5 * np.exp(np.minimum(e, LARGEST_EXPONENT))
    reach = y + 1.0 / y + np.minimum(law.spread, y) + 1.0
    return _bound(law, at, at.z, (delta, tail, there), worst, reach), tail


def two_sided_profile(law: MeanLaw, epsilon: Array) -> tuple[Array, Array]:
    """H_gamma(E N(W, 1) || E N(-W, 1)) for eps >= 0, rounded up, and -d delta/d eps."""
    if law.largest > _FAR:
        return _with_far(two_sided_profile, law, epsilon, 2.0)
    return _by_blocks(_two_sided, law, epsilon)


def _two_sided(law: MeanLaw, epsilon: Array) -> tuple[Array, Array]:
    e = np.minimum(epsilon, widest(2.0 * law.largest))
    x = polished(missed_two_sided(law, solve_two_sided(law, e), e)[0], 0.0)
    at, share = missed_two_sided(law, x, e)
    excess, density = excesses(law.mean, x)
    there = law.summed(law.weight * density)
    mu, lower = np.broadcast_arrays(law.mean, x)
    upper = lower + mu
    mills = mills_array(upper)
    drop = np.where(mu > 0.0, _drop(lower, upper, mills, np.maximum(mu, NOT_ZERO)), 0.0)
    # of the shares, and of the drop
    error = 4 * UNIT * (12 + mu * upper + np.minimum(lower, FAR_TAIL) ** 2)
    error = error + _drop_error(lower, upper, np.maximum(mu, NOT_ZERO))
    error = np.where(lower < 1.5 * FAR_TAIL, error, 0.0)
    gap = there * law.summed(share * drop * (1.0 + error))
    tail = there * law.summed(share * mills)
    delta = law.summed(law.weight * excess) + gap
    worst = 0.5 * np.exp(np.minimum(e, LARGEST_EXPONENT))
    reach = x + 2.0 * law.largest + 1.0
    return _bound(law, at, at.z, (delta, tail, there), worst, reach), tail


def backward_profile(law: MeanLaw, epsilon: Array) -> tuple[Array, Array]:
    """H_gamma(N(0, 1) || E N(W, 1)) for eps >= 0, rounded up, and -d delta/d eps."""
    if law.largest > _FAR:
        return _backward_with_far(law, epsilon)
    return _by_blocks(_backward, law, epsilon)


def _backward_with_far(law: MeanLaw, epsilon: Array) -> tuple[Array, Array]:
    """H_{gamma (1-w)}(N(0) || E N(W') ) given W <= _FAR; forward, at -eps, if gamma (1-w) < 1."""
    if law.mean[0, 0] > _FAR:
        return np.ones(epsilon.shape), np.zeros(epsilon.shape)
    near, likely = law.within(_FAR)
    e = np.minimum(epsilon, _LARGEST) + math.log(likely)
    e -= 8 * UNIT * (1.0 + np.abs(e) - math.log(likely))
    several, high, low = near.size > 1, np.maximum(e, 0.0), e < 0.0
    delta, slope = backward_profile(near, high) if several else _one(near, high, 1.0)
    if low.any():
        back, tail = forward_profile(near, -e[low]) if several else _one(near, -e[low], 1.0)
        shrink = np.exp(e[low])
        delta[low] = np.minimum((shrink * back - np.expm1(e[low])) * (1.0 + 8 * UNIT), 1.0)
        slope[low] = np.maximum(shrink * (1.0 - back - tail), 0.0)
    return delta, slope


def _backward(law: MeanLaw, epsilon: Array) -> tuple[Array, Array]:
    e = -np.minimum(epsilon, widest(law.largest))
    x = polished(missed(law, solve(law, e), e))
    at = missed(law, x, e)
    y = -x
    error = 2 * UNIT * (12 + 4.0 * np.abs(at.log_terms) + np.abs(at.excess))
    parts = at.terms * _gaussian_at(law.mean, y) * (1.0 + error)
    shares = law.summed(at.terms) * (1.0 - 2.0 * (law.sum_error + 4.0) * UNIT)
    delta = law.summed(parts) / np.maximum(shares, NOT_ZERO)
    density = _density(y)
    tail = np.maximum(scipy.special.ndtr(x) - delta, 0.0)
    # gamma_x = gamma/(1 + z): the test {Y > y} has P - gamma Q = delta_x - t z
    worst = 2.0 * np.exp(np.minimum(-e, LARGEST_EXPONENT))
    reach = np.abs(x) + 1.0 + _steepest(law, x, _SHORT / (np.abs(x) + 1.0))
    return _bound(law, at, -at.z, (delta, tail, density), worst, reach), tail


def _steepest(law: MeanLaw, x: Array, h: Array) -> Array:
    """A bound on how fast the slope r' of log A changes up to h from x, as a part of it.

    r' is the average E m with the weights w_i e^{l_i(x)}, so that is E m^2 / E m - E m. The first
    term rises with x: it is the average of m with the weights m_i w_i e^{l_i(x)}. Far to the left
    it is much less than the spread, and r' so small that it matters.
    """
    part = law.positive
    x = x + h
    _, average = log_sum(
        np.log(part.weight) + np.log(part.mean) + part.mean * (x - 0.5 * part.mean), part.mean
    )
    return np.asarray(np.minimum(average * (1.0 + GENEROUS), law.spread))
