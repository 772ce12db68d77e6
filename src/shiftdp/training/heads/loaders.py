"""What a user gives, as something that can be read: tensors, a Dataset or a DataLoader.

A loader says which records there are and how they are read, never which of them make a batch: that
is the plan's to say. So the records of its dataset are read in the order of the dataset, whether
the loader shuffles or not, and a sampler that leaves out or repeats records is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    TensorDataset,
)

from shiftdp._errors import InvalidInput
from shiftdp.training.heads.data import Reader
from shiftdp.training.heads.tensors import numbers_of
from shiftdp.training.losses.base import described


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
    if X.ndim == 0:
        raise InvalidInput(
            "data", described(data), "is one number", "give a tensor, a row a record"
        )
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
    """Refuse parts of a dataset that have a record twice: it would count twice."""
    places = _places(dataset)
    if sum(len(np.unique(own)) for own in places.values()) < sum(map(len, places.values())):
        raise InvalidInput(
            "data",
            f"<{type(dataset).__name__}>",
            "has records twice, which count as one in the certificate",
            "give each place once; classes get weights by training.Weighted",
        )


def _places(dataset: Any, wanted: NDArray[np.intp] | None = None) -> dict[int, NDArray[np.intp]]:
    """Which records a dataset is made of: places in datasets of torch's own that it is a view of.

    Args:
        dataset: whatever was given; one that is no view of others is asked for its length alone.
        wanted: places in it; all of them unless they are given.
    """
    if isinstance(dataset, IterableDataset):
        return {}
    if wanted is None:
        wanted = np.arange(len(dataset), dtype=np.intp)
    if isinstance(dataset, Subset):
        indices = np.asarray([int(i) for i in dataset.indices], dtype=np.intp)
        return _places(dataset.dataset, indices[wanted])
    wanted = np.where(wanted < 0, wanted + len(dataset), wanted)
    if not isinstance(dataset, ConcatDataset):
        return {id(dataset): wanted}
    found: dict[int, NDArray[np.intp]] = {}
    begin = 0
    for part, end in zip(dataset.datasets, dataset.cumulative_sizes, strict=True):
        own = wanted[(wanted >= begin) & (wanted < end)] - begin
        for root, places in _places(part, own).items():
            found[root] = np.concatenate([found.get(root, places[:0]), places])
        begin = end
    return found
