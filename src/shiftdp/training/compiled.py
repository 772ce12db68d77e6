"""What numba compiles, the first time it is used, and keeps on disk. Imported by `fused` alone.

Arrays of size 0 stand for what a batch does not have: limits do not clip then, scales do not scale.
Sums may be reordered, so that they run on vectors; infinities and what is not a number stay what
they are.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

from shiftdp.training.compiled_normals import normals_body
from shiftdp.training.compiled_products import add_product, compressed, turn_models, turned

__all__ = [
    "CLIPPED",
    "HINGE",
    "LOGISTIC",
    "add_product",
    "compressed",
    "normals_body",
    "one_score_sum",
    "softmax_classes",
    "softmax_rows",
    "turn_models",
    "turned",
]

LOGISTIC: Final = 0
HINGE: Final = 1
CLIPPED: Final = 2

_TOGETHER: Final = 256  # records whose sum has the precision of their features

_compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})

# --- exponentials ---

_single = np.float32
_LOG2_E: Final = _single(math.log2(math.e))
# log 2 in two parts, the first of so few digits that whole multiples of it are exact
_LOG_2_HIGH: Final = _single(0.693359375)
_LOG_2_LOW: Final = _single(math.log(2.0) - 0.693359375)
_ROUND: Final = _single(1.5 * 2.0**23)  # added and taken away again, it leaves a whole number
_LEAST, _MOST = _single(-87.0), _single(88.0)  # powers of 2 beyond these are not normal numbers
# (e^r - 1 - r)/r^2 for |r| <= log(2)/2, highest power first
_P5, _P4, _P3, _P2, _P1, _P0 = (
    _single(c) for c in (1.9875691e-4, 1.3981999e-3, 8.3334519e-3, 4.1665796e-2, 0.16666665, 0.5)
)
_BIAS, _MANTISSA = np.int32(127), np.int32(23)


def _exp(x: Any) -> Any:
    """e^x. Compiled, it is what `_exp_for` returns for the precision of x."""
    return math.exp(x)


def _exp_for(x: Any) -> Any:
    # sums in these two are not reordered: the rounding in the first is what makes it work
    return _exp_single if x == types.float32 else _exp_double


def _exp_single(x: Any) -> Any:
    """Within 1e-7 of itself, and on vectors; what it is at -87 below, and at 88 above."""
    x = min(max(x, _LEAST), _MOST)
    n = (x * _LOG2_E + _ROUND) - _ROUND
    r = (x - n * _LOG_2_HIGH) - n * _LOG_2_LOW
    tail = ((((_P5 * r + _P4) * r + _P3) * r + _P2) * r + _P1) * r + _P0
    power = np.int32((np.int32(n) + _BIAS) << _MANTISSA).view(np.float32)
    return (tail * r * r + r + _single(1.0)) * power


def _exp_double(x: Any) -> Any:
    return math.exp(x)


overload(_exp)(_exp_for)

# --- reading ahead ---

_AHEAD: Final = 8  # records
_SHORT: Final = 4096  # bytes of four records: those of longer ones the processor asks for itself
_LINE_OF_MEMORY: Final = 64  # bytes


def _asked(context: Any, array: Any, place: Any) -> Any:
    """Ask for the line of memory with this entry, counted from the first, and do not wait for it.

    It may be beyond the end.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        to_read, near, of_data = flag(0), flag(3), flag(1)
        builder.call(prefetch, [address, to_read, near, of_data])
        return context.get_dummy_value()

    return types.void(array, types.intp), code


_ask_for: Any = intrinsic(_asked)

# --- losses of one score ---


def _residual(kind: int, z: Any, y: Any, width: Any, one: Any) -> Any:
    """The derivative at a score, as `scalar_losses` has it."""
    if kind == LOGISTIC:
        return one / (one + _exp(-z)) - y
    if kind == HINGE:
        return -y * min(max((one - y * z) / width + one / (one + one), one - one), one)
    return min(max(z - y, -width), width)


def _one_score_sum(
    X: Any,
    y: Any,
    limits: Any,
    scales: Any,
    w: Any,
    b: float,
    out: Any,
    kind: int,
    width: float,
) -> float:
    """Write sum_i g_i x_i to `out` and return sum_i g_i, g_i the residual of the i-th record.

    Each record is read once, four at a time (the last four may have one record several times, of
    which one counts). Sums of 256 records are added up in double precision, whatever they have.
    """
    n, d = X.shape
    number = X.dtype.type
    zero, one, c, h = number(0), number(1), number(b), number(width)
    line = _LINE_OF_MEMORY // X.itemsize
    asked = 4 * d if 4 * d * X.itemsize <= _SHORT else 0
    total = 0.0
    wide = np.zeros(d)
    part = np.zeros(d, X.dtype)
    for start in range(0, n, _TOGETHER):
        part[:] = zero
        for i in range(start, min(start + _TOGETHER, n), 4):
            i1, i2, i3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
            x0, x1, x2, x3 = X[i], X[i1], X[i2], X[i3]
            for place in range((i + _AHEAD) * d, (i + _AHEAD) * d + asked, line):
                _ask_for(X, place)
            z0 = z1 = z2 = z3 = zero
            for j in range(d):
                z0 += x0[j] * w[j]
                z1 += x1[j] * w[j]
                z2 += x2[j] * w[j]
                z3 += x3[j] * w[j]
            s0 = s1 = s2 = s3 = one
            if scales.size:
                s0, s1, s2, s3 = scales[i], scales[i1], scales[i2], scales[i3]
            g0 = _one(kind, z0 * s0 + c, y[i], h, one)
            g1 = _one(kind, z1 * s1 + c, y[i1], h, one)
            g2 = _one(kind, z2 * s2 + c, y[i2], h, one)
            g3 = _one(kind, z3 * s3 + c, y[i3], h, one)
            if limits.size:
                g0 = min(max(g0, -limits[i]), limits[i])
                g1 = min(max(g1, -limits[i1]), limits[i1])
                g2 = min(max(g2, -limits[i2]), limits[i2])
                g3 = min(max(g3, -limits[i3]), limits[i3])
            g1 = g1 if i1 > i else zero
            g2 = g2 if i2 > i1 else zero
            g3 = g3 if i3 > i2 else zero
            total += (g0 + g1) + (g2 + g3)
            g0, g1, g2, g3 = g0 * s0, g1 * s1, g2 * s2, g3 * s3
            for j in range(d):
                part[j] += (g0 * x0[j] + g1 * x1[j]) + (g2 * x2[j] + g3 * x3[j])
        for j in range(d):
            wide[j] += part[j]
    for j in range(d):
        out[j] = wide[j]
    return total


