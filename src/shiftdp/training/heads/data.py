"""Records that are read some at a time, and the features that a frozen network makes of them.

A network is called in evaluation mode and without gradients. A record's features must not depend on
the records beside it; of one batch that is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import (
    DataLoader,
    IterableDataset,
    Subset,
    TensorDataset,
    default_collate,
)

from shiftdp._errors import InvalidInput
from shiftdp.training.descent.disk import let_go, on_disk
from shiftdp.training.heads.tensors import matrix_of, moved, numbers_of, one_record, pair_of
from shiftdp.training.losses.base import described

Cache = Literal["memory", "disk"] | bool
Block = tuple[NDArray[Any], NDArray[Any]]
"""Features and targets of some records."""

_READ = 256  # records that are read together, unless a loader says how many
_ALIKE = 1e-2  # relative: what rounding may change in the features of a record read alone


@dataclass(frozen=True, repr=False)
class Reader:
    """Records that can be read by their places.

    Args:
        dataset: of pairs (inputs, target); or an `IterableDataset`, which is read once.
        size: how many are read together.
        collate: from a list of records to inputs and targets.
        workers: processes that read.
        backbone: a frozen network from inputs to features; None if the inputs are the features.
    """

    dataset: Any
    size: int = _READ
    collate: Callable[[list[Any]], Any] = default_collate
    workers: int = 0
    backbone: nn.Module | None = None

    @property
    def streamed(self) -> bool:
        """Whether records come once, in an order of their own."""
        return isinstance(self.dataset, IterableDataset)

    @property
    def in_memory(self) -> bool:
        """Whether the records are tensors already."""
        return type(self.dataset) is TensorDataset and self.collate is default_collate

    @property
    def number(self) -> int:
        """How many records there are."""
        return len(self.dataset)

    def read(self, places: Sequence[int] | None = None, *, probe: bool = False) -> Iterator[Block]:
        """The records at these places, or all of them, in this order, some at a time.

        Args:
            places: of the records; None for all.
            probe: whether to look, once, if features depend on the records beside them.
        """
        with _frozen(self.backbone):
            for expected, (inputs, target) in self._batches(places):
                features = self._features(inputs)
                if probe and len(features) > 1:
                    self._require_apart(inputs, features)
                    probe = False
                y = numbers_of(target)
                if (expected is not None and len(features) != expected) or len(y) != len(features):
                    raise InvalidInput(
                        "data",
                        described(features),
                        "does not have the records that were asked for",
                        "give a collate_fn that keeps every record, and one target each",
                    )
                yield features, y

    def _batches(self, places: Sequence[int] | None) -> Iterator[tuple[int | None, Any]]:
        if self.in_memory:
            everything = np.arange(self.number) if places is None else np.asarray(places)
            for start in range(0, len(everything), self.size):
                some = torch.from_numpy(everything[start : start + self.size])
                yield len(some), pair_of(self.dataset[some])
            return
        chosen = self.dataset if places is None else Subset(self.dataset, [int(i) for i in places])
        loader: DataLoader[Any] = DataLoader(
            chosen,
            batch_size=self.size,
            collate_fn=self.collate,
            num_workers=self.workers,
            generator=torch.Generator(),  # so that the user's is not drawn from
        )
        left = None if self.streamed else len(chosen)
        for batch in loader:
            expected = None if left is None else min(self.size, left)
            left = None if left is None else left - self.size
            yield expected, pair_of(batch)

    @torch.inference_mode()
    def _features(self, inputs: Any) -> NDArray[Any]:
        made = inputs
        if self.backbone is not None:
            given = moved(inputs, _device_of(self.backbone))
            if isinstance(given, Mapping):
                made = self.backbone(**given)
            else:
                made = self.backbone(*given) if isinstance(given, tuple) else self.backbone(given)
        return matrix_of(made)

    def _require_apart(self, inputs: Any, features: NDArray[Any]) -> None:
        """Refuse a network in which a record changes the features of another.

        The first and the last record are tried: what sums up the records so far, or leans on the
        one before, leaves the first alone.
        """
        for place in (0, len(features) - 1):
            own = one_record(inputs, place)
            if self.backbone is None or own is None:
                return
            alone = self._features(own).astype(np.float64)
            apart = float(np.linalg.norm(alone - features[place]))
            if not apart <= _ALIKE * float(np.linalg.norm(alone)):
                raise InvalidInput(
                    "backbone",
                    type(self.backbone).__name__,
                    "gives a record other features if it is read alone: it is random, or records "
                    "change each other",
                    "give a network that treats each record by itself in evaluation mode",
                )


def gathered(reader: Reader, cache: Cache) -> Block:
    """Features and targets of all records, read once: in memory, or on disk with cache="disk".

    Tensors of features are not copied.
    """
    if reader.backbone is None and reader.in_memory and cache != "disk":
        X, y = pair_of(reader.dataset.tensors)
        return matrix_of(X), numbers_of(y)
    if reader.streamed:
        return _streamed(reader)
    X_all: NDArray[Any] | None = None
    y_all: list[NDArray[Any]] = []
    done = 0
    for features, y in reader.read(probe=True):
        if X_all is None:
            shape = (reader.number, features.shape[1])
            made = on_disk if cache == "disk" else np.empty
            X_all = made(shape, features.dtype)
        _require_alike(X_all, features)
        rows = X_all[done : done + len(features)]
        rows[...] = features
        let_go(rows)
        y_all.append(y)
        done += len(features)
    if X_all is None:
        raise no_records()
    return X_all, np.concatenate(y_all)


def _streamed(reader: Reader) -> Block:
    """Records whose number is known when they have all come."""
    blocks: list[Block] = []
    for block in reader.read(probe=True):
        _require_alike(blocks[0][0] if blocks else block[0], block[0])
        blocks.append(block)
    if not blocks:
        raise no_records()
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


def no_records() -> InvalidInput:
    return InvalidInput("data", "<no records>", "is empty", "give some records")


def _require_alike(first: NDArray[Any], later: NDArray[Any]) -> None:
    if first.shape[1] != later.shape[1] or first.dtype != later.dtype:
        raise InvalidInput(
            "data",
            described(later),
            f"has other features than the records before, {described(first)}",
            "give every record as many features, of one type",
        )


@contextmanager
def _frozen(network: nn.Module | None) -> Iterator[None]:
    """In evaluation mode, all parts of it, and afterwards as it was."""
    training = [part for part in network.modules() if part.training] if network is not None else []
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True


def _device_of(network: nn.Module) -> torch.device | None:
    """Where the network is, which is where its inputs have to be."""
    for tensor in (*network.parameters(), *network.buffers()):
        return tensor.device
    return None
