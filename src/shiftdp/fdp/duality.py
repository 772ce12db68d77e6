"""Convex duality between a tradeoff function and its privacy profile. [DRS22, Prop 5 and 6]

    delta(eps) = sup_alpha 1 - f(alpha) - e^eps alpha
    f(alpha)   = sup_eps   1 - delta(eps) - e^eps alpha

A supremum that is searched for numerically comes out too small. In the second line this is the
private side, so f is *certified* whatever the search does; in the first it is not, so a profile is
computed from f only for piecewise linear f, where the supremum is a maximum over the knots.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shiftdp._checks import Array

__all__ = ["inverse_profile", "tradeoff_from_profile"]

Profile = Callable[[Array], Array]

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_WIDEST = 709.0  # beyond it exp overflows
_SHRINKINGS = 64


def tradeoff_from_profile(delta: Profile, inverse_delta: Profile, alpha: Array) -> Array:
    """f(alpha) = sup_eps 1 - delta(eps) - e^eps alpha, from the profiles of f and of f^-1.

    For eps = -e < 0 the objective is e^-e (1 - delta_{f^-1}(e) - alpha), which keeps its digits.
    Either part is concave in e^eps, so it has one hump, and golden-section search finds it.

    >>> from shiftdp.fdp.gaussian_profile import gaussian_delta_array
    >>> profile = lambda epsilon: gaussian_delta_array(np.array(1.0), epsilon)
    >>> print(tradeoff_from_profile(profile, profile, np.array([0.1])).round(9))
    [0.61085631]
    """

    # what is subtracted at the end makes up for the roundings before it
    def steep(e: Array) -> Array:
        return 1.0 - delta(e) - np.exp(e) * alpha * (1 + 1e-15) - 3e-16

    def flat(e: Array) -> Array:
        return np.exp(-e) * (1.0 - inverse_delta(e) - alpha - 3e-16)

    best = np.maximum(_hump(steep, alpha.shape), _hump(flat, alpha.shape))
    # eps -> infinity decides at alpha = 0
    best = np.where(alpha == 0.0, 1.0 - delta(np.full(alpha.shape, math.inf)), best)
    return np.clip(best, 0.0, 1.0 - alpha)


def _hump(objective: Profile, shape: tuple[int, ...]) -> Array:
    """The largest value found of a function with one hump on [0, infinity)."""
    low, high = np.zeros(shape), np.full(shape, _WIDEST)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = objective(left), objective(right)
    best = np.maximum(objective(low), np.maximum(at_left, at_right))
    for _ in range(_SHRINKINGS):
        rise = at_right > at_left
        low, high = np.where(rise, left, low), np.where(rise, high, right)
        probe = np.where(rise, low + _GOLDEN * (high - low), high - _GOLDEN * (high - low))
        at_probe = objective(probe)
        left, right = np.where(rise, right, probe), np.where(rise, probe, left)
        at_left, at_right = np.where(rise, at_right, at_probe), np.where(rise, at_probe, at_left)
        best = np.maximum(best, at_probe)
    return best


def inverse_profile(delta: Profile, epsilon: Array) -> Array:
    """The profile of f^-1: H_gamma(P||Q) = 1 - gamma + gamma H_{1/gamma}(Q||P)."""
    with np.errstate(over="ignore", invalid="ignore"):
        gamma = np.exp(epsilon)
        # 1 - gamma (1 - d) for gamma <= 1, and the remainder of it for large gamma
        reflected = delta(-epsilon)
        value = np.where(epsilon <= 0, -np.expm1(epsilon) + gamma * reflected, 0.0)
        excess = reflected + np.expm1(-epsilon)  # d - (1 - e^-eps), at least 0
        value = np.where(epsilon > 0, gamma * np.maximum(excess, 0.0), value)
    return np.where(np.isinf(epsilon), np.where(epsilon > 0, 0.0, 1.0), value)