_one = _compiled(_residual)
one_score_sum = _compiled(_one_score_sum)

# --- softmax of one model: the scores of a class are a row ---


def _softmax_classes(
    z: Any, y: Any, limits: Any, scales: Any, intercepts: Any, sums: Any, least: float
) -> None:
    """Replace products, of shape (classes, records), by p - e_y, scaled down to its limit, times
    the record's scale.

    The formula is that of `softmax._residuals`. What the records hand to the intercepts is written
    to `sums`; `least` is what a sum of squares may have lost where squares are below all numbers.
    """
    classes, n = z.shape
    number = z.dtype.type
    zero, one, low, lost = number(0), number(1), number(-1e30), number(least)
    most, own = np.empty(_TOGETHER, z.dtype), np.empty(_TOGETHER, z.dtype)
    others, factor = np.empty(_TOGETHER, z.dtype), np.empty(_TOGETHER, z.dtype)
    sums[:] = zero
    for start in range(0, n, _TOGETHER):
        b = min(n - start, _TOGETHER)
        most[:] = low
        for k in range(classes):
            row, c = z[k, start:], intercepts[k]
            if scales.size:
                for i in range(b):
                    row[i] *= scales[start + i]
            for i in range(b):
                row[i] += c
                most[i] = max(most[i], row[i])
        for i in range(b):
            own[i] = z[y[start + i], start + i]
            z[y[start + i], start + i] = low
        for i in range(b):
            own[i] = _exp(own[i] - most[i])
        others[:] = zero
        factor[:] = lost
        for k in range(classes):
            row = z[k, start:]
            for i in range(b):
                e = _exp(row[i] - most[i])
                row[i] = e
                others[i] += e
                factor[i] += e * e
        for i in range(b):
            norm = math.sqrt(factor[i] + others[i] * others[i])
            factor[i] = one / (own[i] + others[i])
            if limits.size:
                factor[i] = min(factor[i], limits[start + i] / norm)
        for i in range(b):
            z[y[start + i], start + i] = -others[i]
        for k in range(classes):
            row = z[k, start:]
            total = zero
            for i in range(b):
                row[i] *= factor[i]
                total += row[i]
            sums[k] += total
            if scales.size:
                for i in range(b):
                    row[i] *= scales[start + i]


# --- softmax of several models: a record's scores are a row, class by class, in each all models ---


_CALM: Final = 40.0**2


def _softmax_rows(
    z: Any, y: Any, limits: Any, scales: Any, intercepts: Any, sums: Any, models: int, least: float
) -> None:
    """Replace products by p - e_y, scaled down to its limit, times the record's scale.

    The formula is that of `softmax._residuals`. Rows may go on after the last intercept. What the
    records hand to the intercepts is added to `sums`; `least` is what a sum of squares may have
    lost where squares are below all numbers.
    """
    n, columns = len(z), intercepts.size
    number = z.dtype.type
    zero, one, lost, calm = number(0), number(1), number(least), number(_CALM)
    most, own = np.empty(models, z.dtype), np.empty(models, z.dtype)
    others, factor = np.empty(models, z.dtype), np.empty(models, z.dtype)
    for i in range(n):
        row = z[i]
        if scales.size:
            for c in range(columns):
                row[c] *= scales[i]
        size = zero
        for c in range(columns):
            row[c] += intercepts[c]
            size += row[c] * row[c]
        if not size < calm:  # else exponentials and their squares are numbers as they are
            most[:] = row[:models]
            for first in range(models, columns, models):
                part = row[first : first + models]
                for m in range(models):
                    most[m] = max(most[m], part[m])
            for first in range(0, columns, models):
                part = row[first : first + models]
                for m in range(models):
                    part[m] -= most[m]
        for c in range(columns):
            row[c] = _exp(row[c])
        mine = row[y[i] * models : (y[i] + 1) * models]
        own[:] = mine
        mine[:] = zero
        others[:] = zero
        factor[:] = lost
        for first in range(0, columns, models):
            part = row[first : first + models]
            for m in range(models):
                others[m] += part[m]
                factor[m] += part[m] * part[m]
        for m in range(models):
            norm = math.sqrt(factor[m] + others[m] * others[m])
            factor[m] = one / (own[m] + others[m])
            if limits.size:
                factor[m] = min(factor[m], limits[i] / norm)
            mine[m] = -others[m]
        for first in range(0, columns, models):
            part = row[first : first + models]
            for m in range(models):
                part[m] *= factor[m]
        for c in range(columns):
            sums[c] += row[c]
        if scales.size:
            for c in range(columns):
                row[c] *= scales[i]


softmax_classes = _compiled(_softmax_classes)
softmax_rows = _compiled(_softmax_rows)
