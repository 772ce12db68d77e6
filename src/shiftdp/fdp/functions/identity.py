"""Perfect privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import THREE_ROUNDINGS, complement_down
from shiftdp.fdp.tradeoff import TradeoffFunction

if TYPE_CHECKING:
    from shiftdp.fdp.composition.product import Product


@dataclass(frozen=True)
class Identity(TradeoffFunction):
    """Id(alpha) = 1 - alpha: the two worlds cannot be told apart. [BSA24, Lemma fdpchar]

    >>> Identity()(0.25), Identity().epsilon(0.0)
    (0.75, 0.0)
    """

    type_name = "identity"

    @property
    def symmetric(self) -> bool:
        return True

    def _beta(self, alpha: Array) -> Array:
        return complement_down(alpha)

    def _delta(self, epsilon: Array) -> Array:
        return -np.expm1(np.minimum(epsilon, 0.0)) * (1 + THREE_ROUNDINGS)

    def _epsilon(self, delta: Array) -> Array:
        return np.zeros(delta.shape)

    def _log_moment(self, order: float) -> float:
        return 0.0

    @property
    def gdp_mu(self) -> float:
        return 0.0

    def _join(self, product: Product, k: int) -> None:
        """The unit of composition. [BSA24, Lemma various (b)]"""
