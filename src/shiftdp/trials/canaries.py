"""The worst record: neighbouring data sets that show a linear model as much of it as can be.

All other records are 0, so that nothing but the noise hides the canary. It sits in the last place,
which is in the last batch where batches come in turn, along the first feature. Its two versions
have opposite targets, so far away for regression that the gradients are as long as they can be,
and opposite labels for classification. A second pair has a row far above the bound on the features:
a trainer that enforces it sees the first pair. In a third pair that row comes among others that are
not 0, which it must not change the reading of: the other version is an ordinary record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.geometry import Adjacency

Targets = Literal["labels", "numbers"]

FAR = 1e6
"""A target that no score comes near: the residual of a bounded slope is as long as it can be."""

_OVERSIZED = 100.0  # times the bound
_MOST_ENTRIES = 10**9  # of a table that is made


@dataclass(frozen=True)
class Neighbours:
    """Two data sets that differ in one record; each is what a trainer is called with."""

    name: str
    one: tuple[Any, ...]
    other: tuple[Any, ...]


@dataclass(frozen=True)
class Records:
    """What canaries have to look like.

    Args:
        n: records of a data set.
        features: of each.
        feature_bound: R; rows that are longer are expected to be scaled down.
        targets: `labels`, or `numbers` for regression.
        labels: the two that a canary may have.
        adjacency: `zero_out` has a row of 0 as the other version, whose gradient is 0 where there
            is no intercept.
        oversized: whether rows above the bound are taken, and scaled down, or refused.
        places: of the records that are exchanged, all of one person; the last one unless told.
    """

    n: int
    features: int = 2
    feature_bound: float = 1.0
    targets: Targets = "labels"
    labels: tuple[Any, Any] = (0, 1)
    adjacency: Adjacency = "replace_one"
    oversized: bool = True
    places: tuple[int, ...] = (-1,)

    def background(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Records of 0, with labels in turn."""
        if self.n * self.features > _MOST_ENTRIES:
            raise InvalidInput(
                "features",
                self.features,
                f"makes a table of more than {_MOST_ENTRIES} entries with {self.n} records",
                "give fewer",
            )
        X = np.zeros((self.n, self.features))
        if self.targets == "numbers":
            return X, np.zeros(self.n)
        return X, np.array(self.labels)[np.arange(self.n) % 2]

    @property
    def versions(self) -> tuple[Any, Any]:
        """The targets of the two versions of a canary."""
        return (FAR, -FAR) if self.targets == "numbers" else (self.labels[1], self.labels[0])


def table_of(data: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """X and y as arrays, if a canary can be put into them. No message quotes an entry."""
    shown = f"<{type(data).__name__}>"
    problem, remedy = "is no pair (X, y) that a canary could be put into", "give it with neighbour"
    if not isinstance(data, Sequence) or isinstance(data, str) or len(data) != 2:
        raise InvalidInput("data", shown, problem, remedy)
    try:
        X, y = np.asarray(data[0], dtype=np.float64), np.asarray(data[1])
    except (ValueError, TypeError, OverflowError):
        # not from the error, which quotes an entry
        raise InvalidInput("data", shown, "holds features that are no numbers", remedy) from None
    if X.ndim != 2 or y.shape != X.shape[:1] or not X.size:
        raise InvalidInput(
            "data",
            f"<shapes {X.shape} and {y.shape}>",
            "is no matrix with a target for each row",
            "give (X, y), or data and neighbour as your trainer takes them",
        )
    return X, y


def pairs(records: Records, data: Sequence[Any] | None = None) -> list[Neighbours]:
    """A canary at the bound, and two far above it, in the last place of the data.

    Args:
        records: what they look like.
        data: X and y to put the canary into; records of 0 if not given.
    """
    X, y = records.background() if data is None else table_of(data)
    d, R, at = X.shape[1], records.feature_bound, records.places
    rows = {"at the bound": np.zeros(d), "above the bound": np.zeros(d)}
    rows["at the bound"][0], rows["above the bound"][0] = R, _OVERSIZED * R
    found = []
    for name, row in rows.items():
        one = exchanged(X, y, row, records.versions[0], at)
        if records.adjacency == "zero_out":
            other = exchanged(X, y, np.zeros(d), records.versions[0], at)
        else:
            other = exchanged(X, y, row, records.versions[1], at)
        found.append(Neighbours(name, one, other))
    if not records.oversized:
        return found[:1]
    others, targets = X, y
    if data is None:
        others, targets = np.zeros((records.n, d)), np.full(records.n, records.versions[0])
        others[:, -1] = R / 2.0
        if records.targets == "labels":  # of which both are there, whatever the canary
            targets[0], others[0] = records.versions[1], 0.0
    ordinary = np.zeros(d) if records.adjacency == "zero_out" else others[-1]
    found.append(
        Neighbours(
            "above the bound, among others",
            exchanged(others, targets, rows["above the bound"], records.versions[0], at),
            exchanged(others, targets, ordinary, records.versions[0], at),
        )
    )
    return found


def exchanged(
    X: NDArray[Any], y: NDArray[Any], row: NDArray[Any], target: Any, places: Sequence[int] = (-1,)
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The data with other records in some places; in the last one unless told."""
    moved, targets = np.array(X, dtype=np.float64), np.array(y)
    moved[list(places)] = row
    targets[list(places)] = target
    return moved, targets
