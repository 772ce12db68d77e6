"""The records of a cluster as a source for the training loop, and what is proved of its sums.

The loop draws batches and noise on the driver. A step sends each shard the models and which of its
records are in the batch, and gets one sum back; nothing else crosses the network, and no graph is
made.

*Rounding.* Theorem F1 bounds the error of a sum over a batch of N records by the number of
roundings on the way of each term: at most

    k = min(N, CHUNK) + ceil(N / CHUNK) + THREADS.

Of the sums made here the theorem holds as it stands. A term is in one shard, where one thread has
N' <= N records of the batch: it takes part in at most min(N', CHUNK) roundings inside of its chunk
and in at most ceil(N' / CHUNK) additions of chunks. The sums of the T threads of the shard are
added one after another, T - 1 additions, and the sums of the S shards pairwise, ceil(log2 S)
additions on the way of each. Together that is at most

    min(N, CHUNK) + ceil(N / CHUNK) + (T - 1) + ceil(log2 S) <= k,

if T - 1 + ceil(log2 S) <= THREADS = 64, beyond which a cluster is refused. A sum that crosses the
network is float64 before and after, so that is no rounding. So the sensitivity, and with it the
certificate, are those of a single machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.sum_rounding import THREADS
from shiftdp.training.cluster.shard import Contents, Sum
from shiftdp.training.cluster.workers import Workers
from shiftdp.training.descent.entropy import System
from shiftdp.training.descent.records import Indices, length_of
from shiftdp.training.descent.source import BatchGradient, Elsewhere
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan

_ORDER_IN_MEMORY = 1 << 27
"""Of more records the order of batches is kept on the driver's disk: it would take gigabytes."""


class Division:
    """Which records each shard has: those of its blocks, in order.

    Args:
        sizes: how many records each block has.
        shards: the numbers of the blocks of each shard, rising.

    >>> division = Division([3, 2, 4], [(0, 2), (1,)])
    >>> division.parts(slice(1, 6))
    [slice(1, 4, None), slice(0, 2, None)]
    >>> [part.tolist() for part in division.parts(np.array([0, 4, 8]))]
    [[0, 6], [1]]
    """

    def __init__(self, sizes: Sequence[int], shards: Sequence[Sequence[int]]) -> None:
        self._sizes = np.asarray(sizes, dtype=np.int64)
        self._ends = np.cumsum(self._sizes)
        self._starts = self._ends - self._sizes
        self._shards = [np.asarray(numbers, dtype=np.intp) for numbers in shards]
        self._owner = np.empty(len(sizes), dtype=np.intp)
        self._shift = np.empty(len(sizes), dtype=np.int64)
        for place, numbers in enumerate(self._shards):
            inside = np.cumsum(self._sizes[numbers]) - self._sizes[numbers]
            self._owner[numbers] = place
            self._shift[numbers] = inside - self._starts[numbers]

    @property
    def n(self) -> int:
        return int(self._sizes.sum())

    def parts(self, rows: Indices) -> list[Indices]:
        """The places of these records in each of the shards.

        Records that follow one another in the table do so in each shard, too.
        """
        if isinstance(rows, slice):
            ends = [np.clip(end - self._starts, 0, self._sizes) for end in (rows.start, rows.stop)]
            return [
                slice(*(int(inside[numbers].sum()) for inside in ends)) for numbers in self._shards
            ]
        block = np.searchsorted(self._ends, rows, side="right")
        owner, local = self._owner[block], rows + self._shift[block]
        order = np.argsort(owner, kind="stable")
        cuts = np.searchsorted(owner[order], np.arange(1, len(self._shards)))
        return [_short(part) for part in np.split(local[order], cuts)]


def _short(places: NDArray[Any]) -> NDArray[Any]:
    """In four bytes each, where they fit."""
    wide = places.size and int(places[-1]) >= 1 << 32
    return places.astype(np.uint64 if wide else np.uint32)


def pairwise(sums: Sequence[Floats]) -> Floats:
    """A sum in which each term takes part in ceil(log2 S) additions. It is a new array.

    >>> pairwise([np.array([1.0]), np.array([2.0]), np.array([4.0])])
    array([7.])
    """
    left = [sums[0].copy(), *sums[1:]]
    while len(left) > 1:
        joined = [one + two for one, two in zip(left[::2], left[1::2], strict=False)]
        left = [*joined, *left[2 * len(joined) :]]
    return left[0]


@dataclass
class Timing:
    """Seconds that the slowest worker of each step computed for, added up over the steps."""

    steps: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0

    def add(self, sums: Sequence[Sum]) -> None:
        self.steps += 1
        self.seconds += max(one.seconds for one in sums)
        self.processor_seconds += max(one.processor_seconds for one in sums)


@dataclass(frozen=True)
class ClusterTable(Elsewhere):
    """Records on the workers of a cluster."""

    workers: Workers
    contents: tuple[Contents, ...]
    columns: int
    timing: Timing = field(default_factory=Timing)

    @property
    def division(self) -> Division:
        sizes = self._by_block([one.sizes for one in self.contents])
        return Division(sizes, self.workers.shards)

    @property
    def digest(self) -> bytes:
        """A hash of all records in their order, however they are divided."""
        return b"".join(self._by_block([one.digests for one in self.contents]))

    def _by_block(self, found: Sequence[Sequence[Any]]) -> list[Any]:
        pairs = [
            pair
            for numbers, values in zip(self.workers.shards, found, strict=True)
            for pair in zip(numbers, values, strict=True)
        ]
        return [value for _, value in sorted(pairs, key=lambda pair: pair[0])]

    @property
    def shape(self) -> tuple[int, int]:
        return self.division.n, self.columns

    def source(self, plan: Plan) -> ClusterSource:
        n, d = self.shape
        if n != plan.run.n or (plan.features is not None and plan.features != d):
            raise InvalidInput(
                "X",
                f"<shape ({n}, {d})>",
                f"does not have the {plan.run.n} records and the features of the plan",
                "plan anew",
            )
        require_provable(len(self.workers.shards), self.workers.threads)
        self.workers.tell("prepare", _for_workers(plan))
        return ClusterSource(self, self.division)


@dataclass(frozen=True)
class ClusterSource:
    """What the loop asks for sums of gradients."""

    table: ClusterTable
    division: Division

    @property
    def features(self) -> int:
        return self.table.columns

    @property
    def mapped(self) -> bool:
        return self.division.n > _ORDER_IN_MEMORY

    @property
    def digest(self) -> bytes:
        return self.table.digest

    @contextmanager
    def gradient(self, plan: Plan, models: Floats) -> Iterator[BatchGradient]:
        workers = self.table.workers
        workers.tell("begin", _for_workers(plan), models.shape)

        def total(at: Floats, rows: Indices) -> Floats:
            parts = self.division.parts(rows)
            asked = {k: (at, part) for k, part in enumerate(parts) if length_of(part)}
            if not asked:
                return np.zeros_like(at)
            sums = workers.ask("step", asked)
            self.table.timing.add(list(sums.values()))
            return pairwise([sums[k].total for k in asked])

        try:
            yield total
        finally:
            workers.end()


def require_provable(shards: int, threads: int) -> None:
    """Refuse a cluster for whose sums Theorem F1 is not proved: see above."""
    if threads - 1 + (shards - 1).bit_length() > THREADS:
        raise InvalidInput(
            "client",
            f"<{shards} workers of {threads} threads>",
            "is larger than the proof of rounding allows",
            "give fewer workers, or fewer threads each",
        )


def _for_workers(plan: Plan) -> Plan:
    """The plan without what is secret about it or was computed for it."""
    return replace(plan, entropy=System())
