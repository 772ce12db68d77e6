"""Subsampling: C_p(f). [BSA24, Def cp; DRS22, Def 6]

With f_p = p f + (1 - p) Id, the operator is C_p(f) = min{f_p, f_p^-1}**. In profiles, for any f,

    delta_{f_p}(eps) = p delta_f(log(1 + (e^eps - 1)/p))      where e^eps > 1 - p, else 1 - e^eps,

and C_p(f) has the larger of the profiles of f_p and of its inverse (which `_backward` states): no
search is needed.
For symmetric f the larger is that of f_p for eps >= 0 and that of the inverse for eps < 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array, probability
from shiftdp._roots import most
from shiftdp._rounding import EIGHTEEN_ROUNDINGS, HUGE, NINE_ROUNDINGS, THREE_ROUNDINGS, scaled_up
from shiftdp.fdp.functions.identity import Identity
from shiftdp.fdp.renyi.halves import halves_log_moment
from shiftdp.fdp.renyi.sampled_profile import sampled_log_moment
from shiftdp.fdp.tradeoff import TradeoffFunction, tradeoff

_UP, _DOWN = 1 + NINE_ROUNDINGS, 1 - NINE_ROUNDINGS  # one exponential or logarithm, and products
_LINE = 3e-16  # two roundings of the differences 1 - delta - alpha
_CLEAR = 1e-3  # a fixed point above it is not lost in the difference that it is computed by
_LARGEST_INNER = 500.0  # e^500 is a float, and beyond e^eps - 1 = e^eps to the last digit
_NEVER = -800.0  # log(1 - p) for p = 1: e^-800 is 0
_LARGE = 1.0  # eps up to which e^eps - 1 is divided by p, which may be as small as 1e-300


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

    type_name = "subsampled"

    base: TradeoffFunction
    p: float

    def __post_init__(self) -> None:
        tradeoff("base", self.base)
        object.__setattr__(self, "p", probability("p", self.p, open_low=True))

    @property
    def symmetric(self) -> bool:
        return True

    def _forward(self, epsilon: Array) -> Array:
        """The profile of f_p = T(P, Q_p), Q_p = (1 - p) P + p Q."""
        *_, inner = _tilted(-epsilon, self.p)
        return scaled_up(self.p, self.base._delta(-inner))

    def _backward(self, epsilon: Array) -> Array:
        """The profile of f_p^-1 = T(Q_p, P): P - gamma Q_p is (1 - gamma (1-p)) P - gamma p Q."""
        share, inner, _ = _tilted(epsilon, self.p)
        return scaled_up(share * _UP, self.base.inverse()._delta(inner))

    def _delta(self, epsilon: Array) -> Array:
        least = -np.expm1(np.minimum(epsilon, 0.0))
        if self.base.symmetric:
            delta = self._forward(np.abs(epsilon))
            return np.where(epsilon >= 0, delta, (least + np.exp(-np.abs(epsilon)) * delta) * _UP)
        delta = np.maximum(self._forward(epsilon), self._backward(epsilon))
        return np.maximum(delta, least * _UP)

    @property
    def _smooth(self) -> bool:
        return self.base.symmetric and self.base._smooth

    def _tangents(self, epsilon: Array) -> tuple[Array, Array]:
        # rounded down, so that delta is rounded up
        delta, tail = self.base._tangents(
            _before_sampling(epsilon, self.p) * (1.0 - EIGHTEEN_ROUNDINGS)
        )
        return scaled_up(self.p, delta), tail

    @property
    def composed(self) -> bool:
        return self.base.composed

    def _gaussian_below(self) -> tuple[float, float]:
        """C_p(f) >= g wherever f >= g for a symmetric g, as g <= Id."""
        return self.base._gaussian_below()

    def _log_moment(self, order: float) -> float:
        mu = self.base.gdp_mu
        if mu and self.p < 1.0:
            return halves_log_moment(self.p, 0.0, mu, order)
        return sampled_log_moment(self, self.base, self.p, order)

    def _epsilon(self, delta: Array) -> Array:
        if not self.base.symmetric:
            return super()._epsilon(delta)
        # delta = p delta_f(inner) and eps = log(1 - p + p e^inner)
        inner = self.base._epsilon(np.minimum(delta / self.p * _DOWN, 1.0))
        epsilon = np.log1p(self.p * np.expm1(np.minimum(inner, _LARGEST_INNER))) * _UP
        epsilon = np.where(inner > _LARGEST_INNER, inner * _UP + math.log(self.p) * _DOWN, epsilon)
        # delta/p was rounded down, perhaps to below delta_f(inf), where no eps would be enough
        at_floor = np.isinf(epsilon) & (delta >= self._delta(np.full(1, math.inf)))
        if at_floor.any():
            epsilon[at_floor] = super()._epsilon(delta[at_floor])
        return epsilon

    def epsilon_below(self, delta: float, inflation: float = 0.0) -> float:
        """By a number that is not above the epsilon of f: for small p, the part that an epsilon is
        off by is the whole of what that of f is, which may be many times as large."""
        if not self.base.symmetric:
            return super().epsilon_below(delta, inflation)
        inner = self.base.epsilon_below(min(delta / self.p * _UP, 1.0), inflation)
        if inner > _LARGEST_INNER:
            return max(0.0, inner * _DOWN + math.log(self.p) * _UP)
        return math.log1p(self.p * math.expm1(inner)) * _DOWN

    def _beta(self, alpha: Array) -> Array:
        if not self.base.symmetric:
            return super()._beta(alpha)
        # f_p up to the x with f(x) = x, then the line of slope -1, then f_p^-1
        x = self._fixed_point()
        line = 1.0 - float(self._delta(np.zeros(1))[0]) - alpha - _LINE
        beta = np.where(alpha < x, self._mixed(alpha), line)
        right = alpha > float(self._mixed(np.array([x]))[0])
        if right.any():
            # f_p^-1(y): the last point where f_p is still above y
            y = alpha[right]
            last = most(lambda a: self._mixed(a) > y, np.zeros(y.shape), np.full(y.shape, x))
            beta[right] = np.maximum(beta[right], last)
        return np.maximum(beta, 0.0)

    def _fixed_point(self) -> float:
        """x with f(x) = x, rounded down: there the slope of f passes -1."""
        x = 0.5 * (1.0 - float(self.base._delta(np.zeros(1))[0]))
        if x > _CLEAR:  # 1 - 2x is the total variation
            return x * _DOWN
        start = np.array([0.0])
        return float(most(lambda a: self.base._beta(a) > a, start, np.array([_CLEAR]))[0])

    def _mixed(self, alpha: Array) -> Array:
        """f_p."""
        return (self.p * self.base._beta(alpha) + (1.0 - self.p) * (1.0 - alpha)) * _DOWN


def _before_sampling(epsilon: Array, p: float) -> Array:
    """log(1 + (e^eps - 1)/p) for eps >= 0, to a few ulps of eps - log p; no power overflows."""
    near = np.log1p(np.expm1(np.minimum(epsilon, _LARGE)) / p)
    large = np.maximum(epsilon, _LARGE)
    far = large + np.log1p((p - 1.0) * np.exp(-large)) - math.log(p)
    return np.where(epsilon < _LARGE, near, far)


def _tilted(epsilon: Array, p: float) -> tuple[Array, Array, Array]:
    """1 - gamma (1 - p), rounded up, and a lower and an upper bound on the epsilon of gamma p over
    it, gamma = e^epsilon. Where gamma (1 - p) > 1 these are 0 and infinity.
    """
    log_rest = math.log1p(-p) if p < 1.0 else _NEVER
    gap = epsilon + log_rest  # log of gamma (1 - p), with this error:
    noise = THREE_ROUNDINGS * (np.minimum(np.abs(epsilon), HUGE) - log_rest)
    share = -np.expm1(np.minimum(gap, 0.0))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        change = np.expm1(np.minimum(-epsilon, _LARGE)) / p
        far = change < -0.5  # there the logarithm of 1 + change has lost its digits
        inner = np.where(far, epsilon + math.log(p) - np.log(share), -np.log1p(change))
        inner = np.where(epsilon < -_LARGE, -_before_sampling(np.abs(epsilon), p), inner)
        error = NINE_ROUNDINGS * np.abs(inner)
        error += np.where(
            far, NINE_ROUNDINGS * (np.abs(epsilon) - math.log(p)) - 2 * noise / gap, 0.0
        )
        known = gap < -2 * noise
        low = np.where(known & np.isfinite(inner), inner - error, -math.inf)
        high = np.where(known, np.where(np.isfinite(inner), inner + error, inner), math.inf)
        share = np.minimum(share + noise * np.exp(np.minimum(gap, 0.0)), 1.0)
    return np.where(gap < noise, share, 0.0), low, high
