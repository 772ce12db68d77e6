"""How a file is read, and what is known of it before its records are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput


class Shape(NamedTuple):
    """How many records and features there are."""

    n: int
    features: int


class Table(NamedTuple):
    """Features and targets, and the names of the features where the file has some.

    `people` says whose record each is, where a column was named that does.
    """

    X: Any
    y: NDArray[Any]
    names: tuple[str, ...] | None = None
    people: Any = None


class Rules(NamedTuple):
    """How a file is read: all of it public, none of it guessed from the records.

    Args:
        target: the name of the column, or array, to predict (not svmlight).
        features: how many there are; needed for svmlight, which does not say it.
        first_index: the index of the first feature in svmlight.
        classes: all labels, if they are known.
        numbers: whether the target is a number, and not the name of a class.
    """

    target: str | None
    features: int | None = None
    first_index: int = 1
    classes: Sequence[Any] | None = None
    numbers: bool = False


class Head(NamedTuple):
    """What is known of a file before its records are read.

    Args:
        n: how many records it has.
        features: how many features.
        names: of the features, if it has some.
        dtype: in which the features are kept: float32 where that is the type of all of them.
    """

    n: int
    features: int
    names: tuple[str, ...] | None = None
    dtype: type[np.floating[Any]] = np.float64


class Block(NamedTuple):
    """The features and the targets of some records.

    Args:
        X: their features.
        targets: None where they are in another block.
        first: which record of the file is the first; None for the one after the last block.
        columns: which features these are, by their places in the file; None for all of them.
    """

    X: Any
    targets: Any
    first: int | None = None
    columns: list[int] | None = None


BLOCK = 1 << 22
"""Bytes of the features of a block of records, in float64."""

WORKING = 48_000_000
"""Bytes that reading and training take beside the table: blocks that are decoded, and buffers."""

LEAST_MEMORY = 64 * 10**6
"""The least that reading and training can be asked to stay below."""

_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}  # of bytes, as in "500M"

PER_RECORD = 100
"""Bytes that a record takes in memory beside its features: lengths, labels, a random order."""

ENCODE = (
    "describe the columns in a schema (shiftdp schema writes a template) and give --schema, or "
    "encode them by a rule that does not depend on the data"
)
"""The remedy for a column that is not of numbers."""


def bytes_in(memory: object) -> int | None:
    """A number of bytes, or its text with a unit, thousands being powers of 1000; None if it is
    neither, or less than `LEAST_MEMORY`.

    >>> bytes_in("512MB"), bytes_in("2g"), bytes_in(64e6), bytes_in("many")
    (512000000, 2000000000, 64000000, None)
    """
    text = str(memory).strip().upper().removesuffix("B")
    factor = _UNITS.get(text[-1:], 1)
    try:
        found = float(text[:-1] if factor > 1 else text) * factor
    except ValueError:
        return None
    return int(found) if LEAST_MEMORY <= found < math.inf else None


def no_column(path: str, names: Sequence[str], target: str, *, shown: bool) -> InvalidInput:
    """The refusal of a target that is no column, with the column that was probably meant.

    Args:
        path: of the table.
        names: of its columns.
        target: what was asked for.
        shown: whether names may be repeated. Those of a CSV file may not: its first line may be a
            record, if names are missing.

    >>> str(no_column("a.csv", ["age", "income"], "incom", shown=False))
    "target='incom' is no column of a.csv; give one of the names in its first line; that of column \
2 is nearly this one"
    """
    near = get_close_matches(target, names, 1)
    if shown:
        remedy = "there are " + ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        hint = f"; did you mean {near[0]}?" if near else ""
    else:
        remedy = "give one of the names in its first line"
        hint = f"; that of column {names.index(near[0]) + 1} is nearly this one" if near else ""
    return InvalidInput("target", target, f"is no column of {path}", remedy + hint)


def place_of(path: str, names: list[str], target: str | None) -> int:
    """Where the target is, among names that cannot be those of records."""
    if target is None:
        raise InvalidInput("target", None, "is missing", f"name a column of {path}")
    if target not in names:
        raise no_column(path, names, target, shown=True)
    return names.index(target)
