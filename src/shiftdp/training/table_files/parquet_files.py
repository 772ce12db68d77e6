"""Parquet: types are those of the file's schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shiftdp.training.descent.entropy import MissingPackage
from shiftdp.training.table_files.parquet_pages import require_small_pages
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
    found = parquet_file(path)
    wanted = [*found.schema_arrow.names] if columns is None else [*columns]
    require_small_pages(path, found.metadata, memory)
    rows = max(1, ENTRIES // max(1, len(wanted)))
    yield from found.iter_batches(batch_size=rows, columns=wanted)


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
    head = parquet_head(path, rules)
    for batch in parquet_batches(path, memory=memory):
        names = list(batch.schema.names)
        place = place_of(path, names, rules.target)
        # a column with missing entries becomes one of another type
        if any(batch.column(i).null_count for i in range(len(names))):
            raise refused(path, "has missing entries", "fill or leave them out by a public rule")
        X = np.empty((batch.num_rows, head.features), head.dtype)
        for k, i in enumerate(i for i in range(len(names)) if i != place):
            values = np.asarray(batch.column(i).to_numpy(zero_copy_only=False))
            if values.dtype.kind not in "fiub":
                raise refused(
                    path, f"has entries in the column {names[i]} that are not numbers", ENCODE
                )
            X[:, k] = values
        yield Block(X, arrow_entries(batch.column(place)))


def arrow_entries(column: Any) -> Any:
    """Entries that a file holds: an array where all are numbers by their type, else a list."""
    import pyarrow

    kind = column.type
    number = pyarrow.types.is_integer(kind) or kind in (pyarrow.float32(), pyarrow.float64())
    if number and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return column.to_pylist()
