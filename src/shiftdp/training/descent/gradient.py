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
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp.last_iterate.sum_rounding import CHUNK, THREADS
from shiftdp.training.centring import Centre
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.descent.reading import FileGradient
from shiftdp.training.descent.records import (
    Indices,
    Records,
    centred,
    length_of,
    let_go_around,
    numbers_at,
    part_of,
    parts_of,
)
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

    def centred(self, plan: Plan, stream: Stream) -> tuple[Centre, LocalSource]:
        """As every `Source` has it."""
        centre, near = centred(plan, self.records, stream)
        return centre, replace(self, records=near)

    @contextmanager
    def gradient(self, plan: Plan, models: Floats) -> Iterator[BatchGradient]:
        """As every `Source` has it. Threads and buffers last as long as the context; what is left
        in the buffers is overwritten."""
        size = models.size // models.shape[-1] * self.features
        large = size * plan.run.largest_batch > _SMALL
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
        number = length_of(rows)
        if number <= self._few:
            return self._first(records, models, rows)
        ends = [number * k // self._shares for k in range(self._shares + 1)]

        def total(part: Indices) -> Floats:
            one = self._free.get()
            try:
                return one(records, models, part).copy()
            finally:
                self._free.put(one)

        totals = list(self._pool.map(total, (part_of(rows, *pair) for pair in pairwise(ends))))
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
        self._rows = min(max(1, plan.run.largest_batch), CHUNK, cached)
        self._reader = BlockReader(records, self._rows, _BLOCK)
        self._scores = np.empty(outputs * self._rows)
        self._block, self._chunk, self._total = (np.empty_like(models) for _ in range(3))

    def __call__(self, records: Records, models: Floats, rows: Indices) -> Floats:
        """The sum over these rows: blocks are added up to chunks, and chunks to the total.

        Theorem F1 bounds the rounding of sums in this order. A single block is the sum itself.
        """
        stop = rows.stop if isinstance(rows, slice) else 0
        with np.errstate(all="ignore"):  # each thread has settings of its own
            if 0 < length_of(rows) <= self._rows:
                self._sum_block(self._reader.read(records, rows, stop), models, self._total)
            else:
                self._total.fill(0)
                for chunk in parts_of(rows, CHUNK):
                    self._chunk.fill(0)
                    for part in parts_of(chunk, self._rows):
                        block = self._reader.read(records, part, stop)
                        self._sum_block(block, models, self._block)
                        self._chunk += self._block
                    self._total += self._chunk
        if isinstance(rows, slice) and records.rows.mapped:
            let_go_around(records, stop)  # nothing stays mapped behind what is summed
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
        stacked = z if len(models) == 1 else z.reshape(*models.shape[:2], -1)
        self._residuals(stacked, targets, limits)
        if self._sparse:
            out[:, :d] = (X.T @ np.ascontiguousarray(z.T)).T
        else:
            np.matmul(z, X, out=out[:, :d])
        if self._intercept:
            np.add.reduce(z, axis=1, keepdims=True, out=out[:, d:])

    def erase(self) -> None:
        for array in (self._scores, self._block, self._chunk, self._total):
            array.fill(0)


class Block(NamedTuple):
    """Some records as the products see them."""

    rows: Any
    X: Any
    targets: NDArray[Any]
    limits: Floats | None

    def part(self, rows: slice) -> Block:
        """Those of these rows, which are a part of a slice."""
        part = slice(rows.start - self.rows.start, rows.stop - self.rows.start)
        limits = None if self.limits is None else self.limits[part]
        return Block(rows, self.X[part], self.targets[part], limits)


class BlockReader:
    """Reads blocks of records into a buffer of its own.

    The block that was read last is not read again: a small table in memory is converted once. Of a
    file several blocks are read at once.

    Args:
        records: that it is made for; it reads parts of them, too.
        rows: how many records a block has at most.
        entries: how many numbers of a file may be read at once.
    """

    def __init__(self, records: Records, rows: int, entries: int) -> None:
        features = records.rows.shape[1]
        self._together = rows
        if records.rows.mapped:
            self._together *= max(1, entries // (rows * features))
        self._buffer = None if records.rows.sparse else np.empty((self._together, features))
        self._last: Block | None = None

    def read(self, records: Records, rows: Indices, stop: int) -> Block:
        """These records. What is returned is overwritten by the next call.

        Args:
            rows: a block; a slice is one of the records that the reader was made for.
            stop: where the slice ends whose blocks are read one after another.
        """
        last = self._last
        if not isinstance(rows, slice):
            self._last = None
            return self._taken(records, rows)
        if last is None or rows.start < last.rows.start or rows.stop > last.rows.stop:
            if records.rows.mapped:
                more = slice(rows.start, max(rows.stop, min(rows.start + self._together, stop)))
                last = self._taken(records, more)
            else:
                last = self._taken(records, rows)
            self._last = last
        return last if rows == last.rows else last.part(rows)

    def _taken(self, records: Records, rows: Indices) -> Block:
        limits = None if records.limits is None else numbers_at(records.limits, rows)
        targets = numbers_at(records.targets, rows)
        return Block(rows, records.rows.take(rows, self._buffer), targets, limits)


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
