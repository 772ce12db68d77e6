"""CSV: a line of names, then a line a record.

Every line is read by itself: a quotation mark that is not closed ends with its line and does not
swallow the next. A record is one line and a line is one record: lines end in LF or CR LF, a CR
elsewhere does not make two of one, and a blank line does not vanish; both are refused. The first
line holds the names; if it does not, it is a record, so that what stands there is never shown.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.table_files.parts import refused
from shiftdp.training.table_files.rules import ENCODE, Block, Head, Rules, no_column

ENTRIES = 1 << 16
"""Of a block: as text they take some 5 MB."""
_DECIMAL = frozenset("0123456789+-.eE \t\n")


_OTHERS = {";": "semicolons", "\t": "tabs", "|": "bars"}
"""What some programs put between fields."""


def csv_lines(path: str) -> Iterator[list[str]]:
    """The fields of each line."""
    with open(path, newline="\n", encoding="utf-8-sig") as file:
        for number, line in enumerate(file):
            text = line.removesuffix("\n").removesuffix("\r")
            if number == 0 and "," not in text and (found := _OTHERS.keys() & set(text)):
                other = _OTHERS[min(found)]
                raise refused(
                    path,
                    f"has {other}, and no comma, in its first line",
                    "write it with commas between the fields, and points in decimal numbers",
                )
            if "\r" in text:
                raise refused(
                    path, "has a carriage return inside of a line", "end lines in LF or CR LF"
                )
            if not text.strip():
                raise refused(path, "has a blank line", "take it out: each line is a record")
            if '"' in text:
                (fields,) = csv.reader([text], strict=True)
                yield fields
            else:
                yield text.split(",")


def _csv_names(path: str, lines: Iterator[list[str]], target: str | None) -> list[str]:
    names = [name.strip() for name in next(lines, [])]
    if not names or len(set(names)) < len(names):
        raise refused(path, "does not begin with a line of different names", "add one")
    if target is None:
        raise InvalidInput("target", None, "is missing", f"name a column of {path}")
    if target not in names:
        raise no_column(path, names, target, shown=False)
    return names


def csv_shape(path: str, rules: Rules) -> Head:
    lines = csv_lines(path)
    names = _csv_names(path, lines, rules.target)
    return _csv_head(names, rules, sum(1 for _ in lines))


def csv_quick(path: str, rules: Rules) -> Head:
    """`csv_shape` by counting lines, without parsing them: errors in a line are found later."""
    return _csv_head(_csv_names(path, csv_lines(path), rules.target), rules, count_lines(path) - 1)


def count_lines(path: str) -> int:
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def _csv_head(names: list[str], rules: Rules, n: int) -> Head:
    kept = tuple(name for name in names if name != rules.target)
    # a first line of numbers is a record that was taken for names, and stays unknown
    unknown = any(set(name) <= _DECIMAL for name in kept)
    return Head(n, len(kept), None if unknown else kept)


def csv_blocks(path: str, rules: Rules, memory: float = np.inf) -> Iterator[Block]:
    lines = csv_lines(path)
    names = _csv_names(path, lines, rules.target)
    place = names.index(str(rules.target))
    known = _csv_head(names, rules, 0).names is not None
    shown = [f"{i + 1} ({names[i]})" if known else f"{i + 1}" for i in range(len(names))]
    for columns in csv_columns(path, lines, len(names)):
        numbers = [
            _numbers(path, shown[i], column) for i, column in enumerate(columns) if i != place
        ]
        n = len(columns[place])
        yield Block(np.stack(numbers, axis=1) if numbers else np.empty((n, 0)), columns[place])


def csv_columns(
    path: str, lines: Iterator[list[str]], width: int
) -> Iterator[list[tuple[str, ...]]]:
    """The entries of each column, some lines at a time."""
    while rows := list(islice(lines, max(1, ENTRIES // width))):
        if any(len(row) != width for row in rows):
            raise refused(path, "has lines of different length", f"give {width} entries a line")
        yield list(zip(*rows, strict=True))


def _numbers(path: str, place: str, entries: Sequence[str]) -> NDArray[np.float64]:
    """A column of decimal numbers: what `float` understands of these characters, entry by entry."""
    try:
        if set("\n".join(entries)) <= _DECIMAL:
            return np.array([float(entry) for entry in entries], dtype=np.float64)
    except ValueError:
        pass
    missing = any(not entry.strip() for entry in entries)
    raise refused(
        path,
        f"has entries in column {place} that are {'missing' if missing else 'not finite numbers'}",
        ENCODE,
    )
