"""Piecewise linear tradeoff functions: finitely many (epsilon, delta) guarantees taken together."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from shiftdp._checks import Array, array_in
from shiftdp._errors import InvalidInput
from shiftdp._rounding import (
    EIGHTEEN_ROUNDINGS,
    FOUR_ROUNDINGS,
    HUGE,
    LARGEST_EXPONENT,
    NINE_ROUNDINGS,
    THREE_ROUNDINGS,
    complement_down,
)
from shiftdp.fdp.tradeoff import TradeoffFunction

_STEEPEST = float(np.finfo(np.float64).max)  # of a line between knots: no e^eps is above it
_SLACK = 1e-12  # how far from convex the rounding of knots may leave them
_MOST = 1_000_000  # entries of a table of deltas and knots that is held in memory at once
_COMPLEMENT = 2.5e-16  # two roundings of 1 - beta, which may be close to 1


class PiecewiseLinear(TradeoffFunction):
    """The line through the knots (alpha_i, beta_i), from alpha = 0 to alpha = 1.

    Knots must be convex, decreasing and below 1 - alpha [BSA24, Lemma fdpchar]. The profile is the
    largest of the lines 1 - beta_i - e^eps alpha_i.

    >>> f = PiecewiseLinear([0, 0.25, 1], [1, 0.25, 0])
    >>> f(0.125), f.delta(0.0), round(f.epsilon(0.0), 6)
    (0.625, 0.5, 1.098612)
    """

    type_name = "piecewise_linear"

    def __init__(self, alpha: ArrayLike, beta: ArrayLike) -> None:
        a = array_in("alpha", alpha, 0.0, 1.0)
        b = array_in("beta", beta, 0.0, 1.0)
        if a.ndim != 1 or a.shape != b.shape or a.size < 2:
            raise InvalidInput(
                "alpha, beta", (a.shape, b.shape), "do not fit", "give two lists of equal length"
            )
        remedy = "give knots of a convex decreasing function below 1 - alpha"
        if a[0] != 0.0 or a[-1] != 1.0 or np.any(np.diff(a) <= 0):
            raise InvalidInput("alpha", a.tolist(), "does not rise from 0 to 1", remedy)
        if np.any(np.diff(b) > 0) or np.any(b > 1.0 - a + _SLACK):
            raise InvalidInput("beta", b.tolist(), "rises, or exceeds 1 - alpha", remedy)
        b = np.minimum(b, complement_down(a))
        chord = b[:-2] + (b[2:] - b[:-2]) * ((a[1:-1] - a[:-2]) / (a[2:] - a[:-2]))
        if np.any(b[1:-1] > chord + _SLACK):
            raise InvalidInput("beta", b.tolist(), "is not convex", remedy)
        a, b = _convex(a, b)
        a.flags.writeable = b.flags.writeable = False
        self.alpha, self.beta = a, b
        with np.errstate(over="ignore"):  # knots that are less than 1e-308 apart
            self._slopes = np.maximum(np.diff(b) / np.diff(a), -_STEEPEST)

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, "_slopes"):
            raise AttributeError(f"{type(self).__name__} is immutable")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"PiecewiseLinear(<{self.alpha.size} knots>)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PiecewiseLinear):
            return NotImplemented
        return np.array_equal(self.alpha, other.alpha) and np.array_equal(self.beta, other.beta)

    def __hash__(self) -> int:
        return hash((self.alpha.tobytes(), self.beta.tobytes()))

    @classmethod
    def from_guarantees(cls, epsilon: ArrayLike, delta: ArrayLike) -> PiecewiseLinear:
        """What several (eps_i, delta_i) guarantees of one mechanism say together. [DRS22, Prop 6]

        >>> f = PiecewiseLinear.from_guarantees([0.0, 1.0], [0.3, 0.05])
        >>> round(f.delta(0.0), 12), round(f.delta(1.0), 12)
        (0.3, 0.05)
        """
        eps = array_in("epsilon", epsilon, 0.0, LARGEST_EXPONENT).ravel()
        d = array_in("delta", delta, 0.0, 1.0).ravel()
        if eps.size != d.size:
            raise InvalidInput(
                "epsilon, delta",
                (eps.size, d.size),
                "differ in length",
                "give one delta an epsilon",
            )
        return cls.between(eps, d, d)

    @classmethod
    def between(cls, epsilon: Array, there: Array, back: Array) -> PiecewiseLinear:
        """What guarantees (eps_i, delta_i) say that differ in the two directions, eps_i >= 0.

        >>> f = PiecewiseLinear.between(
        ...     np.array([0.0, 1.0]), np.array([0.3, 0.1]), np.array([0.3, 0.05])
        ... )
        >>> round(f.delta(1.0), 12), round(f.inverse().delta(1.0), 12)
        (0.1, 0.05)
        """
        # the reflected guarantee: e^-eps (1 - delta - alpha)
        reflected = np.exp(-epsilon)
        gamma = np.concatenate([np.exp(epsilon) * (1 + NINE_ROUNDINGS), reflected])
        rest = reflected * complement_down(back) * (1 - NINE_ROUNDINGS)
        return cls(*_upper_envelope(gamma, np.concatenate([complement_down(there), rest])))

    @classmethod
    def below(cls, f: TradeoffFunction, epsilon: ArrayLike) -> PiecewiseLinear:
        """A certified lower envelope of any f: its supporting lines at the slopes -e^eps_i.

        >>> from shiftdp.fdp import GaussianTradeoff
        >>> f = PiecewiseLinear.below(GaussianTradeoff(1.0), np.linspace(-6, 6, 101))
        >>> 0 <= GaussianTradeoff(1.0)(0.1) - f(0.1) < 1e-3
        True
        """
        eps = array_in("epsilon", epsilon, -LARGEST_EXPONENT, LARGEST_EXPONENT).ravel()
        gamma = np.exp(eps)
        # lines of eps < 0 from the profile of the inverse: delta is near 1, and 1 - delta inexact
        forward = complement_down(np.minimum(f._delta(np.maximum(eps, 0.0)), 1.0))
        backward = complement_down(np.minimum(f.inverse()._delta(np.maximum(-eps, 0.0)), 1.0))
        height = np.where(eps < 0, gamma * backward * (1 - NINE_ROUNDINGS), forward)
        return cls(*_upper_envelope(gamma * (1 + NINE_ROUNDINGS), height))

    @property
    def symmetric(self) -> bool:
        return self._is_symmetric

    @cached_property
    def _is_symmetric(self) -> bool:
        return self._inverse == self

    def inverse(self) -> PiecewiseLinear:
        return self if self.symmetric else self._inverse

    @cached_property
    def _inverse(self) -> PiecewiseLinear:
        # f may reach 0 before alpha = 1: only the first such knot has an inverse
        last = int(np.argmin(self.beta))
        a, b = self.beta[last::-1], self.alpha[last::-1]
        keep = np.concatenate([[True], np.diff(a) > 0])
        a, b = a[keep], b[keep]
        if a[-1] < 1.0:
            a, b = np.append(a, 1.0), np.append(b, 0.0)
        return PiecewiseLinear(a, b)

    def _beta(self, alpha: Array) -> Array:
        # from the right end of each piece, which is the lower one, so that terms are added
        i = np.clip(np.searchsorted(self.alpha, alpha), 1, self.alpha.size - 1)
        value = (self.beta[i] - self._slopes[i - 1] * (self.alpha[i] - alpha)) * (
            1 - NINE_ROUNDINGS
        )
        return np.where(alpha <= 0.0, self.beta[0], value)

    def _delta(self, epsilon: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            gamma = np.exp(epsilon)
            # the knot where the slope passes -gamma; its neighbours guard against rounding
            knot = np.searchsorted(self._slopes, -gamma)
            values = []
            for near in (-1, 0, 1):
                i = np.clip(knot + near, 0, self.alpha.size - 1)
                cost = np.where(self.alpha[i] > 0, np.minimum(gamma * self.alpha[i], HUGE), 0.0)
                # 1 - beta is exact from 1/2 on
                rounding = NINE_ROUNDINGS * cost + _COMPLEMENT * (self.beta[i] < 0.5)
                values.append(1.0 - self.beta[i] - cost + rounding)
        best = np.maximum(np.maximum(values[0], 0.0), np.maximum(values[1], values[2]))
        return best * (1 + FOUR_ROUNDINGS)

    def _epsilon(self, delta: Array) -> Array:
        # each knot asks for e^eps >= (1 - beta_i - delta)/alpha_i; 1 - beta_i is exact from 1/2 on
        reach = 1.0 - self.beta
        reach = np.where(self.beta < 0.5, np.nextafter(reach, 2.0), reach)
        gamma = np.zeros(delta.shape)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            for block in np.array_split(
                np.arange(delta.size), 1 + delta.size * reach.size // _MOST
            ):
                need = reach - delta[block, np.newaxis]
                gamma[block] = np.where(need > 0, need / self.alpha, 0.0).max(axis=1)
        epsilon: Array = np.log(np.maximum(gamma, 1.0))
        return np.where(epsilon > 0, epsilon * (1 + NINE_ROUNDINGS) + NINE_ROUNDINGS, 0.0)

    def _log_moment(self, order: float) -> float:
        if self.beta[0] < 1.0:
            return math.inf
        with np.errstate(over="ignore", under="ignore"):
            # E r^order, with E r = 1: at least 1
            moment = np.diff(self.alpha) * (-self._slopes) ** order
        total = math.fsum(moment.tolist())
        return math.log(max(1.0, total)) * (1 + NINE_ROUNDINGS) + EIGHTEEN_ROUNDINGS * order


def _convex(a: Array, b: Array) -> tuple[Array, Array]:
    """The lower convex hull of knots that are convex up to rounding."""
    kept: list[int] = []
    for i in range(a.size):
        while len(kept) > 1:
            j, k = kept[-2], kept[-1]
            before, after = (b[k] - b[j]) * (a[i] - a[k]), (b[i] - b[k]) * (a[k] - a[j])
            if before <= after * (
                1 - NINE_ROUNDINGS
            ):  # both are negative: not above the chord for sure
                break
            kept.pop()
        kept.append(i)
    return a[kept], b[kept]


def _upper_envelope(gamma: Array, height: Array) -> tuple[Array, Array]:
    """Knots of max(0, max_i height_i - gamma_i alpha) on [0, 1].

    Knots are put a little left of the crossings and on the flatter line, which has the digits: both
    lines that meet there are then above the result.
    """
    lines: list[tuple[float, float]] = []
    crossings: list[float] = []
    order = np.lexsort((-height, -gamma))
    steepest = [(float(gamma[i]), float(height[i])) for i in order] + [(0.0, 0.0)]
    for g, h in steepest:
        if lines and lines[-1][0] == g:
            continue
        while lines:
            g0, h0 = lines[-1]
            at = (h0 - h) / (g0 - g)
            if at > (crossings[-1] if crossings else 0.0):
                break
            lines.pop()
            if crossings:
                crossings.pop()
        else:
            lines.append((g, h))
            continue
        if at < 1.0:
            lines.append((g, h))
            crossings.append(at)
    a = np.array([0.0, *(at * (1 - NINE_ROUNDINGS) for at in crossings), 1.0])
    flatter = np.array([*lines, lines[-1]])
    cost = flatter[:, 0] * a
    b = flatter[:, 1] - cost - THREE_ROUNDINGS * np.where(a > 0, flatter[:, 1], 0.0)
    apart = np.concatenate([[True], np.diff(a) > 0])
    b = np.minimum.accumulate(np.clip(b, 0.0, complement_down(a)))
    return a[apart], b[apart]
