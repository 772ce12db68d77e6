"""(epsilon, delta)-differential privacy as a tradeoff function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shiftdp._checks import Array, number_in
from shiftdp.fdp.tradeoff import TradeoffFunction

if TYPE_CHECKING:
    from shiftdp.fdp.composition import Product

__all__ = ["ApproxDPTradeoff"]


@dataclass(frozen=True)
class ApproxDPTradeoff(TradeoffFunction):
    """f_{eps,delta}(alpha) = max(0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha)).

    [DRS22, Prop 3]. With `epsilon = 0` it is the h_delta of [BSA24, Lemma complim]: perfect privacy
    but for a failure of probability delta. Its knots are (0, 1-delta), (x, x) and (1-delta, 0) with
    x = (1-delta)/(1+e^eps).

    >>> f = ApproxDPTradeoff(1.0, 1e-5)
    >>> round(f.epsilon(1e-5), 12), f.delta(2.0)
    (1.0, 1e-05)
    """

    budget_epsilon: float
    budget_delta: float

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        object.__setattr__(self, "budget_epsilon", number_in("epsilon", epsilon, 0.0))
        object.__setattr__(self, "budget_delta", number_in("delta", delta, 0.0, 1.0))

    def __repr__(self) -> str:
        return f"ApproxDPTradeoff(epsilon={self.budget_epsilon!r}, delta={self.budget_delta!r})"

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def _corner(self) -> float:
        """x with f(x) = x, rounded down."""
        shrink = math.exp(-self.budget_epsilon)
        return (1.0 - self.budget_delta) * shrink / (1.0 + shrink) * (1 - 1e-15)

    def _beta(self, alpha: Array) -> Array:
        rest = 1.0 - self.budget_delta
        if self.budget_epsilon == math.inf:
            return np.where(alpha <= 0.0, rest, 0.0)
        steep = rest - math.exp(min(self.budget_epsilon, 709.0)) * alpha * (1 + 1e-15)
        flat = math.exp(-self.budget_epsilon) * (rest - alpha) * (1 - 1e-15)
        return np.maximum(0.0, np.maximum(steep, flat))

    def _delta(self, epsilon: Array) -> Array:
        with np.errstate(over="ignore"):
            gamma = np.exp(epsilon)
        corner = 1.0 - self._corner * (1.0 + gamma)
        last = 1.0 - gamma * (1.0 - self.budget_delta)
        # at and beyond eps the corner is worth delta exactly, which rounding must not exceed
        corner = np.where(epsilon >= self.budget_epsilon, self.budget_delta, corner)
        return np.maximum(self.budget_delta, np.maximum(corner, last))

    def _epsilon(self, delta: Array) -> Array:
        x = self._corner
        with np.errstate(divide="ignore", invalid="ignore"):
            # 1 - x (1 + gamma) = delta
            gamma = (1.0 - delta) / x - 1.0 if x > 0 else np.full(delta.shape, math.inf)
            epsilon = np.log(np.maximum(gamma, 1.0)) * (1 + 1e-15) + 1e-15 * (gamma > 1.0)
        epsilon = np.minimum(epsilon, self.budget_epsilon)
        return np.where(delta < self.budget_delta, math.inf, epsilon)

    def _log_moment(self, order: float) -> float:
        """log (e^{order eps} + e^{(1-order) eps}) / (1 + e^eps), the Renyi moment of two atoms."""
        if self.budget_delta > 0 or self.budget_epsilon == math.inf:
            return math.inf
        eps = self.budget_epsilon
        return (
            order * eps
            + math.log1p(math.exp((1 - 2 * order) * eps))
            - eps
            - math.log1p(math.exp(-eps))
        )

    def _join(self, product: Product, k: int) -> None:
        """f_{eps,delta} = f_{eps,0} (x) h_delta."""
        product.failure(self.budget_delta, k)
        if self.budget_epsilon > 0:
            product.factor(ApproxDPTradeoff(self.budget_epsilon), k)
