"""A table that is read block by block: entries by their columns, in memory or on disk.

An encoder makes of it what it makes of the table in one piece: entries are read one by one, and
what it learns are sums of whole numbers, which are the same in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.descent.disk import let_go, on_disk
from shiftdp.training.preparation.columns import Categorical
from shiftdp.training.preparation.reading import CodedWords, RawColumn, Words, read_column
from shiftdp.training.preparation.schema import Schema


def bytes_of(schema: Schema, n: int) -> int:
    """What so many records take, with their encoding and what is made of it."""
    width = sum(column.width for column in schema.columns.values())
    return 16 * n * (width + len(schema.columns))


class StoredTable:
    """The columns of a schema, filled in blocks.

    Args:
        schema: the columns, and words for missing entries.
        n: how many records there will be.
        memory: how many bytes the table, its encoding included, may take. If it would take more,
            both are in files without a name: see `on_disk`.
    """

    def __init__(self, schema: Schema, n: int, memory: float = np.inf) -> None:
        disk = self.on_disk = bytes_of(schema, n) > memory
        self.schema, self.n, self._done = schema, n, 0
        self.values: dict[str, Words] = {}
        for name, column in schema.columns.items():
            words = isinstance(column, Categorical)
            dtype = np.int32 if words else np.float64
            room: NDArray[Any] = on_disk(n, dtype) if disk else np.empty(n, dtype)
            self.values[name] = CodedWords(room) if words else room

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, len(self.values)

    def add(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """The next records: their entries, by the names of the columns."""
        part = slice(self._done, self._done + len(columns[self.names[0]]))
        for name, column in self.schema.columns.items():
            entries = columns[name]
            raw = RawColumn(entries, entries.dtype.kind)
            read = read_column(raw, column, name, self.schema.missing)
            room = self.values[name]
            if isinstance(room, CodedWords):
                room.write(part, read)
            else:
                room[part] = read
                let_go(room[part])
        self._done = part.stop

    def require_full(self) -> None:
        """All records are there: a file that changes while it is read is not used."""
        if self._done != self.n:
            raise InvalidInput(
                "X", f"<{self._done} of {self.n} records>", "is not the table that was counted",
                "leave its files as they are while they are read",
            )  # fmt: skip
