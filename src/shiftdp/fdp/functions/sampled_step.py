"""What all laws of one noisy step with random participation have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from shiftdp._checks import Array, finite, probability
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.pairs.error_rates import between
from shiftdp.fdp.pairs.profiles import (
    epsilon_from_profile,
    reflected,
    sum_up,
    tangents,
    widest,
)
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["SampledStep"]


@dataclass(frozen=True)
class SampledStep(TradeoffFunction):
    """Participation p, shift a, sensitivity s, the last two in units of the noise.

    A subclass says how far its means are apart, and gives the profile and the curve where p is
    neither 0 nor 1 and s is felt; elsewhere the step is a Gaussian.
    """

    p: float
    a: float
    s: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability("p", self.p))
        object.__setattr__(self, "a", finite("a", self.a, 0.0))
        object.__setattr__(self, "s", finite("s", self.s, 0.0))

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def _d(self) -> float:
        """a + s."""
        return sum_up(self.a, self.s)

    @property
    def _span(self) -> float:
        """The largest distance of two means."""
        return self._d

    @abstractmethod
    def _profile(self, epsilon: Array) -> tuple[Array, Array]:
        """delta, rounded up, and -d delta/d eps for eps >= 0."""

    def _back(self, epsilon: Array) -> tuple[Array, Array]:
        """The same for the inverse."""
        return self._profile(epsilon)

    @abstractmethod
    def _own_log_moment(self, order: float) -> float:
        """log E_P[(dQ/dP)^order], rounded up."""

    @abstractmethod
    def _curve(self, alpha: Array) -> Array:
        """f for 0 < alpha < 1."""

    @property
    def _simple(self) -> GaussianTradeoff | None:
        """G(mu), where it is that."""
        if self.p == 1.0:
            return GaussianTradeoff(self._span)
        return GaussianTradeoff(self.a) if self.p == 0.0 or self._span == self.a else None

    def _delta(self, epsilon: Array) -> Array:
        if self._simple is not None:
            return self._simple._delta(epsilon)
        return reflected(epsilon, self._profile, self._back)

    @property
    def _smooth(self) -> bool:
        return self._simple is None or self._simple._smooth

    def _tangents(self, epsilon: Array) -> tuple[Array, Array]:
        if self._simple is not None:
            return self._simple._tangents(epsilon)
        return tangents(self._profile, epsilon)

    def _epsilon(self, delta: Array) -> Array:
        if self._simple is not None:
            return self._simple._epsilon(delta)
        return epsilon_from_profile(self._profile, delta, widest(self._span))

    def _log_moment(self, order: float) -> float:
        if self._simple is not None:
            return self._simple._log_moment(order)
        return self._own_log_moment(order)

    @property
    def gdp_mu(self) -> float | None:
        return None if self._simple is None else self._simple.mu

    def _gaussian_below(self) -> tuple[float, float]:
        """Of the pairs of components none is farther apart, and divergences are jointly convex."""
        return self._span, 0.0

    def _beta(self, alpha: Array) -> Array:
        return between(self._curve, alpha) if self._simple is None else self._simple._beta(alpha)
