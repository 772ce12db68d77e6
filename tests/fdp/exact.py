"""Profiles and tradeoff functions in 45-digit arithmetic, written from the definitions.

Nothing here shares a formula with `shiftdp.fdp` beyond the statement of the definition itself. The
numbers that a float stands for are taken as exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf
from scipy.special import ndtri

from shiftdp._checks import Array
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    LaplaceTradeoff,
    Maximum,
    Minimum,
    Mixture,
    PiecewiseLinear,
    Subsampled,
    TradeoffFunction,
    WithFailure,
)

__all__ = ["beta", "delta", "gaussian_delta", "upper_quantile"]

mp.dps = 45
Number = Any  # mpmath has no types
_GOLDEN = (mpmath.sqrt(5) - 1) / 2


def upper_tail(v: Number) -> Number:
    """Phi(-v)."""
    return mpmath.erfc(v / mpmath.sqrt(2)) / 2


def upper_quantile(p: Number) -> Number:
    """v with Phi(-v) = p, by Newton's method from double precision."""
    p = mpf(p)
    if p > mpf(1) / 2:
        return -upper_quantile(1 - p)
    v = mpf(-float(ndtri(max(float(p), 5e-324))))
    for _ in range(100):
        density = mpmath.exp(-v * v / 2) / mpmath.sqrt(2 * mpmath.pi)
        step = (upper_tail(v) - p) / density
        v += step / (1 + v * step / 2)
        if abs(step) < mpf(10) ** -35:
            break
    return v


def gaussian_delta(mu: Number, epsilon: Number) -> Number:
    mu, epsilon = mpf(mu), mpf(epsilon)
    if mu == 0:
        return max(mpf(0), 1 - mpmath.exp(epsilon))
    # the two terms agree to as many digits as delta is small; mu costs the rest
    with mpmath.workdps(60 + max(0, -int(mpmath.log10(mu)))):
        u, h = epsilon / mu, mu / 2
        return upper_tail(u - h) - mpmath.exp(epsilon) * upper_tail(u + h)


def _peak(objective: Callable[[Number], Number], coarse: Array, low: float, high: float) -> Number:
    """The largest value of a function with one hump; `coarse` are rough values on an even grid."""
    points = np.linspace(low, high, coarse.size)
    i = int(np.argmax(coarse))
    a, b = mpf(points[max(i - 1, 0)]), mpf(points[min(i + 1, coarse.size - 1)])
    left, right = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    at_left, at_right = objective(left), objective(right)
    best = max(objective(a), objective(b), at_left, at_right)
    for _ in range(78):
        if at_right > at_left:
            a, left, at_left = left, right, at_right
            right = a + _GOLDEN * (b - a)
            at_right = objective(right)
        else:
            b, right, at_right = right, left, at_left
            left = b - _GOLDEN * (b - a)
            at_left = objective(left)
        best = max(best, at_left, at_right)
    return best


# --- profiles --------------------------------------------------------------------------------


@singledispatch
def delta(f: TradeoffFunction, epsilon: Number) -> Number:
    """sup over alpha of 1 - f(alpha) - e^eps alpha, which is concave in alpha."""
    gamma = mpmath.exp(epsilon)
    # in log alpha, where the hump may be narrow
    grid = np.exp(np.linspace(-60.0, 0.0, 3001))
    coarse = 1.0 - f._beta(grid) - float(gamma) * grid
    top = _peak(lambda t: 1 - beta(f, mpmath.exp(t)) - gamma * mpmath.exp(t), coarse, -60.0, 0.0)
    return max(top, 1 - beta(f, mpf(0)), mpf(0), 1 - gamma)


@delta.register
def _(f: Identity, epsilon: Number) -> Number:
    return max(mpf(0), 1 - mpmath.exp(epsilon))


@delta.register
def _(f: GaussianTradeoff, epsilon: Number) -> Number:
    return gaussian_delta(f.mu, epsilon)


@delta.register
def _(f: ApproxDPTradeoff, epsilon: Number) -> Number:
    d, gamma = mpf(f.budget_delta), mpmath.exp(epsilon)
    corner = (1 - d) / (1 + mpmath.exp(mpf(f.budget_epsilon)))
    return max(d, 1 - corner - gamma * corner, 1 - gamma * (1 - d))


@delta.register
def _(f: LaplaceTradeoff, epsilon: Number) -> Number:
    """Of a density ratio: P(Z > z) - e^eps P(Z > z + mu) where the log ratio passes eps."""
    mu, epsilon = mpf(f.mu), mpf(epsilon)
    if epsilon >= mu:
        return mpf(0)
    if epsilon <= -mu:
        return 1 - mpmath.exp(epsilon)
    # log Lap(z; mu)/Lap(z; 0) = |z| - |z - mu| = 2z - mu passes eps at z = (eps + mu)/2
    z = (epsilon + mu) / 2
    return (1 - mpmath.exp(z - mu) / 2) - mpmath.exp(epsilon) * mpmath.exp(-z) / 2


