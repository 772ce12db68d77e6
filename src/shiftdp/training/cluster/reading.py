"""How a block of a table is read on its worker: numbers of one type, and labels as they are.

The type of the features is that of the collection, which is known before any entry is read, so that
no entry, and no block, decides how another is read.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.cluster.guard import Failure, Refusal, guarded
from shiftdp.training.losses.base import described, real_numbers

if TYPE_CHECKING:
    from shiftdp.training.preparation.layout import Layout


class Block(NamedTuple):
    """Some consecutive records.

    Args:
        features: rows of numbers; or, of a table that is to be encoded, its columns.
        digest: a hash of all entries, by which a block that is read again is known to be the same.
    """

    features: NDArray[Any] | list[NDArray[Any]]
    labels: NDArray[Any]
    digest: bytes

    @property
    def size(self) -> int:
        """How many records there are."""
        return len(self.labels)


@dataclass(frozen=True)
class Reading(ABC):
    """How features and labels are read.

    Args:
        labels: "classes", of any one type; "numbers", finite ones; or "given", for the loss of a
            plan to judge.
    """

    labels: str

    @abstractmethod
    def features(self, x: Any) -> NDArray[Any] | list[NDArray[Any]]:
        """The rows of a block, or its columns."""

    def read(self, x: Any, y: Any) -> Block:
        features = self.features(x)
        labels = self._labels(y)
        if labels.shape != (len(x),):
            raise InvalidInput(
                "y",
                described(labels),
                f"does not have an entry for each of the {len(x)} rows of its block",
                "give X and y with the same blocks",
            )
        columns = features if isinstance(features, list) else [features]
        return Block(features, labels, digest_of(*columns, labels))

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
        names: of the columns of a data frame, in their order.
    """

    dtype: str
    columns: int
    names: tuple[Any, ...] | None = None

    def features(self, x: Any) -> NDArray[Any]:
        from scipy.sparse import issparse

        if issparse(x):
            raise InvalidInput(
                "X", "<sparse blocks>", "are not supported on a cluster", "give dense blocks"
            )
        if self.names is not None and tuple(getattr(x, "columns", ())) != self.names:
            raise _other_columns(x)
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


@dataclass(frozen=True)
class Entries(Reading):
    """Columns of numbers, words and truth values, as a schema has them.

    Args:
        layout: which columns there are, and where.
        names: of all columns of the table.
    """

    layout: Layout
    names: tuple[str, ...] | None

    def features(self, x: Any) -> list[NDArray[Any]]:
        from shiftdp.training.preparation.reading import raw_table, read_column

        table = raw_table(x)
        if table.names != self.names:
            raise _other_columns(x)
        layout = self.layout
        return [
            read_column(table.columns[place], column, name, layout.missing)
            for name, place, column in zip(layout.names, layout.places, layout.columns, strict=True)
        ]


def _other_columns(x: Any) -> InvalidInput:
    return InvalidInput(
        "X",
        described(x),
        "has a block with other columns, or in another order, than it declares",
        "choose columns by name, as in X[names]",
    )


def read_block(x: Any, y: Any, reading: Reading) -> Block | Refusal | Failure:
    """A block, on its worker; it never raises."""
    found: Block | Refusal | Failure = guarded(reading.read, x, y)
    return found


def digest_of(*arrays: NDArray[Any]) -> bytes:
    """A hash of shapes, types and entries."""
    found = hashlib.blake2b(digest_size=16)
    for array in arrays:
        found.update(f"{array.shape}{array.dtype.str}".encode())
        if array.dtype.kind == "O":
            for entry in array.flat:
                text = f"{type(entry).__name__}:{entry}".encode()
                found.update(len(text).to_bytes(8, "big") + text)
        elif array.size:
            found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.digest()
