"""How an entry becomes a part of a row, once everything is known: the fitted side of a column.

The part of a row that a column makes depends on the entry and on what is public or was paid for,
and on nothing else. Its length is at most the root of `Column.squared_bound`, by construction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shiftdp.training.losses.base import Floats
from shiftdp.training.preparation.columns import (
    DEVIATIONS,
    Categorical,
    Column,
    Numeric,
    half_width,
)


class Code(ABC):
    """What a column has become."""

    kind: ClassVar[str]

    @abstractmethod
    def block(self, values: NDArray[Any], column: Column) -> Floats:
        """The parts of all rows, one row a record."""

    @abstractmethod
    def names(self, name: str, column: Column) -> list[str]:
        """The names of the columns that it becomes."""


@dataclass(frozen=True)
class NumberCode(Code):
    """A number, clipped to [low, high], scaled to [-1, 1], and standardised if that was learnt."""

    kind = "number"

    low: float
    high: float
    mean: float = 0.0
    deviation: float = 1.0

    def block(self, values: NDArray[Any], column: Column) -> Floats:
        limit = DEVIATIONS if isinstance(column, Numeric) and column.standardised else 1.0
        fill = column.fill if isinstance(column, Numeric) else None
        found = np.zeros((len(values), column.width))
        missing = np.isnan(values)
        found[:, 0] = self._scaled(values, limit)
        empty = 0.0 if fill is None else float(self._scaled(np.array([fill]), limit)[0])
        found[missing, 0] = empty
        if column.indicated:
            found[:, 1] = missing
        return found

    def _scaled(self, values: Floats, limit: float) -> Floats:
        scaled = (scaled_to(values, self.low, self.high) - self.mean) / self.deviation
        clipped: Floats = np.clip(scaled, -limit, limit)
        return clipped

    def names(self, name: str, column: Column) -> list[str]:
        return [name, *_indicator(name, column)]


@dataclass(frozen=True)
class CategoryCode(Code):
    """A 1 in the place of the category, or in one of those for all others.

    Which of these, a public hash of its name says [WDLSA09]: it looks at no other record.
    """

    kind = "category"

    categories: tuple[str, ...]

    def block(self, values: NDArray[Any], column: Column) -> Floats:
        places, spread = _places(column)
        at: dict[str | None, int] = {word: place for place, word in enumerate(self.categories)}
        at[None] = places + spread if column.indicated else places
        for word in values:
            if word not in at:
                at[word] = places + hashed(word, spread)
        found = np.zeros((len(values), column.width))
        found[np.arange(len(values)), [at[word] for word in values]] = 1.0
        return found

    def names(self, name: str, column: Column) -> list[str]:
        places, spread = _places(column)
        unused = range(1, places - len(self.categories) + 1)
        others = ["(other)"] if spread == 1 else [f"(other {i})" for i in range(1, spread + 1)]
        return [
            *(f"{name}={word}" for word in self.categories),
            *(f"{name}=(unused {i})" for i in unused),
            *(f"{name}={word}" for word in others),
            *_indicator(name, column),
        ]


@dataclass(frozen=True)
class TruthCode(Code):
    """1, -1, or 0 where it is missing."""

    kind = "true_false"

    def block(self, values: NDArray[Any], column: Column) -> Floats:
        found = np.zeros((len(values), column.width))
        missing = np.isnan(values)
        found[:, 0] = np.where(missing, 0.0, values)
        if column.indicated:
            found[:, 1] = missing
        return found

    def names(self, name: str, column: Column) -> list[str]:
        return [name, *_indicator(name, column)]


def scaled_to(values: Floats, low: float, high: float) -> Floats:
    """Numbers clipped to a range, which becomes [-1, 1]; NaN stays."""
    middle, half = 0.5 * low + 0.5 * high, half_width(low, high)
    with np.errstate(all="ignore"):
        scaled = (np.clip(values, low, high) - middle) / half
        clipped: Floats = np.clip(scaled, -1.0, 1.0)
    return clipped


def hashed(word: str, places: int) -> int:
    """One of so many places for a word, the same everywhere and for ever.

    >>> hashed("red", 16), hashed("green", 16), hashed("red", 1)
    (3, 8, 0)
    """
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % places


def _places(column: Column) -> tuple[int, int]:
    """How many columns there are for categories by name, and for others."""
    return (column.places, column.spread) if isinstance(column, Categorical) else (0, 1)


def _indicator(name: str, column: Column) -> list[str]:
    return [f"{name}=(missing)"] if column.indicated else []
