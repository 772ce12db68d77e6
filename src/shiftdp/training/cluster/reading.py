"""How a block of a table is read on its worker: numbers of one type, and labels as they are.

The type of the features is that of the collection, which is known before any entry is read, so that
no entry, and no block, decides how another is read.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.cluster.guard import Failure, Refusal, guarded
from shiftdp.training.losses.base import described, real_numbers


class Block(NamedTuple):
    """Some consecutive records.

    `digest` is a hash of all entries, by which a block that is read again is known to be the same.
    """

    features: NDArray[Any]
    labels: NDArray[Any]
    digest: bytes


@dataclass(frozen=True)
class Reading(ABC):
    """How features and labels are read.

    Args:
        labels: "classes", of any one type; "numbers", finite ones; or "given", for the loss of a
            plan to judge.
    """

    labels: str

    @abstractmethod
    def features(self, x: Any) -> NDArray[Any]:
        """The rows of a block."""

    def read(self, x: Any, y: Any) -> Block:
        features = self.features(x)
        labels = self._labels(y)
        if labels.shape != (len(features),):
            raise InvalidInput(
                "y",
                described(labels),
                f"does not have an entry for each of the {len(features)} rows of its block",
                "give X and y with the same blocks",
            )
        return Block(features, labels, digest_of(features, labels))

    def _labels(self, y: Any) -> NDArray[Any]:
        if self.labels == "given":
            return np.asarray(y)
        from sklearn.utils.multiclass import check_classification_targets

        from shiftdp.training.estimators.inputs import labels_of, quietly

        if len(y) == 0:
            return np.empty(0)
        labels = np.asarray(labels_of(y, numbers=self.labels == "numbers"))
        if self.labels == "numbers":
            return real_numbers("y", labels)
        quietly(lambda: check_classification_targets(labels), y)
        return labels


@dataclass(frozen=True)
class Numbers(Reading):
    """Columns of numbers, as the estimators read them.

    Args:
        dtype: of the features, float32 or float64.
        columns: how many there are.
    """

    dtype: str
    columns: int

    def features(self, x: Any) -> NDArray[Any]:
        from scipy.sparse import issparse

        if issparse(x):
            raise InvalidInput(
                "X", "<sparse blocks>", "are not supported on a cluster", "give dense blocks"
            )
        try:
            array = np.asarray(x)
            if array.dtype.kind not in "fiub":
                from shiftdp.training.estimators.inputs import require_numbers

                require_numbers(x)
            found: NDArray[Any] = np.ascontiguousarray(array, dtype=self.dtype)
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, InvalidInput):
                raise
            found = np.empty(0)
        if found.ndim != 2 or found.shape[1] != self.columns:
            raise InvalidInput(
                "X",
                described(x),
                f"has a block that is no matrix of {self.columns} columns of numbers",
                "give one row a record, and the same columns in each block",
            )
        return found


def read_block(x: Any, y: Any, reading: Reading) -> Block | Refusal | Failure:
    """A block, on its worker; it never raises."""
    found: Block | Refusal | Failure = guarded(reading.read, x, y)
    return found


def digest_of(features: NDArray[Any], labels: NDArray[Any]) -> bytes:
    """A hash of shapes, types and entries."""
    found = hashlib.blake2b(digest_size=16)
    for array in (features, labels):
        found.update(f"{array.shape}{array.dtype.str}".encode())
        if array.dtype.kind == "O":
            for entry in array.flat:
                found.update(f"{type(entry).__name__}:{entry}\0".encode())
        else:
            found.update(memoryview(np.ascontiguousarray(array)).cast("B"))
    return found.digest()
