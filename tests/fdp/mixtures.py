"""Hockey-stick divergences of Gaussian mixtures, from the definition: in 50 digits, and on grids.

Joins the mixture laws to `exact`. Nothing here shares a formula with `shiftdp.fdp`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from shiftdp.fdp import PoissonReplaceOne, PoissonZeroOut, ShiftedSubsampled
from tests.fdp import exact

__all__ = ["grid_hockey_stick", "line_hockey_stick", "sides", "threshold_profile"]

Number = Any
Mixture = Sequence[tuple[Number, Number]]
"""(weight, mean) of each component."""


# --- 50 digits ---------------------------------------------------------------------------------


def log_ratio(P: Mixture, Q: Mixture, x: Number) -> Number:
    def log_sum(mixture: Mixture) -> Number:
        terms = [mpmath.log(w) + m * x - m * m / 2 for w, m in mixture if w > 0]
        top = max(terms)
        return top + mpmath.log(sum(mpmath.exp(t - top) for t in terms))

    return log_sum(P) - log_sum(Q)


def mass_right(mixture: Mixture, x: Number) -> Number:
    return sum(w * exact.upper_tail(x - m) for w, m in mixture)


def rising_root(function: Any, low: Number, high: Number) -> Number:
    """Where a rising function passes 0; an end if it does not."""
    low, high = mpf(low), mpf(high)
    at_low, at_high = function(low), function(high)
    if at_low >= 0 or at_high <= 0:
        return low if at_low >= 0 else high
    for k in range(400):
        if high - low < mpf(10) ** -45 * (1 + abs(low)):
            break
        # a secant, widened so that both ends come in; every third time bisection
        guess = low - at_low * (high - low) / (at_high - at_low)
        spread = (high - low) / 2 ** (3 + k)
        for probe in (guess - spread, guess + spread) if k % 3 else ((low + high) / 2,):
            if low < probe < high:
                at_probe = function(probe)
                if at_probe > 0:
                    high, at_high = probe, at_probe
                else:
                    low, at_low = probe, at_probe
    return (low + high) / 2


@mpmath.workdps(60)  # type: ignore[untyped-decorator]
def threshold_profile(P: Mixture, Q: Mixture, epsilon: Number) -> Number:
    """H_gamma(P || Q) where dP/dQ rises."""
    epsilon = mpf(epsilon)
    means = [abs(m) for _, m in (*P, *Q)]
    far = 60 + 2 * max(means)
    x = rising_root(lambda x: log_ratio(P, Q, x) - epsilon, -far, far)
    if abs(x) == far:  # either never, or so far out that no float can hold the rest
        return mpf(0) if x > 0 else 1 - mpmath.exp(epsilon)
    return mass_right(P, x) - mpmath.exp(epsilon) * mass_right(Q, x)


def sides(f: PoissonZeroOut | PoissonReplaceOne) -> tuple[Mixture, Mixture]:
    """(P, Q) with delta_f = H(P || Q) and rising dP/dQ; so f = T(Q, P)."""
    p, a, s = mpf(f.p), mpf(f.a), mpf(f.s)
    if isinstance(f, PoissonReplaceOne):
        return [(1 - p, a), (p, a + s)], [(1 - p, mpf(0)), (p, -s)]
    if f.swapped:
        return [(1 - p, a), (p, a + s)], [(mpf(1), mpf(0))]
    return [(mpf(1), mpf(0))], [(1 - p, -a), (p, -a - s)]


@mpmath.workdps(60)  # type: ignore[untyped-decorator]
def threshold_tradeoff(P: Mixture, Q: Mixture, alpha: Number) -> Number:
    """T(Q, P)(alpha)."""
    if alpha <= 0 or alpha >= 1:
        return mpf(1) if alpha <= 0 else mpf(0)
    z = exact.upper_quantile(alpha)
    means = [m for _, m in Q]
    x = rising_root(lambda x: mpf(alpha) - mass_right(Q, x), z + min(means) - 1, z + max(means) + 1)
    return mass_right([(w, -m) for w, m in P], -x)


@exact.delta.register
def _(f: PoissonZeroOut, epsilon: Number) -> Number:
    return threshold_profile(*sides(f), epsilon)


@exact.delta.register
def _(f: PoissonReplaceOne, epsilon: Number) -> Number:
    return threshold_profile(*sides(f), epsilon)


@exact.beta.register
def _(f: PoissonZeroOut, alpha: Number) -> Number:
    return threshold_tradeoff(*sides(f), alpha)


@exact.beta.register
def _(f: PoissonReplaceOne, alpha: Number) -> Number:
    return threshold_tradeoff(*sides(f), alpha)


@exact.delta.register
def _(f: ShiftedSubsampled, epsilon: Number) -> Number:
    """As Theorem B2 states it."""
    epsilon, p, a = mpf(epsilon), mpf(f.p), mpf(f.a)
    d = a + mpf(f.s)
    if epsilon < 0:
        gamma = mpmath.exp(epsilon)
        return 1 - gamma + gamma * exact.delta(f, -epsilon)
    if epsilon <= a * d / 2 and a > 0:
        return (1 - p) * exact.gaussian_delta(a, epsilon) + p * exact.gaussian_delta(d, epsilon)
    return threshold_profile([(1 - p, a), (p, d)], [(mpf(1), mpf(0))], epsilon)


@exact.beta.register
def _(f: ShiftedSubsampled, alpha: Number) -> Number:
    """sup_eps 1 - delta(eps) - e^eps alpha, where it is stationary: -d delta/d gamma = alpha."""
    if alpha <= 0 or alpha >= 1:
        return mpf(1) if alpha <= 0 else mpf(0)
    p, a, alpha = mpf(f.p), mpf(f.a), mpf(alpha)
    d = a + mpf(f.s)
    mixture, normal = [(1 - p, a), (p, d)], [(mpf(1), mpf(0))]
    edge = (a + d) / 2
    if alpha <= exact.upper_tail(edge):
        return threshold_tradeoff(mixture, normal, alpha)
    if 1 - alpha <= mass_right(mixture, edge):
        return threshold_tradeoff(normal, [(w, -m) for w, m in mixture], alpha)
    if a == 0:  # a kink of the profile at gamma = 1
        return 1 - exact.delta(f, 0) - alpha

    def rates(e: Number) -> Number:
        parts = ((1 - p, a), (p, d))
        return sum(w * exact.upper_tail(e / m + m / 2) for w, m in parts if w > 0)

    e = rising_root(lambda e: alpha - rates(e), -a * d / 2, a * d / 2)
    return rates(-e)


# --- floats ------------------------------------------------------------------------------------

Floats = NDArray[np.float64]


def line_hockey_stick(P: Mixture, Q: Mixture, gamma: float) -> float:
    """H_gamma(P || Q) on the line: between the sign changes of dP - gamma dQ, exactly."""
    means = [m for _, m in (*P, *Q)]

    def excess(x: Any) -> Any:
        # dP - gamma dQ over exp(-x^2/2), and over its largest term
        logs = [(math.log(w), m, 1.0) for w, m in P if w > 0]
        logs += [(math.log(w * gamma), m, -1.0) for w, m in Q if w > 0]
        terms = [log + m * x - 0.5 * m * m for log, m, _ in logs]
        top = np.max(terms, axis=0)
        signed = zip(terms, logs, strict=True)
        return sum(sign * np.exp(term - top) for term, (_, _, sign) in signed)

    grid = np.linspace(min(means) - 40.0, max(means) + 40.0, 40_001)
    values = excess(grid)
    changes = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))
    roots = [float(brentq(excess, grid[i], grid[i + 1], xtol=1e-14)) for i in changes]
    ends = [-math.inf, *roots, math.inf]
    total = 0.0
    for left, right in pairwise(ends):

        def between(mixture: Mixture, left: float = left, right: float = right) -> float:
            return float(sum(w * (ndtr(right - m) - ndtr(left - m)) for w, m in mixture))

        total += max(between(P) - gamma * between(Q), 0.0)
    return total


def grid_hockey_stick(
    P: Sequence[tuple[float, Floats]], Q: Sequence[tuple[float, Floats]], gamma: float, h: float
) -> float:
    """H_gamma(P || Q) in the plane, on a grid of spacing h.

    The trapezium rule is exact for the smooth part; the kink costs h^2/24 times the integral over
    it of |grad(dP - gamma dQ)|, which is below (1 + gamma) for means within 3: (1 + gamma) h^2/20
    is a generous bound.
    """
    means = np.array([m for _, m in (*P, *Q)])
    low, high = means.min(axis=0) - 8.0, means.max(axis=0) + 8.0
    x, y = (np.arange(low[i], high[i], h) for i in (0, 1))

    def density(mixture: Sequence[tuple[float, Floats]]) -> Floats:
        parts = [
            w * np.outer(np.exp(-0.5 * (x - m[0]) ** 2), np.exp(-0.5 * (y - m[1]) ** 2))
            for w, m in mixture
        ]
        total: Floats = np.sum(parts, axis=0) / (2 * math.pi)
        return total

    return float(np.maximum(density(P) - gamma * density(Q), 0.0).sum() * h * h)
