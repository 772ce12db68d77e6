"""The labels of a table: each is read by itself, whatever the others are.

One label is a whole number, a number or a word, by how it is written alone: `1`, `01` and `1.0` are
the same number, ` yes ` is the word `yes`, and what is empty is missing. Nothing else is understood
as missing: `NA`, `nan` and `?` are words like any other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._rounding import LARGEST_WHOLE
from shiftdp.training.descent.disk import blocks, let_go, on_disk

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")


class BadLabels(Exception):
    """Why the labels of a table cannot be used, without any of them."""


def plain_number(text: str) -> float | None:
    """A decimal number with a point, or None: no infinities, no separators, no digits but 0 to 9.

    >>> plain_number(" -1.5e3"), plain_number("1,5"), plain_number("1_000"), plain_number("nan")
    (-1500.0, None, None, None)
    """
    word = text.strip()
    return float(word) if _NUMBER.fullmatch(word) else None


def label(entry: Any) -> int | float | str | None:
    """One label by itself; None where it is missing, or neither a number nor a word.

    >>> [label(entry) for entry in ("1", "01.0", " yes ", "", "2.5", np.float32(2.0), None)]
    [1, 1, 'yes', None, 2.5, 2, None]
    """
    if isinstance(entry, str):
        word = entry.strip()
        if _WHOLE.fullmatch(word):
            return int(word)
        number = plain_number(word)
        if number is None or math.isinf(number):
            return word or None
    elif isinstance(entry, (bool, np.bool_, int, np.integer)):
        return int(entry)
    elif isinstance(entry, (Real, Decimal)):
        number = float(entry)
    else:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def labels(
    entries: Iterable[Any], classes: Sequence[Any] | None = None, *, numbers: bool = False
) -> NDArray[Any]:
    """The labels of all records: see `Labels`."""
    found = list(entries) if not isinstance(entries, np.ndarray) else entries
    every = Labels(len(found), classes, numbers=numbers)
    every.add(found)
    return every.result()


class Labels:
    """The labels of a table that is read in blocks.

    Without classes, which labels there are is learnt, and whether they are whole numbers, numbers
    or words; but which records have the same label does not depend on others.

    Args:
        n: how many records there are.
        classes: all labels that there are. Those of the records are looked up among them.
        numbers: whether they are numbers to be predicted, and not names of classes.
        disk: whether they are kept in a file: see `on_disk`.
    """

    def __init__(
        self,
        n: int,
        classes: Sequence[Any] | None = None,
        *,
        numbers: bool = False,
        disk: bool = False,
    ) -> None:
        places = {} if classes is None else {label(one): i for i, one in enumerate(classes)}
        # classes that are not all different are refused by the estimator
        self._classes = classes if classes is not None and len(places) == len(classes) else None
        self._places: dict[Any, int] = places if self._classes is not None else {}
        self._numbers = numbers
        few = np.int16 if self._classes is not None and len(places) < 2**15 else np.int64
        self._room: Callable[..., NDArray[Any]] = on_disk if disk else np.zeros
        self._found = self._room(n, dtype=np.float64 if numbers else few)
        self._done = 0
        self._missing = self._unknown = self._words = False  # words, or numbers that are too large

    def add(self, entries: Sequence[Any] | NDArray[Any]) -> None:
        """The labels of the next records, as the file holds them."""
        part = slice(self._done, self._done + len(entries))
        self._done = part.stop
        if self._numbers and isinstance(entries, np.ndarray) and entries.dtype.kind in "fiub":
            self._found[part] = entries
            self._missing = self._missing or not np.isfinite(self._found[part]).all()
        elif isinstance(entries, np.ndarray) and entries.dtype.kind in "fiub":
            # each different one once: NaN, which is equal to nothing, is missing anyway
            different, where = np.unique(entries, return_inverse=True)
            self._found[part] = np.array([self._one(one) for one in different])[where]
        else:
            self._found[part] = [self._one(one) for one in entries]
        let_go(self._found[part])

    def _one(self, entry: Any) -> float:
        """The number, or the place of the label; 0 where there is none."""
        found = label(entry)
        if found is None:
            self._missing = True
            return 0
        if self._numbers:
            number = math.inf if isinstance(found, str) else _nearest(found)
            self._words = self._words or math.isinf(number)
            return number
        if self._classes is None:
            return self._places.setdefault(found, len(self._places))
        self._unknown = self._unknown or found not in self._places
        return self._places.get(found, 0)

    def result(self) -> NDArray[Any]:
        """The labels of all records, or why they cannot be used."""
        if self._missing:
            raise BadLabels(
                "has records without a label, or with one that is no number and no word"
            )
        if self._words:
            raise BadLabels("has targets that are not finite numbers")
        if self._unknown:
            raise BadLabels("has labels that are not in classes")
        if self._numbers:
            return self._found
        if self._classes is None:
            known = _named(list(self._places))
        else:
            known = np.asarray(self._classes)
            if known.dtype.kind == "i":  # as few bytes as they need
                ends = [np.min_scalar_type(end) for end in (-abs(known).max() - 1, known.max())]
                known = known.astype(np.result_type(*ends))
        named = self._room(len(self._found), dtype=known.dtype)
        for part in blocks(len(named), known.dtype.itemsize + self._found.itemsize):
            named[part] = known[self._found[part]]
            let_go(self._found[part])
            let_go(named[part])
        return named


def _named(found: list[Any]) -> NDArray[Any]:
    """A list of labels as an array: of whole numbers, of numbers, or of words."""
    if all(isinstance(one, int) and -(2**63) <= one < 2**63 for one in found):
        return np.array(found, dtype=np.int64)
    if all(
        isinstance(one, float) or (isinstance(one, int) and abs(one) <= LARGEST_WHOLE)
        for one in found
    ):
        return np.array(found, dtype=np.float64)
    return np.array([str(one) for one in found])


def _nearest(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf
