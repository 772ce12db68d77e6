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
from shiftdp.fdp.rounding import complement_down

__all__ = ["tradeoff_from_profile"]

Profile = Callable[[Array], Array]

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_WIDEST = 709.0  # beyond it exp overflows
_SHRINKINGS = 80


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
        return 1.0 - delta(e) - np.exp(e) * alpha * (1 + 1e-15) - 4e-16

    def flat(e: Array) -> Array:
        return np.exp(-e) * (1.0 - inverse_delta(e) - alpha - 8e-16)

    # where an objective cannot exceed what is known already: e^e alpha > 1, e^-e < flat(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        start = np.maximum(flat(np.zeros(alpha.shape)), 0.0)
        reach = np.where(alpha > 0.0, np.minimum(-np.log(alpha), _WIDEST), 0.0)
        reach_flat = np.minimum(-np.log(start), _WIDEST)
    best = np.maximum(_hump(steep, reach), _hump(flat, reach_flat))
    # eps -> infinity decides at alpha = 0
    last = np.minimum(delta(np.full(alpha.shape, math.inf)), 1.0)
    best = np.where(alpha == 0.0, complement_down(last), best)
    return np.clip(best, 0.0, complement_down(alpha))


def _hump(objective: Profile, reach: Array) -> Array:
    """The largest value found of a function with one hump on [0, reach]."""
    low, high = np.zeros(reach.shape), np.maximum(reach, 0.0)
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
