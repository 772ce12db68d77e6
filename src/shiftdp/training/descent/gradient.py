"""The gradient of a batch by two matrix products: the scores, and the residuals times the features.

Everything is float64, and records are summed in chunks as Theorem F1 says, so that the effect of
one record on the computed sum is bounded by proof. Scores are kept as (outputs, records), so that
what lies between the two products runs along contiguous rows. A block of records is small enough
for the cache, and large batches are shared out among threads.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from shiftdp.last_iterate.sum_rounding import CHUNK, THREADS, largest_batch
from shiftdp.training.descent.records import Indices, Records, numbers_at
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan

_SMALL = 1 << 21  # multiplications of a product that is over before a second thread could help
_BLOCK = 1 << 19  # entries of a block's features, and of its scores: more leave the cache
_LEAST = 16  # records of a block, however many features they have

BatchGradient = Callable[[Floats, Indices], Floats]
"""From models, of shape (models, outputs, columns), and the rows of a batch to the sum of the
records' gradients for each of the models. The next call overwrites it."""


class Source(Protocol):
    """Where the records of a run are: in this process, on a device, on other machines.

    The loop draws batches and noise, and moves the models; of a source it wants sums of gradients,
    added up as Theorem F1 says, and nothing else.
    """

    @property
    def features(self) -> int:
        """How many numbers a record has, without its constant."""
        ...

    @property
    def mapped(self) -> bool:
        """Whether there may be too many records to keep one number for each in memory."""
        ...

    def gradient(self, plan: Plan, models: Floats) -> AbstractContextManager[BatchGradient]:
        """A function that sums the gradients of a batch, clipped as the plan says, without the
        ridge. What it holds is let go of at the end of the context.

        Args:
            models: an array in the shape of those that are passed later.
        """
        ...


