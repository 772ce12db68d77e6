"""The gradient of a batch by two matrix products: scores, and the sum of residuals times features.

Everything is float64, and sums are made as Theorem F1 says: a record's effect on
the computed sum is bounded by proof. Scores are kept transposed, (outputs, records), so that what
lies between the two products runs along contiguous rows. Several models on the same batch are
stacked: their scores are one product. A batch is cut into blocks that stay in the cache between the
two products, and larger batches are shared out among threads.
"""

from __future__ import annotations

from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shiftdp.last_iterate.sum_rounding import CHUNK, THREADS
from shiftdp.training.descent.records import Records
from shiftdp.training.descent.threads import Context, Crew, cores, products_can_be_limited
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan

__all__ = ["GradientSum", "Parameters"]

_SMALL = 1 << 20  # multiplications of a batch that is over before a second thread has helped
_BLOCK = 1 << 19  # entries of a block's features, and of its scores: more leaves the cache
_LEAST = 16  # records of a block, however many features they have


class Parameters:
    """The parameters of `runs` models in one flat array: weights, then intercepts."""

    def __init__(self, runs: int, outputs: int, features: int, intercept: bool) -> None:
        rows = runs * outputs
        self.shape = (runs, outputs, features)
        self.flat: Floats = np.zeros(rows * (features + intercept))
        self.weights = self.flat[: rows * features].reshape(rows, features)
        self.intercepts = self.flat[rows * features :].reshape(rows, 1) if intercept else None

    def models(self) -> Floats:
        """A copy in the shape (runs, outputs, features [+ 1])."""
        parts = [self.weights.reshape(self.shape)]
        if self.intercepts is not None:
            parts.append(self.intercepts.reshape(*self.shape[:2], 1))
        return np.concatenate(parts, axis=2)

    def assign(self, models: Floats) -> None:
        """Take over what `models` returned, or has changed."""
        features = self.shape[2]
        self.weights[...] = models[:, :, :features].reshape(self.weights.shape)
        if self.intercepts is not None:
            self.intercepts[...] = models[:, :, features:].reshape(self.intercepts.shape)

    def like(self) -> Parameters:
        """Zeros in the same shape."""
        return Parameters(*self.shape, self.intercepts is not None)


class _Worker:
    """The buffers of one thread: a block's features and scores, and the sums over a block, over a
    chunk and over all."""

    def __init__(self, at: Parameters, rows: int, records: Records) -> None:
        outputs, features = at.weights.shape
        self.features = None if records.rows.sparse else np.empty((rows, features))
        self.scores = np.empty(outputs * rows)
        self.block, self.chunk, self.total = at.like(), at.like(), at.like()

    def erase(self) -> None:
        self.scores.fill(0)
        for sums in (self.block, self.chunk, self.total):
            sums.flat.fill(0)


class GradientSum(Context):
    """The sum over a batch of the records' gradients, clipped as the plan says, ridge apart.

    Use it as a context: while it is open, it may have threads.
    """

    def __init__(self, plan: Plan, records: Records, at: Parameters, largest: int) -> None:
        self._plain = plan.plainly_clipped
        self._loss, self._records, self._at = plan.loss, records, at
        self._rows = _block_rows(records, at, largest)
        limited = products_can_be_limited()
        able = at.weights.size * largest > _SMALL and (limited or records.rows.sparse)
        self._crew = Crew(min(cores(), THREADS) if able else 1, limited=limited)
        self._workers = [_Worker(at, self._rows, records) for _ in range(self._crew.size)]

    def __enter__(self) -> Self:
        self._crew.__enter__()
        return self

    def close(self) -> None:
        self._crew.close()
        for worker in self._workers:
            worker.erase()

    def __call__(self, rows: slice | NDArray[np.intp]) -> Floats:
        """The sum over these records, flat as the parameters; it is overwritten by the next."""
        first, last = (rows.start, rows.stop) if isinstance(rows, slice) else (0, rows.size)
        if self._at.weights.size * (last - first) <= _SMALL:
            self._share(rows, 0, first, last)
            return self._workers[0].total.flat
        self._crew.share(partial(self._share, rows), first, last)
        total: Floats = self._workers[0].total.flat
        for worker in self._workers[1:]:
            total += worker.total.flat
        return total

    def _share(self, rows: slice | NDArray[np.intp], thread: int, first: int, last: int) -> None:
        """The sum over the records from `first` to `last`, chunk by chunk."""
        worker = self._workers[thread]
        worker.total.flat.fill(0)
        with np.errstate(all="ignore"):  # of each thread its own
            for start in range(first, last, CHUNK):
                stop = min(start + CHUNK, last)
                worker.chunk.flat.fill(0)
                for low in range(start, stop, self._rows):
                    block = slice(low, min(low + self._rows, stop))
                    self._sum(worker, block if isinstance(rows, slice) else rows[block])
                    worker.chunk.flat += worker.block.flat
                worker.total.flat += worker.chunk.flat

    def _sum(self, worker: _Worker, rows: slice | NDArray[np.intp]) -> None:
        """The sum over one block, written to `worker.block`."""
        W, out = self._at.weights, worker.block
        X = self._records.rows.take(rows, worker.features)
        z = worker.scores[: len(W) * X.shape[0]].reshape(len(W), -1)
        if self._records.rows.sparse:
            z[...] = (X @ W.T).T
        elif len(W) == 1:
            np.dot(X, W[0], out=z[0])
        else:
            np.matmul(W, X.T, out=z)
        if self._at.intercepts is not None:
            z += self._at.intercepts
        self._residuals(z, rows)
        if out.intercepts is not None:
            np.add.reduce(z, axis=1, keepdims=True, out=out.intercepts)
        if self._records.rows.sparse:
            out.weights[...] = (X.T @ np.ascontiguousarray(z.T)).T
        elif len(W) == 1:
            np.dot(z[0], X, out=out.weights[0])
        else:
            np.matmul(z, X, out=out.weights)

    def _residuals(self, z: Floats, rows: slice | NDArray[np.intp]) -> None:
        """Replace the scores of all models by their residuals."""
        targets = self._records.targets[rows]
        limits = None if self._records.limits is None else self._records.limits[rows]
        g = z.reshape(*self._at.shape[:2], targets.size)
        if self._plain and limits is not None:
            self._loss.scaled_residuals(g, targets, limits)
        else:
            self._loss.residuals(g, targets, limits)


def _block_rows(records: Records, at: Parameters, largest: int) -> int:
    """How many records a block has."""
    outputs, width = at.weights.shape
    entries = outputs if records.rows.sparse else max(outputs, width)
    return min(max(1, largest), CHUNK, max(_LEAST, _BLOCK // entries))
