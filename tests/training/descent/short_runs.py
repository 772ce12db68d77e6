"""Short runs on a few records, of every loss."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp import NoisyCGD
from shiftdp.training import ClippedSquared, Huber, Logistic, Loss, Plan, Seeded, Softmax
from shiftdp.training.descent.batches import TrainingRun

N, D = 23, 4
SHORT = NoisyCGD(n=N, batch_size=5, epochs=2, learning_rate=0.1, noise=0.1)


def data(loss: Loss, n: int = N, d: int = D) -> tuple[NDArray[np.float64], NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X[3] = 0.0
    if isinstance(loss, Softmax):
        return X, rng.integers(0, loss.classes, n)
    if isinstance(loss, (Huber, ClippedSquared)):
        return X, np.asarray(rng.normal(size=n) * 2)
    return X, rng.integers(0, 2, n)


def planned(run: TrainingRun = SHORT, loss: Loss | None = None, **fields: Any) -> Plan:
    chosen: dict[str, Any] = {"feature_bound": 1.5, "l2": 0.1, "entropy": Seeded(4), **fields}
    return Plan(run=run, loss=loss or Logistic(), **chosen)
