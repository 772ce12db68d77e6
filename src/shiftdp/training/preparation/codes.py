"""How an entry becomes a part of a row, once everything is known: the fitted side of a column.

The part of a row that a column makes depends on the entry and on what is public or was paid for,
and on nothing else. Its length is at most the root of `Column.squared_bound`, by construction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
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
    """A 1 in the place of the category, or in that of all others."""

    kind = "category"

    categories: tuple[str, ...]

    def block(self, values: NDArray[Any], column: Column) -> Floats:
        places = _places(column)
        known = {word: place for place, word in enumerate(self.categories)}
        absent = places + 1 if column.indicated else places
        found = np.zeros((len(values), column.width))
        at = [absent if word is None else known.get(word, places) for word in values]
        found[np.arange(len(values)), at] = 1.0
        return found

    def names(self, name: str, column: Column) -> list[str]:
        unused = range(1, _places(column) - len(self.categories) + 1)
        return [
            *(f"{name}={word}" for word in self.categories),
            *(f"{name}=(unused {i})" for i in unused),
            f"{name}=(other)",
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


def _places(column: Column) -> int:
    return column.places if isinstance(column, Categorical) else 0


def _indicator(name: str, column: Column) -> list[str]:
    return [f"{name}=(missing)"] if column.indicated else []
