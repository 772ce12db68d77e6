"""The privacy profile of the Gaussian tradeoff function and its inverse, for arrays.

The formulas of `gaussian_profile`, where they are explained, for many arguments at once.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp.fdp.pairs.gaussian_profile import (
    FAR_MU,
    FARTHEST,
    GUESS_MOST,
    GUESS_SHIFT,
    LEFT,
    LEFTMOST,
    LOG_SQRT_2PI,
    QUANTILE,
    SMALL_MU,
    SMALL_U,
    SQRT2,
    SQRT_HALF_PI,
    STEP,
    gaussian_epsilon,
    mills_series,
    point,
)

_MANY = 64  # values from which on arrays are solved at once
_BLOCK = 8192  # of so many at a time: the arrays of a block stay in the cache
_PLAIN_MU, _PLAIN_DELTA = (1e-9, 1e6), 1e-307  # beyond them scalars take care of ends of floats
_PLAIN_PART = 0.3  # of min(mu, 1): the largest delta that is nowhere near delta(0)
_NO_DENSITY = 60.0  # phi(60) = 0: further right nothing need be found


def mills_array(v: Array) -> Array:
    """The Mills ratio R, for arrays."""
    mills: Array = SQRT_HALF_PI * scipy.special.erfcx(v / SQRT2)
    return mills


def _mills_difference_array(u: Array, mu: Array) -> tuple[Array, Array]:
    """R(u - mu/2) - R(u + mu/2), and R(u + mu/2); one evaluation of R each where mu is small."""
    h = 0.5 * mu
    small = mu < SMALL_MU
    if not small.any():
        upper = mills_array(u + h)
        return mills_array(u - h) - upper, upper
    if not small.all():
        difference, upper = np.empty_like(u), np.empty_like(u)
        for part in (small, ~small):
            difference[part], upper[part] = _mills_difference_array(u[part], mu[part])
        return difference, upper
    return mills_series(mills_array(u), u, h)


def gaussian_delta_array(mu: Array, epsilon: Array) -> Array:
    """`gaussian_delta` for arrays, which are broadcast."""
    mu, epsilon = np.broadcast_arrays(mu, epsilon)
    shape = mu.shape
    mu, epsilon = mu.ravel(), epsilon.ravel()
    positive = np.abs(epsilon)
    delta = np.zeros(mu.shape)
    delta[mu == math.inf] = 1.0
    body = np.flatnonzero((mu > 0) & (mu < math.inf) & (positive < math.inf))
    if body.size:
        m = mu[body]
        with np.errstate(over="ignore"):
            u = np.minimum(positive[body] / m, FARTHEST)
        x = u - 0.5 * m
        far = m > FAR_MU
        if far.any():
            x[far] = point(m[far], positive[body][far])
        left = x < LEFT
        # nor need it be found where the density is 0
        difference, upper = _mills_difference_array(
            np.where(left, 0.5 * m, np.minimum(u, _NO_DENSITY + 0.5 * m)), m
        )
        if far.any():
            here = far & ~left
            reach = np.minimum(x[here], _NO_DENSITY)
            difference[here] = mills_array(reach) - mills_array(reach + m[here])
        with np.errstate(over="ignore", under="ignore"):
            density = np.exp(-0.5 * x * x - LOG_SQRT_2PI)
            value = density * np.maximum(difference, 0.0)
            if left.any():
                upper = mills_array(u[left] + 0.5 * m[left])
                value[left] = scipy.special.ndtr(-x[left]) - density[left] * upper
        delta[body] = value
    negative = epsilon < 0
    if negative.any():
        e = epsilon[negative]
        delta[negative] = -np.expm1(e) + np.exp(e) * delta[negative]
    return delta.reshape(shape)


def gaussian_tangent_array(mu: float, u: Array) -> tuple[Array, Array]:
    """delta and P(loss > eps) of G(mu) at eps = mu u >= 0, for mu <= 10."""
    x, y = u - 0.5 * mu, u + 0.5 * mu
    if mu < SMALL_MU:
        difference, upper = mills_series(mills_array(u), u, np.asarray(0.5 * mu))
    else:
        upper = mills_array(y)
        difference = mills_array(x) - upper
    delta = np.exp(-0.5 * x * x - LOG_SQRT_2PI) * np.maximum(difference, 0.0)
    return delta, np.exp(-0.5 * y * y - LOG_SQRT_2PI) * upper


def gaussian_epsilon_array(mu: Array, delta: Array) -> Array:
    """`gaussian_epsilon` for arrays, which are broadcast. Few are taken one by one.

    Of many, those that are nowhere near an end of the formula are solved at once, by the two steps
    of Halley's method that nearly all scalars take.
    """
    if mu.size == delta.size == 1:
        shape = np.broadcast_shapes(mu.shape, delta.shape)
        return np.array(gaussian_epsilon(mu.item(), delta.item())).reshape(shape)
    mu, delta = np.broadcast_arrays(mu, delta)
    flat_mu, flat_delta = mu.ravel(), delta.ravel()
    epsilon = np.empty(flat_mu.shape)
    many = flat_mu.size >= _MANY
    for start in range(0, flat_mu.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        m, d, found = flat_mu[part], flat_delta[part], epsilon[part]
        rest = _plain_epsilons(m, d, found) if many else np.arange(m.size)
        pairs = zip(m[rest].tolist(), d[rest].tolist(), strict=True)
        found[rest] = [gaussian_epsilon(each, at) for each, at in pairs]
    return epsilon.reshape(mu.shape)


def _plain_epsilons(mu: Array, delta: Array, out: Array) -> NDArray[np.intp]:
    """Write what two steps of Halley's method find, and return where they do not end the search.

    Where `delta <= 0.3 min(mu, 1)`, the gap to delta(0) is above that for which eps cancels: with
    `delta(0) >= 0.38 min(mu, 1)` it is at least 0.08 min(mu, 1), the bound at most a third of that.
    """
    least, most = _PLAIN_MU
    plain = (delta >= _PLAIN_DELTA) & (delta <= _PLAIN_PART * np.minimum(mu, 1.0))
    plain &= (mu >= least) & (mu <= most)
    small = mu < SMALL_MU
    for here in (np.flatnonzero(plain & small), np.flatnonzero(plain & ~small)):
        m, d = mu[here], delta[here]
        log_delta, h, u = np.log(d), 0.5 * m, _guesses(m, d)
        for _ in range(2):
            x = np.maximum(u - h, LEFTMOST)
            u = x + h
            difference, upper = _mills_difference_array(u, m)
            value = np.log(difference)
            value -= 0.5 * x * x + (LOG_SQRT_2PI + log_delta)
            first = m / difference
            second = first * (1.0 - m * upper)
            first *= -upper
            second -= first * first
            step = value / (first - 0.5 * value * second / first)
            u = np.maximum(u - step, 0.5 * u)
        out[here] = m * u
        plain[here[np.abs(step) > STEP * u]] = False
    return np.flatnonzero(~plain)


def _guesses(mu: Array, delta: Array) -> Array:
    """`_guess` for arrays."""
    x = _upper_quantiles(delta)
    for _ in range(2):
        inflated = delta * (1.0 + np.maximum(x + GUESS_SHIFT, 0.0) / mu)
        x = _upper_quantiles(np.minimum(inflated, GUESS_MOST))
    return np.maximum(x + 0.5 * mu, SMALL_U)


def _upper_quantiles(p: Array) -> Array:
    """`_upper_quantile` for arrays."""
    r = np.sqrt(-2.0 * np.log(np.minimum(p, 1.0 - p)))
    a, b, c, d, e, f = QUANTILE
    x: Array = r - (a + r * (b + r * c)) / (1.0 + r * (d + r * (e + r * f)))
    return np.where(p > 0.5, -x, x)
