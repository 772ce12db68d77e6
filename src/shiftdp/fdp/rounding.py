"""Roundings to the private side that a relative margin cannot express."""

from __future__ import annotations

import numpy as np

from shiftdp._checks import Array

__all__ = ["complement_down", "scaled_up"]

_LEAST = 5e-324  # the least positive float


def complement_down(x: Array) -> Array:
    """The greatest float that is at most 1 - x, for x in [0, 1].

    >>> float(complement_down(np.array(1e-300))), float(complement_down(np.array(0.25)))
    (0.9999999999999999, 0.75)
    """
    value = 1.0 - x
    # 1 - value is exact wherever 1 - x is not
    too_large = 1.0 - value < x
    return np.where(too_large, np.nextafter(value, 0.0), value)


def scaled_up(weight: float | Array, x: Array) -> Array:
    """weight x, rounded up, for weight in [0, 1]: what is positive stays so when it underflows."""
    # the last term is for subnormal products, which are rounded by half of it twice at most
    scaled = weight * x * (1 + 4e-16) + _LEAST
    return np.where((x > 0.0) & (weight > 0.0), scaled, 0.0)
