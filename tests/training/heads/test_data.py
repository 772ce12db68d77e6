"""Records that are read some at a time, and networks that make features of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from shiftdp import InvalidInput
from shiftdp.training.heads.data import gathered
from shiftdp.training.heads.loaders import reader_of
from tests.training.heads.datasets import Listed, X, Y
from tests.training.heads.examples import Network


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


class Summing(nn.Module):
    """Leaves the first record as it is."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.cumsum(dim=0)


@pytest.mark.parametrize("network", [Mixing(), Summing()], ids=["all", "those before"])
def test_a_network_that_mixes_records_is_refused(network: nn.Module) -> None:
    with pytest.raises(InvalidInput, match="other features if it is read alone"):
        gathered(reader_of(X, Y, network), cache=True)


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


class Nothing(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(())


def test_no_records_are_refused() -> None:
    with pytest.raises(InvalidInput, match="is empty"):
        gathered(reader_of(DataLoader(Nothing(), batch_size=2)), cache=True)
