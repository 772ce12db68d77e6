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

__all__ = [
    "CLIPPED",
    "HINGE",
    "LOGISTIC",
    "add_product",
    "as_columns",
    "as_rows",
    "compressed",
    "normals_body",
    "one_score_sum",
    "softmax_classes",
    "softmax_rows",
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
    """e^x in the precision of x: numba takes what `_exp_for` returns."""
    raise NotImplementedError


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

# --- logarithms, and normals of single precision ---

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


# --- sparse products: rows are given by their ends, and entries by their places and values ---


def _compressed(X: Any) -> tuple[Any, Any, Any]:
    """The rows of a matrix without their zeros."""
    n, d = X.shape
    ends = np.zeros(n + 1, np.int64)
    for i in range(n):
        entries = 0
        for j in range(d):
            entries += X[i, j] != 0
        ends[i + 1] = ends[i] + entries
    places, values = np.empty(ends[n], np.uint32), np.empty(ends[n], X.dtype)
    for i in range(n):
        p = ends[i]
        for j in range(d):
            if X[i, j] != 0:
                places[p], values[p] = j, X[i, j]
                p += 1
    return ends, places, values


def _turned(ends: Any, places: Any, values: Any, d: int) -> tuple[Any, Any, Any]:
    """The d columns of such rows, in the same form."""
    lasts = np.zeros(d + 1, np.int64)
    for p in range(places.size):
        lasts[places[p] + 1] += 1
    for j in range(d):
        lasts[j + 1] += lasts[j]
    free = lasts.copy()
    owners, others = np.empty(places.size, np.uint32), np.empty(places.size, values.dtype)
    for i in range(ends.size - 1):
        for p in range(ends[i], ends[i + 1]):
            q = free[places[p]]
            free[places[p]] += 1
            owners[q], others[q] = i, values[p]
    return lasts, owners, others


def _add_product(ends: Any, places: Any, values: Any, dense: Any, out: Any) -> None:
    """Add the product of such rows with a matrix to `out`, six entries at a time."""
    columns = dense.shape[1]
    for i in range(ends.size - 1):
        row = out[i]
        p, last = ends[i], ends[i + 1]
        while p + 6 <= last:
            v0, v1, v2 = values[p], values[p + 1], values[p + 2]
            v3, v4, v5 = values[p + 3], values[p + 4], values[p + 5]
            x0, x1, x2 = dense[places[p]], dense[places[p + 1]], dense[places[p + 2]]
            x3, x4, x5 = dense[places[p + 3]], dense[places[p + 4]], dense[places[p + 5]]
            for c in range(columns):
                half = (v0 * x0[c] + v1 * x1[c]) + v2 * x2[c]
                row[c] += half + ((v3 * x3[c] + v4 * x4[c]) + v5 * x5[c])
            p += 6
        while p < last:
            v0, x0 = values[p], dense[places[p]]
            for c in range(columns):
                row[c] += v0 * x0[c]
            p += 1


# --- models as rows, (models, classes), and as columns, (classes, models) ---

_LINE: Final = 16  # entries of a row that are moved together


def _as_columns(rows: Any, models: int, out: Any) -> None:
    """Write each row of (models * classes, d) to its column of (d, classes * models or more)."""
    number, d = rows.shape
    classes = number // models
    for start in range(0, d, _LINE):
        for r in range(number):
            c = r % classes * models + r // classes
            for j in range(start, min(start + _LINE, d)):
                out[j, c] = rows[r, j]


def _as_rows(columns: Any, models: int, out: Any) -> None:
    """The way back."""
    number, d = out.shape
    classes = number // models
    for start in range(0, d, _LINE):
        for r in range(number):
            c = r % classes * models + r // classes
            for j in range(start, min(start + _LINE, d)):
                out[r, j] = columns[j, c]


softmax_classes = _compiled(_softmax_classes)
softmax_rows = _compiled(_softmax_rows)
compressed = _compiled(_compressed)
turned = _compiled(_turned)
add_product = _compiled(_add_product)
as_columns = _compiled(_as_columns)
as_rows = _compiled(_as_rows)
