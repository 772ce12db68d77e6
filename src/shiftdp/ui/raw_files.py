"""Tables with names from CSV and Parquet files: entries as they stand there, for an encoder.

As in `data_files`, every line of a CSV file is a record and is read by itself; what an entry means
is for the schema to say. Names of columns come from the first line, or from the schema of Parquet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.ui.data_files import (
    csv_lines,
    format_of,
    parquet_file,
    quietly_read,
    require_records,
)


class NamedColumn(NamedTuple):
    """A column and the kind that the type of the file gives it; a CSV file gives none."""

    name: str
    kind: str | None


class RawFile(NamedTuple):
    """Some columns of a file, and how many records there are."""

    columns: dict[str, NDArray[Any]]
    n: int

    def table(self, names: Sequence[str]) -> NDArray[Any]:
        """These columns as one array with names."""
        found = np.empty(self.n, dtype=[(name, object) for name in names])
        for name in names:
            found[name] = self.columns[name]
        return found


def columns_of(path: str) -> list[NamedColumn]:
    """Names and types; no record is looked at."""
    return quietly_read(_columns, path)


def _columns(path: str) -> list[NamedColumn]:
    if _format(path) == "csv":
        return [NamedColumn(name, None) for name in _names(path, next(csv_lines(path), []))]
    import pyarrow

    def kind(dtype: Any) -> str:
        if pyarrow.types.is_boolean(dtype):
            return "true_false"
        numeric = pyarrow.types.is_integer(dtype) or pyarrow.types.is_floating(dtype)
        return "number" if numeric or pyarrow.types.is_decimal(dtype) else "category"

    found = parquet_file(path).schema_arrow
    names = _names(path, found.names)
    return [NamedColumn(name, kind(found.field(i).type)) for i, name in enumerate(names)]


def records_in(path: str) -> int:
    """How many records there are."""
    return quietly_read(_count, path)


def _count(path: str) -> int:
    if _format(path) == "csv":
        return max(0, sum(1 for _ in csv_lines(path)) - 1)
    return int(parquet_file(path).metadata.num_rows)


def read_raw(
    path: str, wanted: Sequence[str], remedy: str = "give a table with that name"
) -> RawFile:
    """These columns of one or more records; those that are not there are refused by name.

    Args:
        path: of the file.
        wanted: the columns.
        remedy: what to do about one that is not there.
    """
    found = quietly_read(lambda name: _read(name, wanted, remedy), path)
    require_records(path, found.n)
    return found


def _read(path: str, wanted: Sequence[str], remedy: str) -> RawFile:
    if _format(path) == "csv":
        lines = csv_lines(path)
        names = _names(path, next(lines, []))
        _require(path, names, wanted, remedy)
        rows = list(lines)
        if any(len(row) != len(names) for row in rows):
            raise InvalidInput(
                "data", path, "has lines of different length", f"give {len(names)} entries a line"
            )
        places = {name: names.index(name) for name in wanted}
        columns = {name: _entries([row[i] for row in rows]) for name, i in places.items()}
        return RawFile(columns, len(rows))
    table = parquet_file(path).read()
    _require(path, _names(path, table.column_names), wanted, remedy)
    found = {name: _entries(table.column(name).to_pylist()) for name in wanted}
    return RawFile(found, table.num_rows)


def _entries(values: list[Any]) -> NDArray[Any]:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _names(path: str, first: Sequence[str]) -> list[str]:
    names = [name.strip() for name in first]
    if not names or "" in names or len(set(names)) < len(names):
        raise InvalidInput("data", path, "does not begin with a line of different names", "add one")
    return names


def _require(path: str, names: Sequence[str], wanted: Sequence[str], remedy: str) -> None:
    absent = [name for name in wanted if name not in names]
    if absent:
        raise InvalidInput("data", path, f"has no column {absent[0]!r}", remedy)


def _format(path: str) -> str:
    found = format_of(path)
    if found not in ("csv", "parquet"):
        raise InvalidInput("data", path, "has no names of columns", "give a CSV or Parquet file")
    return found
