"""The better and the worse of several tradeoff functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._errors import InvalidInput
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["Maximum", "Minimum"]

_GRID = 2001


@dataclass(frozen=True)
class Minimum(TradeoffFunction):
    """min{f_1, f_2, ...}**, the largest tradeoff function below all: it is not known which holds.

    Its profile is the largest of the profiles. [BSA24, Def cp]

    >>> from shiftdp.fdp import ApproxDPTradeoff, GaussianTradeoff
    >>> Minimum([ApproxDPTradeoff(1.0), GaussianTradeoff(1.0)]).delta(1.0).__round__(6)
    0.126937
    """

    components: tuple[TradeoffFunction, ...]

    def __init__(self, components: Iterable[TradeoffFunction]) -> None:
        object.__setattr__(self, "components", _nonempty(components))

    @property
    def symmetric(self) -> bool:
        return _closed_under_inverse(self.components)

    def inverse(self) -> TradeoffFunction:
        return self if self.symmetric else Minimum(f.inverse() for f in self.components)

    def _delta(self, epsilon: Array) -> Array:
        return reduce(np.maximum, (f._delta(epsilon) for f in self.components))

    def _epsilon(self, delta: Array) -> Array:
        return reduce(np.maximum, (f._epsilon(delta) for f in self.components))

    def _log_moment(self, order: float) -> float:
        """The moment less 1 is an increasing linear functional of the profile, and max <= sum."""
        return math.log1p(math.fsum(math.expm1(f._log_moment(order)) for f in self.components))


@dataclass(frozen=True)
class Maximum(TradeoffFunction):
    """max{f_1, f_2, ...} pointwise: all of the bounds hold at once.

    Its profile is the lower convex envelope, in gamma = e^eps, of the smallest of the profiles;
    chords between points of that envelope lie above it, so what is returned is an upper bound, and
    never above any of the profiles.

    >>> from shiftdp.fdp import ApproxDPTradeoff, GaussianTradeoff
    >>> Maximum([ApproxDPTradeoff(1.0), GaussianTradeoff(1.0)]).delta(1.0)
    0.0
    """

    components: tuple[TradeoffFunction, ...]

    def __init__(self, components: Iterable[TradeoffFunction]) -> None:
        object.__setattr__(self, "components", _nonempty(components))

    @property
    def symmetric(self) -> bool:
        return _closed_under_inverse(self.components)

    def inverse(self) -> TradeoffFunction:
        return self if self.symmetric else Maximum(f.inverse() for f in self.components)

    def _beta(self, alpha: Array) -> Array:
        return reduce(np.maximum, (f._beta(alpha) for f in self.components))

    def _smallest(self, epsilon: Array) -> Array:
        return reduce(np.minimum, (f._delta(epsilon) for f in self.components))

    def _delta(self, epsilon: Array) -> Array:
        reach = max(f._epsilon(np.array([1e-18]))[0] for f in self.components)
        reach = min(max(reach, 1.0), 700.0)
        return _envelope_above(self._smallest, epsilon, np.linspace(-reach, reach, _GRID))

    def _log_moment(self, order: float) -> float:
        return min(f._log_moment(order) for f in self.components)


def _envelope_above(smallest: Callable[[Array], Array], at: Array, grid: Array) -> Array:
    """An upper bound, at the points `at`, on the convex envelope in e^eps of a profile."""
    values = smallest(at)
    inside = (at > grid[0]) & (at < grid[-1])
    if not inside.any():
        return values
    eps, where = np.unique(np.concatenate([grid, at[inside]]), return_inverse=True)
    d = smallest(eps)
    width = np.exp(eps[:-1]) * np.expm1(np.diff(eps))
    slopes = scipy.optimize.isotonic_regression(np.diff(d) / width, weights=width).x
    # summed from the right, where it is small: all terms are positive, nothing cancels
    drop = np.maximum(-slopes, 0.0) * width
    hull = d[-1] + np.concatenate([np.cumsum(drop[::-1])[::-1], [0.0]])
    hull *= 1 + 4e-16 * eps.size
    values[inside] = np.minimum(values[inside], hull[where[grid.size :]])
    return values


def _nonempty(components: Iterable[TradeoffFunction]) -> tuple[TradeoffFunction, ...]:
    parts = tuple(components)
    if not parts:
        raise InvalidInput("components", parts, "is empty", "give at least one function")
    return parts


def _closed_under_inverse(components: tuple[TradeoffFunction, ...]) -> bool:
    return all(f.symmetric or f.inverse() in components for f in components)
