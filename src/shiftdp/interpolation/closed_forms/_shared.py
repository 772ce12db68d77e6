"""The pieces that the closed forms of full-batch and cyclic descent share."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from shiftdp._checks import Array, array_in, count, number_in
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp._rounding import EIGHT_ROUNDINGS


def best_window(sensitivity: float, diameter: float, longest: float) -> int:
    """The whole number K in 1..longest that minimises `s^2 K + D^2 / K` (s, D > 0).

    >>> best_window(1.0, 2.1, 100), best_window(1.0, 50.0, 10)
    (2, 10)
    """
    s, D = sensitivity, diameter
    ratio = D / s
    if ratio >= longest:
        return int(longest)
    if not math.isfinite(ratio):
        raise UnmetHypothesis("diameter", D, f"is infinitely many steps of {s}", "lower it")
    K = max(1, math.floor(ratio))
    # Convex in K, so the best whole number is beside D / s: K if D^2 / s^2 <= K (K + 1).
    return K if ratio * ratio <= K * (K + 1.0) or longest <= K else K + 1


def stationary_factor(decay: float, steps: float) -> float:
    """`(1 - c^t)/(1 + c^t) (1 + c)/(1 - c)` from `decay = 1 - c`, accurate also as c -> 1."""
    if decay == 0.0:
        return float(steps)
    gap = one_minus_power(decay, steps)
    return gap / (2.0 - gap) * ((2.0 - decay) / decay)


def one_minus_power(decay: float, exponent: float) -> float:
    """`1 - c^k` from `decay = 1 - c`: no cancellation, no underflow trouble."""
    if decay == 0.0 or exponent == 0:
        return 0.0
    if decay == 1.0:
        return 1.0
    return -math.expm1(exponent * math.log1p(-decay))


def ceiling(diameter: float, sensitivity: float) -> int:
    """ceil(D / s), where a quotient that exceeds a whole number by rounding only counts as it.

    `D/s <= K (1 + 2^-50)` keeps `D^2/K` below `s D (1 + 2^-50)`: `round_up` covers the rest.
    """
    ratio = diameter / sensitivity
    if not math.isfinite(ratio):
        raise UnmetHypothesis(
            "diameter", diameter, f"is infinitely many steps of {sensitivity}", "lower it"
        )
    return max(1, math.ceil(ratio * (1.0 - EIGHT_ROUNDINGS)))


def long_enough(name: str, length: float, least: int) -> None:
    """Refuse a run below the threshold of a constrained closed form."""
    if horizon(name, length) < least:
        raise UnmetHypothesis(
            name,
            length,
            f"is below ceil(D/s) = {least}: the closed form asks for {name} >= D/s",
            f"run at least {least} {name} or use the form with a free window",
        )


def contractive(contraction: float) -> float:
    """A step Lipschitz constant in [0, 1]."""
    c = number_in("contraction", contraction, 0.0)
    if c > 1.0:
        raise UnmetHypothesis(
            "contraction",
            c,
            "exceeds 1: the closed forms need contractive steps",
            "lower the learning rate to at most 2/smoothness or use optimal_shifts",
        )
    return c


def strictly_contractive(contraction: float) -> float:
    """A step Lipschitz constant inside (0, 1), where the earlier Renyi bounds are stated."""
    c = contractive(contraction)
    if c in (0.0, 1.0):
        raise UnmetHypothesis(
            "contraction",
            c,
            "is not inside (0, 1), where the prior bound is stated",
            "use strongly convex losses and a learning rate below 2/smoothness",
        )
    return c


def bounded(diameter: float) -> float:
    """A finite diameter."""
    D = number_in("diameter", diameter, 0.0, open_low=True)
    if math.isinf(D):
        raise UnmetHypothesis(
            "diameter", D, "is infinite: there is no projection", "give the constraint's diameter"
        )
    return D


def horizon(name: str, value: float) -> float:
    """A whole number >= 1, or infinity."""
    return math.inf if value == math.inf else count(name, value, 1)


def signal(sensitivity: float, noise: float) -> tuple[float, float]:
    """A sensitivity s >= 0 and a noise sd > 0, both finite."""
    s = number_in("sensitivity", sensitivity, 0.0, open_high=True)
    return s, number_in("noise", noise, 0.0, open_low=True, open_high=True)


def one_minus_powers(c: float, exponents: ArrayLike) -> Array:
    """`1 - c^k` for an array of whole k >= 0."""
    k = np.asarray(exponents, dtype=np.float64)
    if c == 0.0:
        return np.where(k > 0, 1.0, 0.0)
    return np.asarray(-np.expm1(k * math.log(c)), dtype=np.float64)


def per_step(name: str, values: ArrayLike, steps: int, *, open_low: bool = False) -> Array:
    """One finite number >= 0 for each step, from one for all or one each."""
    array = array_in(name, values, 0.0, open_low=open_low, open_high=True)
    if array.ndim > 1 or array.size not in (1, steps):
        raise InvalidInput(
            name, array.shape, f"does not fit {steps} steps", "give one number or one a step"
        )
    return np.broadcast_to(array, (steps,))
