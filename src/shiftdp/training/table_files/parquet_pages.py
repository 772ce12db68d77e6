"""How large the pages of a Parquet file are: what has to be in memory to read it.

A column of a row group is a run of pages, each decoded as a whole. What a reader holds is a page of
each column, compressed and decoded, and the dictionary of each. The sizes of pages are in their own
headers, in front of them, and nowhere else: they are read here, one after the other, by the format
that docs of Apache Parquet call PageHeader, in Thrift's compact protocol.

At its end a file says where its row groups are. That, too, is in memory as long as it is read.
"""

from __future__ import annotations

import os
from typing import IO, Any, NamedTuple

from shiftdp._errors import InvalidInput
from shiftdp.training.table_files.parts import refused

_HEADER = 1 << 14  # bytes that hold a header: statistics, with entries of a column, are in it
_DICTIONARY = 2  # among the kinds of pages
_HELD = 3  # a page compressed, decoded, and its entries
_END = b"PAR1"  # of every Parquet file
_FOOTER = 12  # bytes in memory for one of the end of a file: 9.5 were seen


def groups_of_columns(path: str, found: Any, memory: float) -> list[list[str]]:
    """The columns of a file in groups, each of which can be read within `memory`.

    Args:
        path: of the file.
        found: the file, as pyarrow opens it.
        memory: how many bytes may be held of pages.
    """
    names = list(found.schema_arrow.names)
    metadata = found.metadata
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    groups = [group for group in groups if _HELD * group.total_byte_size > memory]
    if not groups:
        return [names]  # whatever their pages are
    with open(path, "rb") as file:
        held = [
            _HELD * max(_largest_pages(file, group.column(i)) for group in groups)
            for i in range(metadata.num_columns)
        ]
    if len(held) != len(names):  # columns within columns are read with these
        held = [sum(held)] * len(names)
    if max(held) > memory:
        raise _too_large(path, max(held))
    made: list[list[str]] = [[]]
    room = memory
    for name, size in zip(names, held, strict=True):
        if size > room:
            made.append([])
            room = memory
        made[-1].append(name)
        room -= size
    return made


def require_small_pages(path: str, found: Any, memory: float) -> None:
    """Refuse a file whose columns cannot be read all at once within `memory`."""
    if len(groups_of_columns(path, found, memory)) > 1:
        raise _too_large(path, int(memory) + 1)


def require_small_footer(path: str, memory: float) -> None:
    """Refuse a file with so many row groups and columns that the list of them takes `memory`.

    How long it is, the last bytes of the file tell: it is not read.
    """
    with open(path, "rb") as file:
        file.seek(-min(8, os.path.getsize(path)), os.SEEK_END)
        length, end = file.read(4), file.read(4)
    size = _FOOTER * int.from_bytes(length, "little")
    if end == _END and size > memory:  # other files are refused by whoever reads them
        raise refused(
            path,
            f"has so many row groups that the list of them takes {size} bytes",
            "write it with larger row groups, or give more memory",
        )


def _too_large(path: str, held: int) -> InvalidInput:
    return refused(
        path,
        f"has row groups that take {held} bytes or more to read, as their pages are that large",
        "write it with smaller row groups or pages, or give more memory",
    )


def _largest_pages(file: IO[bytes], column: Any) -> int:
    """The bytes of the dictionary of a column and of its largest page of entries, decoded."""
    whole = int(column.total_uncompressed_size)
    place = int(column.data_page_offset)
    if column.has_dictionary_page and column.dictionary_page_offset is not None:
        place = min(place, int(column.dictionary_page_offset))
    end = place + int(column.total_compressed_size)
    dictionary = largest = 0
    while place < end:
        page = _page(file, place)
        if page is None:
            return whole
        if page.kind == _DICTIONARY:
            dictionary += page.decoded
        else:
            largest = max(largest, page.decoded)
        place = page.end
    return min(whole, dictionary + largest)


class _Page(NamedTuple):
    """What is in front of a page: its kind, its bytes when it is decoded, and where it ends."""

    kind: int
    decoded: int
    end: int


def _page(file: IO[bytes], start: int) -> _Page | None:
    """The page that begins here; None if no header of one does."""
    file.seek(start)
    header = _Thrift(file.read(_HEADER))
    try:
        fields = header.struct()
        kind, decoded, stored = (fields[number] for number in (1, 2, 3))
    except (IndexError, KeyError, ValueError, RecursionError):
        return None
    if min(kind, decoded, stored) < 0:
        return None
    return _Page(kind, decoded, start + header.place + stored)


class _Thrift:
    """Bytes in Thrift's compact protocol, of which whole numbers are kept and all else skipped."""

    def __init__(self, data: bytes) -> None:
        self._data, self.place = data, 0

    def struct(self) -> dict[int, int]:
        """The whole numbers among the fields of a struct, by the numbers of the fields."""
        found: dict[int, int] = {}
        field = 0
        while head := self._byte():
            # a field begins with its distance from the one before, or 0 and its number; and a type
            field = field + (head >> 4) if head >> 4 else self._number()
            value = self._value(head & 15)
            if value is not None:
                found[field] = value
        return found

    def _value(self, kind: int) -> int | None:
        if kind in (4, 5, 6):  # whole numbers of 16, 32 and 64 bits
            return self._number()
        if kind == 12:
            self.struct()
        elif kind in (3, 7, 8):  # a byte, a float, a text with its length
            length = {3: 1, 7: 8}.get(kind) or self._varint()
            self.place += length
        elif kind == 9:  # a list
            head = self._byte()
            for _ in range(head >> 4 if head >> 4 < 15 else self._varint()):
                self._value(3 if head & 15 in (1, 2) else head & 15)
        elif kind not in (1, 2):  # truth values are in the type; no other kind is in a header
            raise ValueError
        return None

    def _byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return number

    def _number(self) -> int:
        folded = self._varint()  # the sign is in the last bit
        return (folded >> 1) ^ -(folded & 1)
