"""The gradient of a batch by two matrix products: scores, and the sum of residuals times features.

Scores are kept transposed, (outputs, records), so that everything between the two products runs
along contiguous rows. Several models on the same batch are stacked: their scores are one product.
Large batches are cut into blocks that stay in the cache between the two products, and these are
shared out among threads: one part of the batch for each. With numba installed, large batches of
models of one score are summed in one pass (`fused`), and stacks of softmax models in another way
(`stacked`).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shiftdp.training.crew import Context, Crew, cores, products_can_be_limited
from shiftdp.training.fused import FusedSum, fused_sum, kernels
from shiftdp.training.loss import Floats
from shiftdp.training.plan import Plan
from shiftdp.training.records import Records
from shiftdp.training.softmax import Softmax

__all__ = ["GradientSum", "Parameters"]

_SMALL = 1 << 21  # multiplications of a product that is over before a second thread has helped
_LARGE = 1 << 25  # bytes of a batch that is not left to the products' own threads
_BUSY = 1 << 20  # entries of a sparse batch times scores a record: its products have no threads
_BLOCK = 1 << 22  # bytes of a block's features: more leaves the cache, less is mostly calls
_SMALL_BLOCK = 1 << 21  # the same for one score a record, where a product is one read
_SCORES = 1 << 20  # bytes of a block's scores: each block costs a sum over all parameters
_LEAST = 256  # records of a block
_KEPT = 1 << 12  # blocks whose views are kept
# Scores a record up to which products are made the other way round and then turned. Their few
# scores are then the rows of the product as BLAS sees it, which OpenBLAS does not cut: its threads
# get columns of their own and need not wait for one another at every panel.
_FEW = 16


class Parameters:
    """The parameters of `runs` models in one flat array: weights, then intercepts."""

    def __init__(
        self, runs: int, outputs: int, features: int, intercept: bool, dtype: np.dtype[Any]
    ) -> None:
        rows = runs * outputs
        self.shape = (runs, outputs, features)
        self.flat: Floats = np.zeros(rows * (features + intercept), dtype=dtype)
        self.weights = self.flat[: rows * features].reshape(rows, features)
        self.intercepts = self.flat[rows * features :].reshape(rows, 1) if intercept else None

    def models(self) -> Floats:
        """A copy in the shape (runs, outputs, features [+ 1])."""
        parts = [self.weights.reshape(self.shape)]
        if self.intercepts is not None:
            parts.append(self.intercepts.reshape(*self.shape[:2], 1))
        return np.concatenate(parts, axis=2)

    def assign(self, models: Floats) -> None:
        features = self.shape[2]
        self.weights[...] = models[:, :, :features].reshape(self.weights.shape)
        if self.intercepts is not None:
            self.intercepts[...] = models[:, :, features:].reshape(self.intercepts.shape)


class _Block(NamedTuple):
    """What a sum needs of some records."""

    features: Any
    targets: NDArray[Any]
    limits: Floats | None
    scales: Floats | None


class _Worker:
    """The buffers of one thread."""

    def __init__(self, like: Parameters, records: int, dtype: np.dtype[Any]) -> None:
        runs, outputs, features = like.shape
        self.scores = np.empty(runs * outputs * records, dtype=dtype)
        intercept = like.intercepts is not None
        self.part = Parameters(runs, outputs, features, intercept, dtype)
        self.total = Parameters(runs, outputs, features, intercept, dtype)
        self.turned = np.empty(runs * outputs * max(records, features), dtype=dtype)
        self.gathered: Floats | None = None


class GradientSum(Context):
    """The sum over a batch of the records' gradients, clipped as the plan says, ridge apart.

    Use it as a context: while it is open, it may have threads, unless it must not.
    """

    def __init__(
        self, plan: Plan, records: Records, at: Parameters, largest: int, *, threads: bool = True
    ) -> None:
        self._plain = plan.plainly_clipped
        self._loss, self._records, self._at = plan.loss, records, at
        self._sparse = records.sparse
        self._turned = 1 < len(at.weights) <= _FEW
        self._seen: dict[tuple[int, int], _Block] = {}
        self._nothing = np.empty(0, dtype=records.dtype)
        self._lost = 2 * at.shape[1] * float(np.finfo(records.dtype).tiny)
        self._block, shared = _cut(records, at, largest)
        alone = shared and len(at.weights) == 1 and not self._sparse
        work = float(at.weights.size) * largest * plan.run.steps
        self._fused = fused_sum(plan.loss, work) if alone else None
        unsolved = self._plain or records.limits is None  # no envelope to be solved for
        # what lies between the products is a small part of a step
        suits = unsolved and isinstance(plan.loss, Softmax)
        self.compiled: Any = kernels(work / 4) if suits else None
        small = at.weights.size * largest <= _SMALL
        limited = threads and (shared or small) and products_can_be_limited()
        able = threads and (limited or self._sparse)
        self._crew = Crew(cores() if shared and able else 1, limited=limited)
        self.leaves_cores = able and self._crew.size < cores()
        """Whether other threads may run meanwhile without holding up those of a product."""
        self._workers = [_Worker(at, self._block, records.dtype) for _ in range(self._crew.size)]

    def __enter__(self) -> Self:
        self._crew.__enter__()
        return self

    def close(self) -> None:
        self._crew.close()
        for worker in self._workers:
            for buffer in (worker.scores, worker.turned, worker.part.flat, worker.total.flat):
                buffer.fill(0)

    def __call__(self, rows: slice | NDArray[np.intp]) -> Floats:
        """The sum over these records, flat as the parameters; it is overwritten by the next."""
        first, last = (rows.start, rows.stop) if isinstance(rows, slice) else (0, rows.size)
        self._crew.share(partial(self._share, rows), first, last)
        total: Floats = self._workers[0].total.flat
        for worker in self._workers[1:]:
            total += worker.total.flat
        return total

    def _share(self, rows: slice | NDArray[np.intp], thread: int, first: int, last: int) -> None:
        """The sum over the records from `first` to `last`, block by block."""
        worker = self._workers[thread]
        total, part = worker.total, worker.part
        if first == last:
            total.flat.fill(0)
            return
        if self._fused is not None and isinstance(rows, slice):
            self._sum(worker, slice(first, last), total)
            return
        number = -(-(last - first) // self._block)
        size = -(-(last - first) // number)
        for start in range(first, last, size):
            stop = min(start + size, last)
            block = slice(start, stop) if isinstance(rows, slice) else rows[start:stop]
            if start == first:
                self._sum(worker, block, total)
            else:
                self._sum(worker, block, part)
                total.flat += part.flat

    def _sum(self, worker: _Worker, rows: slice | NDArray[np.intp], out: Parameters) -> None:
        """The sum over one block, written to `out`."""
        W = self._at.weights
        block = self._look_up(rows) if isinstance(rows, slice) else self._gather(worker, rows)
        X, b = block.features, block.targets.size
        if self._fused is not None:
            self._pass(self._fused, block, out)
            return
        z = products = worker.scores[: len(W) * b].reshape(len(W), b)
        if self._sparse:
            products = (X @ W.T).T
        elif len(W) == 1:
            np.dot(X, W[0], out=z[0])
        elif self._turned:
            products = np.matmul(X, W.T, out=worker.turned[: z.size].reshape(b, len(W))).T
        else:
            np.matmul(W, X.T, out=z)
        residuals = self._residuals if self.compiled is None else self._compiled_residuals
        residuals(z, products, block, out)
        if self._sparse:
            out.weights[...] = (X.T @ np.ascontiguousarray(z.T)).T
        elif len(W) == 1:
            np.dot(z[0], X, out=out.weights[0])
        elif self._turned:
            turned = worker.turned[: W.size].reshape(W.shape[1], len(W))
            out.weights[...] = np.matmul(X.T, z.T, out=turned).T
        else:
            np.matmul(z, X, out=out.weights)

    def _pass(self, fused: FusedSum, block: _Block, out: Parameters) -> None:
        """The same, each record read once."""
        at, none = self._at, self._nothing
        limits = none if block.limits is None else block.limits
        scales = none if block.scales is None else block.scales
        intercept = 0.0 if at.intercepts is None else float(at.intercepts[0, 0])
        into = out.weights[0]
        total = fused(block.features, block.targets, limits, scales, at.weights[0], intercept, into)
        if out.intercepts is not None:
            out.intercepts[0, 0] = total

    def _residuals(self, z: Floats, products: Floats, block: _Block, out: Parameters) -> None:
        """From products to residuals, of all models together: threads queue for each call."""
        _, targets, limits, scales = block
        intercepts = self._at.intercepts
        if scales is not None:
            products = np.multiply(products, scales, out=z)
        if intercepts is not None:
            np.add(products, intercepts, out=z)
        elif products is not z:
            z[...] = products
        g = z.reshape(*self._at.shape[:2], targets.size)
        if self._plain and limits is not None:
            self._loss.scaled_residuals(g, targets, limits)
        else:
            self._loss.residuals(g, targets, limits)
        if out.intercepts is not None:
            np.add.reduce(z, axis=1, keepdims=True, out=out.intercepts)
        if scales is not None:
            z *= scales

    def _compiled_residuals(
        self, z: Floats, products: Floats, block: _Block, out: Parameters
    ) -> None:
        """The same of softmax models, in one call for each."""
        none, at = self._nothing, self._at
        if products is not z:
            z[...] = products
        limits = none if block.limits is None else block.limits
        scales = none if block.scales is None else block.scales
        sums = np.empty((len(z), 1), dtype=z.dtype) if out.intercepts is None else out.intercepts
        constants = np.zeros_like(sums) if at.intercepts is None else at.intercepts
        classes = at.shape[1]
        for first in range(0, len(z), classes):
            own = slice(first, first + classes)
            self.compiled.softmax_classes(
                z[own], block.targets, limits, scales, constants[own, 0], sums[own, 0], self._lost
            )

    def _look_up(self, rows: slice) -> _Block:
        """Consecutive records: views, which are kept because the same ones come again."""
        key = (rows.start, rows.stop)
        block = self._seen.get(key)
        if block is None:
            X = self._records.features
            features = _rows_of_csr(X, rows) if self._sparse else X[rows]
            block = self._joined(features, rows)
            if len(self._seen) < _KEPT:
                self._seen[key] = block
        return block

    def _gather(self, worker: _Worker, rows: NDArray[np.intp]) -> _Block:
        X = self._records.features
        if self._sparse:
            return self._joined(X[rows], rows)
        if worker.gathered is None or len(worker.gathered) < rows.size:
            worker.gathered = np.empty((max(rows.size, 1), X.shape[1]), dtype=X.dtype)
        # the indices are in range; "clip" only spares NumPy a buffer
        into = worker.gathered[: rows.size]
        return self._joined(np.take(X, rows, axis=0, out=into, mode="clip"), rows)

    def _joined(self, features: Any, rows: slice | NDArray[np.intp]) -> _Block:
        records = self._records
        return _Block(
            features,
            records.targets[rows],
            None if records.limits is None else records.limits[rows],
            None if records.scales is None else records.scales[rows],
        )


def _cut(records: Records, at: Parameters, largest: int) -> tuple[int, bool]:
    """How many records a block has, and whether blocks are worth being shared out to threads."""
    rows, itemsize = len(at.weights), records.dtype.itemsize
    n, width = records.features.shape
    if records.sparse:
        each = max(1, records.features.nnz // n)
        return largest, each * largest * rows > _BUSY
    row = width * itemsize
    if largest * row <= _LARGE:
        return largest, False
    features = _BLOCK if rows > 1 else _SMALL_BLOCK
    block = min(features // row, _SCORES // (rows * itemsize))
    return min(largest, max(_LEAST, block)), True


def _rows_of_csr(X: Any, rows: slice) -> Any:
    """Consecutive rows, without a copy of their entries."""
    if rows.start == 0 and rows.stop == X.shape[0]:
        return X
    ends = X.indptr[rows.start : rows.stop + 1]
    inside = slice(ends[0], ends[-1])
    shape = (rows.stop - rows.start, X.shape[1])
    return type(X)((X.data[inside], X.indices[inside], ends - ends[0]), shape=shape, copy=False)
