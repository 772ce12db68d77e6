"""The labels of a table: each is read by itself, whatever the others are.

One label is a whole number, a number or a word, by how it is written alone: `1`, `01` and `1.0` are
the same number, ` yes ` is the word `yes`, and what is empty is missing. Nothing else is understood
as missing: `NA`, `nan` and `?` are words like any other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._rounding import LARGEST_WHOLE

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
    """The labels of all records.

    Args:
        entries: as the file holds them.
        classes: all labels that there are. Those of the records are looked up among them.
        numbers: whether they are numbers to be predicted, and not names of classes.

    Without classes, which labels there are is learnt, and whether they are whole numbers, numbers
    or words; but which records have the same label does not depend on others.
    """
    found = [label(entry) for entry in entries]
    if any(one is None for one in found):
        raise BadLabels("has records without a label, or with one that is no number and no word")
    if numbers:
        if any(isinstance(one, str) for one in found):
            raise BadLabels("has targets that are not finite numbers")
        return np.array([_nearest(one) for one in found], dtype=np.float64)
    if classes is not None:
        places = {label(one): place for place, one in enumerate(classes)}
        if len(places) == len(classes):  # else the estimator refuses the classes
            if any(one not in places for one in found):
                raise BadLabels("has labels that are not in classes")
            return np.asarray(classes)[[places[one] for one in found]]
    return _named(found)


def _named(found: list[Any]) -> NDArray[Any]:
    """The same labels in one array: of whole numbers, of numbers, or of words."""
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
        raise BadLabels("has targets that are not finite numbers") from None
