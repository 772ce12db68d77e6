"""Small datasets that the tests of heads read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import Dataset, IterableDataset

from tests.training.heads.examples import D

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
