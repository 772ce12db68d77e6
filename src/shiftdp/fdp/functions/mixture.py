"""Mixtures: which of several mechanisms ran is drawn at random, and revealed.

The epsilons of many mixtures of Gaussians are found at once, each certified by its own profile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from shiftdp._checks import Array, array_in
from shiftdp._errors import InvalidInput
from shiftdp._roots import regula_falsi
from shiftdp._rounding import (
    EIGHTEEN_ROUNDINGS,
    GENEROUS,
    LEAST_FLOAT,
    NINE_ROUNDINGS,
    NOT_ZERO,
    THREE_ROUNDINGS,
    scaled_up,
)
from shiftdp.fdp.functions.gaussian import GaussianTradeoff, gaussian_profiles
from shiftdp.fdp.pairs.gaussian_arrays import gaussian_epsilon_array
from shiftdp.fdp.tradeoff import TradeoffFunction, several

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
        given: Any = np.full(len(parts), 1.0) if weights is None else weights
        # what a generator gives; `array_in` says what is wrong with all else
        listed = [*given] if isinstance(given, Iterator) else given
        shares = array_in("weights", listed, 0.0, open_high=True)
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


_RELATIVE = 1e-12  # the width of the bracket, as a part of epsilon, with which the search ends
_MOST_STEPS = 60  # what is not found by then is left to bisection


def is_gaussian_mixture(f: TradeoffFunction) -> TypeGuard[Mixture]:
    """Whether f is a mixture of Gaussians, none of which leaks everything."""
    return isinstance(f, Mixture) and all(
        isinstance(part, GaussianTradeoff) and part.mu < math.inf for part in f.components
    )


def mixture_epsilons(mixtures: Sequence[Mixture], delta: float) -> Array:
    """`f.epsilon(delta)` of mixtures of Gaussians, to a relative 1e-12 above.

    Regula falsi on log delta between 0 and the epsilon of the worst part, all mixtures in step;
    what is returned has delta(eps) <= delta.

    >>> f = Mixture([GaussianTradeoff(0.5), GaussianTradeoff(1.0)])
    >>> float(mixture_epsilons([f], 1e-5)[0]).__round__(6)
    4.212444
    """
    parts = [np.array([part.mu for part in f.components]) for f in mixtures]  # type: ignore[attr-defined]
    weights = np.concatenate([f.weights for f in mixtures])
    sizes = np.array([part.size for part in parts])
    starts, mu = np.append(0, np.cumsum(sizes)[:-1]), np.concatenate(parts)
    up = 1.0 + THREE_ROUNDINGS * (4.0 + sizes)

    def profile(epsilon: Array) -> Array:
        """delta(eps_i) of the i-th mixture, rounded up as by itself."""
        each = gaussian_profiles(mu, np.repeat(epsilon, sizes)[:, None])[:, 0]
        return np.asarray(np.add.reduceat(scaled_up(weights, each), starts) * up)

    worst = np.maximum.reduceat(mu, starts)
    low = np.zeros(len(mixtures))
    high = gaussian_epsilon_array(worst, np.full(low.shape, delta)) * (1.0 + GENEROUS) + NOT_ZERO

    def excess(epsilon: Array) -> Array:
        """log(delta(eps) / delta), with the exact sign even where the logarithm rounds to 0."""
        reached = profile(epsilon)
        with np.errstate(divide="ignore"):
            value = np.log(reached) - math.log(delta)
        return np.where(reached <= delta, np.minimum(value, 0.0), np.maximum(value, LEAST_FLOAT))

    epsilon, found = regula_falsi(excess, low, high, _RELATIVE, _MOST_STEPS)
    for i in np.flatnonzero(~found).tolist():  # too small for the method
        epsilon[i] = mixtures[i].epsilon(delta)
    return epsilon
