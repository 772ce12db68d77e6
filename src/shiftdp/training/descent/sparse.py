"""Sparse features in one canonical form: CSR, no entry given twice, indices checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shiftdp._errors import InvalidInput
from shiftdp.training.losses.base import described

if TYPE_CHECKING:
    from shiftdp.training.descent.records import Indices


def canonical(X: Any) -> Any:
    """A CSR matrix in which no entry is given twice, whatever X says of itself.

    SciPy keeps notes about a matrix (its indices are sorted, nothing is given twice) which an edit
    in place makes false. They are dropped here, and looked up anew.
    """
    if X.dtype.kind not in "fiub" or X.ndim != 2 or 0 in X.shape:
        raise InvalidInput(
            "X", described(X), "is not a matrix of real numbers", "give a CSR matrix with entries"
        )
    with np.errstate(all="ignore"):
        matrix = _checked_csr(wide_if_summed(X))
    if matrix is None:  # outside of the handler, so that this does not lead to what SciPy says
        raise InvalidInput(
            "X", described(X), "is a damaged sparse matrix", "build it anew from its entries"
        )
    if not matrix.has_canonical_format:
        # sums of entries in float64, so that two that fit into float32 do not overflow
        data = matrix.data.astype(np.float64)
        matrix = csr(data, matrix.indices, matrix.indptr, matrix.shape).copy()
        with np.errstate(all="ignore"):
            matrix.sum_duplicates()
    return matrix


def wide_if_summed(X: Any) -> Any:
    """A sparse matrix in float64, if its format adds up entries given twice on the way to CSR: two
    that fit into float32 may have a sum that does not."""
    if X.format not in ("coo", "bsr"):
        return X
    with np.errstate(all="ignore"):
        return X.astype(np.float64)


def _checked_csr(X: Any) -> Any:
    """As CSR, float32 or float64; None if its places are not those of a matrix."""
    try:
        given = X.tocsr()
        dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        data = given.data.astype(dtype, copy=False)
        matrix = csr(data, given.indices, given.indptr, given.shape)
        matrix.check_format(full_check=True)
    except ValueError:
        return None
    return matrix


def csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    return csr_array((data, indices, indptr), shape=shape, copy=False)


def rows_of_csr(X: Any, rows: Indices) -> Any:
    """Some rows; consecutive ones without a copy of their entries."""
    if not isinstance(rows, slice):
        return X[rows]
    ends = X.indptr[rows.start : rows.stop + 1]
    inside = slice(ends[0], ends[-1])
    shape = (rows.stop - rows.start, X.shape[1])
    return csr(X.data[inside], X.indices[inside], ends - ends[0], shape)
