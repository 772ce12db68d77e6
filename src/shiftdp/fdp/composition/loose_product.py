"""Bounds on a product that need no grid: loose, but always available.

There are two, and each answer is the smaller of them.

*Gaussians.* Every factor is bounded by a Gaussian and a failure, f_i >= G(mu_i) (x) h_{q_i}, so
the product is bounded by G(sqrt(sum k_i mu_i^2)) (x) h_q, 1 - q = prod (1 - q_i)^k_i.

*Moments.* Losses add up, so K(a) = log E_P[(dQ/dP)^a] of the product is the sum of those of its
factors, and for every order a > 1 [BBG20, Thm 20]

    delta(eps) <= exp(K(a) - (a - 1) eps) (1 - 1/a)^(a-1) / a.

Every order gives a bound; the best of a fixed table is taken. Divided by a - 1 the logarithm of the
bound first falls and then rises with a, so that for one delta a part of the table is enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import NoClosedForm
from shiftdp._rounding import LEAST_FLOAT, NINE_ROUNDINGS
from shiftdp.fdp.tradeoff import TradeoffFunction

_ORDERS = 1.0 + np.geomspace(1e-6, 1e5, 67)  # Renyi orders that are tried
_APART = 8  # orders of the table that are looked at first lie so far apart
_U = 4e-15  # more than the roundings of a few operations
_HYPOT = 1e-14  # 90 roundings, for the length of a vector of many factors


@dataclass(frozen=True, eq=False)
class LooseProduct:
    """The profile of a product of tradeoff functions with multiplicities, from above.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> product = LooseProduct([(GaussianTradeoff(1.0).subsample(0.01), 1000)])
    >>> print(product.epsilon(np.array([1e-5])).round(3))
    [2.46]
    """

    factors: Sequence[tuple[TradeoffFunction, int]]

    def inverse(self) -> LooseProduct:
        return LooseProduct([(f.inverse(), k) for f, k in self.factors])

    def delta(self, epsilon: Array) -> Array:
        gaussian = np.minimum(self.gaussian._delta(epsilon), 1.0)
        a, moment = self._moments
        if a.size == 0:
            return gaussian
        # an order at which inf - inf comes up gives no bound
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scaled = np.multiply.outer(epsilon, a - 1.0)
            fixed = moment + (a - 1.0) * np.log1p(-1.0 / a) - np.log(a)
            size = np.abs(moment) + (a - 1.0) + np.log(a) + np.abs(scaled)
            bounds = np.exp(np.minimum(fixed - scaled + _U * size, 1.0)) + LEAST_FLOAT
        return np.asarray(np.minimum(gaussian, np.nan_to_num(bounds, nan=1.0).min(axis=1)))

    def epsilon(self, delta: Array) -> Array:
        found = self.gaussian._epsilon(delta)
        if delta.size != 1:
            return np.asarray(np.minimum(found, _least_epsilon(delta, *self._moments)))
        last = len(_ORDERS) - 1
        some = sorted({*range(0, last, _APART), last})
        each = [float(_least_epsilon(delta, *self._moments_of([i]))[0]) for i in some]
        best = min(range(len(some)), key=each.__getitem__)
        near = range(some[max(best - 1, 0)], some[min(best + 1, len(some) - 1)] + 1)
        least = _least_epsilon(delta, *self._moments_of(near))
        return np.asarray(np.minimum(found, least))

    @cached_property
    def gaussian(self) -> TradeoffFunction:
        """The Gaussian bound: the product of what lies below each factor, up to a failure."""
        from shiftdp.fdp.functions.failure import WithFailure
        from shiftdp.fdp.functions.gaussian import GaussianTradeoff

        parts = [(f._gaussian_below(), k) for f, k in self.factors]
        mu = math.hypot(*(mu * math.sqrt(k) for (mu, _), k in parts)) * (1.0 + _HYPOT)
        failure = min(1.0, math.fsum(k * q for (_, q), k in parts) * (1.0 + NINE_ROUNDINGS))
        gaussian = GaussianTradeoff(mu)
        return WithFailure(gaussian, failure) if failure > 0.0 else gaussian

    @property
    def _moments(self) -> tuple[Array, Array]:
        """Orders, and log E_P[(dQ/dP)^order] from above, where it is finite."""
        return self._moments_of(range(len(_ORDERS)))

    def _moments_of(self, table: Sequence[int]) -> tuple[Array, Array]:
        """`_moments` at some orders only, given by their places in the table of orders."""
        known = [(i, self._moment(i)) for i in table]
        finite = [(float(_ORDERS[i]), moment) for i, moment in known if math.isfinite(moment)]
        return np.array([a for a, _ in finite]), np.array([moment for _, moment in finite])

    def _moment(self, i: int) -> float:
        """At the i-th order of the table; infinite also where there is no formula for it."""
        if i not in self._made:
            try:
                total = math.fsum(k * f._log_moment(float(_ORDERS[i])) for f, k in self.factors)
            except (NoClosedForm, OverflowError):
                total = math.inf
            finite = math.isfinite(total)
            self._made[i] = max(total, 0.0) * (1.0 + NINE_ROUNDINGS) if finite else math.inf
        return self._made[i]

    @cached_property
    def _made(self) -> dict[int, float]:
        """Moments by their place in the table: they may be costly."""
        return {}


def _least_epsilon(delta: Array, a: Array, moment: Array) -> Array:
    """The least epsilon at each delta that these orders and moments prove."""
    if a.size == 0:
        return np.full(delta.shape, math.inf)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        parts = (
            moment / (a - 1.0),
            np.log1p(-1.0 / a),
            -np.log(delta)[:, None] / (a - 1.0),
            -np.log(a) / (a - 1.0),
        )
        total = sum(parts) + _U * sum(np.abs(part) for part in parts)
    least = np.nan_to_num(total, nan=math.inf, posinf=math.inf).min(axis=1)
    return np.asarray(np.maximum(least, 0.0))