class Elsewhere(ABC):
    """A table that is not in this process, of which a run needs no more than a source."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """How many records there are, and how many features they have."""

    @abstractmethod
    def source(self, plan: Plan) -> Source:
        """The records, checked and bounded where they are, as `records.prepare` does it here."""


@dataclass(frozen=True)
class LocalSource:
    """Records in the memory of this process, or in files that it has mapped."""

    records: Records

    @property
    def features(self) -> int:
        return self.records.rows.shape[1]

    @property
    def mapped(self) -> bool:
        return self.records.rows.mapped

    @property
    def digest(self) -> bytes:
        """A hash of all records in their order."""
        return self.records.digest

    def gradient(self, plan: Plan, models: Floats) -> AbstractContextManager[BatchGradient]:
        return batch_gradient(plan, self.records, models)


@contextmanager
def batch_gradient(
    plan: Plan, records: Records, models: Floats, threads: int = THREADS
) -> Iterator[BatchGradient]:
    """A function that sums the gradients of a batch, clipped as the plan says, without the ridge.

    Its threads and buffers last as long as the context; what is left in the buffers is overwritten.

    Args:
        models: an array in the shape of those that are passed later.
        threads: at most so many share out a batch, and no more than there are cores.
    """
    size = models.size // models.shape[-1] * records.rows.shape[1]
    large = size * largest_batch(plan.run) > _SMALL
    shares = min(_cores(), threads, THREADS) if large and _blas() is not None else 1
    sums = [_Sum(plan, records, models) for _ in range(shares)]

    def gradient(at: Floats, rows: Indices) -> Floats:
        number = _length(rows)
        if shares == 1 or size * number <= _SMALL:
            return sums[0](at, rows)
        ends = [number * k // shares for k in range(shares + 1)]
        parts = [_part(rows, *pair) for pair in pairwise(ends)]
        totals: list[Floats] = list(pool.map(lambda one, part: one(at, part), sums, parts))
        for other in totals[1:]:
            totals[0] += other
        return totals[0]

    with _single_threaded_products(), ThreadPoolExecutor(shares) as pool:
        try:
            yield gradient
        finally:
            for each in sums:
                each.erase()


class _Sum:
    """The sum of the gradients of some records, by one thread in buffers of its own."""

    def __init__(self, plan: Plan, records: Records, models: Floats) -> None:
        self._records, self._intercept = records, plan.intercept
        self._residuals: Callable[..., None] = (
            plan.loss.scaled_residuals if plan.plainly_clipped else plan.loss.residuals
        )
        rows = _block_rows(records, models, largest_batch(plan.run))
        self._rows, self._outputs = rows, models.size // models.shape[-1]
        self._features = None if records.rows.sparse else np.empty((rows, records.rows.shape[1]))
        self._scores = np.empty(self._outputs * rows)
        self._taken: tuple[Indices, Any] | None = None
        self._block, self._chunk, self._total = (np.empty_like(models) for _ in range(3))

    def __call__(self, models: Floats, rows: Indices) -> Floats:
        """The sum over these rows: blocks are added up to chunks, and chunks to the total.

        Theorem F1 bounds the rounding of sums in this order. A single block is the sum itself.
        """
        number = _length(rows)
        with np.errstate(all="ignore"):  # each thread has settings of its own
            if 0 < number <= self._rows:
                self._sum_block(models, rows, self._total)
                return self._total
            self._total.fill(0)
            for start in range(0, number, CHUNK):
                stop = min(start + CHUNK, number)
                self._chunk.fill(0)
                for low in range(start, stop, self._rows):
                    part = _part(rows, low, min(low + self._rows, stop))
                    self._sum_block(models, part, self._block)
                    self._chunk += self._block
                self._total += self._chunk
        return self._total

    def _sum_block(self, models: Floats, rows: Indices, into: Floats) -> None:
        """The sum over one block: two products, and what lies between."""
        sparse, d = self._records.rows.sparse, self._records.rows.shape[1]
        W, out = models.reshape(self._outputs, -1), into.reshape(self._outputs, -1)
        X = self._taken_rows(rows)
        z = self._scores[: self._outputs * X.shape[0]].reshape(self._outputs, -1)
        if sparse:
            z[...] = (X @ W[:, :d].T).T
        else:
            np.matmul(W[:, :d], X.T, out=z)
        if self._intercept:
            z += W[:, d:]
        limits = self._records.limits
        self._residuals(
            z.reshape(*models.shape[:2], -1),
            numbers_at(self._records.targets, rows),
            None if limits is None else numbers_at(limits, rows),
        )
        if sparse:
            out[:, :d] = (X.T @ np.ascontiguousarray(z.T)).T
        else:
            np.matmul(z, X, out=out[:, :d])
        if self._intercept:
            np.add.reduce(z, axis=1, keepdims=True, out=out[:, d:])

    def _taken_rows(self, rows: Indices) -> Any:
        """The features of these rows; if they are those of the last block, as they are."""
        if self._taken is None or not isinstance(rows, slice) or rows != self._taken[0]:
            self._taken = rows, self._records.rows.take(rows, self._features)
        return self._taken[1]

    def erase(self) -> None:
        for array in (self._scores, self._block, self._chunk, self._total):
            array.fill(0)


def _block_rows(records: Records, models: Floats, largest: int) -> int:
    """How many records a block has."""
    outputs: int = models.size // models.shape[-1]
    entries: int = outputs if records.rows.sparse else max(outputs, records.rows.shape[1])
    return min(max(1, largest), CHUNK, max(_LEAST, _BLOCK // entries))


def _length(rows: Indices) -> int:
    return int(rows.stop - rows.start) if isinstance(rows, slice) else rows.size


def _part(rows: Indices, start: int, stop: int) -> Indices:
    """Some of these rows, by their places among them."""
    if isinstance(rows, slice):
        return slice(rows.start + start, rows.start + stop)
    return rows[start:stop]


def _cores() -> int:
    """How many threads can run at once."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _single_threaded_products() -> AbstractContextManager[Any]:
    """While it is entered, matrix products use no threads but those that call them.

    It holds for the products of all threads, and does nothing without threadpoolctl.
    """
    blas = _blas()
    limit: AbstractContextManager[Any] = (
        nullcontext() if blas is None else blas.limit(limits=1, user_api="blas")
    )
    return limit


@cache
def _blas() -> Any:
    """The libraries that make products, as threadpoolctl finds them in some milliseconds; None
    where it is not installed."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
