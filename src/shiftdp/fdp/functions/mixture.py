"""Mixtures: which of several mechanisms ran is drawn at random, and revealed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array, array_in
from shiftdp._errors import InvalidInput
from shiftdp._rounding import (
    EIGHTEEN_ROUNDINGS,
    LEAST_FLOAT,
    NINE_ROUNDINGS,
    THREE_ROUNDINGS,
    scaled_up,
)
from shiftdp.fdp.functions.gaussian import GaussianTradeoff, gaussian_profiles
from shiftdp.fdp.tradeoff import TradeoffFunction, several

__all__ = ["Mixture", "log_mean_moment", "worst_gaussian"]

_AT_ONCE = 256  # Gaussians in one array: more of them would leave the cache


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

    type_name = "mixture"

    components: tuple[TradeoffFunction, ...]
    weights: tuple[float, ...]

    def __init__(
        self, components: Iterable[TradeoffFunction], weights: Iterable[float] | None = None
    ) -> None:
        parts = several("components", components)
        shares = np.full(len(parts), 1.0) if weights is None else np.asarray(list(weights))
        shares = array_in("weights", shares, 0.0, open_high=True)
        if shares.shape != (len(parts),) or not shares.max() > 0:
            raise InvalidInput(
                "weights", shares.tolist(), "does not fit", f"give {len(parts)} positive weights"
            )
        if (
            shares.max() > 1.0 or abs(math.fsum(shares) - 1.0) > THREE_ROUNDINGS
        ):  # else they are shares
            shares = shares / shares.max()
            shares = shares / math.fsum(shares)
        object.__setattr__(self, "components", parts)
        object.__setattr__(self, "weights", tuple(shares.tolist()))

    @property
    def symmetric(self) -> bool:
        return all(f.symmetric for f in self.components)

    def inverse(self) -> TradeoffFunction:
        if self.symmetric:
            return self
        return Mixture((f.inverse() for f in self.components), self.weights)

    def _delta(self, epsilon: Array) -> Array:
        total = np.zeros(epsilon.shape)
        gaussians: list[tuple[float, float]] = []
        for f, w in zip(self.components, self.weights, strict=True):
            if isinstance(f, GaussianTradeoff):
                gaussians.append((f.mu, w))
            else:
                total += scaled_up(w, f._delta(epsilon))
        # a random order of batches has hundreds of Gaussians, which are evaluated together
        for part in range(0, len(gaussians), _AT_ONCE):
            mu, weight = np.array(gaussians[part : part + _AT_ONCE]).T
            total += scaled_up(weight[:, None], gaussian_profiles(mu, epsilon)).sum(axis=0)
        more = (
            total * (1 + THREE_ROUNDINGS * (4 + len(self.components))) + LEAST_FLOAT
        )  # of subnormal numbers
        return np.where(total > 0.0, more, 0.0)

    def _gaussian_below(self) -> tuple[float, float]:
        return worst_gaussian(self.components)

    def _deflated(self, factor: float) -> TradeoffFunction:
        return Mixture((f._deflated(factor) for f in self.components), self.weights)

    @property
    def composed(self) -> bool:
        return any(f.composed for f in self.components)

    def _log_moment(self, order: float) -> float:
        parts = zip(self.weights, self.components, strict=True)
        return log_mean_moment([(w, f._log_moment(order)) for w, f in parts if w > 0])


def worst_gaussian(components: Iterable[TradeoffFunction]) -> tuple[float, float]:
    """mu and q with f >= G(mu) (x) h_q for each of these functions."""
    parts = [f._gaussian_below() for f in components]
    return max(mu for mu, _ in parts), max(q for _, q in parts)


def log_mean_moment(weighted: list[tuple[float, float]]) -> float:
    """log(1 + sum_i w_i (e^{m_i} - 1)) for pairs (w_i, m_i >= 0), rounded up."""
    top = max(m for _, m in weighted)
    if top < 1.0:  # here a logarithm of 1 + ... would lose digits
        return math.log1p(math.fsum(w * math.expm1(m) for w, m in weighted)) * (
            1 + EIGHTEEN_ROUNDINGS
        )
    if math.isinf(top):
        return top
    rest = (1.0 - math.fsum(w for w, _ in weighted)) * math.exp(-top)
    total = math.fsum([rest, *(w * math.exp(m - top) for w, m in weighted)])
    return (top + math.log(total)) + NINE_ROUNDINGS * (1.0 + top)
