"""A worker's share of the records, and its sums of gradients: an actor on that worker.

It is made of blocks and told, in this order, how they are encoded (if at all), to put them
together, what its labels are numbered by, and which plan it is for. Then it answers each step with
the sum over those of its records that are in the batch. No method raises (`guard`), none changes
what another call of it answers: a call that was lost on its way may be repeated.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.cluster.guard import Failure, Refusal, guarded_method
from shiftdp.training.cluster.reading import Block
from shiftdp.training.descent.gradient import LocalSource
from shiftdp.training.descent.records import Indices, Records, prepare
from shiftdp.training.descent.source import BatchGradient
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan

if TYPE_CHECKING:
    from shiftdp.training.preparation.codes import Code
    from shiftdp.training.preparation.columns import Column


class Contents(NamedTuple):
    """What is in a shard: of each block, how many records and a hash of them."""

    sizes: tuple[int, ...]
    digests: tuple[bytes, ...]


class Sum(NamedTuple):
    """The sum of some gradients, and the time that it took: on the clock, and of processors."""

    total: Floats
    seconds: float
    processor_seconds: float


class Shard:
    """Some blocks of a table, in the memory of one worker."""

    def __init__(self, blocks: Sequence[Block | Refusal | Failure], threads: int) -> None:
        self._refused = next((b for b in blocks if isinstance(b, (Refusal, Failure))), None)
        self._blocks = [b for b in blocks if isinstance(b, Block)]
        self._threads = threads
        self._features: NDArray[Any] | None = None
        self._labels: list[NDArray[Any]] = []
        self._targets: NDArray[Any] | None = None
        self._contents = Contents(
            tuple(b.size for b in self._blocks), tuple(b.digest for b in self._blocks)
        )
        self._records: Records | None = None
        self._gradient: BatchGradient | None = None
        self._open = ExitStack()

    def contents(self) -> Contents | Refusal | Failure:
        """What is in the blocks, or why one of them could not be read."""
        return self._contents if self._refused is None else self._refused

    @guarded_method
    def sums(self, column: int, kind: str, *arguments: Any) -> list[Any]:
        """The sums that something is learnt by of a column, as `preparation.learning` makes them:
        `histogram`, `whole_sums` or `word_counts`, of each block."""
        from shiftdp.training.preparation import learning

        return [
            getattr(learning, kind)(block.features[column], *arguments) for block in self._blocks
        ]

    @guarded_method
    def encode(self, codes: Sequence[Code], columns: Sequence[Column]) -> None:
        """Make rows of columns, block by block."""
        for place, block in enumerate(self._blocks):
            if isinstance(block.features, list):
                entries = zip(codes, block.features, columns, strict=True)
                parts = [code.block(values, column) for code, values, column in entries]
                rows = np.concatenate(parts, axis=1)
                self._blocks[place] = block._replace(features=rows)

    @guarded_method
    def assemble(self) -> None:
        """Put the blocks together, one after another, so that no more than one is there twice."""
        if self._features is not None or not self._blocks:
            return
        first = np.asarray(self._blocks[0].features)
        features = np.empty((sum(self._contents.sizes), first.shape[1]), first.dtype)
        start = 0
        while self._blocks:
            block = self._blocks.pop(0)
            features[start : start + block.size] = block.features
            self._labels.append(block.labels)
            start += block.size
        self._features = features

    @guarded_method
    def label_set(self) -> NDArray[Any] | None:
        """The labels that occur; None if there are no records."""
        # as numbers or as text: labels of both kinds are refused when they come together
        found = [np.unique(labels) for labels in self._all_labels() if labels.size]
        return union(found) if found else None

    def _all_labels(self) -> list[NDArray[Any]]:
        return [*self._labels, *(block.labels for block in self._blocks)]

    @guarded_method
    def number(self, classes: NDArray[Any]) -> None:
        """Replace labels by their places among the classes."""
        from shiftdp.training.estimators.inputs import given_classes

        places = [given_classes(classes, labels)[1] for labels in self._all_labels() if labels.size]
        self._targets = np.concatenate(places) if places else np.empty(0, dtype=np.int8)

    @guarded_method
    def prepare(self, plan: Plan) -> None:
        """Bound the rows as the plan says, and check the labels for its loss."""
        if self._features is None or not len(self._features):
            return
        if self._targets is None:
            self._targets = np.concatenate([labels for labels in self._labels if labels.size])
        self._records = prepare(plan, self._features, self._targets, part=len(self._features))

    @guarded_method
    def begin(self, plan: Plan, shape: tuple[int, ...]) -> None:
        """Make ready for sums of gradients of models in this shape."""
        self._let_go()
        if self._records is not None:
            models = np.zeros(shape)
            self._gradient = self._open.enter_context(
                LocalSource(self._records, self._threads).gradient(plan, models)
            )

    @guarded_method
    def step(self, models: Floats, rows: Indices) -> Sum:
        """The sum of the gradients of these records, by their places in the shard."""
        if self._gradient is None:
            raise RuntimeError  # the name of it is told
        places = rows if isinstance(rows, slice) else rows.astype(np.intp)
        clock, busy = time.perf_counter(), time.process_time()
        total = self._gradient(np.array(models), places).copy()
        return Sum(total, time.perf_counter() - clock, time.process_time() - busy)

    @guarded_method
    def end(self) -> None:
        """Overwrite and let go of what sums were made with."""
        self._let_go()

    def _let_go(self) -> None:
        self._gradient = None
        self._open.close()
        self._open = ExitStack()


def union(sets: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """All labels of several sets, in order; refused if some are text and others numbers."""
    words = {each.dtype.kind in "OUS" for each in sets}
    if len(words) > 1:
        raise InvalidInput(
            "y", "<blocks>", "has labels of several types", "give numbers only, or text only"
        )
    return np.unique(np.concatenate(sets))
