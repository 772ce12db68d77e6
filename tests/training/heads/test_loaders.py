"""Records from tensors, datasets and loaders: each once, in the order of the dataset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from shiftdp import InvalidInput
from shiftdp.training.descent.disk import is_mapped
from shiftdp.training.heads.data import gathered
from shiftdp.training.heads.loaders import reader_of
from tests.training.heads.datasets import Listed, Passing, X, Y

WAYS: dict[str, Any] = {
    "tensors": (X, Y),
    "arrays": (X.numpy(), Y.numpy()),
    "tensor dataset": TensorDataset(X, Y),
    "dataset": Listed(),
    "loader": DataLoader(Listed(), batch_size=4),
    "shuffling loader": DataLoader(Listed(), batch_size=4, shuffle=True),
    "loader with a worker": DataLoader(Listed(), batch_size=8, num_workers=1),
    "dropping loader": DataLoader(TensorDataset(X, Y), batch_size=4, drop_last=True),
    "iterable": DataLoader(Passing(), batch_size=4),
}


@pytest.mark.parametrize("data", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("cache", [True, "disk"])
def test_every_way_gives_each_record_once_in_order(data: Any, cache: Any) -> None:
    before = torch.random.get_rng_state()
    features, targets = gathered(reader_of(data), cache)
    assert (features == X.numpy()).all()
    assert (targets == Y.numpy()).all()
    assert features.dtype == np.float32
    assert torch.equal(before, torch.random.get_rng_state())
    if cache == "disk" and data is not WAYS["iterable"]:
        assert is_mapped(features)


def test_workers_do_not_repeat_records_that_come_once() -> None:
    features, _ = gathered(reader_of(DataLoader(Passing(), batch_size=4, num_workers=2)), True)
    assert (features == X.numpy()).all()


def test_a_subset_is_read_as_it_is_and_refused_if_it_repeats_records() -> None:
    places = [7, 3, 11]
    features, _ = gathered(reader_of(Subset(Listed(), places)), cache=True)
    assert (features == X[places].numpy()).all()


LISTED = Listed()


@pytest.mark.parametrize(
    "twice",
    [
        Subset(LISTED, [1, 1, 2]),
        Subset(Subset(LISTED, [1, 1, 2]), [0, 1]),
        Subset(LISTED, torch.tensor([1, 1, 2])),  # type: ignore[arg-type]
        Subset(LISTED, [0, 22, -1]),
        ConcatDataset([LISTED, LISTED]),
        ConcatDataset([Subset(LISTED, [1, 2]), Subset(Subset(LISTED, [5, 2]), [1])]),
        Subset(ConcatDataset([LISTED, Listed(), LISTED]), [3, 30, 49]),
    ],
    ids=["listed", "of a subset", "tensor", "from the end", "joined", "overlap", "of joined"],
)
def test_views_of_a_dataset_that_have_a_record_twice_are_refused(twice: Any) -> None:
    with pytest.raises(InvalidInput, match="has records twice"):
        reader_of(DataLoader(twice, shuffle=True))


def test_parts_of_a_dataset_that_are_apart_are_read() -> None:
    parts: Any = ConcatDataset([Subset(LISTED, [4, 1]), Subset(LISTED, [2, 0]), Listed()])
    features, _ = gathered(reader_of(Subset(parts, [0, 3, 4])), cache=True)
    assert (features == X[[4, 0, 0]].numpy()).all()


def test_a_distributed_sampler_says_which_part_a_rank_has_and_repeats_none() -> None:
    parts = []
    for rank in range(2):
        sampler: DistributedSampler[Any] = DistributedSampler(Listed(), num_replicas=2, rank=rank)
        features, _ = gathered(reader_of(DataLoader(Listed(), sampler=sampler)), cache=True)
        parts.append(features)
    together = np.concatenate(parts)
    assert len(together) == len(X)
    assert len(np.unique(together, axis=0)) == len(X)


@pytest.mark.parametrize(
    "loader",
    [
        DataLoader(Listed(), sampler=SubsetRandomSampler(range(5))),
        DataLoader(Listed(), sampler=WeightedRandomSampler([1.0] * 23, 23)),
        DataLoader(Listed(), sampler=RandomSampler(Listed(), replacement=True)),
        DataLoader(Listed(), sampler=RandomSampler(Listed(), num_samples=46)),
        DataLoader(Listed(), batch_sampler=[[0, 1], [1, 2]]),
        DataLoader(Listed(), batch_size=None),
    ],
    ids=["subset", "weighted", "replacement", "twice", "batches", "no batches"],
)
def test_a_loader_that_leaves_out_or_repeats_records_is_refused(loader: Any) -> None:
    with pytest.raises(InvalidInput, match=r"sampler of its own|has no batch_size"):
        reader_of(loader)


@pytest.mark.parametrize(
    ("data", "y"),
    [
        (X, None),
        (Listed(), Y),
        (X, Y[:-1]),
        (X, "text"),
        ("text", Y),
        ([[1.0], [1.0, 2.0]], Y[:2]),
        (X, torch.zeros(2, 2, 2)),
        ([{"x": 1.0}] * 4, None),
        (TensorDataset(X), None),
        (DataLoader([(x,) for x in X]), None),  # type: ignore[arg-type]
        (DataLoader(Listed(), batch_size=4, collate_fn=lambda batch: (X[:2], Y[:2])), None),
        (DataLoader([(X[0], 1), (X[0, :2], 1)]), None),  # type: ignore[arg-type]
        (DataLoader([("word", 1)]), None),  # type: ignore[arg-type]
        (TensorDataset(X.to(torch.complex64), Y), None),
    ],
    ids=range(14),
)
def test_what_cannot_be_read_is_one_error(data: Any, y: Any) -> None:
    with pytest.raises(InvalidInput):
        gathered(reader_of(data, y), cache=True)


def test_a_backbone_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is no network"):
        reader_of(X, Y, lambda x: x)  # type: ignore[arg-type]


def test_one_number_is_no_table() -> None:
    """Found by fuzzing: a tensor without dimensions has no length."""
    with pytest.raises(InvalidInput, match="is one number"):
        reader_of(torch.tensor(1.0), Y, None)
