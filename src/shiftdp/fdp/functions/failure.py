"""A mechanism that fails altogether with a small probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shiftdp._checks import Array, number_in
from shiftdp._rounding import LEAST_FLOAT, NINE_ROUNDINGS, NOT_ZERO, UNIT
from shiftdp.fdp.derived import Derived
from shiftdp.fdp.tradeoff import TradeoffFunction, tradeoff

if TYPE_CHECKING:
    from shiftdp.fdp.composition.product import Product

_ROUNDED_UP = 1e-3  # the part by which a probability of failure may be larger than it has to be


@dataclass(frozen=True)
class WithFailure(Derived):
    """f (x) h_q, alpha -> (1 - q) f(alpha / (1 - q)). [BSA24, Lemma complim; DRS22, Eq 12]

    Its profile is q + (1 - q) delta_f(eps): with probability q everything is revealed.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> f = WithFailure(GaussianTradeoff(1.0), 1e-6)
    >>> f.epsilon(1e-6), round(f.epsilon(1e-5), 6)
    (inf, 4.401708)
    """

    type_name = "with_failure"

    base: TradeoffFunction
    failure: float

    def __post_init__(self) -> None:
        tradeoff("base", self.base)
        object.__setattr__(self, "failure", number_in("failure", self.failure, 0.0, 1.0))

    def _made_of(self, base: TradeoffFunction) -> TradeoffFunction:
        return WithFailure(base, self.failure)

    def _beta(self, alpha: Array) -> Array:
        rest = 1.0 - self.failure
        if rest == 0.0:
            return np.zeros(alpha.shape)
        inner = np.minimum(alpha / rest * (1 + NINE_ROUNDINGS), 1.0)
        return rest * self.base._beta(inner) * (1 - NINE_ROUNDINGS)

    def _delta(self, epsilon: Array) -> Array:
        # a smaller delta of the base would not change the sum
        base = self.base._delta_or(epsilon, np.full(epsilon.shape, 0.5 * UNIT * self.failure))
        delta: Array = self.failure + (1.0 - self.failure) * base
        return np.where(delta > 0.0, delta * (1 + NINE_ROUNDINGS) + 2 * LEAST_FLOAT, 0.0)

    def _epsilon(self, delta: Array) -> Array:
        left = (delta - self.failure) / max(1.0 - self.failure, NOT_ZERO) * (1 - NINE_ROUNDINGS)
        epsilon = self.base._epsilon(np.clip(left, 0.0, 1.0))
        return np.where(delta < self.failure, math.inf, epsilon)

    def split_failure(self) -> tuple[TradeoffFunction, float]:
        return self.base, self.failure

    def epsilon_below(self, delta: float, inflation: float = 0.0) -> float:
        least = self.failure * (1.0 - _ROUNDED_UP)
        left = (delta - least) / (1.0 - least) * (1.0 + NINE_ROUNDINGS)
        if left >= 1.0:
            return 0.0
        return self.base.epsilon_below(left, inflation) if left > 0.0 else math.inf

    def _gaussian_below(self) -> tuple[float, float]:
        mu, q = self.base._gaussian_below()
        if self.failure == 0.0:
            return mu, q
        return mu, min(1.0, (q + self.failure) * (1 + NINE_ROUNDINGS) + 2 * LEAST_FLOAT)

    def _log_moment(self, order: float) -> float:
        return self.base._log_moment(order) if self.failure == 0 else math.inf

    def _join(self, product: Product, k: int) -> None:
        product.failure(self.failure, k)
        self.base._join(product, k)
