"""(epsilon, delta)-differential privacy as a tradeoff function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from shiftdp._checks import Array, number_in
from shiftdp._rounding import (
    AMPLE,
    EIGHTEEN_ROUNDINGS,
    NINE_ROUNDINGS,
    NORMAL_EXPONENT,
    THIRTY_SIX_ROUNDINGS,
    THREE_ROUNDINGS,
    complement_down,
)
from shiftdp.fdp.tradeoff import TradeoffFunction

if TYPE_CHECKING:
    from shiftdp.fdp.composition.product import Product

# one exponential or logarithm of another, and products
_UP, _DOWN = 1 + EIGHTEEN_ROUNDINGS, 1 - EIGHTEEN_ROUNDINGS
_LINEAR = 1e-6  # an epsilon below which mu is linear in it: the next term is a part of 1e-13


@dataclass(frozen=True)
class ApproxDPTradeoff(TradeoffFunction):
    """f_{eps,delta}(alpha) = max(0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha)).

    [DRS22, Prop 3]. With `epsilon = 0` it is the h_delta of [BSA24, Lemma complim]: perfect privacy
    but for a failure of probability delta. Its knots are (0, 1-delta), (x, x) and (1-delta, 0) with
    x = (1-delta)/(1+e^eps). With `epsilon` infinite nothing is promised: f = 0, also at alpha = 0.

    >>> f = ApproxDPTradeoff(1.0, 1e-5)
    >>> round(f.epsilon(1e-5), 12), f.delta(2.0)
    (1.0, 1e-05)
    """

    type_name = "approx_dp"

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

    def _beta(self, alpha: Array) -> Array:
        if self.budget_epsilon == math.inf:
            return np.zeros(alpha.shape)
        rest = complement_down(np.asarray(self.budget_delta))
        shrink = math.exp(-self.budget_epsilon) if self.budget_epsilon < NORMAL_EXPONENT else 0.0
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            # e^eps alpha; 0 at alpha = 0 even where e^eps overflows
            cost = np.where(alpha > 0.0, alpha / shrink * _UP, 0.0)
        steep = np.where(cost > 0.0, (rest - cost) * _DOWN, rest)
        flat = shrink * (rest - alpha) * _DOWN
        return np.maximum(0.0, np.maximum(steep, flat))

    def _delta(self, epsilon: Array) -> Array:
        e, d = self.budget_epsilon, self.budget_delta
        if e == math.inf:
            return np.ones(epsilon.shape)
        # 1 - x - gamma x between the lines 1 - gamma (1 - d) and d
        corner = -np.expm1(np.clip(epsilon, -e, e) - e) / (1.0 + math.exp(-e))
        share = np.where(epsilon < -e, -np.expm1(np.minimum(epsilon, -e)), corner)
        return np.where(share > 0.0, (d + (1.0 - d) * share) * _UP, d)

    def _epsilon(self, delta: Array) -> Array:
        e, d = self.budget_epsilon, self.budget_delta
        if d == 1.0 or e == math.inf:
            return np.where(delta < 1.0, math.inf, 0.0)
        # d + (1 - d) (1 - e^{eps - e}) / (1 + e^-e) = delta
        share = np.maximum(delta - d, 0.0) / (1.0 - d) * (1.0 + math.exp(-e))
        with np.errstate(divide="ignore"):
            epsilon = e + np.log1p(-np.minimum(share * _DOWN, 1.0)) * _DOWN
        # the two terms may cancel: an error relative to e, not to the sum
        epsilon = np.minimum(epsilon + THREE_ROUNDINGS * e, e)
        epsilon = np.where(delta >= self._delta(np.zeros(1)), 0.0, np.maximum(epsilon, 0.0))
        return np.where(delta < d, math.inf, epsilon)

    def _parameters(self) -> dict[str, Any]:
        return {"epsilon": self.budget_epsilon, "delta": self.budget_delta}

    def _largest_loss(self) -> float:
        return self.budget_epsilon

    def _log_moment(self, order: float) -> float:
        """log cosh((order - 1/2) eps) / cosh(eps/2), the Renyi moment of two atoms."""
        e = self.budget_epsilon
        if self.budget_delta > 0 or e == math.inf:
            return math.inf
        growth = (order - 1.0) * e
        if growth < 1.0:  # the moment less 1, in which nothing cancels
            excess = math.expm1(growth) * -math.expm1(-order * e) / (1.0 + math.exp(-e))
            return math.log1p(excess) * _UP
        moment = math.log1p(math.exp((1.0 - 2.0 * order) * e)) - math.log1p(math.exp(-e))
        return (growth + moment) * _UP

    def _join(self, product: Product, k: int) -> None:
        """f_{eps,delta} = f_{eps,0} (x) h_delta."""
        product.failure(self.budget_delta, k)
        if self.budget_epsilon > 0:
            product.factor(ApproxDPTradeoff(self.budget_epsilon), k)


def pure_dp_mu(epsilon: float) -> float:
    """mu with Phi(-mu/2) = 1/(1 + e^eps), rounded up: G(mu) lies below f_{eps,0}.

    f_{eps,0} is two lines that meet at x = 1/(1 + e^eps), and the convex G(mu) goes through their
    three ends: (0, 1), (x, x) and (1, 0). For large eps, Phi(-v) <= e^{-v^2/2}/2 and x >= e^-eps/2
    show that 2 sqrt(2 eps) is enough; for small eps, Phi(v) - 1/2 >= v phi(v) and
    1/2 - x <= eps/4 that eps sqrt(pi/2) e^{v^2/2} is, with v = mu/2.
    """
    if epsilon == 0.0:
        return 0.0
    if epsilon > NORMAL_EXPONENT:  # e^-eps is no normal number
        return 2.0 * math.sqrt(2.0 * epsilon) * (1.0 + NINE_ROUNDINGS)
    if epsilon < _LINEAR:
        return math.nextafter(epsilon * math.sqrt(0.5 * math.pi) * (1.0 + AMPLE), math.inf)
    x = math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
    # near 1/2 the error of x counts absolutely
    return -2.0 * float(scipy.special.ndtri(x)) * (1.0 + AMPLE) + THIRTY_SIX_ROUNDINGS
