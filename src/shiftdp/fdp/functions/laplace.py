"""The Laplace mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array, finite
from shiftdp._rounding import (
    NINE_ROUNDINGS,
    NORMAL_EXPONENT,
    SEVEN_ROUNDINGS,
    THIRTY_SIX_ROUNDINGS,
    complement_down,
)
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["LaplaceTradeoff"]

_UP, _DOWN = 1 + NINE_ROUNDINGS, 1 - NINE_ROUNDINGS  # one exponential, and products
_NO_DIGIT = 1e-18  # terms of a series below this part of its sum change no digit of it


@dataclass(frozen=True)
class LaplaceTradeoff(TradeoffFunction):
    """T(Lap(0, 1), Lap(mu, 1)), mu being sensitivity over scale: it is mu-DP.

    f is 1 - e^mu alpha, then e^-mu / (4 alpha), then e^-mu (1 - alpha), with knots at e^-mu/2 and
    1/2 [DRS22, Sec 2.1]; delta(eps) = 1 - e^{(eps-mu)/2} for |eps| <= mu.

    >>> round(LaplaceTradeoff(1.0).delta(0.5), 6), LaplaceTradeoff(1.0).delta(1.0)
    (0.221199, 0.0)
    """

    type_name = "laplace"

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", finite("mu", self.mu, 0.0))

    @property
    def symmetric(self) -> bool:
        return True

    def _beta(self, alpha: Array) -> Array:
        shrink = math.exp(-self.mu) if self.mu < NORMAL_EXPONENT else 0.0
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            steep = complement_down(np.minimum(alpha / shrink * _UP if shrink > 0 else alpha, 1.0))
            middle = shrink / (4.0 * alpha) * _DOWN
        flat = shrink * (1.0 - alpha) * _DOWN
        knee = alpha < shrink / 2.0
        beta = np.where(knee, steep, np.where(alpha <= 0.5, middle, flat))
        return np.where(alpha <= 0.0, 1.0, beta)

    def _delta(self, epsilon: Array) -> Array:
        inside = -np.expm1(np.clip(epsilon - self.mu, -2.0 * self.mu, 0.0) / 2.0)
        outside = -np.expm1(np.minimum(epsilon, 0.0))
        return np.where(epsilon < -self.mu, outside, inside) * _UP

    def _epsilon(self, delta: Array) -> Array:
        with np.errstate(divide="ignore"):
            epsilon = self.mu + 2.0 * np.log1p(-delta)
        # the sum cancels
        above = np.where(delta > 0.0, epsilon + SEVEN_ROUNDINGS * self.mu, self.mu)
        above = np.clip(above, 0.0, self.mu)
        return np.where(delta >= self._delta(np.zeros(1)), 0.0, above)

    def _largest_loss(self) -> float:
        return self.mu

    def _log_moment(self, order: float) -> float:
        """log(a e^{(order-1) mu} + b e^{-order mu}) with a + b = 1. [Mir17, Table 2]"""
        a, b = order / (2 * order - 1), (order - 1) / (2 * order - 1)
        up, down = (order - 1) * self.mu, -order * self.mu
        if up >= 1.0:
            return (up + math.log(a + b * math.exp(down - up))) * (1 + THIRTY_SIX_ROUNDINGS)
        if down <= -1.0:
            return math.log1p(a * math.expm1(up) + b * math.expm1(down)) * (
                1 + THIRTY_SIX_ROUNDINGS
            )
        # the terms of first order cancel
        return math.log1p(a * _exp_excess(up) + b * _exp_excess(down)) * (1 + THIRTY_SIX_ROUNDINGS)


def _exp_excess(x: float) -> float:
    """e^x - 1 - x for |x| <= 1, to full precision."""
    total, term, n = 0.0, x * x / 2.0, 2
    while abs(term) > _NO_DIGIT * abs(total):
        total += term
        n += 1
        term *= x / n
    return total
