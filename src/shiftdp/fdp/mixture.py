"""Mixtures: which of several mechanisms ran is drawn at random, and revealed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array, array_in
from shiftdp._errors import InvalidInput
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["Mixture"]


@dataclass(frozen=True)
class Mixture(TradeoffFunction):
    """delta(eps) = sum_i w_i delta_i(eps): a shared, identically distributed index is revealed.

    The hockey-stick divergence of such a mixture is the average of those of its parts; a mixture of
    Gaussians is not Gaussian. It is what Theorem B4 gives for batches in random order.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> f = Mixture([GaussianTradeoff(0.5), GaussianTradeoff(1.0)], [0.5, 0.5])
    >>> round(f.delta(1.0), 6), round(f.epsilon(1e-5), 6)
    (0.066883, 4.212444)
    """

    components: tuple[TradeoffFunction, ...]
    weights: tuple[float, ...]

    def __init__(
        self, components: Iterable[TradeoffFunction], weights: Iterable[float] | None = None
    ) -> None:
        parts = tuple(components)
        if not parts:
            raise InvalidInput("components", parts, "is empty", "give at least one function")
        shares = np.full(len(parts), 1.0) if weights is None else np.asarray(list(weights))
        shares = array_in("weights", shares, 0.0, open_high=True)
        if shares.size != len(parts) or not shares.sum() > 0:
            raise InvalidInput(
                "weights", shares.tolist(), "does not fit", f"give {len(parts)} positive weights"
            )
        object.__setattr__(self, "components", parts)
        object.__setattr__(self, "weights", tuple((shares / shares.sum()).tolist()))

    @property
    def symmetric(self) -> bool:
        return all(f.symmetric for f in self.components)

    def inverse(self) -> TradeoffFunction:
        return Mixture((f.inverse() for f in self.components), self.weights)

    def _delta(self, epsilon: Array) -> Array:
        total = np.zeros(epsilon.shape)
        for f, w in zip(self.components, self.weights, strict=True):
            total += w * f._delta(epsilon)
        return total * (1 + 2e-16 * (2 + len(self.components)))

    def _log_moment(self, order: float) -> float:
        terms = [f._log_moment(order) for f in self.components]
        top = max(terms)
        if math.isinf(top):
            return top
        pairs = zip(self.weights, terms, strict=True)
        return top + math.log(math.fsum(w * math.exp(m - top) for w, m in pairs))
