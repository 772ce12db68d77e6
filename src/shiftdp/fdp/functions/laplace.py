"""The Laplace mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array, finite
from shiftdp._rounding import NINE_ROUNDINGS, NORMAL_EXPONENT, SEVEN_ROUNDINGS, complement_down
from shiftdp.fdp._series import exp_excess
from shiftdp.fdp.tradeoff import TradeoffFunction

_UP, _DOWN = 1 + NINE_ROUNDINGS, 1 - NINE_ROUNDINGS  # one exponential, and products
_MOMENT_UP = 1 + 1e-14
"""For order > 1 the moment may be a difference of terms up to 3 times as large, each off by some 6
roundings: 20 of them, and as many again to spare."""


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
        # the two terms may cancel: an error relative to mu, not to the sum
        above = np.where(delta > 0.0, epsilon + SEVEN_ROUNDINGS * self.mu, self.mu)
        above = np.clip(above, 0.0, self.mu)
        return np.where(delta >= self._delta(np.zeros(1)), 0.0, above)

    def _largest_loss(self) -> float:
        return self.mu

    def _log_moment(self, order: float) -> float:
        return laplace_log_moment(self.mu, order - 1.0) * _MOMENT_UP


def laplace_log_moment(mu: float, s: float) -> float:
    """log E_Q[e^{sL}] of the privacy loss of Lap(mu) against Lap(0), for real s, to some ulps.

    M(s) = a e^{s mu} + b e^{-(s+1) mu}, a = (s+1)/(2s+1), b = s/(2s+1). [Mir17, Table 2]
    It is even in u = s + 1/2, and a + b = 1.
    """
    s = max(s, -1.0 - s)
    u = s + 0.5
    if (s + 1.0) * mu >= 1.0:
        w = 2.0 * u * mu
        # b (1 - e^-w); for small w neither b nor 1 - e^-w is known well, but the product is
        lost = s * mu * (-math.expm1(-w) / w if w > 0.0 else 1.0)
        if w > 1.0:
            lost = -math.expm1(-w) * s / (2.0 * u)
        return s * mu + math.log1p(-lost)
    if u >= 0.25:  # the terms of first order cancel
        growth = exp_excess(np.array([s * mu, -(s + 1.0) * mu]))
        return math.log1p(float((s + 1.0) * growth[0] + s * growth[1]) / (2.0 * u))
    # e^{-mu/2} (cosh v + (mu/2) sinh(v)/v) - 1 with v = u mu, as differences from 1
    v = u * mu
    odd = exp_excess(np.array([v, -v, 0.5 * mu]))
    above = 2.0 * math.sinh(0.5 * v) ** 2 - float(odd[2])
    above += 0.5 * mu * float(odd[0] - odd[1]) * (0.5 / v if v > 0.0 else 0.0)
    return math.log1p(math.exp(-0.5 * mu) * above)
