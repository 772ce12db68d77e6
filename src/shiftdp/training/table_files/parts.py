"""A table in several files: which they are, and that they are parts of one table.

Their order is that in which they are given, and in a folder that of their names. Columns are
found by name, so that their order may differ from part to part.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp.training.descent.entropy import MissingPackage

Answer = TypeVar("Answer")

_ENDINGS = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}

Paths = str | Sequence[str]
"""One file, or all parts of a table."""


class NoSuchFile(InvalidInput, FileNotFoundError):
    """A file of a table that is not there."""


def parts_of(given: Sequence[str]) -> tuple[str, ...]:
    """The files of a table: those that are given, and for a folder those in it that are tables.

    Hidden files, and those whose names begin with `_`, as programs that write folders of Parquet
    leave them, are no tables. Folders in a folder are not looked at.
    """
    found: list[str] = []
    for path in given:
        if not os.path.isdir(path):
            found.append(path)
            continue
        names = [name for name in sorted(os.listdir(path)) if name[0] not in "._"]
        inside = [
            os.path.join(path, name)
            for name in names
            if os.path.splitext(name)[1].lower() in _ENDINGS
        ]
        files = [name for name in inside if os.path.isfile(name)]
        if not files:
            raise InvalidInput("data", path, "is a folder without tables", "give Parquet or CSV")
        found += files
    formats = {format_of(path) for path in found}
    if len(formats) > 1:
        raise InvalidInput(
            "data", found[-1], f"is of another format: there are {' and '.join(sorted(formats))}",
            "give files of one format",
        )  # fmt: skip
    _require_once(found)
    return tuple(found)


def _require_once(files: Sequence[str]) -> None:
    """Refuse a file that is given twice, by any name: its records would count twice."""
    seen: set[tuple[int, int]] = set()
    for path in files:
        try:
            state = os.stat(path)
        except FileNotFoundError:
            raise NoSuchFile(
                "data", path, "is not there", "give a file or a folder, by its path from here"
            ) from None
        if (state.st_dev, state.st_ino) in seen:
            raise refused(path, "is given twice, so that its records would be", "give it once")
        seen.add((state.st_dev, state.st_ino))


def files_of(paths: Paths) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else tuple(paths)


def shown(paths: Paths) -> str:
    """The table in a message: its file, or the first of its files."""
    first, *others = files_of(paths)
    return f"{first} and {len(others)} more" if others else first


def require_alike(path: str, names: Sequence[str], first: Sequence[str], other: str) -> None:
    """Refuse a part that has other columns than the first.

    A column is named where names cannot be entries: a CSV file may have no line of names.
    """
    if format_of(path) == "csv" and set(names) != set(first):
        raise refused(
            path, f"has other names in its first line than {other}",
            "give parts with the same columns, each with a line of names",
        )  # fmt: skip
    for absent in (name for name in first if name not in names):
        raise InvalidInput(
            "data", path, f"has no column {absent!r}, which {other} has",
            "give parts with the same columns",
        )  # fmt: skip
    for more in (name for name in names if name not in first):
        raise InvalidInput(
            "data", path, f"has a column {more!r}, which {other} has not",
            "give parts with the same columns",
        )  # fmt: skip


def format_of(path: str) -> str:
    ending = os.path.splitext(path)[1].lower()
    if ending not in _ENDINGS:
        raise refused(
            path, "has an ending that is no known format", f"give one of {', '.join(_ENDINGS)}"
        )
    return _ENDINGS[ending]


def refused(path: str, problem: str, remedy: str) -> InvalidInput:
    return InvalidInput("data", path, problem, remedy)


def quietly_read(reader: Callable[[str], Answer], path: str) -> Answer:
    """Whatever a reader complains of is not repeated: it may quote an entry."""
    try:
        return reader(path)
    except ShiftdpError:
        raise
    except ImportError as missing:
        package = missing.name or "a package"
        raise MissingPackage(
            f"{path}: reading it needs {package}, which is not installed; pip install {package}"
        ) from None
    except Exception as error:
        kind = type(error)
    # outside of the handler, so that the new exception does not lead to the old one
    known = next((text for one, text in _COMPLAINTS.items() if issubclass(kind, one)), None)
    usual = f"cannot be read ({kind.__name__})", "give a table in the format it names"
    raise refused(path, *(known or usual))


_COMPLAINTS: dict[type[Exception], tuple[str, str]] = {
    UnicodeDecodeError: (
        "is not text in UTF-8",
        "save it as UTF-8: a spreadsheet calls it CSV UTF-8, and `iconv -f latin1 -t utf-8` makes "
        "it of a file in Latin-1",
    ),
    csv.Error: (
        "has a line in which a quotation mark is not closed, or text follows a closed one",
        'double a mark within a quoted field, as in "6"" pipe", and put no line break into a field',
    ),
}
"""What is wrong with a file whose reader ends so, and the remedy; nothing of it is quoted."""


def require_records(path: str, n: int) -> None:
    if n <= 0:  # of a damaged file it may be any number
        raise refused(path, "has no records", "give a table with one or more")
