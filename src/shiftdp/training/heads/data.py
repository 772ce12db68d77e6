"""Records as PyTorch has them: tensors, a Dataset or a DataLoader, and a frozen network's features.

A loader says which records there are and how they are read, never which of them make a batch: that
is the plan's to say. So the records of its dataset are read in the order of the dataset, whether
the loader shuffles or not, and a sampler that leaves out or repeats records is refused.

A network is called in evaluation mode and without gradients, on some records at a time. A record's
features must not depend on the records beside it; of one batch that is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    TensorDataset,
    default_collate,
)

from shiftdp._errors import InvalidInput
from shiftdp.training.descent.disk import let_go, on_disk
from shiftdp.training.losses.base import described

Cache = Literal["memory", "disk"] | bool
Block = tuple[NDArray[Any], NDArray[Any]]
"""Features and targets of some records."""

_READ = 256  # records that are read together, unless a loader says how many
_ALIKE = 1e-2  # relative: what rounding may change in the features of a record read alone
_PAIRS = "give pairs of inputs and target, by a collate_fn if need be"


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
                yield len(some), _pair(self.dataset[some])
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
            yield expected, _pair(batch)

    @torch.inference_mode()
    def _features(self, inputs: Any) -> NDArray[Any]:
        made = inputs
        if self.backbone is not None:
            given = _moved(inputs, _device_of(self.backbone))
            if isinstance(given, Mapping):
                made = self.backbone(**given)
            else:
                made = self.backbone(*given) if isinstance(given, tuple) else self.backbone(given)
        return matrix_of(made)

    def _require_apart(self, inputs: Any, features: NDArray[Any]) -> None:
        """Refuse a network in which a record changes the features of another."""
        first = _first(inputs)
        if self.backbone is None or first is None:
            return
        alone = self._features(first).astype(np.float64)
        apart = float(np.linalg.norm(alone - features[:1]))
        if not apart <= _ALIKE * float(np.linalg.norm(alone)):
            raise InvalidInput(
                "backbone",
                type(self.backbone).__name__,
                "gives a record other features if it is read alone: it is random, or records "
                "change each other",
                "give a network that treats each record by itself in evaluation mode",
            )


def reader_of(data: Any, y: Any = None, backbone: nn.Module | None = None) -> Reader:
    """What reads the records of `fit(data, y)`."""
    if backbone is not None and not isinstance(backbone, nn.Module):
        raise InvalidInput(
            "backbone", type(backbone).__name__, "is no network", "give a torch.nn.Module"
        )
    if isinstance(data, tuple) and y is None and len(data) == 2:
        data, y = data
    if isinstance(data, (DataLoader, Dataset)):
        if y is not None:
            raise InvalidInput(
                "y", described(y), "is given beside a dataset, which has its own", "leave it out"
            )
        made = _of_loader(data) if isinstance(data, DataLoader) else Reader(data)
        _require_once(made.dataset)
        return replace(made, backbone=backbone)
    if y is None:
        raise InvalidInput(
            "data",
            described(data),
            "has no targets",
            "give fit(X, y) of tensors, a Dataset or a DataLoader of pairs",
        )
    X = _tensor(data)
    targets = torch.from_numpy(numbers_of(y))
    if len(X) != len(targets):
        raise InvalidInput("y", described(y), f"does not have {len(X)} entries", "give one a row")
    return Reader(TensorDataset(X, targets), backbone=backbone)


def _tensor(data: Any) -> torch.Tensor:
    """Inputs in a tensor, which shares their memory if it may be written to."""
    read_only = isinstance(data, np.ndarray) and not data.flags.writeable
    try:
        return torch.as_tensor(data.copy() if read_only else data)
    except (TypeError, ValueError, RuntimeError):
        given = described(data)
    # outside of the handler, so that this does not lead to what torch says
    raise InvalidInput("data", given, "is no tensor of inputs", "give a tensor, a row a record")


def _of_loader(loader: DataLoader[Any]) -> Reader:
    """The dataset of a loader, and how it is read."""
    dataset: Any = loader.dataset
    size = loader.batch_size
    if size is None:
        raise InvalidInput(
            "data", "<DataLoader>", "has no batch_size", "give DataLoader(dataset, batch_size=...)"
        )
    if not isinstance(dataset, IterableDataset):
        sampler = loader.sampler
        plain = type(loader.batch_sampler) is BatchSampler
        if isinstance(sampler, DistributedSampler) and plain:
            # its own places would repeat records where they cannot be shared out evenly
            dataset = Subset(dataset, range(sampler.rank, len(dataset), sampler.num_replicas))
        elif not plain or not _once_each(sampler, len(dataset)):
            raise InvalidInput(
                "data",
                f"<DataLoader, {type(sampler).__name__}>",
                "has a sampler of its own, and the plan says which records make a batch",
                "give shuffle=True or False, and torch.utils.data.Subset to leave records out",
            )
        return Reader(dataset, size, loader.collate_fn, loader.num_workers)
    # several workers would each go through all of it, and each record come several times
    return Reader(dataset, size, loader.collate_fn)


def _once_each(sampler: Any, records: int) -> bool:
    """Whether an epoch of a sampler has each record once."""
    if type(sampler) is RandomSampler:
        return not sampler.replacement and sampler.num_samples == records
    return type(sampler) is SequentialSampler


def _require_once(dataset: Any) -> None:
    """Refuse a part of a dataset that has a record twice: it would count twice."""
    while isinstance(dataset, Subset):
        if len(set(dataset.indices)) < len(dataset.indices):
            raise InvalidInput(
                "data",
                "<Subset>",
                "has records twice, which count as one in the certificate",
                "give each place once; classes get weights by training.Weighted",
            )
        dataset = dataset.dataset


def gathered(reader: Reader, cache: Cache) -> Block:
    """Features and targets of all records, read once: in memory, or on disk with cache="disk".

    Tensors of features are not copied.
    """
    if reader.backbone is None and reader.in_memory and cache != "disk":
        X, y = _pair(reader.dataset.tensors)
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
        raise _empty()
    return X_all, np.concatenate(y_all)


def _streamed(reader: Reader) -> Block:
    """Records whose number is known when they have all come."""
    blocks: list[Block] = []
    for block in reader.read(probe=True):
        _require_alike(blocks[0][0] if blocks else block[0], block[0])
        blocks.append(block)
    if not blocks:
        raise _empty()
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


def _empty() -> InvalidInput:
    return InvalidInput("data", "<no records>", "is empty", "give some records")


def _require_alike(first: NDArray[Any], later: NDArray[Any]) -> None:
    if first.shape[1] != later.shape[1] or first.dtype != later.dtype:
        raise InvalidInput(
            "data",
            described(later),
            f"has other features than the records before, {described(first)}",
            "give every record as many features, of one type",
        )


def matrix_of(features: Any) -> NDArray[Any]:
    """Features as a matrix of float32 or float64, a row a record; the tensor's memory where it can
    be."""
    if not isinstance(features, torch.Tensor) or features.dim() < 1 or features.is_complex():
        raise InvalidInput(
            "data",
            described(features),
            "gives no tensor of real features",
            "wrap the network in a module that returns one tensor, a row a record",
        )
    rows = features.detach().flatten(1) if features.dim() > 1 else features.detach()[:, None]
    if rows.dtype in (torch.float16, torch.bfloat16):
        rows = rows.float()  # exact
    elif rows.dtype not in (torch.float32, torch.float64):
        rows = rows.double()
    found: NDArray[Any] = rows.cpu().numpy()
    return found


def numbers_of(target: Any) -> NDArray[np.float64]:
    """Targets as float64, each by itself: a vector, or a matrix with a column for each head."""
    if isinstance(target, (tuple, list)) and any(isinstance(one, torch.Tensor) for one in target):
        return np.stack([numbers_of(one) for one in target], axis=1)
    try:
        found: NDArray[Any] = torch.as_tensor(target).detach().cpu().double().numpy()
    except (TypeError, ValueError, RuntimeError):
        found = np.empty(())
    if found.ndim not in (1, 2):
        raise InvalidInput("y", described(target), "is not a vector or a matrix of numbers", _PAIRS)
    return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found


def _pair(batch: Any) -> tuple[Any, Any]:
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise InvalidInput("data", f"<{type(batch).__name__}>", "has no pairs", _PAIRS)
    return batch[0], batch[1]


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


def _moved(inputs: Any, device: torch.device | None) -> Any:
    if isinstance(inputs, torch.Tensor):
        return inputs if device is None else inputs.to(device)
    if isinstance(inputs, Mapping):
        return {name: _moved(one, device) for name, one in inputs.items()}
    if isinstance(inputs, (tuple, list)):
        return tuple(_moved(one, device) for one in inputs)
    return inputs


def _first(inputs: Any) -> Any:
    """The inputs of the first record; None where they cannot be told apart."""
    if isinstance(inputs, torch.Tensor):
        return inputs[:1]
    if isinstance(inputs, Mapping):
        parts = {name: _first(one) for name, one in inputs.items()}
        return None if None in parts.values() else parts
    if isinstance(inputs, (tuple, list)):
        listed = tuple(_first(one) for one in inputs)
        return None if any(one is None for one in listed) else listed
    return None
