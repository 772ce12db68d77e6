"""The gradient of a batch by two matrix products: the scores, and the residuals times the features.

Everything is float64, and records are summed in chunks as Theorem F1 says, so that the effect of
one record on the computed sum is bounded by proof. Scores are kept as (outputs, records), so that
what lies between the two products runs along contiguous rows. A block of records is small enough
for the cache, and large batches are shared out among threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from queue import SimpleQueue
from typing import Any

import numpy as np

from shiftdp.last_iterate.sum_rounding import CHUNK, THREADS, largest_batch
from shiftdp.training.descent.reading import Block, BlockReader, FileGradient, let_go_after
from shiftdp.training.descent.records import Indices, Records
from shiftdp.training.descent.source import BatchGradient
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan

_SMALL = 1 << 21  # multiplications of a product that is over before a second thread could help
_BLOCK = 1 << 19  # entries of a block's features, and of its scores: more leave the cache
_LEAST = 16  # records of a block, however many features they have
_READERS = 4  # threads that have blocks of a file in memory, however many there are


@dataclass(frozen=True)
class LocalSource:
    """Records in the memory of this process, or in files that it has mapped: a `Source`.

    Args:
        records: the records.
        threads: at most so many share out a batch, and no more than there are cores; fewer than
            `THREADS` where other processes sum parts of it, as Theorem F1 counts the threads of
            all.
    """

    records: Records
    threads: int = THREADS

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

    @contextmanager
    def gradient(self, plan: Plan, models: Floats) -> Iterator[BatchGradient]:
        """As every `Source` has it. Threads and buffers last as long as the context; what is left
        in the buffers is overwritten."""
        size = models.size // models.shape[-1] * self.features
        large = size * largest_batch(plan.run) > _SMALL
        shares = min(_cores(), self.threads, THREADS) if large and _blas() is not None else 1
        workers = min(shares, _READERS) if self.mapped else shares
        sums = [_Sum(plan, self.records, models) for _ in range(workers)]
        with _single_threaded_products(), ThreadPoolExecutor(workers) as pool:
            total = sums[0] if shares == 1 else _Shared(sums, shares, pool, _SMALL // size)
            try:
                if self.mapped:
                    yield FileGradient(self.records, total)
                else:
                    yield partial(total, self.records)
            finally:
                for each in sums:
                    each.erase()


class _Shared:
    """The sum over a batch, shared out among threads if it is large.

    Args:
        sums: one for each thread.
        shares: of a batch: as many as there are threads, or more if the threads read a file.
        pool: of the threads.
        few: so many records are left to one of them.
    """

    def __init__(self, sums: list[_Sum], shares: int, pool: ThreadPoolExecutor, few: int) -> None:
        self._first, self._shares, self._pool, self._few = sums[0], shares, pool, few
        self._free: SimpleQueue[_Sum] = SimpleQueue()
        for each in sums:
            self._free.put(each)

    def __call__(self, records: Records, models: Floats, rows: Indices) -> Floats:
        number = _length(rows)
        if number <= self._few:
            return self._first(records, models, rows)
        ends = [number * k // self._shares for k in range(self._shares + 1)]

        def total(part: Indices) -> Floats:
            one = self._free.get()
            try:
                return one(records, models, part).copy()
            finally:
                self._free.put(one)

        totals = list(self._pool.map(total, (_part(rows, *pair) for pair in pairwise(ends))))
        for other in totals[1:]:
            totals[0] += other
        return totals[0]


class _Sum:
    """The sum of the gradients of some records, by one thread in buffers of its own."""

    def __init__(self, plan: Plan, records: Records, models: Floats) -> None:
        self._residuals = plan.residuals
        self._intercept, self._sparse = plan.intercept, records.rows.sparse
        self._features = d = records.rows.shape[1]
        self._outputs = outputs = models.size // models.shape[-1]
        cached = max(_LEAST, _BLOCK // (outputs if self._sparse else max(outputs, d)))
        self._rows = min(max(1, largest_batch(plan.run)), CHUNK, cached)
        self._reader = BlockReader(records, self._rows, _BLOCK)
        self._scores = np.empty(outputs * self._rows)
        self._block, self._chunk, self._total = (np.empty_like(models) for _ in range(3))

    def __call__(self, records: Records, models: Floats, rows: Indices) -> Floats:
        """The sum over these rows: blocks are added up to chunks, and chunks to the total.

        Theorem F1 bounds the rounding of sums in this order. A single block is the sum itself.
        """
        number = _length(rows)
        stop = rows.stop if isinstance(rows, slice) else 0
        with np.errstate(all="ignore"):  # each thread has settings of its own
            if 0 < number <= self._rows:
                self._sum_block(self._reader.read(records, rows, stop), models, self._total)
            else:
                self._total.fill(0)
                for start in range(0, number, CHUNK):
                    end = min(start + CHUNK, number)
                    self._chunk.fill(0)
                    for low in range(start, end, self._rows):
                        part = _part(rows, low, min(low + self._rows, end))
                        block = self._reader.read(records, part, stop)
                        self._sum_block(block, models, self._block)
                        self._chunk += self._block
                    self._total += self._chunk
        let_go_after(records, rows)
        return self._total

    def _sum_block(self, block: Block, models: Floats, into: Floats) -> None:
        """The sum over one block: two products, and what lies between."""
        _, X, targets, limits = block
        d, outputs = self._features, self._outputs
        W, out = models.reshape(outputs, -1), into.reshape(outputs, -1)
        z = self._scores[: outputs * X.shape[0]].reshape(outputs, -1)
        if self._sparse:
            z[...] = (X @ W[:, :d].T).T
        else:
            np.matmul(W[:, :d], X.T, out=z)
        if self._intercept:
            z += W[:, d:]
        self._residuals(z.reshape(*models.shape[:2], -1), targets, limits)
        if self._sparse:
            out[:, :d] = (X.T @ np.ascontiguousarray(z.T)).T
        else:
            np.matmul(z, X, out=out[:, :d])
        if self._intercept:
            np.add.reduce(z, axis=1, keepdims=True, out=out[:, d:])

    def erase(self) -> None:
        for array in (self._scores, self._block, self._chunk, self._total):
            array.fill(0)


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
