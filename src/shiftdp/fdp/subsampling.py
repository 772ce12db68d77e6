"""Subsampling: C_p(f). [BSA24, Def cp; DRS22, Def 6]

With f_p = p f + (1 - p) Id, the operator is C_p(f) = min{f_p, f_p^-1}**. In profiles, for any f,

    delta_{f_p}(eps) = p delta_f(log(1 + (e^eps - 1)/p))      where e^eps > 1 - p, else 1 - e^eps,

and C_p(f) has the larger of the profiles of f_p and of its inverse: no search is needed.
For symmetric f the larger is that of f_p for eps >= 0 and that of the inverse for eps < 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp._roots import most
from shiftdp.fdp.duality import inverse_profile
from shiftdp.fdp.identity import Identity
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["Subsampled", "subsample"]

_UP, _DOWN = 1 + 4e-16, 1 - 4e-16


def subsample(f: TradeoffFunction, p: float) -> TradeoffFunction:
    """C_p(f); C_0 is Identity, and C_1 symmetrises f downwards.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> round(subsample(GaussianTradeoff(1.0), 0.1).delta(0.5), 6)
    0.002033
    """
    if p == 0.0:
        return Identity()
    if p == 1.0 and f.symmetric:
        return f
    return Subsampled(f, p)


@dataclass(frozen=True)
class Subsampled(TradeoffFunction):
    """C_p(f) for 0 < p <= 1; always symmetric."""

    base: TradeoffFunction
    p: float

    @property
    def symmetric(self) -> bool:
        return True

    def _one_sided(self, epsilon: Array) -> Array:
        """The profile of f_p."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            # log(1 + (e^eps - 1)/p), which for large eps is eps - log p
            inner = np.log1p(np.expm1(np.minimum(epsilon, 500.0)) / self.p)
            inner = np.where(epsilon > 500.0, epsilon - math.log(self.p), inner)
        live = np.exp(np.minimum(epsilon, 0.0)) > 1.0 - self.p
        delta = self.p * self.base._delta(np.where(live, inner - 1e-15 * np.abs(inner), 0.0)) * _UP
        return np.where(live, delta, -np.expm1(np.minimum(epsilon, 0.0)))

    def _delta(self, epsilon: Array) -> Array:
        if self.base.symmetric:
            right = self._one_sided(np.abs(epsilon))
            return np.where(epsilon >= 0, right, -np.expm1(epsilon) + np.exp(epsilon) * right)
        return np.maximum(self._one_sided(epsilon), inverse_profile(self._one_sided, epsilon))

    def _epsilon(self, delta: Array) -> Array:
        if not self.base.symmetric:
            return super()._epsilon(delta)
        # delta = p delta_f(inner) and eps = log(1 - p + p e^inner)
        inner = self.base._epsilon(np.minimum(delta / self.p * _DOWN, 1.0))
        with np.errstate(over="ignore"):
            epsilon = np.log1p(self.p * np.expm1(np.minimum(inner, 500.0)))
        return np.where(inner > 500.0, inner + math.log(self.p), epsilon) * (1 + 1e-15)

    def _beta(self, alpha: Array) -> Array:
        if not self.base.symmetric:
            return super()._beta(alpha)
        # x = f(x) is where the slope of f passes -1; there 1 - 2x is the total variation
        x = 0.5 * (1.0 - float(self.base._delta(np.zeros(1))[0]))
        top = float(self._mixed(np.array([x]))[0])
        middle = (x + top - alpha) - 2e-16
        right = alpha > top
        beta = np.where(alpha < x, self._mixed(alpha), middle)
        if right.any():
            # f_p^-1(y): the last point where f_p is still above y
            y = alpha[right]
            beta[right] = most(lambda a: self._mixed(a) > y, np.zeros(y.shape), np.full(y.shape, x))
        return np.maximum(beta, 0.0)

    def _mixed(self, alpha: Array) -> Array:
        """f_p."""
        return (self.p * self.base._beta(alpha) + (1.0 - self.p) * (1.0 - alpha)) * _DOWN
