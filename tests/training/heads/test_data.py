"""Records from tensors, datasets and loaders: each once, in the order of the dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from shiftdp import InvalidInput
from shiftdp.training.descent.disk import is_mapped
from shiftdp.training.heads.data import gathered, matrix_of, numbers_of, reader_of
from tests.training.heads.examples import D, Network

X = torch.randn(23, D, generator=torch.Generator().manual_seed(0))
Y = torch.arange(23) % 3


class Listed(Dataset[Any]):
    """Records one by one, not as tensors of all of them."""

    def __len__(self) -> int:
        return len(X)

    def __getitem__(self, place: int) -> tuple[torch.Tensor, int]:
        return X[place], int(Y[place])


class Passing(IterableDataset[Any]):
    """Records that come once, in an order of their own."""

    def __iter__(self) -> Iterator[Any]:
        return iter(Listed()[place] for place in range(len(X)))


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
    for twice in (Subset(Listed(), [1, 1, 2]), Subset(Subset(Listed(), [1, 1, 2]), [0, 2])):
        with pytest.raises(InvalidInput, match="has records twice"):
            reader_of(DataLoader(twice, shuffle=True))


def test_tensors_are_not_copied() -> None:
    features, _ = gathered(reader_of(X, Y), cache=True)
    assert np.shares_memory(features, X.numpy())


def test_records_at_places_come_in_that_order() -> None:
    for data in (TensorDataset(X, Y), DataLoader(Listed(), batch_size=2)):
        blocks = list(reader_of(data).read([5, 2, 11]))
        assert (np.concatenate([b for b, _ in blocks]) == X[[5, 2, 11]].numpy()).all()


@pytest.mark.parametrize("data", [TensorDataset(X, Y), DataLoader(Listed(), batch_size=4)])
def test_a_network_is_frozen_while_it_is_asked_and_left_as_it_was(data: Any) -> None:
    network = Network().train()
    network.norm.eval()
    statistics = network.norm.running_mean.clone()  # type: ignore[union-attr]
    features, _ = gathered(reader_of(data, backbone=network), cache=True)
    assert torch.equal(network.norm.running_mean, statistics)  # type: ignore[arg-type]
    assert (network.training, network.drop.training, network.norm.training) == (True, True, False)
    network.eval()
    with torch.no_grad():
        assert np.allclose(features, network(X).numpy(), atol=1e-6)


class Mixing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x - x.mean(dim=0)


def test_a_network_that_mixes_records_is_refused() -> None:
    with pytest.raises(InvalidInput, match="other features if it is read alone"):
        gathered(reader_of(X, Y, Mixing()), cache=True)


class OfWords(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a * b


def test_inputs_of_several_parts_are_passed_by_name_or_in_order() -> None:
    named = [({"a": x, "b": 2 * x}, 0) for x in X]
    listed = [((x, 2 * x), 0) for x in X]
    for data in (named, listed):
        loader: DataLoader[Any] = DataLoader(data, batch_size=5)  # type: ignore[arg-type]
        features, _ = gathered(reader_of(loader, backbone=OfWords()), cache=True)
        assert np.allclose(features, (2 * X * X).numpy())


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
    ids=str,
)
def test_what_cannot_be_read_is_one_error(data: Any, y: Any) -> None:
    with pytest.raises(InvalidInput):
        gathered(reader_of(data, y), cache=True)


class Nothing(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(())


def test_no_records_are_refused() -> None:
    with pytest.raises(InvalidInput, match="is empty"):
        gathered(reader_of(DataLoader(Nothing(), batch_size=2)), cache=True)


def test_features_of_any_real_type_become_float32_or_float64_exactly() -> None:
    for kind in (torch.float16, torch.bfloat16):
        found = matrix_of(X.to(kind))
        assert found.dtype == np.float32
        assert (found == X.to(kind).float().numpy()).all()
    assert matrix_of(torch.arange(3)).shape == (3, 1)
    assert matrix_of(torch.arange(6).reshape(1, 2, 3)).dtype == np.float64


def test_targets_of_several_heads_are_columns() -> None:
    found = numbers_of([Y, Y.float() / 2])
    assert found.shape == (23, 2)
    assert (found[:, 1] == Y.numpy() / 2).all()
    assert numbers_of(Y[:, None]).shape == (23,)


def test_a_backbone_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is no network"):
        reader_of(X, Y, lambda x: x)  # type: ignore[arg-type]
