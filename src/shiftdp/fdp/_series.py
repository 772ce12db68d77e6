"""Functions whose obvious formula would lose digits, by their power series."""

from __future__ import annotations

import math

import numpy as np

from shiftdp._checks import Array

# up to 1/18!, the first term below a rounding error of 1/2! at |y| = 1; highest power first
_FACTORIALS = [1.0 / math.factorial(k) for k in range(18, 1, -1)]


def exp_excess(y: Array) -> Array:
    """e^y - 1 - y for |y| <= 1, to full relative precision.

    >>> float(exp_excess(np.array(1e-8)))
    5.0000000166666...e-17
    """
    total = np.zeros(np.shape(y))
    for coefficient in _FACTORIALS:
        total = total * y + coefficient
    return np.asarray(total * y * y)
