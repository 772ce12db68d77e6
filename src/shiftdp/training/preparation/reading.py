"""The columns of a table, each entry read by itself, whatever table it is.

Tables are data frames of pandas or polars, structured arrays, arrays of numbers, text or objects,
and lists of rows. What a column is follows from the schema, or from the type that the table has for
it, never from its entries. What an entry is follows from the entry alone: a number, a word, a truth
value, or missing. What is none of these is refused, by the name of its column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.descent.disk import let_go
from shiftdp.training.losses.base import Floats, described
from shiftdp.training.preparation.columns import (
    Boolean,
    Categorical,
    Column,
    Numeric,
    category_name,
)

_NUMBERS, _DATES = "fiu", "mM"
_DECIMAL = frozenset("0123456789+-.eE")


class RawColumn(NamedTuple):
    """The entries of a column and the kind of its type, in NumPy's letters."""

    entries: NDArray[Any]
    letter: str


class CodedWords:
    """A long column of words: each different one once, and a number for each entry.

    A slice is an array of words; None where one is missing.
    """

    def __init__(self, codes: NDArray[np.int32]) -> None:
        self.codes = codes
        self._numbers: dict[str | None, int] = {}
        self._words: list[str | None] = []

    def write(self, part: slice, words: NDArray[Any]) -> None:
        for word in words:
            if self._numbers.setdefault(word, len(self._words)) == len(self._words):
                self._words.append(word)
        self.codes[part] = [self._numbers[word] for word in words]
        let_go(self.codes[part])

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, part: slice) -> NDArray[Any]:
        known = np.empty(len(self._words), dtype=object)
        known[:] = self._words
        found: NDArray[Any] = known[self.codes[part]]
        let_go(self.codes[part])
        return found


Words = NDArray[Any] | CodedWords
"""Text; None where an entry is missing."""


class RawTable(NamedTuple):
    """The columns of a table, with their names if it has names.

    `values` are entries that were read already, by the name of their column: see `StoredTable`.
    """

    names: tuple[str, ...] | None
    columns: tuple[RawColumn, ...]
    n: int
    values: Mapping[str, Words] | None = None


def raw_table(X: Any) -> RawTable:
    """The columns of a table; a refusal tells shapes and types only."""
    if hasattr(X, "get_columns"):  # polars
        found = [_polars(one) for one in X.get_columns()]
        return RawTable(tuple(map(str, X.columns)), tuple(found), int(X.height))
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        found = [_pandas(X.iloc[:, i]) for i in range(X.shape[1])]
        names = tuple(X.columns) if all(isinstance(name, str) for name in X.columns) else None
        return RawTable(names, tuple(found), int(X.shape[0]))
    named = getattr(getattr(X, "dtype", None), "names", None)
    if isinstance(X, np.ndarray) and named:
        found = [_array(X[name]) for name in named]
        return RawTable(tuple(named), tuple(found), int(X.shape[0]))
    array = _matrix(X)
    # a list has no type: its entries are numbers, as for the estimators
    letter = array.dtype.kind if isinstance(X, np.ndarray) or hasattr(X, "__array__") else "f"
    columns = tuple(RawColumn(array[:, i], letter) for i in range(array.shape[1]))
    return RawTable(None, columns, int(array.shape[0]))


def _matrix(X: Any) -> NDArray[Any]:
    problem = "is not a table"
    if isinstance(X, Mapping):
        problem = "is a mapping, which is no table"
    try:
        array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=_dtype(X))
        if array.ndim == 2 and array.dtype.kind in "fiubOU":
            return array
        if array.dtype.kind == "c":
            problem = "is complex. Complex data not supported"
    except (TypeError, ValueError):
        pass
    raise InvalidInput(
        "X", described(X), problem,
        "give a data frame of pandas or polars, a structured array, or an array with one row a "
        "record",
    )  # fmt: skip


def _dtype(X: Any) -> Any:
    return None if hasattr(X, "__array__") else object


def _pandas(series: Any) -> RawColumn:
    letter = getattr(series.dtype, "kind", "O")
    if letter in (*_NUMBERS, "b") and isinstance(series.dtype, np.dtype):
        return RawColumn(series.to_numpy(), letter)
    return RawColumn(series.to_numpy(dtype=object), letter)


def _polars(series: Any) -> RawColumn:
    whole = series.dtype.is_integer()
    # whole numbers would become floats if one of them is missing, and others would change with it
    if series.dtype.is_float() or (whole and not series.null_count()):
        array = series.to_numpy()
        return RawColumn(array, array.dtype.kind)
    entries = np.empty(len(series), dtype=object)
    entries[:] = series.to_list()
    letter = "b" if str(series.dtype) == "Boolean" else "O"
    letter = "i" if series.dtype.is_numeric() else letter
    return RawColumn(entries, "M" if series.dtype.is_temporal() else letter)


