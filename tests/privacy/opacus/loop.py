"""A training loop with Opacus, as its users write it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import shiftdp as sdp
from shiftdp.privacy.opacus.accountant import Declaration, register

DELTA = 1e-5
FEATURES = 4
LOGISTIC = Declaration(adjacency="zero_out", loss="logistic", feature_bound=1.0)
COMPUTED = Declaration(adjacency="zero_out", loss="logistic", feature_bound=1.0, inputs="computed")
COMPOSED = Declaration(adjacency="zero_out", bounds="composition")


def dataset(n: int = 60, norm: float = 1.0, dtype: torch.dtype = torch.float32) -> TensorDataset:
    """Rows of one norm, and labels that depend on them."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, FEATURES, generator=generator, dtype=torch.float64)
    x = norm * x / x.norm(dim=1, keepdim=True)
    return TensorDataset(x.to(dtype), (x[:, 0] > 0).to(dtype))


def classes(rows: int = 60, norm: float = 1.0) -> TensorDataset:
    """The same rows, and three classes that depend on them."""
    x, _ = dataset(rows, norm).tensors
    return TensorDataset(x, x[:, :3].argmax(dim=1))


@dataclass
class Session:
    """What make_private returned, and the watched loader."""

    engine: PrivacyEngine
    module: Any
    optimizer: Any
    loader: Any
    criterion: Any

    @property
    def accountant(self) -> Any:
        return self.engine.accountant

    def step(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        output = self.module(x)
        if output.dim() == 2 and output.shape[1] == 1 and y.dim() == 1:
            output = output.squeeze(1)
        self.criterion(output, y).backward()
        self.optimizer.step()

    def train(self, epochs: int = 1) -> Session:
        for _ in range(epochs):
            self.once(self.loader)
        return self

    def once(self, batches: Iterable[Any]) -> None:
        for x, y in batches:
            self.step(x, y)


def session(
    declaration: Declaration = LOGISTIC,
    *,
    data: Any = None,
    batch_size: int = 10,
    shuffle: bool = False,
    drop_last: bool = False,
    module: Any = None,
    optimizer: Any = None,
    loader: Any = None,
    criterion: Any = None,
    attach: bool = True,
    calibrate: bool = False,
    name: str = "shiftdp",
    lr: float = 0.5,
    weight_decay: float = 0.1,
    **settings: Any,
) -> Session:
    """Register, make private, and attach; `settings` go to make_private."""
    data = dataset() if data is None else data
    module = nn.Linear(FEATURES, 1) if module is None else module
    if optimizer is None:
        optimizer = torch.optim.SGD(module.parameters(), lr=lr, weight_decay=weight_decay)
    elif callable(optimizer):
        optimizer = optimizer(module)
    if loader is None:
        loader = DataLoader(data, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last)
    planned: dict[str, Any] = {}
    if calibrate:
        poisson = settings.setdefault("poisson_sampling", False)
        planned = {
            "module": module,
            "optimizer": optimizer,
            "data_loader": loader,
            "poisson_sampling": poisson,
            "loss_reduction": settings.get("loss_reduction", "mean"),
        }
    register(declaration, name=name, **planned)
    engine = PrivacyEngine(accountant=name)
    settings = {"max_grad_norm": 0.7, "poisson_sampling": False, **settings}
    if calibrate:
        make = engine.make_private_with_epsilon
    else:
        make = engine.make_private
        settings.setdefault("noise_multiplier", 2.0)
    criterion = nn.BCEWithLogitsLoss() if criterion is None else criterion
    module, optimizer, *_, loader = make(
        module=module, optimizer=optimizer, data_loader=loader, **settings
    )
    made = Session(engine, module, optimizer, loader, criterion)
    if attach:
        made.loader = engine.accountant.attach(module, optimizer, loader)
    return made


@contextmanager
def refused(name: str, match: str | None = None) -> Iterator[None]:
    """A refusal that names this, and gives a remedy."""
    with pytest.raises(sdp.UnmetHypothesis, match=match) as caught:
        yield
    assert caught.value.name == name
    assert caught.value.remedy
