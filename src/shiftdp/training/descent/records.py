"""The data of a run, checked before the first step: features, targets, and clipping limits.

Features are kept as they are given, float32 or float64, dense or sparse. What the products see are
blocks in float64, each row at most `bound` long: rows above it are scaled down when a block is
taken. Norms are upper bounds, computed without overflow from the very entries that the products
will use. Sparse features have one canonical form (`sparse`). Features in a mapped file stay there,
and what is computed of each row is in files then, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp._rounding import EIGHT_ROUNDINGS, UNIT
from shiftdp.training.centring import Centre, measured, refuse_to_centre
from shiftdp.training.descent.disk import blocks, is_mapped, let_go, on_disk, taken
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.descent.sparse import canonical, csr, rows_of_csr
from shiftdp.training.losses.base import Floats, described

if TYPE_CHECKING:
    from shiftdp.training.plan import Plan

_LOST = 2.0**-500  # more than squares below the smallest float can take away from a norm
_HUGE = 2.0**500  # the square of a larger entry may overflow
_ROOM = 1.0 - EIGHT_ROUNDINGS  # for the roundings of a scale and of the product with it
_ENTRIES = 1 << 18  # whose norms are computed together: their float64 copies take 2 MB


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
    norms: Floats
    scales: Floats | None
    shrink: Floats | None
    longest: float

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.features.shape
        return int(n), int(d)

    @property
    def sparse(self) -> bool:
        return not isinstance(self.features, np.ndarray)

    @cached_property
    def mapped(self) -> bool:
        """Whether the features are in a file that is larger than memory, for all that is known."""
        return is_mapped(self.features)

    def take(self, rows: Indices, buffer: Floats | None = None) -> Any:
        """These rows in float64, within the bound.

        Dense rows are always copied, so that what the products see of a row, its place in memory
        included, does not depend on whether some other row had to be scaled.

        Args:
            buffer: float64, at least as many rows as are taken: a dense block is written here.
        """
        if self.sparse:
            return self._sparse_block(rows)
        number = length_of(rows)
        block = np.empty((number, self.shape[1])) if buffer is None else buffer[:number]
        if self.mapped:
            taken(self.features, rows, block)
        else:
            np.copyto(block, self.features[rows])
        for factors in (self.shrink, self.scales):
            if factors is not None:
                _scale(block, numbers_at(factors, rows))
        if self.mapped:
            self._require_unchanged(rows, block)
        return block

    def _require_unchanged(self, rows: Indices, block: Floats) -> None:
        """Refuse rows of a file that became longer than they were when their norms were taken.

        A file can be written to while it is trained on. Two computed norms of one row are apart by
        rounding; a norm that is not a number is refused, too.
        """
        allowed = numbers_at(self.norms, rows) * (1.0 + 2 * (self.shape[1] + 8) * UNIT) + _LOST
        with np.errstate(all="ignore"):
            unchanged = bool((np.sqrt(np.einsum("ij,ij->i", block, block)) <= allowed).all())
        if not unchanged:
            raise InvalidInput(
                "X",
                described(self.features),
                "is a file that was changed while it was read",
                "leave it as it is until the end",
            )

    def _sparse_block(self, rows: Indices) -> Any:
        block = rows_of_csr(self.features, rows)
        data = block.data.astype(np.float64)
        entries = np.diff(block.indptr)
        for factors in (self.shrink, self.scales):
            if factors is not None:
                data *= np.repeat(numbers_at(factors, rows), entries)
        return csr(data, block.indices, block.indptr, block.shape)


def _scale(block: Floats, factors: Floats) -> None:
    """Multiply rows by their factors; those whose factor is 1 need not be touched."""
    some = np.flatnonzero(factors != 1.0)
    if 4 * some.size > factors.size:
        block *= factors[:, None]
    elif some.size:
        block[some] *= factors[some, None]


@dataclass(frozen=True, repr=False)
class Records:
    """The records of a run.

    Args:
        rows: the feature vectors, none longer than the plan's bound.
        targets: the labels or numbers, in the form that the loss wants.
        limits: the norm that the residual of each record is clipped to; None without clipping.
        room: for the rows of a run that centres them, made before anything is charged.
    """

    rows: BoundedRows
    targets: NDArray[Any]
    limits: Floats | None
    room: NDArray[Any] | None = None

    @property
    def digest(self) -> bytes:
        """A hash of features and targets, read from front to back."""
        found = hashlib.blake2b(repr((self.rows.shape, self.targets.dtype.str)).encode())
        for part in blocks(self.rows.shape[0], 8 * self.rows.shape[1]):
            block = self.rows.take(part)
            entries = (
                (block,) if not self.rows.sparse else (block.data, block.indices, block.indptr)
            )
            for array in (*entries, numbers_at(self.targets, part)):
                if array.size:
                    found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return found.digest()


def let_go_around(records: Records, stop: int) -> None:
    """Give back what is mapped of a file where a pass over some of its rows ended."""
    rows = records.rows
    arrays = (rows.features, rows.norms, rows.scales, rows.shrink, records.targets, records.limits)
    _let_go(slice(max(0, stop - 1), stop), *arrays)


def prepare(plan: Plan, X: Any, y: Any, *, part: int | None = None) -> Records:
    """Check the data that a plan is to run on; an error names shapes and types, never a value.

    Args:
        plan: what runs.
        X, y: the records.
        part: how many of the plan's records these are, where they are not all.
    """
    rows = bounded_rows(X, plan.feature_bound)
    n, d = rows.shape
    expected = plan.run.n if part is None else part
    if n != expected:
        raise InvalidInput(
            "X", described(X), f"does not have the {expected} records of the plan", "plan anew"
        )
    if plan.features is not None and d != plan.features:
        raise InvalidInput(
            "X", described(X), f"does not have the {plan.features} features of the plan", "give it"
        )
    if plan.centred and rows.sparse:
        raise refuse_to_centre("rows that are sparse")
    targets = _targets(plan, y, rows.mapped)
    if targets.shape != (n,):
        raise InvalidInput("y", described(targets), f"does not have {n} entries", "give one a row")
    # rows that were scaled to the bound in their own precision are not refused
    rounding = 8.0 * float(np.finfo(rows.features.dtype).eps) + (2 * d + 32) * UNIT
    if plan.oversized == "refuse" and rows.longest > plan.feature_bound * (1.0 + rounding):
        raise InvalidInput(
            "X",
            described(X),
            f"has a row of norm above feature_bound={plan.feature_bound:g}",
            'rescale it, or give the plan oversized="scale"',
        )
    return Records(rows, targets, _limits(plan, rows), _room(rows) if plan.centred else None)


def centred(plan: Plan, records: Records, stream: Stream) -> tuple[Centre, Records]:
    """Where the rows lie, measured with noise, and the records as distances from there."""
    centre = measured(plan, records.rows, stream)
    return centre, moved(plan, records, centre)


def moved(plan: Plan, records: Records, centre: Centre) -> Records:
    """The records with their rows as distances from a centre, within the bound. Theorem P2"""
    n, d = records.rows.shape
    rows = _room(records.rows) if records.room is None else records.room
    for part in blocks(n, 8 * d):
        rows[part] = centre.moved(records.rows.take(part), plan.feature_bound)
        _let_go(part, rows)
    bounded = bounded_rows(rows, plan.feature_bound)
    return Records(bounded, records.targets, _limits(plan, bounded))


def _room(rows: BoundedRows) -> NDArray[Any]:
    """Room for as many rows of the same kind, where they are: in memory, or on disk."""
    dtype = rows.features.dtype
    return on_disk(rows.shape, dtype) if rows.mapped else np.empty(rows.shape, dtype)


def _targets(plan: Plan, y: Any, mapped: bool) -> NDArray[Any]:
    """What the loss makes of the labels, each by itself; on disk if the features are."""
    if not mapped or not isinstance(y, np.ndarray) or y.ndim != 1 or y.size == 0:
        return plan.loss.targets(y)
    found = on_disk(len(y), plan.loss.targets(y[:1]).dtype)
    for part in blocks(len(y), 8):
        found[part] = plan.loss.targets(y[part])
        _let_go(part, found, y)
    return found


def numbers_at(array: NDArray[Any], rows: Indices) -> NDArray[Any]:
    """One number for each of these rows, from an array that may be on disk."""
    if not is_mapped(array):
        found: NDArray[Any] = array[rows]
        return found
    block = np.empty(length_of(rows), dtype=array.dtype)
    taken(array, rows, block)
    return block


def _limits(plan: Plan, rows: BoundedRows) -> Floats | None:
    """The limit clip/|x| for the residual of each record: its gradient has the norm |g| |x|.

    It is made smaller by what rounding may add to the norm of a computed residual, so that no
    computed gradient is longer than the clip.
    """
    if plan.residual_clip is None:
        return None
    room = 1.0 - 2.0 * (8 + plan.loss.outputs) * UNIT
    largest = 0.5 * float(np.finfo(np.float64).max)
    limits = _one_a_row(rows.features)
    with np.errstate(over="ignore"):
        for part in blocks(len(limits), 8):
            norms = rows.norms[part]
            if plan.intercept:
                norms = np.sqrt(norms * norms + 1.0)
            limits[part] = np.minimum(plan.residual_clip * room / norms, largest)
            if rows.mapped:
                _let_go(part, rows.norms, limits)
    return limits


def _one_a_row(features: Any) -> Floats:
    """Room for a number for each row, where the features are: in memory, or on disk."""
    n = features.shape[0]
    return on_disk(n) if is_mapped(features) else np.empty(n)


def _ones(features: Any) -> Floats:
    """A factor of 1 for each row, where the features are."""
    made = _one_a_row(features)
    for part in blocks(len(made), 8):
        made[part] = 1.0
        _let_go(part, made)
    return made


def _let_go(part: slice, *arrays: Any) -> None:
    for array in arrays:
        if isinstance(array, np.ndarray):
            let_go(array[part])


def bounded_rows(X: Any, bound: float) -> BoundedRows:
    """The rows of a matrix, or one error that tells nothing of their entries.

    A float64 row with entries near the largest float is scaled like any other:

    >>> rows = bounded_rows(np.array([[1e308, 1e308], [0.3, 0.4]]), bound=1.0)
    >>> rows.take(slice(0, 2)).round(3)
    array([[0.707, 0.707],
           [0.3  , 0.4  ]])
    """
    features = _features(X)
    n, d = features.shape
    mapped = is_mapped(features)
    held, scales = _one_a_row(features), _one_a_row(features)
    shrink: Floats | None = None
    finite, scaled, longest = True, False, 0.0
    rows = max(1, _ENTRIES // d)
    for start in range(0, n, rows):
        part = slice(start, min(start + rows, n))
        norms, factors = _norms(features, part)
        finite = finite and not np.isnan(norms).any()
        above = norms > bound
        if factors is None:
            longest = max(longest, float(norms.max()))
        else:
            above |= factors < 1.0
            longest = np.inf
            shrink = _ones(features) if shrink is None else shrink
            shrink[part] = factors
        scaled = scaled or bool(above.any())
        with np.errstate(all="ignore"):
            scales[part] = np.where(above, bound / norms * _ROOM, 1.0)
        held[part] = np.where(above, bound, norms)
        if mapped:
            _let_go(part, features, held, scales, shrink)
    if not finite:
        raise InvalidInput(
            "X", described(X), "has entries that are not finite", "give finite numbers"
        )
    return BoundedRows(features, held, scales if scaled else None, shrink, longest)


def _norms(features: Any, part: slice) -> tuple[Floats, Floats | None]:
    """Upper bounds on the norms of some rows, NaN where an entry is not finite; and what they are
    shrunk by first, if any of them is huge.

    A sum of d squares is right to (d + 1) u of itself, and its root to half of that, wherever
    squares do not underflow; so a norm is at most (1 + (d + 8) u) times what is computed, plus what
    underflow takes away.
    """
    with np.errstate(all="ignore"):
        norms, largest = _norms_of(features, part, None)
        norms[~np.isfinite(largest)] = np.nan
        shrink: Floats | None = None
        if (largest > _HUGE).any():
            shrink = np.where(largest > _HUGE, np.exp2(-np.ceil(np.log2(largest))), 1.0)
            norms, _ = _norms_of(features, part, shrink)
            norms[~np.isfinite(largest)] = np.nan
        return norms * (1.0 + (features.shape[1] + 8) * UNIT) + _LOST, shrink


def _norms_of(features: Any, part: slice, shrink: Floats | None) -> tuple[Floats, Floats]:
    """The norm and the largest modulus of each of some rows, in float64, shrunk first if wanted."""
    if isinstance(features, np.ndarray):
        block = features[part].astype(np.float64, copy=shrink is not None)
        if shrink is not None:
            block *= shrink[:, None]
        largest = np.maximum(block.max(axis=1), -block.min(axis=1))
        return np.sqrt(np.einsum("ij,ij->i", block, block)), largest
    block = rows_of_csr(features, part)
    data = block.data.astype(np.float64)
    entries = np.diff(block.indptr)
    if shrink is not None:
        data *= np.repeat(shrink, entries)
    owner = np.repeat(np.arange(len(entries)), entries)
    largest = np.zeros(len(entries))
    np.maximum.at(largest, owner, np.abs(data))
    squares = np.bincount(owner, weights=data * data, minlength=len(entries))
    return np.sqrt(squares), largest


def is_collection(X: Any) -> bool:
    """Whether it is a collection of Dask, asked without importing Dask."""
    return hasattr(type(X), "__dask_graph__")


def _features(X: Any) -> Any:
    """The matrix, float32 or float64, in a layout whose rows can be read without a copy."""
    from scipy.sparse import issparse

    if issparse(X):
        return canonical(X)
    if is_collection(X):
        raise InvalidInput(
            "X", f"<{type(X).__name__}>", "is a Dask collection", "call shiftdp.dask.descend"
        )
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
    # rows of a file are copied block by block in any case
    if not (array.flags.c_contiguous or array.flags.f_contiguous or is_mapped(array)):
        array = np.ascontiguousarray(array)
    return array


Indices = slice | NDArray[np.intp]
"""Which rows: a slice with both ends given, or an array of their places."""


def length_of(rows: Indices) -> int:
    """How many rows there are."""
    return int(rows.stop - rows.start) if isinstance(rows, slice) else rows.size


def part_of(rows: Indices, start: int, stop: int) -> Indices:
    """Some of these rows, by their places among them."""
    if isinstance(rows, slice):
        return slice(rows.start + start, rows.start + stop)
    return rows[start:stop]


def parts_of(rows: Indices, size: int) -> Iterator[Indices]:
    """These rows in turn, at most so many at a time."""
    number = length_of(rows)
    for start in range(0, number, size):
        yield part_of(rows, start, min(start + size, number))
