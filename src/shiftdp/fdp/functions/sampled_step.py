"""What tradeoff functions between Gaussians with a random mean have in common.

The mean W says how much a record took part: in one noisy step (`SampledStep`), or in all of them
(`hidden`). With batches of a random size the pair of laws is one of two, `ZeroOut` and
`ReplaceOne`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shiftdp._checks import Array, number_in, probability
from shiftdp._errors import InvalidInput
from shiftdp._rounding import LEAST_FLOAT
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.pairs.mean_guesses import guess_backward, guess_forward, guess_two_sided
from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.fdp.pairs.mean_profiles import backward_profile, forward_profile, two_sided_profile
from shiftdp.fdp.pairs.mean_rates import NORMAL_RATE, MeanRate
from shiftdp.fdp.pairs.profiles import (
    between,
    epsilon_from_profile,
    reflected,
    sum_up,
    tangents,
    upper_point,
    widest,
)
from shiftdp.fdp.renyi.line import line_log_moment
from shiftdp.fdp.tradeoff import TradeoffFunction

_NEAREST, _FARTHEST = 1e-300, 1e150
"""Of means, in deviations: quotients by the one and squares of the other are floats."""


class RandomMean(TradeoffFunction):
    """A function of the law of W.

    A subclass gives the profile, the curve and the moments where W takes two values or more; where
    it takes one, the function is a Gaussian.
    """

    def __post_init__(self) -> None:
        """A subclass checks its fields."""

    @property
    @abstractmethod
    def _law(self) -> MeanLaw: ...

    @abstractmethod
    def _profile(self, epsilon: Array) -> tuple[Array, Array]:
        """delta, rounded up, and -d delta/d eps for eps >= 0."""

    def _back(self, epsilon: Array) -> tuple[Array, Array]:
        """The profile of the inverse function."""
        return self._profile(epsilon)

    def _guess(self, delta: Array) -> Array | None:
        """About the epsilon of each delta, where it is known."""
        return None

    @abstractmethod
    def _curve(self, alpha: Array) -> Array:
        """f for 0 < alpha < 1."""

    @abstractmethod
    def _own_log_moment(self, order: float) -> float:
        """log E_P[(dQ/dP)^order], rounded up."""

    # --- what follows ---

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def _span(self) -> float:
        """The largest distance of two means."""
        return self._law.largest

    @property
    def _simple(self) -> GaussianTradeoff | None:
        """G(mu), where W is a number."""
        return GaussianTradeoff(self._span) if self._law.size == 1 else None

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
        start = self._guess(np.clip(delta, LEAST_FLOAT, 1.0))
        return epsilon_from_profile(self._profile, delta, widest(self._span), start)

    def _beta(self, alpha: Array) -> Array:
        return between(self._curve, alpha) if self._simple is None else self._simple._beta(alpha)

    def _log_moment(self, order: float) -> float:
        if self._simple is not None:
            return self._simple._log_moment(order)
        return self._own_log_moment(order)

    @property
    def gdp_mu(self) -> float | None:
        return None if self._simple is None else self._simple.mu

    def _gaussian_below(self) -> tuple[float, float]:
        """The farthest pair of components bounds all, as divergences are jointly convex."""
        return self._span, 0.0


class ZeroOut(RandomMean):
    """T(E N(W, 1), N(0, 1)), or with `swapped` T(N(0, 1), E N(W, 1))."""

    swapped: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.swapped, bool):
            raise InvalidInput(
                "swapped", self.swapped, "is not a truth value", "give True or False"
            )

    @property
    def symmetric(self) -> bool:
        return self._simple is not None

    def inverse(self) -> TradeoffFunction:
        return self if self.symmetric else replace(self, swapped=not self.swapped)  # type: ignore[type-var]

    @property
    def _record_first(self) -> bool | None:
        return None if self.symmetric else not self.swapped

    def _profile(self, epsilon: Array) -> tuple[Array, Array]:
        profile = forward_profile if self.swapped else backward_profile
        return profile(self._law, epsilon)

    def _back(self, epsilon: Array) -> tuple[Array, Array]:
        profile = backward_profile if self.swapped else forward_profile
        return profile(self._law, epsilon)

    def _guess(self, delta: Array) -> Array:
        guess = guess_forward if self.swapped else guess_backward
        return guess(self._law, delta).epsilon

    def _own_log_moment(self, order: float) -> float:
        weights, means = self._law.weight.ravel().tolist(), self._law.mean.ravel().tolist()
        above, below = means, [0.0] * len(means)
        if not self.swapped:
            above, below = below, above
        return line_log_moment(weights, above, below, order)

    def _curve(self, alpha: Array) -> Array:
        """T(N(0), mixture) is alpha = Phi(-x) -> the mixture's mass left of x; else its inverse."""
        left = MeanRate(self._law)
        if self.swapped:
            return left.down(upper_point(alpha))
        return NORMAL_RATE.down(-left.argument_up(alpha))


class ReplaceOne(RandomMean):
    """T(E N(-W, 1), E N(W, 1))."""

    @property
    def _span(self) -> float:
        return 2.0 * self._law.largest

    def _profile(self, epsilon: Array) -> tuple[Array, Array]:
        return two_sided_profile(self._law, epsilon)

    def _guess(self, delta: Array) -> Array:
        return guess_two_sided(self._law, delta).epsilon

    def _own_log_moment(self, order: float) -> float:
        means = self._law.mean.ravel().tolist()
        return line_log_moment(self._law.weight.ravel().tolist(), means, means, order)

    def _curve(self, alpha: Array) -> Array:
        """alpha is the mass of E N(-W) right of x, f that of E N(W) left of x."""
        left = MeanRate(self._law)
        return left.down(-left.argument_up(alpha))


@dataclass(frozen=True)
class SampledStep(RandomMean):
    """One noisy step: participation p, shift a, sensitivity s, the last two in units of the noise.

    W is a + s with probability p, else a. It is a number where p is 0 or 1, or s is not felt.
    """

    p: float
    a: float
    s: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability("p", self.p))
        a, s = (number_in(name, getattr(self, name), 0.0, _FARTHEST) for name in ("a", "s"))
        # a larger a leaks more, and this much is felt by nobody
        object.__setattr__(self, "a", max(a, _NEAREST) if a > 0.0 else a)
        object.__setattr__(self, "s", s)

    @cached_property
    def _law(self) -> MeanLaw:
        return self._law_from(self.a)

    def _law_from(self, a: float) -> MeanLaw:
        d = sum_up(a, self.s)
        if self.p in (0.0, 1.0) or d == a:
            return MeanLaw.of((d if self.p == 1.0 else a,), (1.0,))
        return MeanLaw.of((a, d), (1.0 - self.p, self.p))
