"""Tables with names from CSV and Parquet files: entries as they stand there, for an encoder.

As in `reading`, every line of a CSV file is a record and is read by itself; what an entry means
is for the schema to say. Names of columns come from the first line, or from the schema of Parquet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.table_files.csv_files import csv_columns, csv_lines
from shiftdp.training.table_files.parquet_files import (
    arrow_entries,
    parquet_batches,
    parquet_file,
)
from shiftdp.training.table_files.parts import (
    Paths,
    files_of,
    format_of,
    quietly_read,
    require_alike,
    require_records,
    shown,
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


def columns_of(paths: Paths) -> list[NamedColumn]:
    """Names and types, those of the first part; no record is looked at.

    Parts have the same names, in any order. Types are asked of the first alone.
    """
    files = files_of(paths)
    found = [quietly_read(_columns, path) for path in files]
    first = [column.name for column in found[0]]
    for path, columns in zip(files, found, strict=True):
        require_alike(path, [column.name for column in columns], first, files[0])
    return found[0]


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


def records_in(paths: Paths) -> int:
    """How many records there are."""
    return sum(quietly_read(_count, path) for path in files_of(paths))


def _count(path: str) -> int:
    if _format(path) == "csv":
        return max(0, sum(1 for _ in csv_lines(path)) - 1)
    return int(parquet_file(path).metadata.num_rows)


_REMEDY = "give a table with that name"


def read_raw(paths: Paths, wanted: Sequence[str], remedy: str = _REMEDY) -> RawFile:
    """These columns of one or more records; those that are not there are refused by name.

    Args:
        paths: of the file, or of all parts.
        wanted: the columns.
        remedy: what to do about one that is not there.
    """
    blocks: list[RawFile] = []
    read_blocks(paths, wanted, blocks.append, remedy)
    require_records(shown(paths), sum(block.n for block in blocks))
    every = {name: np.concatenate([one.columns[name] for one in blocks]) for name in wanted}
    return RawFile(every, sum(block.n for block in blocks))


def read_blocks(
    paths: Paths,
    wanted: Sequence[str],
    use: Callable[[RawFile], object],
    remedy: str = _REMEDY,
    memory: float = np.inf,
) -> None:
    """Call a function with these columns of some records at a time, in their order.

    `memory`: how many bytes may be held of a file to read it.
    """

    def read(path: str) -> None:
        for block in _blocks(path, wanted, remedy, memory):
            use(block)

    for path in files_of(paths):
        quietly_read(read, path)


def _blocks(path: str, wanted: Sequence[str], remedy: str, memory: float) -> Iterator[RawFile]:
    if _format(path) == "csv":
        lines = csv_lines(path)
        names = _names(path, next(lines, []))
        _require(path, names, wanted, remedy)
        places = {name: names.index(name) for name in wanted}
        for columns in csv_columns(path, lines, len(names)):
            yield RawFile(
                {name: _entries(columns[i]) for name, i in places.items()}, len(columns[0])
            )
        return
    _require(path, _names(path, parquet_file(path).schema_arrow.names), wanted, remedy)
    for batch in parquet_batches(path, wanted, memory):
        entries = {name: batch.column(batch.schema.names.index(name)) for name in wanted}
        yield RawFile(
            {name: _entries(arrow_entries(column)) for name, column in entries.items()},
            batch.num_rows,
        )


def _entries(values: Any) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
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
