"""The gradient of a batch by two matrix products: the scores, and the residuals times the features.

Everything is float64, and records are summed in chunks as Theorem F1 says, so that the effect of
one record on the computed sum is bounded by proof. Scores are kept as (outputs, records), so that
what lies between the two products runs along contiguous rows. A block of records is small enough
for the cache, and large batches are shared out among threads.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shiftdp.last_iterate.sum_rounding import CHUNK, THREADS, largest_batch
from shiftdp.training.descent.batches import Batch
from shiftdp.training.descent.disk import read_ahead
from shiftdp.training.descent.records import (
    Indices,
    Records,
    held_records,
    let_go_around,
    numbers_at,
)
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan

_SMALL = 1 << 21  # multiplications of a product that is over before a second thread could help
_BLOCK = 1 << 19  # entries of a block's features, and of its scores: more leave the cache
_LEAST = 16  # records of a block, however many features they have
_READERS = 4  # threads that have blocks of a file in memory, however many there are
_NUMBERS = (
    6  # of a record beside its features, while it is held: norm, scale, limit, target, places
)

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


@runtime_checkable
class ReadsAhead(Protocol):
    """A `BatchGradient` that wants to know which random records come next."""

    @property
    def ahead(self) -> int:
        """How many of them at once; 0 for none."""
        ...

    def expect(self, places: NDArray[np.intp]) -> None:
        """Told before the batches that these records make up, in any order."""
        ...


def told_ahead(gradient: object, chosen: Iterator[Batch]) -> Iterator[Batch]:
    """The same batches, of which the gradient hears before it is asked for their sums."""
    room = gradient.ahead if isinstance(gradient, ReadsAhead) else 0
    if room <= 0:
        yield from chosen
        return
    waiting: list[Batch] = []
    held = 0
    for batch in chosen:
        size = batch.rows.size if isinstance(batch.rows, np.ndarray) else room + 1
        if waiting and held + size > room:
            yield from _told(gradient, waiting)
            waiting, held = [], 0
        if size > room:
            yield batch
        else:
            waiting.append(batch)
            held += size
    yield from _told(gradient, waiting)


def _told(gradient: object, waiting: list[Batch]) -> Iterator[Batch]:
    rows = [batch.rows for batch in waiting if isinstance(batch.rows, np.ndarray)]
    if len(rows) > 1 and isinstance(gradient, ReadsAhead):
        gradient.expect(np.concatenate(rows))
    yield from waiting


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
    """Records in the memory of this process, or in files that it has mapped.

    Args:
        records: the records.
        threads: at most so many share out a batch; fewer than `THREADS` where other processes sum
            parts of it, as Theorem F1 counts the threads of all.
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

    def gradient(self, plan: Plan, models: Floats) -> AbstractContextManager[BatchGradient]:
        return batch_gradient(plan, self.records, models, self.threads)


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
    workers = min(shares, _READERS) if records.rows.mapped else shares
    sums = [_Sum(plan, records, models) for _ in range(workers)]
    with _single_threaded_products(), ThreadPoolExecutor(workers) as pool:
        try:
            yield _Gradient(records, sums, shares, pool, _SMALL // size)
        finally:
            for each in sums:
                each.erase()


class _Gradient:
    """The sum over a batch, shared out among threads where it is large.

    Of records in a file, those of several batches can be read at once: a batch of random records
    alone would be a pass over the file for a few of its rows.
    """

    def __init__(
        self,
        records: Records,
        sums: Sequence[_Sum],
        shares: int,
        pool: ThreadPoolExecutor,
        few: int,
    ) -> None:
        self._records, self._held, self._places = records, records, np.empty(0, dtype=np.intp)
        self._sums, self._shares, self._pool, self._few = sums, shares, pool, few
        self._free: SimpleQueue[_Sum] = SimpleQueue()
        for each in sums:
            self._free.put(each)

    @property
    def ahead(self) -> int:
        """How many random records can be held for the batches to come."""
        rows = self._records.rows
        return read_ahead(rows.features) // (8 * (rows.shape[1] + _NUMBERS)) if rows.mapped else 0

    def expect(self, places: NDArray[np.intp]) -> None:
        """Read these records, which the next batches consist of."""
        self._held = self._records  # first let go of what is held
        ranked = np.sort(places)
        self._places = ranked[np.diff(ranked, prepend=-1) > 0]  # batches may have some in common
        self._held = held_records(self._records, self._places)

    def __call__(self, at: Floats, rows: Indices) -> Floats:
        records = self._records
        if self._held is not records and not isinstance(rows, slice) and self._has(rows):
            records, rows = self._held, np.searchsorted(self._places, rows)
        number = _length(rows)
        if self._shares == 1 or number <= self._few:
            return self._sums[0].of(records)(at, rows)
        ends = [number * k // self._shares for k in range(self._shares + 1)]

        def total(part: Indices) -> Floats:
            one = self._free.get()
            try:
                return one.of(records)(at, part).copy()
            finally:
                self._free.put(one)

        totals = list(self._pool.map(total, (_part(rows, *pair) for pair in pairwise(ends))))
        for other in totals[1:]:
            totals[0] += other
        return totals[0]

    def _has(self, rows: NDArray[np.intp]) -> bool:
        """Whether all of these records are held."""
        if rows.size == 0 or self._places.size == 0:
            return False
        where = np.minimum(np.searchsorted(self._places, rows), self._places.size - 1)
        return bool((self._places[where] == rows).all())


class _Taken(NamedTuple):
    """Some records as the products see them."""

    rows: Any
    X: Any
    targets: NDArray[Any]
    limits: Floats | None

    @classmethod
    def of(cls, records: Records, rows: Indices, buffer: Floats | None) -> _Taken:
        limits = None if records.limits is None else numbers_at(records.limits, rows)
        targets = numbers_at(records.targets, rows)
        return cls(rows, records.rows.take(rows, buffer), targets, limits)


class _Sum:
    """The sum of the gradients of some records, by one thread in buffers of its own."""

    def __init__(self, plan: Plan, records: Records, models: Floats) -> None:
        self._records, self._intercept = records, plan.intercept
        self._residuals: Callable[..., None] = (
            plan.loss.scaled_residuals if plan.plainly_clipped else plan.loss.residuals
        )
        rows = _block_rows(records, models, largest_batch(plan.run))
        self._rows, self._outputs = rows, models.size // models.shape[-1]
        # of a file, several blocks are read at once, each a part of what is read
        together = max(1, _BLOCK // (rows * records.rows.shape[1])) if records.rows.mapped else 1
        self._together = rows * together
        shape = (self._together, records.rows.shape[1])
        self._features = None if records.rows.sparse else np.empty(shape)
        self._scores = np.empty(self._outputs * rows)
        self._taken: _Taken | None = None
        self._block, self._chunk, self._total = (np.empty_like(models) for _ in range(3))

    def of(self, records: Records) -> _Sum:
        """Itself, for the records that it was made for, or for some of them."""
        self._records = records
        return self

    def __call__(self, models: Floats, rows: Indices) -> Floats:
        """The sum over these rows: blocks are added up to chunks, and chunks to the total.

        Theorem F1 bounds the rounding of sums in this order. A single block is the sum itself.
        """
        number = _length(rows)
        self._end = rows.stop if isinstance(rows, slice) else 0
        with np.errstate(all="ignore"):  # each thread has settings of its own
            if 0 < number <= self._rows:
                self._sum_block(models, rows, self._total)
                self._let_go()
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
        self._let_go()
        return self._total

    def _let_go(self) -> None:
        """Leave nothing mapped of a file behind a slice of its rows."""
        if self._end and self._records.rows.mapped:
            let_go_around(self._records, self._end)

    def _sum_block(self, models: Floats, rows: Indices, into: Floats) -> None:
        """The sum over one block: two products, and what lies between."""
        sparse, d = self._records.rows.sparse, self._records.rows.shape[1]
        W, out = models.reshape(self._outputs, -1), into.reshape(self._outputs, -1)
        X, targets, limits = self._taken_rows(rows)
        z = self._scores[: self._outputs * X.shape[0]].reshape(self._outputs, -1)
        if sparse:
            z[...] = (X @ W[:, :d].T).T
        else:
            np.matmul(W[:, :d], X.T, out=z)
        if self._intercept:
            z += W[:, d:]
        self._residuals(z.reshape(*models.shape[:2], -1), targets, limits)
        if sparse:
            out[:, :d] = (X.T @ np.ascontiguousarray(z.T)).T
        else:
            np.matmul(z, X, out=out[:, :d])
        if self._intercept:
            np.add.reduce(z, axis=1, keepdims=True, out=out[:, d:])

    def _taken_rows(self, rows: Indices) -> tuple[Any, NDArray[Any], Floats | None]:
        """Features, targets and limits of these rows; those that are there are not read again."""
        records, held = self._records, self._taken
        if not isinstance(rows, slice):
            self._taken = None
            return _Taken.of(records, rows, self._features)[1:]
        if held is None or rows.start < held.rows.start or rows.stop > held.rows.stop:
            more = min(max(rows.stop, rows.start + self._together), max(self._end, rows.stop))
            wanted = slice(rows.start, more if records.rows.mapped else rows.stop)
            held = self._taken = _Taken.of(records, wanted, self._features)
        if rows == held.rows:
            return held[1:]
        part = slice(rows.start - held.rows.start, rows.stop - held.rows.start)
        limits = None if held.limits is None else held.limits[part]
        return held.X[part], held.targets[part], limits

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
