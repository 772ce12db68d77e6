"""The Laplace mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array, finite
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["LaplaceTradeoff"]

_UP, _DOWN = 1 + 1e-15, 1 - 1e-15


@dataclass(frozen=True)
class LaplaceTradeoff(TradeoffFunction):
    """T(Lap(0, 1), Lap(mu, 1)), mu being sensitivity over scale: it is mu-DP.

    f is 1 - e^mu alpha, then e^-mu / (4 alpha), then e^-mu (1 - alpha), with knots at e^-mu/2 and
    1/2 [DRS22, Sec 2.1]; delta(eps) = 1 - e^{(eps-mu)/2} for |eps| <= mu.

    >>> round(LaplaceTradeoff(1.0).delta(0.5), 6), LaplaceTradeoff(1.0).delta(1.0)
    (0.221199, 0.0)
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", finite("mu", self.mu, 0.0))

    @property
    def symmetric(self) -> bool:
        return True

    def _beta(self, alpha: Array) -> Array:
        shrink = math.exp(-self.mu)
        with np.errstate(divide="ignore", over="ignore"):
            steep = 1.0 - alpha / shrink * _UP if shrink > 0 else (alpha <= 0.0) * 1.0
            middle = shrink / (4.0 * alpha) * _DOWN
        flat = shrink * (1.0 - alpha) * _DOWN
        knee = alpha < shrink / 2.0
        return np.maximum(0.0, np.where(knee, steep, np.where(alpha <= 0.5, middle, flat)))

    def _delta(self, epsilon: Array) -> Array:
        inside = -np.expm1(np.clip(epsilon - self.mu, -2.0 * self.mu, 0.0) / 2.0)
        outside = -np.expm1(np.minimum(epsilon, 0.0))
        return np.where(epsilon < -self.mu, outside, inside) * _UP

    def _epsilon(self, delta: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.maximum(0.0, self.mu + 2.0 * np.log1p(-delta)) * _UP

    def _log_moment(self, order: float) -> float:
        """[Mir17, Table 2]"""
        a, b = order / (2 * order - 1), (order - 1) / (2 * order - 1)
        return (order - 1) * self.mu + math.log(a + b * math.exp((1 - 2 * order) * self.mu))
