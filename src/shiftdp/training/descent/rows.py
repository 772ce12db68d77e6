"""Feature vectors, brought within their bound before any product, in arithmetic without overflow.

Features are kept as they are given, float32 or float64, dense or sparse. What the products see are
blocks in float64, each row at most `bound` long: rows above it are scaled down when a block is
taken. Norms are upper bounds: they are computed from the very entries that the products will use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.losses.base import described

__all__ = ["BoundedRows", "Indices", "bounded_rows", "wide_if_summed"]

Array = NDArray[np.float64]
Indices = slice | NDArray[np.intp]
"""Which rows: a slice with both ends given, or an array of their places."""

_UNIT = 2.0**-53
_LOST = 2.0**-500  # more than squares below the smallest float can take away from a norm
_HUGE = 2.0**500  # the square of a larger entry may overflow
_ROOM = 1.0 - 2.0**-50  # for the roundings of a scale and of the product with it
_ENTRIES = 1 << 20  # looked at together


@dataclass(frozen=True, repr=False)
class BoundedRows:
    """n rows of features, each at most `bound` long in every block that is taken.

    Args:
        features: a matrix of float32 or float64, or a canonical CSR matrix of SciPy.
        norms: upper bounds on the norms of the rows as taken.
        scales: the factor of each row, if one is below 1.
        shrink: a power of two for each row, applied before the scale, if some row is so large that
            its norm is beyond the range of floats.
        longest: an upper bound on the norm of the longest row as given; infinite beyond floats.
    """

    features: Any
    norms: Array
    scales: Array | None
    shrink: Array | None
    longest: float

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.features.shape
        return int(n), int(d)

    @property
    def sparse(self) -> bool:
        return not isinstance(self.features, np.ndarray)

    def take(self, rows: Indices, buffer: Array | None = None) -> Any:
        """These rows in float64, within the bound.

        Dense rows are always copied, so that what the products see of a row, its place in memory
        included, does not depend on whether some other row had to be scaled.

        Args:
            buffer: float64, at least as many rows as are taken: a dense block is written here.
        """
        if self.sparse:
            return self._sparse_block(rows)
        given = self.features[rows]
        block = np.empty(given.shape) if buffer is None else buffer[: len(given)]
        np.copyto(block, given)
        for factors in (self.shrink, self.scales):
            if factors is not None:
                block *= factors[rows, None]
        return block

    def _sparse_block(self, rows: Indices) -> Any:
        block = _rows_of_csr(self.features, rows)
        data = block.data.astype(np.float64)
        entries = np.diff(block.indptr)
        for factors in (self.shrink, self.scales):
            if factors is not None:
                data *= np.repeat(factors[rows], entries)
        return _csr(data, block.indices, block.indptr, block.shape)


def bounded_rows(X: Any, bound: float) -> BoundedRows:
    """The rows of a matrix, or one error that tells nothing of their entries.

    A float64 row with entries near the largest float is scaled like any other:

    >>> rows = bounded_rows(np.array([[1e308, 1e308], [0.3, 0.4]]), bound=1.0)
    >>> rows.take(slice(0, 2)).round(3)
    array([[0.707, 0.707],
           [0.3  , 0.4  ]])
    """
    features = _features(X)
    norms, shrink = _norms(features)
    if np.isnan(norms).any():
        raise InvalidInput(
            "X", described(X), "has entries that are not finite", "give finite numbers"
        )
    above = norms > bound
    if shrink is not None:
        above |= shrink < 1.0
    scales = None
    if above.any():
        scales = np.ones_like(norms)
        scales[above] = bound / norms[above] * _ROOM
    longest = float(norms.max()) if shrink is None else np.inf
    held = np.where(above, bound, norms)
    return BoundedRows(features, held, scales, shrink, longest)


def _norms(features: Any) -> tuple[Array, Array | None]:
    """Upper bounds on the norms of the rows, NaN where an entry is not finite; and what rows are
    shrunk by first, if any row is huge.

    A sum of d squares is right to (d + 1) u of itself, and its root to half of that, wherever
    squares do not underflow; so a norm is at most (1 + (d + 8) u) times what is computed, plus what
    underflow takes away.
    """
    n, d = features.shape
    norms, largest = np.empty(n), np.empty(n)
    rows = max(1, _ENTRIES // d)
    with np.errstate(all="ignore"):
        for start in range(0, n, rows):
            part = slice(start, min(start + rows, n))
            norms[part], largest[part] = _norms_of(features, part, None)
        norms[~np.isfinite(largest)] = np.nan
        shrink: Array | None = None
        if (largest > _HUGE).any():
            shrink = np.where(largest > _HUGE, np.exp2(-np.ceil(np.log2(largest))), 1.0)
            for start in range(0, n, rows):
                part = slice(start, min(start + rows, n))
                if (shrink[part] < 1.0).any():
                    norms[part], _ = _norms_of(features, part, shrink[part])
        return norms * (1.0 + (d + 8) * _UNIT) + _LOST, shrink


def _norms_of(features: Any, part: slice, shrink: Array | None) -> tuple[Array, Array]:
    """The norm and the largest modulus of each of some rows, in float64, shrunk first if wanted."""
    if isinstance(features, np.ndarray):
        block = features[part].astype(np.float64, copy=shrink is not None)
        if shrink is not None:
            block *= shrink[:, None]
        largest = np.maximum(block.max(axis=1), -block.min(axis=1))
        return np.sqrt(np.einsum("ij,ij->i", block, block)), largest
    block = _rows_of_csr(features, part)
    data = block.data.astype(np.float64)
    entries = np.diff(block.indptr)
    if shrink is not None:
        data *= np.repeat(shrink, entries)
    owner = np.repeat(np.arange(len(entries)), entries)
    largest = np.zeros(len(entries))
    np.maximum.at(largest, owner, np.abs(data))
    squares = np.bincount(owner, weights=data * data, minlength=len(entries))
    return np.sqrt(squares), largest


def _features(X: Any) -> Any:
    """The matrix, float32 or float64, in a layout whose rows can be read without a copy."""
    from scipy.sparse import issparse

    if issparse(X):
        return _canonical(X)
    remedy = "give a matrix of finite numbers, one row a record"
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):
        array = None
    if array is None:  # outside of the handler, so that this does not lead to what NumPy says
        raise InvalidInput("X", described(X), "is not a matrix", remedy)
    if array.dtype.kind not in "fiub":
        raise InvalidInput("X", described(array), "is not an array of real numbers", remedy)
    if array.ndim != 2 or 0 in array.shape:
        problem = "is empty" if array.size == 0 else "is not a matrix"
        raise InvalidInput("X", described(array), problem, remedy)
    if array.dtype not in (np.float32, np.float64):
        with np.errstate(all="ignore"):
            array = array.astype(np.float64)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    return array


def _canonical(X: Any) -> Any:
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
        matrix = _csr(data, matrix.indices, matrix.indptr, matrix.shape).copy()
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
        matrix = _csr(data, given.indices, given.indptr, given.shape)
        matrix.check_format(full_check=True)
    except ValueError:
        return None
    return matrix


def _csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    return csr_array((data, indices, indptr), shape=shape, copy=False)


def _rows_of_csr(X: Any, rows: Indices) -> Any:
    """Some rows; consecutive ones without a copy of their entries."""
    if not isinstance(rows, slice):
        return X[rows]
    ends = X.indptr[rows.start : rows.stop + 1]
    inside = slice(ends[0], ends[-1])
    shape = (rows.stop - rows.start, X.shape[1])
    return _csr(X.data[inside], X.indices[inside], ends - ends[0], shape)
