"""The gradient of several softmax models on the same batch, compiled by numba if it is installed.

The models are the columns of one matrix, so that a record's scores are a row, and all between the
two products is one pass over it. Where most features are zero, as in images, the products leave
them out: every part of a batch is kept without its zeros, row by row and column by column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp.training.batches import is_repeated
from shiftdp.training.crew import Context
from shiftdp.training.fused import kernels
from shiftdp.training.gradient import GradientSum, Parameters
from shiftdp.training.loss import Floats
from shiftdp.training.plan import Plan
from shiftdp.training.records import Records
from shiftdp.training.softmax import Softmax

__all__ = ["StackedSum", "gradient_sum"]

_THIN = 0.3  # of the features are not zero, at most: else a dense product is as fast
_SEEN = 1 << 20  # features that are looked at to tell
_THIN_BLOCK = 250  # records: their scores stay in the cache between the products
_DENSE_BLOCK = 1500
_LINE = 64  # bytes


def gradient_sum(
    plan: Plan, records: Records, at: Parameters, largest: int, *, among_others: bool = False
) -> GradientSum | StackedSum:
    """The sum that suits the plan.

    Args:
        among_others: whether other threads make sums as well, and products have one thread each:
            the sum then has no threads of its own.
    """
    stack = among_others and at.shape[0] > 1 and is_repeated(plan.run)
    unsolved = plan.plainly_clipped or records.limits is None  # no envelope to be solved for
    work = float(at.weights.size) * largest * plan.run.steps
    compiled = kernels(work) if stack and unsolved and isinstance(plan.loss, Softmax) else None
    if compiled is not None:
        return StackedSum(compiled, records, at)
    return GradientSum(plan, records, at, largest, threads=not among_others)


class _Block(NamedTuple):
    """Some records: their features, or these without zeros, row by row and column by column."""

    features: Floats | None
    rows: tuple[Any, ...]
    columns: tuple[Any, ...]
    targets: NDArray[Any]
    limits: Floats
    scales: Floats


class StackedSum(Context):
    """The sum of the gradients over a batch of consecutive records, for softmax models whose
    residuals are scaled down to their limits or not clipped. Use it as a context.
    """

    leaves_cores = False

    def __init__(self, compiled: Any, records: Records, at: Parameters) -> None:
        runs, classes, features = at.shape
        columns, dtype = runs * classes, records.dtype
        self.compiled, self._records, self._at = compiled, records, at
        self._thin = records.sparse or _thin(records.features)
        self._size = _THIN_BLOCK if self._thin else _DENSE_BLOCK
        self._lost = 2 * classes * float(np.finfo(dtype).tiny)
        self._weights, self._part, self._total = (
            _in_lines(features, columns, dtype) for _ in range(3)
        )
        self._scores = _in_lines(self._size, columns, dtype)
        self._intercepts = np.zeros(columns, dtype=dtype)
        self._sums = np.empty_like(self._intercepts)
        self._out = Parameters(runs, classes, features, at.intercepts is not None, dtype)

    def close(self) -> None:
        kept = (self._weights, self._intercepts, self._scores, self._part, self._total, self._sums)
        for array in (*kept, self._out.flat):
            array.fill(0)

    def __call__(self, rows: slice | NDArray[np.intp]) -> Floats:
        """The sum over these records, flat as the parameters; it is overwritten by the next."""
        if not isinstance(rows, slice):
            raise TypeError("batches that are drawn have a sum of their own")
        at, out = self._at, self._out
        models, turn = at.shape[0], self.compiled.turn_models
        turn(at.weights, models, self._weights, False)
        if at.intercepts is not None:
            turn(at.intercepts, models, self._intercepts[None, :], False)
        self._total.fill(0)
        self._sums.fill(0)
        for start in range(rows.start, rows.stop, self._size):
            self._add(self._look_up(start, min(start + self._size, rows.stop)))
        turn(out.weights, models, self._total, True)
        if out.intercepts is not None:
            turn(out.intercepts, models, self._sums[None, :], True)
        return out.flat

    def _add(self, block: _Block) -> None:
        z = self._scores[: block.targets.size]
        if block.features is not None:
            np.matmul(block.features, self._weights, out=z)
        else:
            z.fill(0)
            self.compiled.add_product(*block.rows, self._weights, z)
        self.compiled.softmax_rows(
            z,
            block.targets,
            block.limits,
            block.scales,
            self._intercepts,
            self._sums,
            self._at.shape[0],
            self._lost,
        )
        if block.features is not None:
            self._total += np.matmul(block.features.T, z, out=self._part)
        else:
            self.compiled.add_product(*block.columns, z, self._total)

    def _look_up(self, start: int, stop: int) -> _Block:
        """The same blocks come again in each epoch, and are kept."""
        key, forms = ("block", start, stop), self._records.forms
        if key not in forms:
            forms[key] = self._cut(slice(start, stop))
        block: _Block = forms[key]
        return block

    def _cut(self, rows: slice) -> _Block:
        records = self._records
        X, none = records.features, np.empty(0, dtype=records.dtype)
        features: Floats | None = None
        entries: tuple[Any, ...] = ()
        if records.sparse:
            ends = X.indptr[rows.start : rows.stop + 1].astype(np.int64)
            inside = slice(ends[0], ends[-1])
            entries = ends - ends[0], X.indices[inside].astype(np.uint32), X.data[inside]
        elif self._thin:
            entries = self.compiled.compressed(X[rows])
        else:
            features = X[rows]
        return _Block(
            features,
            entries,
            self.compiled.turned(*entries, X.shape[1]) if entries else (),
            records.targets[rows],
            none if records.limits is None else records.limits[rows],
            none if records.scales is None else records.scales[rows],
        )


def _thin(X: Floats) -> bool:
    """Whether most of the first rows' features are zero."""
    first = X[: max(1, _SEEN // X.shape[1])]
    return bool(np.count_nonzero(first) <= _THIN * first.size)


def _in_lines(rows: int, columns: int, dtype: np.dtype[Any]) -> Floats:
    """Zeros, in rows that begin and end with a line of memory."""
    width = -(-columns * dtype.itemsize // _LINE) * _LINE
    memory = np.zeros(rows * width + _LINE, dtype=np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + rows * width].view(dtype).reshape(rows, -1)
