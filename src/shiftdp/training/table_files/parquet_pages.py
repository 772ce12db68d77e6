"""How large the pages of a Parquet file are: what has to be in memory to read it.

A column of a row group is a run of pages, each decoded as a whole. What a reader holds is a page of
each column, compressed and decoded, and the dictionary of each. The sizes of pages are in their own
headers, in front of them, and nowhere else: those of the first page of each column are read here,
by the format that docs of Apache Parquet call PageHeader, in Thrift's compact protocol.
"""

from __future__ import annotations

from typing import IO, Any

from shiftdp._errors import InvalidInput
from shiftdp.training.table_files.parts import refused

_HEADER = 64  # bytes from the beginning of a page that hold the sizes, which come first
_HELD = 3  # a page compressed, decoded, and its entries


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
            _HELD * max(_first_pages(file, group.column(i)) for group in groups)
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


def _too_large(path: str, held: int) -> InvalidInput:
    return refused(
        path,
        f"has row groups that take {held} bytes or more to read, as their pages are that large",
        "write it with smaller row groups or pages, or give more memory",
    )


def _first_pages(file: IO[bytes], column: Any) -> int:
    """The bytes of the dictionary of a column and of its first page of entries, decoded."""
    starts = {column.data_page_offset}
    if column.has_dictionary_page and column.dictionary_page_offset is not None:
        starts.add(column.dictionary_page_offset)
    whole = int(column.total_uncompressed_size)
    return min(whole, sum(_size_of_page(file, start, whole) for start in starts))


def _size_of_page(file: IO[bytes], start: int, unknown: int) -> int:
    """How many bytes a page has when it is decoded: the second number of its header."""
    file.seek(start)
    data = file.read(_HEADER)
    place = 0
    for field in (1, 2):  # the type of the page, and its size
        # a field begins with its distance from the one before and its type, of which 5 is a number
        if place >= len(data) or data[place] != (1 << 4 | 5):
            return unknown
        number, shift, place = 0, 0, place + 1
        while place < len(data):
            number |= (data[place] & 0x7F) << shift
            shift, place = shift + 7, place + 1
            if not data[place - 1] & 0x80:
                break
        if field == 2:
            return number >> 1  # signs are folded into the last bit, and sizes have none
    return unknown
