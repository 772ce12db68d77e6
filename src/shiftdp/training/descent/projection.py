"""Convex sets that each iterate is projected onto, and their diameters.

A set holds the parameters of one model, all of them in one vector: every class, and the intercepts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import DATA_GREATEST, DATA_LEAST, magnitude
from shiftdp._errors import InvalidInput
from shiftdp._rounding import EIGHT_ROUNDINGS
from shiftdp.training.losses.base import Floats

_UP = 1.0 + EIGHT_ROUNDINGS  # for a root, a product or two, and this one


class Projection(ABC):
    """A closed convex set with its projection, which never moves two points apart."""

    @abstractmethod
    def diameter(self, dimension: int | None) -> float:
        """The largest distance of two points, rounded up."""

    @abstractmethod
    def project(self, v: Floats) -> Floats:
        """The nearest point to each row of v."""


@dataclass(frozen=True)
class Ball(Projection):
    """All vectors of norm at most `radius`.

    >>> Ball(2.0).project(np.array([[3.0, 4.0], [0.5, 0.0]])).round(9)
    array([[1.2, 1.6],
           [0.5, 0. ]])
    """

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "radius", magnitude("radius", self.radius, DATA_LEAST, DATA_GREATEST)
        )

    def diameter(self, dimension: int | None = None) -> float:
        return 2.0 * self.radius

    def project(self, v: Floats) -> Floats:
        norms = np.sqrt(np.einsum("ij,ij->i", v, v, dtype=np.float64))
        # inside in truth: the roundings of this line are taken off
        inside = self.radius * (1.0 - 4.0 * float(np.finfo(v.dtype).eps))
        scale = np.where(norms > inside, inside / np.maximum(norms, inside), 1.0)
        projected: Floats = v * scale[:, None].astype(v.dtype)
        return projected


@dataclass(frozen=True)
class Box(Projection):
    """Every parameter between `low` and `high`. Its diameter needs the plan's `features`.

    >>> Box(-1.0, 1.0).project(np.array([[3.0, 0.5]]))
    array([[1. , 0.5]])
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", _end("low", self.low))
        object.__setattr__(self, "high", _end("high", self.high))
        if not self.low < self.high:
            raise InvalidInput(
                "high", self.high, f"is not above low={self.low:g}", "give a wider box"
            )

    def diameter(self, dimension: int | None) -> float:
        if dimension is None:
            raise InvalidInput(
                "features",
                None,
                "is not given, and the diameter of a box depends on it",
                "give the plan features=...",
            )
        return math.sqrt(dimension) * (self.high - self.low) * _UP

    def project(self, v: Floats) -> Floats:
        return np.clip(v, self.low, self.high)


@dataclass(frozen=True)
class Simplex(Projection):
    """Nonnegative parameters with a given sum.

    The threshold theta with sum max(v - theta, 0) = total is found by sorting.

    >>> Simplex().project(np.array([[0.5, 0.9, -2.0]])).round(9)
    array([[0.3, 0.7, 0. ]])
    """

    total: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", magnitude("total", self.total, DATA_LEAST, DATA_GREATEST))

    def diameter(self, dimension: int | None = None) -> float:
        return math.sqrt(2.0) * self.total * _UP

    def project(self, v: Floats) -> Floats:
        ordered = np.sort(v.astype(np.float64), axis=1)[:, ::-1]
        excess = np.cumsum(ordered, axis=1) - self.total
        thresholds = excess / np.arange(1, v.shape[1] + 1)
        # the entries above their own threshold are a leading run, and never none
        last = np.count_nonzero(ordered > thresholds, axis=1) - 1
        theta = thresholds[np.arange(len(v)), np.maximum(last, 0)]
        projected: Floats = np.maximum(v - theta[:, None], 0.0).astype(v.dtype)
        return projected


def _end(name: str, value: float) -> float:
    return magnitude(name, value, DATA_LEAST, DATA_GREATEST, zero=True, signed=True)