def _array(values: NDArray[Any]) -> RawColumn:
    return RawColumn(values, values.dtype.kind)


def column_by_type(raw: RawColumn, name: str) -> Column:
    """What a column is if no schema says it: by its type, and all that is to know is learnt."""
    if raw.letter in _DATES:
        raise InvalidInput(
            name, "<dates>", "is of a type that is neither numbers nor text",
            "turn it into numbers by a public rule, or leave it out",
        )  # fmt: skip
    if raw.letter == "b":
        return Boolean()
    return Numeric() if raw.letter in _NUMBERS else Categorical()


def read_column(raw: RawColumn, column: Column, name: str, missing: Sequence[str]) -> NDArray[Any]:
    """The entries as the column has them: numbers (NaN is missing), or words (None is)."""
    words = frozenset(missing)
    if isinstance(column, Numeric):
        found: NDArray[Any] = _numbers(raw, name, words)
        absent = np.isnan(found)
    elif isinstance(column, Boolean):
        found = _truths(raw, column, name, words)
        absent = np.isnan(found)
    else:
        found = _words(raw, name, words)
        absent = np.array([word is None for word in found], dtype=np.bool_)
    if column.missing == "refuse" and absent.any():
        raise InvalidInput(
            name, described(raw.entries), "has missing entries",
            'declare missing="indicator" or "fill" for it',
        )  # fmt: skip
    return found


def _numbers(raw: RawColumn, name: str, missing: frozenset[str]) -> Floats:
    if raw.entries.dtype.kind in "fiub":
        with np.errstate(all="ignore"):
            return raw.entries.astype(np.float64)
    found = np.empty(len(raw.entries))
    good = True
    for i, entry in enumerate(raw.entries.tolist()):
        number = _number(entry, missing)
        good = good and number is not None
        found[i] = np.nan if number is None else number
    if not good:
        raise _refused(name, raw, "numbers", _NUMBERS_REMEDY)
    return found


def _number(entry: Any, missing: frozenset[str]) -> float | None:
    """A number, NaN where it is missing, or None where it is neither."""
    if isinstance(entry, str):
        word = entry.strip()
        if not word or word in missing:
            return np.nan
        entry = word if set(word) <= _DECIMAL else None
        if entry is None:
            return None
    elif _absent(entry):
        return np.nan
    elif not isinstance(entry, (Real, Decimal, np.bool_)):
        return None
    try:
        return float(entry)
    except OverflowError:  # a whole number beyond all floats
        return float("inf") if entry > 0 else float("-inf")
    except ValueError:
        return None


def _truths(raw: RawColumn, column: Boolean, name: str, missing: frozenset[str]) -> Floats:
    values = dict.fromkeys(column.true, 1.0) | dict.fromkeys(column.false, -1.0)
    found = np.empty(len(raw.entries))
    good = True
    for i, entry in enumerate(raw.entries.tolist()):
        word = category_name(entry) if _plain(entry) else "?"
        if word is None or word in missing:
            found[i] = np.nan
            continue
        truth = values.get(word.lower())
        good = good and truth is not None
        found[i] = 0.0 if truth is None else truth
    if not good:
        raise _refused(name, raw, "true or false", _WORDS_REMEDY)
    return found


def _words(raw: RawColumn, name: str, missing: frozenset[str]) -> NDArray[Any]:
    found = np.empty(len(raw.entries), dtype=object)
    good = True
    for i, entry in enumerate(raw.entries.tolist()):
        good = good and _plain(entry)
        word = category_name(entry) if good else None
        found[i] = None if word in missing else word
    if not good:
        raise _refused(name, raw, "words or numbers", "leave the column out")
    return found


def _plain(entry: Any) -> bool:
    return _absent(entry) or isinstance(entry, (str, Real, Decimal, np.bool_))


def _absent(entry: Any) -> bool:
    return entry is None or type(entry).__name__ in ("NAType", "NaTType")


_NUMBERS_REMEDY = (
    "declare it as a category, or words that mean that an entry is missing, as missing=['NA']"
)
_WORDS_REMEDY = "declare its words, as true=['on'] and false=['off'], or it as a category"


def _refused(name: str, raw: RawColumn, wanted: str, remedy: str) -> InvalidInput:
    return InvalidInput(
        name, described(raw.entries), f"has entries that are not {wanted}", remedy
    )  # fmt: skip
