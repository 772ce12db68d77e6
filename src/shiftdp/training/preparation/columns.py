"""What is public about a column: its kind, range or categories, and what missing entries become.

Whatever is declared here must not be read off the data. What is left out is learnt from the records
by sums with noise, whose cost `sums` of a column names.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args

from shiftdp._checks import DATA_GREATEST, choice, count, number_in
from shiftdp._errors import InvalidInput
from shiftdp.privacy.noisy_sums import SumKind

Missing = Literal["indicator", "fill", "refuse"]
Scale = Literal["range", "moments"]

DEVIATIONS = 3.0
"""Standardised entries are clipped to so many deviations from the mean, which few exceed."""
MOST = 20  # categories of a column that are learnt, unless another number is given
OTHERS = 16  # columns that tell apart categories whose names are not learnt
_WIDEST = 10_000  # columns that one column may become


@dataclass(frozen=True, kw_only=True)
class Column(ABC):
    """One column of a table.

    Args:
        missing: "indicator" adds a column that says whether the entry is missing, and fills it;
            "fill" fills it and says nothing; "refuse" refuses the table.
    """

    kind: ClassVar[str]
    missing: Missing = "indicator"

    @property
    @abstractmethod
    def sums(self) -> tuple[SumKind, ...]:
        """What has to be learnt from the records, in this order."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many columns it becomes, whatever is learnt."""

    @property
    @abstractmethod
    def squared_bound(self) -> float:
        """The square of the length that its part of a row has at most, whatever is learnt."""

    @property
    def indicated(self) -> bool:
        return self.missing == "indicator"

    def to_dict(self) -> dict[str, Any]:
        """The kind, and the fields that differ from their defaults, in plain data."""
        found: dict[str, Any] = {"kind": self.kind}
        for one in fields(self):
            value = getattr(self, one.name)
            if value != one.default:
                found[one.name] = list(value) if isinstance(value, tuple) else value
        return found


@dataclass(frozen=True, kw_only=True)
class Numeric(Column):
    """Numbers. With a declared range they are clipped to it and scaled to [-1, 1], which is free.

    Args:
        low, high: the range, if it is public. Otherwise it is learnt from a noisy histogram.
        within: a wide range that is public, for the histogram: 64 bins of equal width. Without one
            the bins are between powers of the root of 2, of either sign, up to 2^40.
        scale: "range" maps the range to [-1, 1]; "moments" learns mean and deviation of what that
            makes, and standardises by them. Left out, a learnt range is standardised; a declared
            one too in a pipeline, where its budget is enough (`PrivatePipeline`), else scaled.
        fill: what a missing entry counts as. By default the middle of the range, or the mean.

    >>> Numeric(low=0, high=100).sums, Numeric().sums
    ((), ('histogram', 'moments'))
    """

    kind = "number"

    low: float | None = None
    high: float | None = None
    within: tuple[float, float] | None = None
    scale: Scale | None = None
    fill: float | None = None

    def __post_init__(self) -> None:
        choice("missing", self.missing, get_args(Missing))
        _declare(self, "low", "high", "fill")
        if self.scale is not None:
            choice("scale", self.scale, get_args(Scale))
        if (self.low is None) != (self.high is None):
            raise InvalidInput(
                "low, high", (self.low, self.high), "are half a range", "give both, or neither"
            )
        if self.low is not None and self.high is not None:
            _range("low, high", self.low, self.high)
            if self.within is not None:
                raise InvalidInput(
                    "within", self.within, "is for ranges that are learnt", "leave it out"
                )
        if self.within is not None:
            try:
                low, high = (_number("within", value) for value in self.within)
            except (TypeError, ValueError) as error:
                if isinstance(error, InvalidInput):
                    raise
                raise InvalidInput(
                    "within", self.within, "is no range", "give two numbers"
                ) from None
            _range("within", low, high)
            object.__setattr__(self, "within", (low, high))

    @property
    def open_scale(self) -> bool:
        """Whether the range is declared, and what entries in it are divided by is not."""
        return self.low is not None and self.scale is None

    @property
    def standardised(self) -> bool:
        return self.scale == "moments" or (self.scale is None and self.low is None)

    @property
    def sums(self) -> tuple[SumKind, ...]:
        found: list[SumKind] = [] if self.low is not None else ["histogram"]
        return (*found, "moments") if self.standardised else tuple(found)

    @property
    def width(self) -> int:
        return 1 + self.indicated

    @property
    def squared_bound(self) -> float:
        largest = DEVIATIONS**2 if self.standardised else 1.0
        filled = largest if self.fill is not None else 0.0
        return max(largest, filled + self.indicated)


