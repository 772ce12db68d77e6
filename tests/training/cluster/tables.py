"""Small tables for the tests of clusters, in memory and as collections of Dask."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np

from shiftdp import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.training.descent.batches import TrainingRun

N, D = 307, 5
BLOCKS = (100, 7, 0, 50, 90, 60)
"""Rows of the blocks: of several sizes, and none."""

RUNS: dict[str, TrainingRun] = {
    "full": NoisyGD(n=N, steps=6, learning_rate=0.5, noise=0.02),
    "schedule": NoisyGD(n=N, steps=3, learning_rate=[0.5, 0.3, 0.2], noise=[0.0, 0.02, 0.03]),
    "fixed": NoisyCGD(n=N, batch_size=60, epochs=2, learning_rate=0.2, noise=0.05),
    "shuffled_once": NoisyCGD(
        n=N, batch_size=60, epochs=2, learning_rate=0.2, noise=0.05, order="shuffled_once"
    ),
    "reshuffled": NoisyCGD(
        n=N, batch_size=60, epochs=2, learning_rate=0.2, noise=0.05, order="reshuffled"
    ),
    "without_replacement": NoisySGD(
        n=N, batch_size=60, steps=8, learning_rate=0.2, noise=0.05, sampling="without_replacement"
    ),
    "poisson": NoisySGD(
        n=N, batch_size=3, steps=8, learning_rate=0.2, noise=0.05, sampling="poisson"
    ),
    "random_allocation": NoisySGD(
        n=N,
        batch_size=60,
        epochs=2,
        learning_rate=0.2,
        noise=0.05,
        sampling="random_allocation",
    ),
}


def numbers(n: int = N) -> tuple[Any, Any]:
    """Rows, some of them longer than 1, and labels of two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)) * 0.6
    return X, (X[:, 0] + 0.2 * rng.normal(size=n) > 0).astype(int)


def as_arrays(X: Any, y: Any, sizes: tuple[int, ...] = BLOCKS) -> tuple[Any, Any]:
    """The same in blocks of rows."""
    return da.from_array(X, chunks=(sizes, X.shape[1])), da.from_array(y, chunks=(sizes,))
