"""Normals of single precision from whole numbers, compiled by numba. Handed out by `compiled`.

No sum is reordered: the logarithm depends on its roundings.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numba import njit

__all__ = ["normals_body"]

_single = np.float32
_MANTISSA: Final = np.int32(23)  # bits
_LOG_2: Final = _single(math.log(2.0))
_ROOT_HALF: Final = np.int32(np.float32(math.sqrt(0.5)).view(np.int32))
# (log(1 + f) - f + f^2/2)/f^3 for sqrt(1/2) <= 1 + f <= sqrt(2), highest power first
_Q8, _Q7, _Q6, _Q5, _Q4, _Q3, _Q2, _Q1, _Q0 = (
    _single(c)
    for c in (
        7.0376836e-2,
        -0.11514610,
        0.11676998,
        -0.12420141,
        0.14249323,
        -0.16668058,
        0.20000714,
        -0.24999994,
        0.33333331,
    )
)


def _log_single(x: Any) -> Any:
    """log x for normal numbers, absolutely within 1e-7 of it for x in [2^-9, 1]."""
    bits = np.int32(_single(x).view(np.int32) - _ROOT_HALF)
    e = np.int32(bits >> _MANTISSA)
    f = np.int32((bits - np.int32(e << _MANTISSA)) + _ROOT_HALF).view(np.float32) - _single(1.0)
    low = (((_Q8 * f + _Q7) * f + _Q6) * f + _Q5) * f + _Q4
    tail = (((low * f + _Q3) * f + _Q2) * f + _Q1) * f + _Q0
    return (tail * f - _single(0.5)) * f * f + f + _single(e) * _LOG_2


def _normals_body(r: Any, coefficients: Any, depth: float, outer: Any, out: Any) -> Any:
    """Write the normals of `entropy.short_normals` in the body, and return where the others are."""
    scale, slope = _single(2.0**-31), _single(2.0 / depth)
    c9, c8, c7, c6, c5, c4, c3, c2, c1, c0 = coefficients
    for i in range(r.size):
        inward = np.int32(_INWARD - np.int32(np.int32(r[i] >> _SIGN) ^ r[i]))
        m = _single(inward) * scale
        w = _log(m * (_single(2.0) - m)) * slope + _single(1.0)
        high = (((c9 * w + c8) * w + c7) * w + c6) * w + c5
        low = ((((high * w + c4) * w + c3) * w + c2) * w + c1) * w + c0
        out[i] = low * (_single(r[i]) + _single(0.5))
    last = _INWARD - outer
    tails = np.empty(r.size, np.intp)
    found = 0
    for i in range(r.size):
        tails[found] = i
        found += r[i] > last or r[i] < -last - 1
    return tails[:found].copy()


_SIGN, _INWARD = np.int32(31), np.int32(2**31 - 1)
_log = njit(nogil=True, cache=True, error_model="numpy")(_log_single)
normals_body = njit(nogil=True, cache=True, error_model="numpy")(_normals_body)