@dataclass(frozen=True, kw_only=True)
class Categorical(Column):
    """Words, or numbers that stand for something: a column for each category, and some for others.

    Args:
        categories: all that are to be told apart, if they are public; the others are "other". Left
            out, those that so many records have that a noisy count shows it are learnt.
        most: how many of them are learnt at most. There are as many columns, used or not, so that
            the number of columns is public.
        others: over how many columns all other categories are spread, by a public hash of their
            names. It costs nothing, so what few records have is not lost: two of k categories
            share a column with probability 1/others. By default 1 where categories are declared,
            and 16 where they are learnt.

    >>> Categorical(categories=("red", "green")).width, Categorical(most=5).sums
    (4, ('categories',))
    >>> Categorical(most=5).width, Categorical(most=5, others=1).width
    (22, 7)
    """

    kind = "category"

    categories: tuple[str, ...] | None = None
    most: int = MOST
    others: int | None = None

    def __post_init__(self) -> None:
        choice("missing", self.missing, get_args(Missing))
        for name in ("most", "others"):
            if getattr(self, name) is not None:
                number = count(name, getattr(self, name), 1)
                if number > _WIDEST:
                    raise InvalidInput(name, number, "is too many", f"give at most {_WIDEST}")
                object.__setattr__(self, name, number)
        if self.categories is None:
            return
        given: Any = self.categories
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise InvalidInput("categories", self.categories, "is no list", "give all of them")
        names = tuple(category_name(one) for one in given)
        if not names or None in names or len(set(names)) < len(names) or len(names) > _WIDEST:
            raise InvalidInput(
                "categories",
                self.categories,
                "are not different words or numbers",
                "give each once",
            )
        object.__setattr__(self, "categories", names)

    @property
    def sums(self) -> tuple[SumKind, ...]:
        return ("categories",) if self.categories is None else ()

    @property
    def places(self) -> int:
        """How many categories may have a column of their own."""
        return self.most if self.categories is None else len(self.categories)

    @property
    def spread(self) -> int:
        """How many columns "other" has."""
        return self.others or (OTHERS if self.categories is None else 1)

    @property
    def width(self) -> int:
        return self.places + self.spread + self.indicated

    @property
    def squared_bound(self) -> float:
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Boolean(Column):
    """True or false: 1 and -1, and 0 where it is missing. Always free.

    Args:
        true, false: the words for them, upper or lower case; truth values and the numbers 1 and 0
            are understood too.
    """

    kind = "true_false"

    true: tuple[str, ...] = ("true", "yes", "t", "y", "1")
    false: tuple[str, ...] = ("false", "no", "f", "n", "0")

    def __post_init__(self) -> None:
        choice("missing", self.missing, get_args(Missing))
        for name in ("true", "false"):
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Sequence) or not given:
                raise InvalidInput(name, given, "is no list of words", "give one")
            words = tuple((category_name(one) or "").lower() for one in given)
            object.__setattr__(self, name, words)
        if set(self.true) & set(self.false):
            raise InvalidInput("true", self.true, "has words of false", "give each to one of them")

    @property
    def sums(self) -> tuple[SumKind, ...]:
        return ()

    @property
    def width(self) -> int:
        return 1 + self.indicated

    @property
    def squared_bound(self) -> float:
        return 1.0


def category_name(entry: Any) -> str | None:
    """A category as text, by itself: whole numbers without a point, words without outer blanks.

    >>> [category_name(one) for one in (" red", 1, 1.0, 2.5, True, None, float("nan"), "")]
    ['red', '1', '1', '2.5', 'True', None, None, None]
    """
    if isinstance(entry, str):
        return entry.strip() or None
    if entry is None:
        return None
    if hasattr(entry, "item"):  # a scalar of NumPy
        entry = entry.item()
    if isinstance(entry, float):
        if math.isnan(entry):
            return None
        return str(int(entry)) if entry.is_integer() else repr(entry)
    if type(entry).__name__ in ("NAType", "NaTType"):  # pandas: a missing entry
        return None
    try:
        return str(entry).strip() or None
    except ValueError:  # Python writes no whole number of thousands of digits, but to base 16
        return f"{entry.numerator:x}/{entry.denominator:x}"


def half_width(low: float, high: float) -> float:
    """Half the width of a range: what entries are divided by, so it must not be 0.

    It is for ranges that are narrower than the least float can say.
    """
    return 0.5 * high - 0.5 * low


def _number(name: str, value: Any) -> float:
    return number_in(name, value, -DATA_GREATEST, DATA_GREATEST)


def _declare(column: Numeric, *names: str) -> None:
    for name in names:
        value = getattr(column, name)
        if value is not None:
            object.__setattr__(column, name, _number(name, value))


def _range(name: str, low: float, high: float) -> None:
    if not half_width(low, high) > 0.0:
        raise InvalidInput(name, (low, high), "is no range", "give a smaller and a larger number")
