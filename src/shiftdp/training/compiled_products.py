"""Products that leave out zeros, and stacks of models as rows and as columns, compiled by numba.

Handed out by `compiled`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

__all__ = ["add_product", "compressed", "turn_models", "turned"]

_compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})

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


def _turn_models(rows: Any, models: int, columns: Any, back: bool) -> None:
    """Write each row of (models * classes, d) to its column of (d, classes * models or more), or,
    to go back, the columns to the rows."""
    number, d = rows.shape
    classes = number // models
    for start in range(0, d, _LINE):
        for r in range(number):
            c = r % classes * models + r // classes
            for j in range(start, min(start + _LINE, d)):
                if back:
                    rows[r, j] = columns[j, c]
                else:
                    columns[j, c] = rows[r, j]


compressed = _compiled(_compressed)
turned = _compiled(_turned)
add_product = _compiled(_add_product)
turn_models = _compiled(_turn_models)