@delta.register
def _(f: PiecewiseLinear, epsilon: Number) -> Number:
    gamma = mpmath.exp(epsilon)
    return max(1 - mpf(b) - gamma * mpf(a) for a, b in zip(f.alpha, f.beta, strict=True))


@delta.register
def _(f: Mixture, epsilon: Number) -> Number:
    parts = zip(f.weights, f.components, strict=True)
    return sum(mpf(w) * delta(part, epsilon) for w, part in parts) / sum(mpf(w) for w in f.weights)


@delta.register
def _(f: Minimum, epsilon: Number) -> Number:
    return max(delta(part, epsilon) for part in f.components)


@delta.register
def _(f: WithFailure, epsilon: Number) -> Number:
    q = mpf(f.failure)
    return q + (1 - q) * delta(f.base, epsilon)


@delta.register
def _(f: Subsampled, epsilon: Number) -> Number:
    """Of T(P, Q_p) and T(Q_p, P), Q_p = (1 - p) P + p Q."""
    p = mpf(f.p)

    def one_sided(e: Number) -> Number:
        left = 1 + (mpmath.exp(e) - 1) / p
        return p * delta(f.base, mpmath.log(left)) if left > 0 else 1 - mpmath.exp(e)

    gamma = mpmath.exp(epsilon)
    return max(one_sided(epsilon), 1 - gamma + gamma * one_sided(-epsilon))


# --- tradeoff functions ----------------------------------------------------------------------


@singledispatch
def beta(f: TradeoffFunction, alpha: Number) -> Number:
    """sup over eps of 1 - delta(eps) - e^eps alpha, which has one hump in eps."""
    alpha = mpf(alpha)
    if alpha >= 1:
        return mpf(0)
    if alpha == 0:
        return 1 - delta(f, mpf(10) ** 4)
    low, high = float(mpmath.log1p(-alpha)) - 50.0, 5.0 - float(mpmath.log(alpha))
    grid = np.linspace(low, high, 3001)
    right = 1.0 - f._delta(grid) - np.exp(np.minimum(grid, 709.0)) * float(alpha)
    # left of 0 the same, as the inverse sees it: there it may be too small for the difference
    left = 1.0 - f.inverse()._delta(np.maximum(-grid, 0.0)) - float(alpha)
    coarse = np.where(grid < 0.0, np.exp(np.minimum(grid, 0.0)) * left, right)
    top = _peak(lambda e: 1 - delta(f, e) - mpmath.exp(e) * alpha, coarse, low, high)
    return max(top, mpf(0))


@beta.register
def _(f: Identity, alpha: Number) -> Number:
    return 1 - mpf(alpha)


@beta.register
def _(f: GaussianTradeoff, alpha: Number) -> Number:
    if alpha <= 0 or alpha >= 1:
        return mpf(1) if alpha <= 0 else mpf(0)
    return upper_tail(mpf(f.mu) - upper_quantile(alpha))


@beta.register
def _(f: ApproxDPTradeoff, alpha: Number) -> Number:
    alpha, d, e = mpf(alpha), mpf(f.budget_delta), mpf(f.budget_epsilon)
    return max(mpf(0), 1 - d - mpmath.exp(e) * alpha, mpmath.exp(-e) * (1 - d - alpha))


@beta.register
def _(f: LaplaceTradeoff, alpha: Number) -> Number:
    """P(Z + mu <= z), z the upper alpha quantile of Z."""
    alpha = mpf(alpha)
    if alpha <= 0 or alpha >= 1:
        return mpf(1) if alpha <= 0 else mpf(0)
    half = mpf(1) / 2
    z = -mpmath.log(2 * alpha) if alpha <= half else mpmath.log(2 * (1 - alpha))
    v = z - mpf(f.mu)
    return mpmath.exp(v) / 2 if v <= 0 else 1 - mpmath.exp(-v) / 2


@beta.register
def _(f: PiecewiseLinear, alpha: Number) -> Number:
    alpha = mpf(alpha)
    knots = [(mpf(a), mpf(b)) for a, b in zip(f.alpha, f.beta, strict=True)]
    for (a0, b0), (a1, b1) in pairwise(knots):
        if alpha <= a1:
            return b0 + (b1 - b0) * (alpha - a0) / (a1 - a0)
    raise AssertionError("alpha lies outside [0, 1]")


@beta.register
def _(f: Maximum, alpha: Number) -> Number:
    return max(beta(part, alpha) for part in f.components)


@beta.register
def _(f: WithFailure, alpha: Number) -> Number:
    rest = 1 - mpf(f.failure)
    return rest * beta(f.base, mpf(alpha) / rest) if alpha < rest else mpf(0)
