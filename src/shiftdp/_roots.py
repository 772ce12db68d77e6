"""The one root-finder: vectorised bisection of a monotone condition, ending on the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array

__all__ = ["bracket_up", "least", "most"]

Condition = Callable[[Array], NDArray[np.bool_]]
_HALVINGS = 200


def least(holds: Condition, low: Array, high: Array) -> Array:
    """The least x in [low, high] from which `holds` is true, as a float that satisfies it.

    To the last bit, or to 2^-200 of the bracket. `high` must satisfy it.

    >>> least(lambda x: x * x >= 2, np.array([0.0]), np.array([2.0])) ** 2 >= 2
    array([ True])
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    done = holds(low)
    high[done] = low[done]
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if np.all((middle <= low) | (middle >= high)):
            break
        good = holds(middle)
        high = np.where(good, middle, high)
        low = np.where(good, low, middle)
    return high


def most(holds: Condition, low: Array, high: Array) -> Array:
    """The greatest x in [low, high] up to which `holds` is true; `low` must satisfy it.

    >>> most(lambda x: x * x <= 2, np.array([0.0]), np.array([2.0])) ** 2 <= 2
    array([ True])
    """
    return -least(lambda x: holds(-x), -np.asarray(high), -np.asarray(low))


def bracket_up(holds: Condition, start: Array, limit: float = 1e300) -> Array:
    """A point right of `start` > 0 where `holds`, by squaring the factor; infinity if none."""
    high = np.array(start, dtype=np.float64)
    factor = 2.0
    while True:
        missing = ~holds(high)
        if not missing.any():
            return high
        with np.errstate(over="ignore"):
            further = high[missing] * factor
        high[missing] = np.where(further < limit, further, math.inf)
        if np.all(np.isinf(high[missing])):
            return high
        factor *= factor
