"""Data sets with their public facts, and how well a plan does on them."""

from __future__ import annotations

import gzip
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.training import Logistic, Plan, Seeded, Softmax, descend
from shiftdp.training.descent.loop import descend_stacked
from shiftdp.training.planning.problem import Problem

DELTA = 1e-5
ROOT = Path(__file__).parents[1]
TABLES = Path(os.environ.get("SHIFTDP_TABLES", ROOT.parent / "shared" / "data" / "tables"))
MNIST = Path(os.environ.get("SHIFTDP_MNIST", ROOT.parent / "shared" / "data" / "mnist"))


class Data(NamedTuple):
    """Features and labels, for training and for testing."""

    X: Any
    y: Any
    test: Any
    labels: Any

    def right(self, bound: float, w: Any) -> float:
        """Per cent of the test records that a model is right about."""
        w = np.atleast_2d(w)
        z = held(self.test, bound) @ w[:, :-1].T + w[:, -1]
        found = z.argmax(axis=1) if len(w) > 1 else (z[:, 0] > 0)
        return 100.0 * float(np.mean(found == self.labels))


class Task(NamedTuple):
    """A data set with its public facts; one split, or one for each seed."""

    name: str
    bound: float
    classes: int
    draws: tuple[Data, ...]
    adjacency: Adjacency = "zero_out"

    @property
    def changes(self) -> float:
        """By how many times the clip one record can change a sum of clipped gradients."""
        return 1.0 if self.adjacency == "zero_out" else 2.0

    @property
    def n(self) -> int:
        return len(self.draws[0].X)

    @property
    def norm_bound(self) -> float:
        return math.hypot(self.bound, 1.0)

    @property
    def loss(self) -> Any:
        return Logistic() if self.classes == 2 else Softmax(classes=self.classes)

    def problem(self, epsilon: float) -> Problem:
        n, d = self.draws[0].X.shape
        return Problem(
            n=n, features=d, loss=self.loss, feature_bound=self.bound, epsilon=epsilon,
            delta=DELTA, adjacency=self.adjacency,
        )  # fmt: skip

    def accuracies(self, plan: Plan, seeds: range) -> list[float]:
        """Per cent right on the test records, a number a seed."""
        if len(self.draws) == 1:
            (data,) = self.draws
            seeded = replace(plan, entropy=Seeded(seeds.start))
            models = descend_stacked(seeded, data.X, data.y, len(seeds))
            return [data.right(self.bound, w) for w in models]
        found = []
        for seed in seeds:
            data = self.draws[seed]
            w = descend(replace(plan, entropy=Seeded(seed)), data.X, data.y)
            found.append(data.right(self.bound, w))
        return found


def held(X: Any, bound: float) -> Any:
    return X * np.minimum(1.0, bound / np.linalg.norm(X, axis=1, keepdims=True)).astype(X.dtype)


def table(name: str) -> Callable[[int], Task]:
    """A table of `SHIFTDP_TABLES`: features scaled by public ranges, and a public bound."""

    def read(seeds: int) -> Task:
        with np.load(TABLES / f"{name}.npz") as file:
            X, y, bound = file["X"], file["y"], float(file["bound"])
        y = np.unique(y, return_inverse=True)[1]
        return Task(name, bound, int(y.max()) + 1, tuple(_splits(X, y, seeds)))

    return read


def many_classes(seeds: int) -> Task:
    """26 classes of two clusters each, 16 features in whole numbers, 20,000 records."""
    rng = np.random.default_rng(0)
    K, d, n = 26, 16, 20_000
    mixing = rng.normal(size=(d, d)) / math.sqrt(d) + 0.5 * np.eye(d)
    centres = 0.45 * rng.normal(size=(K, 2, d)) + 0.75 * rng.normal(size=(K, 1, d))
    y, cluster = rng.integers(K, size=n), rng.integers(2, size=n)
    Z = (centres[y, cluster] + rng.normal(size=(n, d))) @ mixing
    Z = np.round((Z - np.median(Z, axis=0)) / Z.std(axis=0) * 2.3 + 7.5).clip(0, 15)
    return Task("classes", 2.0, K, tuple(_splits((Z - 7.5) / 7.5, y, seeds)))


def digits(seeds: int) -> Task:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Task("digits", 3.5, 10, tuple(_splits(X / 16.0, y, seeds)))


def cancer(seeds: int) -> Task:
    """Features scaled by the ranges that the description of the data publishes."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    rows = re.findall(r"\((?:mean|standard error|worst)\):\s+([\d.]+)\s+([\d.]+)", data.DESCR)
    low, high = np.array(rows, dtype=float).T
    X = 2 * (data.data - low) / (high - low) - 1
    return Task("cancer", 3.5, 2, tuple(_splits(X, data.target, seeds)))


def parity(seeds: int) -> Task:
    """Odd against even digits."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Task("parity", 3.5, 2, tuple(_splits(X / 16.0, y % 2, seeds)))


def synthetic(seeds: int) -> Task:
    from sklearn.datasets import make_classification

    X, y = make_classification(
        4_000, 25, n_informative=10, n_redundant=5, n_classes=4, random_state=0
    )
    return Task("synthetic", 5.0, 4, tuple(_splits(X / 2.0, y, seeds)))


def mnist(seeds: int) -> Task:
    """The published split, whatever the number of seeds."""

    def read(part: str, name: str, header: int) -> Any:
        with gzip.open(MNIST / f"{part}-{name}-ubyte.gz") as file:
            return np.frombuffer(file.read(), dtype=np.uint8, offset=header)

    parts = []
    for part in ("train", "t10k"):
        pixels = read(part, "images-idx3", 16).reshape(-1, 784).astype(np.float32)
        parts += [pixels / np.float32(255), read(part, "labels-idx1", 8)]
    return Task("mnist", 8.0, 10, (Data(*parts),))


def _splits(X: Any, y: Any, seeds: int) -> Iterator[Data]:
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(X))
        test, train = order[: len(X) // 5], order[len(X) // 5 :]
        yield Data(X[train].astype(np.float32), y[train], X[test], y[test])
