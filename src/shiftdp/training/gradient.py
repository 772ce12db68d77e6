"""The gradient of a batch by two matrix products: scores, and the sum of residuals times features.

Scores are kept transposed, (outputs, records), so that everything between the two products runs
along contiguous rows. Several models on the same batch are stacked: their scores are one product.
Large batches are cut into blocks that stay in the cache between the two products; blocks, or the
models of a large stack, are shared out among threads.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shiftdp.training.loss import Floats
from shiftdp.training.plan import Plan
from shiftdp.training.records import Records
from shiftdp.training.softmax import scale_to_limits

__all__ = ["GradientSum", "Parameters"]

_LARGE = 1 << 25  # bytes of a batch that is not left to the products' own threads
_BLOCK = 1 << 22  # bytes of a block of a large batch: less, and calls cost more than memory
_LEAST = 256  # records of such a block
_MANY = 1 << 16  # scores of stacked models that are shared out among threads


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


class _Worker:
    """The buffers of one thread."""

    def __init__(self, like: Parameters, records: int, dtype: np.dtype[Any]) -> None:
        runs, outputs, features = like.shape
        self.scores = np.empty(runs * outputs * records, dtype=dtype)
        intercept = like.intercepts is not None
        self.part = Parameters(runs, outputs, features, intercept, dtype)
        self.total = Parameters(runs, outputs, features, intercept, dtype)
        self.gathered: Floats | None = None


class GradientSum:
    """The sum over a batch of the records' gradients, clipped as the plan says, ridge apart.

    Use it as a context: while it is open, it may have threads.
    """

    def __init__(self, plan: Plan, records: Records, at: Parameters, largest: int) -> None:
        self._plain = plan.clipping == "uncertified"
        self._loss, self._records, self._at = plan.loss, records, at
        features = at.shape[2]
        row = features * records.dtype.itemsize
        self._threads = 1
        self._block = largest
        self._by_model = False
        self._held = ExitStack()
        large = not records.sparse and largest * row > _LARGE
        many = at.shape[0] > 1 and len(at.weights) * largest > _MANY
        if large:
            self._block = max(_LEAST, _BLOCK // row)
        if (large or many) and _cores() > 1:
            limit = _single_threaded_products()
            if limit is not None:
                self._held.enter_context(limit)
                self._by_model = many
                self._threads = min(_cores(), at.shape[0]) if many else _cores()
        self._workers = [_Worker(at, self._block, records.dtype) for _ in range(self._threads)]
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        if self._threads > 1:
            self._pool = self._held.enter_context(ThreadPoolExecutor(self._threads))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()
        for worker in self._workers:
            for buffer in (worker.scores, worker.part.flat, worker.total.flat):
                buffer.fill(0)

    def __call__(self, rows: slice | NDArray[np.intp]) -> Floats:
        """The sum over these records, flat as the parameters; it is overwritten by the next."""
        first, last = (rows.start, rows.stop) if isinstance(rows, slice) else (0, rows.size)
        blocks = range(first, last, self._block)
        everything = range(self._at.shape[0])
        shares = range(self._threads)
        if self._by_model:
            size = -(-len(everything) // self._threads)
            parts = [(everything[k * size : (k + 1) * size], blocks) for k in shares]
        else:
            parts = [(everything, blocks[k :: self._threads]) for k in shares]
        if self._pool is None:
            self._share(self._workers[0], rows, last, *parts[0])
        else:
            jobs = [
                self._pool.submit(self._share, self._workers[k], rows, last, *parts[k])
                for k in shares
            ]
            for job in jobs:
                job.result()
        total = self._workers[0].total.flat
        for worker in self._workers[1:]:
            total += worker.total.flat
        return total

    def _share(
        self,
        worker: _Worker,
        rows: slice | NDArray[np.intp],
        last: int,
        models: range,
        blocks: range,
    ) -> None:
        """The sum over some blocks, for some models; 0 for the others."""
        alone = len(blocks) == 1 and len(models) == self._at.shape[0]
        if not alone:
            worker.total.flat.fill(0)
        for start in blocks:
            stop = min(start + self._block, last)
            block = slice(start, stop) if isinstance(rows, slice) else rows[start:stop]
            if len(blocks) == 1:
                self._add(worker, block, models, worker.total)
            else:
                self._add(worker, block, models, worker.part)
                worker.total.flat += worker.part.flat

    def _add(
        self, worker: _Worker, rows: slice | NDArray[np.intp], models: range, out: Parameters
    ) -> None:
        """The sum over a block, written to the models' place in `out`."""
        records, outputs = self._records, self._at.shape[1]
        own = slice(models.start * outputs, models.stop * outputs)
        W = self._at.weights[own]
        X = self._features(worker, rows)
        b = X.shape[0]
        z = worker.scores[: len(W) * b].reshape(len(W), b)
        if records.sparse:
            z[...] = (X @ W.T).T
        else:
            np.matmul(W, X.T, out=z)
        self._residuals(z, rows, own, out)
        if records.sparse:
            out.weights[own] = (X.T @ np.ascontiguousarray(z.T)).T
        else:
            np.matmul(z, X, out=out.weights[own])

    def _residuals(
        self, z: Floats, rows: slice | NDArray[np.intp], own: slice, out: Parameters
    ) -> None:
        """From products to residuals, model by model, because the scores of one fit the cache."""
        records, outputs = self._records, self._at.shape[1]
        targets = records.targets[rows]
        limits = None if records.limits is None else records.limits[rows]
        scales = None if records.scales is None else records.scales[rows]
        intercepts = self._at.intercepts
        for start in range(own.start, own.stop, outputs):
            place = slice(start, start + outputs)
            g = z[start - own.start : start - own.start + outputs]
            if scales is not None:
                g *= scales
            if intercepts is not None:
                g += intercepts[place]
            if self._plain and limits is not None:
                self._loss.residuals(g, targets, None)
                scale_to_limits(g, limits)
            else:
                self._loss.residuals(g, targets, limits)
            if out.intercepts is not None:
                np.add.reduce(g, axis=1, keepdims=True, out=out.intercepts[place])
            if scales is not None:
                g *= scales

    def _features(self, worker: _Worker, rows: slice | NDArray[np.intp]) -> Any:
        X = self._records.features
        if self._records.sparse:
            return X[rows] if not isinstance(rows, slice) else _rows_of_csr(X, rows)
        if isinstance(rows, slice):
            return X[rows]
        if worker.gathered is None or len(worker.gathered) < rows.size:
            worker.gathered = np.empty((max(rows.size, 1), X.shape[1]), dtype=X.dtype)
        # the indices are in range; "clip" only spares NumPy a buffer
        return np.take(X, rows, axis=0, out=worker.gathered[: rows.size], mode="clip")


def _rows_of_csr(X: Any, rows: slice) -> Any:
    """Consecutive rows, without a copy of their entries."""
    if rows.start == 0 and rows.stop == X.shape[0]:
        return X
    ends = X.indptr[rows.start : rows.stop + 1]
    inside = slice(ends[0], ends[-1])
    shape = (rows.stop - rows.start, X.shape[1])
    return type(X)((X.data[inside], X.indices[inside], ends - ends[0]), shape=shape, copy=False)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _single_threaded_products() -> AbstractContextManager[Any] | None:
    """While it is entered, matrix products use the thread that calls them. Needs threadpoolctl."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return None
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits
