"""Features that are not kept: the network computes those of a batch again in each step.

The first pass reads all records, so that whatever is wrong with them is refused before the run, and
keeps their targets. In a step each block is bounded anew, by the lengths that its rows have then:
nothing rests on a network, or on a dataset that draws crops at random, giving the same features
twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.sum_rounding import CHUNK, THREADS
from shiftdp.training.descent.records import Indices, parts_of, prepare
from shiftdp.training.descent.source import BatchGradient
from shiftdp.training.heads.data import Block, Reader, no_records
from shiftdp.training.heads.source import source_of
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan


@dataclass(frozen=True, repr=False)
class RecomputedSource:
    """Records whose features are computed whenever they are needed.

    Args:
        reader: reads records, and makes features of them.
        y: the targets, as they were given.
        features: how many there are.
        device: what sums gradients.
        threads: how many may share out a block on the processor.
    """

    reader: Reader
    y: NDArray[Any]
    features: int
    device: torch.device
    threads: int = THREADS

    @property
    def mapped(self) -> bool:
        return False

    @classmethod
    def of(
        cls, plan: Plan, reader: Reader, device: torch.device, threads: int = THREADS
    ) -> RecomputedSource:
        """Read all records once, refuse what no plan can run on, and keep the targets."""
        targets, features = [], 0
        for X, y in reader.read(probe=True):
            prepare(plan, X, y, part=len(X))
            targets.append(y)
            features = X.shape[1]
        return cls(reader, np.concatenate(targets), features, device, threads)

    @contextmanager
    def gradient(self, plan: Plan, models: Floats) -> Iterator[BatchGradient]:
        chunk, total = np.empty_like(models), np.empty_like(models)

        def gradient(at: Floats, rows: Indices) -> Floats:
            total.fill(0)
            # blocks are added up to chunks, and chunks to the total: the order of Theorem F1
            for part in parts_of(rows, CHUNK):
                self._sum(plan, at, part, chunk)
                np.add(total, chunk, out=total)
            return total

        try:
            yield gradient
        finally:
            chunk.fill(0)
            total.fill(0)

    def _sum(self, plan: Plan, at: Floats, rows: Indices, into: Floats) -> None:
        places = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        into.fill(0)
        done = 0
        for X, _ in self.reader.read([int(i) for i in places]):
            here = places[done : done + len(X)]
            records = prepare(plan, X, self.y[here], part=len(X))
            source = source_of(plan, records, self.device, self.threads)
            with source.gradient(plan, at) as gradient:
                into += gradient(at, slice(0, len(X)))
            done += len(X)


def first_of(reader: Reader) -> Block:
    """The first records, which show how many features there are."""
    if reader.streamed:
        raise InvalidInput(
            "data",
            f"<{type(reader.dataset).__name__}>",
            "comes once, and its features cannot be computed again",
            "give cache=True, or a dataset with a length",
        )
    for block in reader.read(range(min(reader.number, reader.size))):
        return block
    raise no_records()
