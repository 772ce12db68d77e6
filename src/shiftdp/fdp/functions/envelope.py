"""The better and the worse of several tradeoff functions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import EIGHTEEN_ROUNDINGS, GENEROUS, ROOMY_EXPONENT
from shiftdp.fdp.duality import smooth_tradeoff
from shiftdp.fdp.functions.mixture import log_mean_moment, worst_gaussian
from shiftdp.fdp.tradeoff import TradeoffFunction, several

_GRID, _MOST_POINTS = 1001, 10_000  # points of the first grid, and of a refined one
_FLAT = 1e-18  # a profile that is closer to its limit than this is constant
_TIED, _TIED_BY = 1e-11, 3e-15  # two profiles are tied within this part plus this much
_STEEPEST = 40.0  # e^-40 = 4e-18: to the left of it profiles are 1 - e^eps to the last digit
_ROUNDS, _PARTS = 10, 8  # refinements of the grid where a bridge of the envelope begins or ends


@dataclass(frozen=True, init=False)
class _OfSeveral(TradeoffFunction):
    """A tradeoff function made of several, whatever their order."""

    components: tuple[TradeoffFunction, ...]

    def __init__(self, components: Iterable[TradeoffFunction]) -> None:
        object.__setattr__(self, "components", several("components", components))

    @property
    def symmetric(self) -> bool:
        parts = self.components
        return all(f.symmetric or f.inverse() in parts for f in parts)

    def inverse(self) -> TradeoffFunction:
        return self if self.symmetric else type(self)(f.inverse() for f in self.components)


@dataclass(frozen=True, init=False)
class Minimum(_OfSeveral):
    """min{f_1, f_2, ...}**, the largest tradeoff function below all: any one of them may hold.

    Its profile is the largest of the profiles. [BSA24, Def cp]

    >>> from shiftdp.fdp import ApproxDPTradeoff, GaussianTradeoff
    >>> Minimum([ApproxDPTradeoff(1.0), GaussianTradeoff(1.0)]).delta(1.0).__round__(6)
    0.126937
    """

    type_name = "minimum"

    def _delta(self, epsilon: Array) -> Array:
        return self._delta_or(epsilon, np.zeros(epsilon.shape))

    def _delta_or(self, epsilon: Array, floor: Array) -> Array:
        return reduce(lambda most, f: f._delta_or(epsilon, most), self.components, floor)

    def _beta(self, alpha: Array) -> Array:
        parts = self.components
        if any(f.composed for f in parts) and all(f._curved for f in parts):
            return smooth_tradeoff(self, alpha)
        return super()._beta(alpha)

    def _epsilon(self, delta: Array) -> Array:
        known = self._known.get(float(delta[0])) if delta.size == 1 else None
        if known is not None:
            return np.array([known])
        first, *rest = self.components
        most = reduce(lambda most, f: f._epsilon_or(delta, most), rest, first._epsilon(delta))
        if delta.size == 1:
            self._known[float(delta[0])] = float(most[0])
        return most

    @cached_property
    def _known(self) -> dict[float, float]:
        """Answers by delta: those of products are costly, and asked for more than once."""
        return {}

    @property
    def directions(self) -> tuple[TradeoffFunction, TradeoffFunction]:
        if len(self.components) == 2:
            one, two = self.components
            if one._record_first is not None and one.inverse() == two:
                return (two, one) if one._record_first else (one, two)
        return self, self

    @property
    def composed(self) -> bool:
        return any(f.composed for f in self.components)

    @property
    def accuracy(self) -> float:
        return self.components[0].accuracy

    def epsilon_below(self, delta: float, inflation: float = 0.0) -> float:
        # the largest exact epsilon is at least that of the first, which is mostly the larger
        if self.composed:
            return self.components[0].epsilon_below(delta, inflation)
        return super().epsilon_below(delta, inflation)

    def _gaussian_below(self) -> tuple[float, float]:
        return worst_gaussian(self.components)

    def _log_moment(self, order: float) -> float:
        """The moment less 1 is an increasing linear functional of the profile, and max <= sum."""
        return log_mean_moment([(1.0, f._log_moment(order)) for f in self.components])


@dataclass(frozen=True, init=False)
class Maximum(_OfSeveral):
    """max{f_1, f_2, ...} pointwise: all of the bounds hold at once.

    Its profile is the lower convex envelope, in gamma = e^eps, of the smallest of the profiles. A
    chord between two points above a convex function lies above it: what is returned is an upper
    bound, and never above any of the profiles.

    >>> from shiftdp.fdp import ApproxDPTradeoff, GaussianTradeoff
    >>> Maximum([ApproxDPTradeoff(1.0), GaussianTradeoff(1.0)]).delta(1.0)
    0.0
    """

    type_name = "maximum"

    def _beta(self, alpha: Array) -> Array:
        return reduce(np.maximum, (f._beta(alpha) for f in self.components))

    def _delta(self, epsilon: Array) -> Array:
        smallest: Array = self._profiles(epsilon).min(axis=0)
        vertex, height = self._hull
        inside = (epsilon > vertex[0]) & (epsilon < vertex[-1])
        chord = _chord(vertex, height, epsilon[inside]) * (1 + EIGHTEEN_ROUNDINGS)
        smallest[inside] = np.minimum(smallest[inside], chord)
        return smallest

    def _profiles(self, epsilon: Array) -> Array:
        return np.array([f._delta(epsilon) for f in self.components])

    @cached_property
    def _hull(self) -> tuple[Array, Array]:
        """Points (eps, height) of the envelope, densest where it leaves the smallest profile.

        A grid is refined where one profile takes over from another as the smallest, and where the
        envelope begins or ends to bridge a gap between them.
        """
        # the eps beyond which all profiles are constant
        reach = 1.0
        for f in self.components:
            floor = f._delta(np.array([np.inf]))
            reach = max(
                reach, float(f._epsilon(np.minimum(floor * (1 + GENEROUS) + _FLAT, 1.0))[0])
            )
        reach = min(reach, ROOMY_EXPONENT)
        eps = np.unique(np.linspace(-min(reach, _STEEPEST), reach, _GRID))
        for _ in range(_ROUNDS if len(self.components) > 1 else 0):
            if eps.size > _MOST_POINTS:
                break
            profiles = self._profiles(eps)
            which, height = profiles.argmin(axis=0), profiles.min(axis=0)
            # where the smallest profile is smaller by more than rounding
            clear = np.partition(profiles, 1, axis=0)[1] > height * (1 + _TIED) + _TIED_BY
            kept = _lower_hull(eps, height)
            # not by membership in the hull, which along a line is a matter of rounding
            touches = height <= _chord(eps[kept], height[kept], eps) * (1 + _TIED) + _TIED_BY
            ends = (which[1:] != which[:-1]) & (clear[1:] | clear[:-1])
            ends |= touches[1:] != touches[:-1]
            ends[1:] |= ends[:-1].copy()
            ends[:-1] |= ends[1:].copy()
            left, width = eps[:-1][ends], np.diff(eps)[ends]
            parts = np.arange(1, _PARTS) / _PARTS
            eps = np.unique(np.concatenate([eps, (left[:, None] + width[:, None] * parts).ravel()]))
        height = self._profiles(eps).min(axis=0)
        kept = _lower_hull(eps, height)
        return eps[kept], height[kept]

    @property
    def composed(self) -> bool:
        return any(f.composed for f in self.components)

    def _gaussian_below(self) -> tuple[float, float]:
        # f is above each component: take the bound with the least probability of failure
        return min((f._gaussian_below() for f in self.components), key=lambda part: part[::-1])

    def _log_moment(self, order: float) -> float:
        return min(f._log_moment(order) for f in self.components)


def _lower_hull(eps: Array, height: Array) -> list[int]:
    """The vertices of the lower convex hull of the points (e^eps_i, height_i)."""
    kept: list[int] = []
    e, d = eps.tolist(), height.tolist()
    for i in range(len(e)):
        while len(kept) > 1:
            j, k = kept[-2], kept[-1]
            # the slopes on both sides of k, times e^eps_k
            before = (d[j] - d[k]) * math.expm1(e[i] - e[k])
            after = (d[k] - d[i]) * -math.expm1(e[j] - e[k])
            if before > after:
                break
            kept.pop()
        kept.append(i)
    return kept


def _chord(vertex: Array, height: Array, at: Array) -> Array:
    """The line, in e^eps, between the two vertices around each point."""
    right = np.clip(np.searchsorted(vertex, at), 1, vertex.size - 1)
    low, high = vertex[right - 1], vertex[right]
    # the share of the left end, (e^high - e^at) / (e^high - e^low)
    share = np.expm1(at - high) / np.expm1(low - high)
    chord: Array = height[right] + (height[right - 1] - height[right]) * share
    return chord
