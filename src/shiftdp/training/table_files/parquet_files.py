"""Parquet: types are those of the file's schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shiftdp.training.descent.entropy import MissingPackage
from shiftdp.training.table_files.parquet_pages import (
    groups_of_columns,
    require_small_footer,
    require_small_pages,
)
from shiftdp.training.table_files.parts import refused
from shiftdp.training.table_files.rules import ENCODE, Block, Head, Rules, place_of

ENTRIES = 1 << 18
"""Of a block."""


def parquet_file(path: str) -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingPackage(
            "DATA: a Parquet file needs pyarrow, which is not installed; "
            "pip install 'shiftdp[parquet]'"
        ) from None
    # pages are read as they are needed, and not all of a row group ahead of them
    return pyarrow.parquet.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False)


def parquet_batches(
    path: str, columns: Sequence[str] | None = None, memory: float = np.inf
) -> Iterator[Any]:
    """Some records at a time.

    Args:
        path: of the file.
        columns: which are read; all of them unless told.
        memory: how many bytes may be held of pages, of which one of each column is decoded at a
            time. A file that needs more is refused before it is read.
    """
    require_small_footer(path, memory)
    found = parquet_file(path)
    require_small_pages(path, found, memory)
    names = [*found.schema_arrow.names] if columns is None else [*columns]
    yield from _batches(found, names, len(names))


def _batches(found: Any, columns: list[str], width: int) -> Iterator[Any]:
    """Some records at a time, as few as if they had `width` columns."""
    import pyarrow

    rows = max(1, ENTRIES // max(1, width))
    yield from found.iter_batches(batch_size=rows, columns=columns)
    pyarrow.default_memory_pool().release_unused()


def parquet_head(path: str, rules: Rules) -> Head:
    import pyarrow.types

    found = parquet_file(path)
    names = list(found.schema_arrow.names)
    place = place_of(path, names, rules.target)
    kept = [i for i in range(len(names)) if i != place]
    short = all(pyarrow.types.is_float32(found.schema_arrow.field(i).type) for i in kept)
    dtype = np.float32 if short else np.float64
    return Head(found.metadata.num_rows, len(kept), tuple(names[i] for i in kept), dtype)


def parquet_blocks(path: str, rules: Rules, memory: float = np.inf) -> Iterator[Block]:
    """Some records at a time; where the pages of all columns take more than `memory`, some columns
    of all records after the other."""
    head, found = parquet_head(path, rules), parquet_file(path)
    names = [*found.schema_arrow.names]
    place_of(path, names, rules.target)
    places = {name: k for k, name in enumerate(n for n in names if n != rules.target)}
    groups = groups_of_columns(path, found, memory)
    for group in groups:
        first = 0
        # rows are as wide as the table where they are written, whichever columns are read
        for batch in _batches(found, group, len(names)):
            # a column with missing entries becomes one of another type
            if any(batch.column(i).null_count for i in range(batch.num_columns)):
                raise refused(
                    path, "has missing entries", "fill or leave them out by a public rule"
                )
            kept = [i for i, name in enumerate(group) if name != rules.target]
            X = np.empty((batch.num_rows, len(kept)), head.dtype)
            for k, i in enumerate(kept):
                values = np.asarray(batch.column(i).to_numpy(zero_copy_only=False))
                if values.dtype.kind not in "fiub":
                    raise refused(
                        path, f"has entries in the column {group[i]} that are not numbers", ENCODE
                    )
                X[:, k] = values
            targets = None
            if rules.target in group:
                targets = arrow_entries(batch.column(group.index(str(rules.target))))
            columns = None if len(groups) == 1 else [places[group[i]] for i in kept]
            yield Block(X, targets, first, columns)
            first += batch.num_rows


def arrow_entries(column: Any) -> Any:
    """Entries that a file holds: an array where all are numbers by their type, else a list."""
    import pyarrow

    kind = column.type
    number = pyarrow.types.is_integer(kind) or kind in (pyarrow.float32(), pyarrow.float64())
    if number and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return column.to_pylist()
