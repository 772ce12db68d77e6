"""Which Dask collections are tables: data frames and arrays, whose rows are in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from shiftdp._errors import InvalidInput
from shiftdp.training.cluster.reading import Numbers
from shiftdp.training.descent.entropy import MissingPackage
from shiftdp.training.descent.records import is_collection

NEEDED = "training on a cluster needs dask and distributed: pip install 'shiftdp[dask]'"


def require_dask() -> None:
    """Refuse if the packages of the extra are not there."""
    if any(find_spec(name) is None for name in ("dask", "distributed")):
        raise MissingPackage(NEEDED)


@dataclass(frozen=True)
class Table:
    """Features and labels in blocks that are not computed yet.

    Args:
        blocks: pairs of the features and the labels of some records, as delayed values.
        names: of the columns, if they have names.
        columns: how many there are.
        dtype: what the features are read as, by the type that the collection declares.
        meta: an empty table in the form of a block, of a data frame.
    """

    blocks: tuple[tuple[Any, Any], ...]
    names: tuple[Any, ...] | None
    columns: int
    dtype: str
    meta: Any = None

    def numbers(self, labels: str) -> Numbers:
        """How its blocks are read if all of its columns are numbers."""
        return Numbers(labels, self.dtype, self.columns, self.names)


def table_of(X: Any, y: Any) -> Table:
    """The blocks of features and labels, which must be as many; a refusal tells types only."""
    require_dask()
    if not is_collection(y):
        raise InvalidInput(
            "y",
            f"<{type(y).__name__}>",
            "is no Dask collection, and X is one",
            "give a column of the same data frame, or an array with the same blocks of rows",
        )
    rows, names, columns, dtype, meta = _features(X)
    labels = _labels(y)
    if len(rows) != len(labels):
        raise InvalidInput(
            "y",
            f"<{len(labels)} blocks>",
            f"does not have the {len(rows)} blocks of X",
            "take both from one data frame, or rechunk y as X",
        )
    return Table(tuple(zip(rows, labels, strict=True)), names, columns, dtype, meta)


def _features(X: Any) -> tuple[list[Any], tuple[Any, ...] | None, int, str, Any]:
    if hasattr(X, "columns") and hasattr(X, "npartitions"):
        names = tuple(X.columns)
        return _partitions(X), names, len(names), "float64", X._meta
    if getattr(X, "ndim", None) == 2 and hasattr(X, "chunks"):
        columns = X.shape[1]
        if not np.isnan(columns):
            kept = "float32" if X.dtype == np.float32 else "float64"
            whole = X.rechunk({1: -1})
            return list(whole.to_delayed().ravel()), None, int(columns), kept, None
    raise InvalidInput(
        "X",
        f"<{type(X).__name__}>",
        "is no table",
        "give a Dask DataFrame, or a Dask Array with two axes and a known number of columns",
    )


def _labels(y: Any) -> list[Any]:
    if getattr(y, "ndim", None) == 1 and hasattr(y, "npartitions"):
        return _partitions(y) if hasattr(y, "divisions") else list(np.ravel(y.to_delayed()))
    raise InvalidInput(
        "y",
        f"<{type(y).__name__}>",
        "is no column",
        "give a Dask Series, or an Array with one axis",
    )


def _partitions(frame: Any) -> list[Any]:
    """The partitions as the user has them: Dask's optimiser may join some where few columns are
    read, and would join others in X than in y. Reading no more columns than are used is kept."""
    narrow = frame.simplify() if hasattr(frame, "simplify") else frame
    return list(narrow.to_delayed(optimize_graph=False))
