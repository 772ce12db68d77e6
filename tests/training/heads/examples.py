"""Plans, records and networks that the tests of heads share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from shiftdp import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.training import (
    ClippedSquared,
    Huber,
    Joint,
    Logistic,
    Loss,
    Plan,
    Seeded,
    SmoothedHinge,
    Softmax,
    Weighted,
)
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.loop import iterates, starting_point
from shiftdp.training.descent.source import Source
from tests.training.losses.examples import labels

N, D = 90, 5

LOSSES: list[Loss] = [
    Logistic(),
    SmoothedHinge(width=0.5),
    Huber(width=1.3),
    ClippedSquared(residual_bound=2.0),
    Softmax(classes=2),
    Softmax(classes=4),
    Weighted(Logistic(), (0.3, 1.0)),
    Weighted(Softmax(classes=3), (1.0, 0.2, 0.7)),
    Joint((Logistic(), Softmax(classes=3), Huber(width=0.7))),
]

_STEPS: dict[str, Any] = {"learning_rate": 0.2, "noise": 0.3}
RUNS: dict[str, TrainingRun] = {
    "full": NoisyGD(n=N, steps=6, **_STEPS),
    "fixed": NoisyCGD(n=N, batch_size=20, epochs=2, **_STEPS),
    "shuffled": NoisyCGD(n=N, batch_size=20, epochs=2, order="shuffled_once", **_STEPS),
    "reshuffled": NoisyCGD(n=N, batch_size=20, epochs=2, order="reshuffled", **_STEPS),
    "without replacement": NoisySGD(n=N, batch_size=20, steps=8, **_STEPS),
    "poisson": NoisySGD(n=N, batch_size=2, steps=12, sampling="poisson", **_STEPS),
    "random allocation": NoisySGD(
        n=N, batch_size=20, epochs=2, sampling="random_allocation", **_STEPS
    ),
}


def plan_of(run: TrainingRun, loss: Loss, **fields: Any) -> Plan:
    """A plan in test mode; composition covers all runs and learning rates."""
    adjacency = "zero_out" if getattr(run, "sampling", "") == "random_allocation" else "replace_one"
    return Plan(
        run=run,
        loss=loss,
        feature_bound=2.0,
        bounds="composition",
        entropy=Seeded(5),
        **{"adjacency": adjacency, "l2": 0.01, **fields},
    )


def records(loss: Loss, n: int = N, kind: Any = np.float64) -> tuple[NDArray[Any], NDArray[Any]]:
    """Features, some of them above the bound, and targets."""
    rng = np.random.default_rng(7)
    X = (rng.normal(size=(n, D)) * rng.uniform(0.2, 2.0, size=(n, 1))).astype(kind)
    return X, labels(loss, n, 8)


def last_iterate(plan: Plan, source: Source) -> NDArray[Any]:
    """The last iterate before it is rounded to the grid, which would hide small differences."""
    models = starting_point(plan, source, 1)
    for _ in iterates(plan, source, models, [plan.entropy]):
        pass
    return np.asarray(models[0])


def without_noise(plan: Plan) -> Plan:
    """The same with so little noise that what the records do is what is seen."""
    run = plan.run
    return replace(plan, run=type(run)(**{**vars(run), "noise": 1e-6}))


class Network(nn.Module):
    """A small frozen network, with dropout and running statistics that evaluation mode fixes."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.layer = nn.Linear(D, 4)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)
        with torch.no_grad():
            self.layer.weight.copy_(torch.randn(4, D, generator=generator))
            self.layer.bias.zero_()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return torch.tanh(self.drop(self.norm(self.layer(x))))
