"""Group privacy: what f-DP for one record says of k records at once.

[DRS22, Thm 2.14] If each of the steps from one data set to the next of a chain of k is f-DP, its
two ends are f_k-DP with

    f_k = 1 - (1 - f) o ... o (1 - f)     (k times).

With h = 1 - f, the power of the best test, f_k is 1 - h^k: a test of level alpha has power at most
h(alpha) one record on, h(h(alpha)) two records on, and so forth.

*How it is computed.* Each guarantee (eps_j, delta(eps_j)) of f is a line above the concave h:
h(x) <= e^{eps_j} x + delta(eps_j). The least of finitely many of them is a concave, piecewise
linear function above h; the k-th iterate of it is one again, above h^k, and its knots are found
exactly up to roundings, which are upwards. So every number is certified, whatever the lines are;
they are close enough to cost a part of 1e-4 of delta for each record or so. Tiny levels and powers
keep their digits: nothing is subtracted from 1. Negative epsilons belong to the inverse of f, whose
k-th iterate is that of the inverse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np

from shiftdp._checks import Array, count
from shiftdp._errors import InvalidInput
from shiftdp._rounding import (
    EIGHTEEN_ROUNDINGS,
    GENEROUS,
    LEAST_FLOAT,
    NINE_ROUNDINGS,
    complement_down,
)
from shiftdp.fdp.derived import Derived
from shiftdp.fdp.tradeoff import TradeoffFunction, tradeoff

# Of profiles that are composed numerically it takes long to know many points, or points far out.
_LINES, _LINES_COMPOSED = 2048, 384  # guarantees with eps > 0, and as many with eps < 0
_RAREST = 1e-200  # a delta below which no line is taken: it grows by e^eps for k records
_RAREST_COMPOSED = 1e-18  # the same where it is composed
_SCAN = np.geomspace(1e-9, 700.0, 96)  # epsilons at which the end of a profile is looked for
_MOST = 2_000_000  # entries of a table of knots and epsilons that is held in memory at once
_MOST_WORK = 1 << 28  # knots that are looked at, record by record: some seconds
_WORK_OF_A_RECORD = 1_000  # knots that take as long as a record with none
_ON_A_KNOT = 1.0 + EIGHTEEN_ROUNDINGS  # lifts a knot over both lines that meet near it


@dataclass(frozen=True)
class GroupTradeoff(Derived):
    """1 - (1 - f)^{o k}: f-DP of one record, for k records of one person. [DRS22, Thm 2.14]

    Args:
        base: f.
        size: k, how many records differ.

    >>> from shiftdp.fdp import GaussianTradeoff, Mixture
    >>> GroupTradeoff(GaussianTradeoff(0.5), 3).gdp_mu
    1.5
    >>> f = Mixture([GaussianTradeoff(0.5), GaussianTradeoff(1.0)], [0.5, 0.5])
    >>> round(f.epsilon(1e-5), 2), round(GroupTradeoff(f, 2).epsilon(1e-5), 2)
    (4.21, 9.67)
    """

    type_name = "group"

    base: TradeoffFunction
    size: int

    def __post_init__(self) -> None:
        tradeoff("base", self.base)
        object.__setattr__(self, "size", count("size", self.size, 1))

    def _made_of(self, base: TradeoffFunction) -> TradeoffFunction:
        return GroupTradeoff(base, self.size)

    @property
    def gdp_mu(self) -> float | None:
        """k mu where f is G(mu): a product with a whole number, and one rounding, upwards."""
        mu = self.base.gdp_mu
        if mu is None or self.size == 1 or mu == 0.0:
            return mu
        product = mu * self.size
        return product if _is_exact(mu, self.size, product) else math.nextafter(product, math.inf)

    @cached_property
    def _simple(self) -> TradeoffFunction | None:
        """The function itself where it has a closed form."""
        from shiftdp.fdp.functions.gaussian import GaussianTradeoff

        mu = self.gdp_mu
        if self.size == 1:
            return self.base
        return None if mu is None else GaussianTradeoff(mu)

    @cached_property
    def _knots(self) -> tuple[Array, Array]:
        """Levels and powers, both rising, of a concave function above h^k."""
        level, power = once = _above(self.base)
        work = 0
        for _ in range(self.size - 1):
            before = level, power
            level, power = _iterated(*before, *once)
            if np.array_equal(level, before[0]) and np.array_equal(power, before[1]):
                break  # further records change nothing
            work += level.size + _WORK_OF_A_RECORD
            if work > _MOST_WORK:
                raise InvalidInput(
                    "size",
                    self.size,
                    "is more records than can be followed one by one",
                    "give fewer, or a bound that is Gaussian",
                )
        return level, power

    def _delta(self, epsilon: Array) -> Array:
        if self._simple is not None:
            return self._simple._delta(epsilon)
        delta = np.empty(epsilon.shape)
        steep = epsilon >= 0.0
        delta[steep] = self._forward(epsilon[steep])
        if not steep.all():
            # 1 - gamma (1 - delta of the inverse)
            back = cast(GroupTradeoff, self.inverse())
            e = epsilon[~steep]
            rest = -np.expm1(e) + np.exp(e) * np.minimum(back._forward(-e), 1.0)
            delta[~steep] = np.minimum(rest * (1 + NINE_ROUNDINGS), 1.0)
        return delta

    def _forward(self, epsilon: Array) -> Array:
        """delta(eps) for eps >= 0: the most by which a power exceeds e^eps times its level."""
        level, power = self._knots
        delta = np.empty(epsilon.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            gamma = np.exp(epsilon) * (1 - NINE_ROUNDINGS)
            blocks = 1 + epsilon.size * level.size // _MOST
            for block in np.array_split(np.arange(epsilon.size), blocks):
                cost = np.where(level > 0.0, gamma[block, np.newaxis] * level, 0.0)
                delta[block] = np.max(power - cost * (1 - NINE_ROUNDINGS), axis=1, initial=0.0)
        # the difference is rounded once, relative to the power that it is taken from
        return np.minimum(np.where(delta > 0.0, delta * (1 + NINE_ROUNDINGS) + LEAST_FLOAT, 0), 1.0)

    def _beta(self, alpha: Array) -> Array:
        """1 - h^k(alpha), or the level from which the inverse has the power 1 - alpha.

        Both are bounds; the second keeps the digits of small values.
        """
        if self._simple is not None:
            return self._simple._beta(alpha)
        above = np.interp(alpha, *self._knots) * (1 + NINE_ROUNDINGS)
        steep = complement_down(np.minimum(above, 1.0))
        level, power = cast(GroupTradeoff, self.inverse())._knots
        rest = complement_down(alpha)
        # of levels with the same power the least one counts
        rising = np.append(True, np.diff(power) > 0.0)
        flat = np.interp(rest, power[rising], level[rising], left=0.0) * (1 - EIGHTEEN_ROUNDINGS)
        return np.maximum(np.minimum(steep, rest), np.where(rest > power[0], flat, 0.0))

    def _epsilon(self, delta: Array) -> Array:
        """Each knot asks for e^eps >= (power - delta) / level."""
        if self._simple is not None:
            return self._simple._epsilon(delta)
        level, power = self._knots
        gamma = np.zeros(delta.shape)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            blocks = 1 + delta.size * level.size // _MOST
            for block in np.array_split(np.arange(delta.size), blocks):
                need = power * (1 + NINE_ROUNDINGS) - delta[block, np.newaxis]
                ratio = np.where(need > 0.0, need / level, 0.0)
                gamma[block] = ratio.max(axis=1)
            epsilon = np.log(np.maximum(gamma, 1.0))
        return np.where(epsilon > 0.0, epsilon * (1 + NINE_ROUNDINGS) + NINE_ROUNDINGS, 0.0)

    def _log_moment(self, order: float) -> float:
        if self._simple is not None:
            return self._simple._log_moment(order)
        return super()._log_moment(order)

    def _gaussian_below(self) -> tuple[float, float]:
        if self._simple is not None:
            return self._simple._gaussian_below()
        mu, q = self.base._gaussian_below()
        if q == 0.0:
            return mu * self.size * (1 + NINE_ROUNDINGS), 0.0
        return super()._gaussian_below()

    def _deflated(self, factor: float) -> TradeoffFunction:
        return GroupTradeoff(self.base._deflated(factor), self.size)

    def epsilon_below(self, delta: float, inflation: float = 0.0) -> float:
        """The bound of one record where there is no closed form: k are not better protected."""
        if self._simple is not None:
            return self._simple.epsilon_below(delta, inflation)
        return self.base.epsilon_below(delta, inflation)


def _is_exact(mu: float, k: int, product: float) -> bool:
    return math.isinf(product) or Fraction(mu) * k <= Fraction(product)


def _above(f: TradeoffFunction) -> tuple[Array, Array]:
    """Levels and powers of the least of finitely many lines above h = 1 - f, from 0 to 1."""
    steep, there = _lines(f)
    back = f.inverse()
    flat, other = (steep, there) if back == f else _lines(back)
    # of eps = -e < 0: slope e^-e, and height 1 - e^-e (1 - delta of the inverse)
    gamma = np.concatenate([np.exp(steep), np.exp(-flat), [0.0]])
    lift = -np.expm1(-flat) + np.exp(-flat) * other
    height = np.concatenate([there, np.minimum(lift * (1 + NINE_ROUNDINGS), 1.0), [1.0]])
    return _lower_envelope(gamma * (1 + NINE_ROUNDINGS), height)


def _lines(f: TradeoffFunction) -> tuple[Array, Array]:
    """Epsilons from 0 to where the profile ends, and the deltas there."""
    lines, scanned = (_LINES_COMPOSED, _SCAN[::4]) if f.composed else (_LINES, _SCAN)

    def profile(e: Array) -> Array:
        return f._delta_or(e, np.full(e.shape, _RAREST_COMPOSED)) if f.composed else f._delta(e)

    seen = profile(scanned)
    last = int(np.argmax(seen <= max(_RAREST, float(seen[-1]) * (1 + GENEROUS))))
    epsilon = float(scanned[last]) * np.linspace(0.0, 1.0, lines) ** 1.5
    largest = f._largest_loss()
    if largest < float(_SCAN[-1]):
        epsilon = np.unique(np.append(epsilon, largest))
    return epsilon, np.minimum(profile(epsilon), 1.0)


def _lower_envelope(gamma: Array, height: Array) -> tuple[Array, Array]:
    """Knots of min_i height_i + gamma_i x on [0, 1], each lifted over the lines that meet there."""
    order = np.lexsort((height, -gamma))
    kept: list[tuple[float, float]] = []
    places: list[float] = []
    for i in order.tolist():
        g, h = float(gamma[i]), float(height[i])
        if kept and kept[-1][0] == g:
            continue
        at = 0.0
        while kept:
            g0, h0 = kept[-1]
            at = max(0.0, (h - h0) / (g0 - g))  # from here on the flatter line is the lower one
            if not places or at > places[-1]:
                break
            kept.pop()
            places.pop()
        if kept and at >= 1.0:
            break
        places.append(at if kept else 0.0)
        kept.append((g, h))
    level = np.array([*places, 1.0])
    lines = np.array(kept)
    right = lines[np.minimum(np.arange(level.size), len(kept) - 1)]
    left = lines[np.maximum(np.arange(level.size) - 1, 0)]
    on_right, on_left = (line[:, 1] + line[:, 0] * level for line in (right, left))
    on_left[0] = on_right[0]
    power = np.maximum(on_left, on_right) * _ON_A_KNOT
    return level, np.minimum(np.maximum.accumulate(power), 1.0)


def _iterated(level: Array, power: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Knots of the function through (x, y) after the one through (level, power), both concave.

    It bends where the first one does, and where the first one passes a bend of the second. Such a
    place is found up to roundings; a concave function that starts at 0 or above rises by at most
    its value times the relative error of the place, which lifting the knots pays for.
    """
    inside = x[(x > power[0]) & (x < power[-1])]
    at = np.interp(inside, power, level)
    places = np.unique(np.concatenate([level, at]))
    first = np.interp(places, level, power) * (1 + NINE_ROUNDINGS)
    value = np.interp(np.minimum(first, 1.0), x, y) * _ON_A_KNOT
    return places, np.minimum(np.maximum.accumulate(value), 1.0)
