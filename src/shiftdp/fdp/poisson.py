"""One noisy step under Poisson sampling: a record takes part with probability p. [Theorem B3]

The step's input may be off by a, and the record moves it by at most s, in units of the noise.

zero-out: the record is there or not. The pair is ((1-p) N(a) + p N(a+s), N(0)); it is not
symmetric, so a run composes each direction on its own and takes the worse at the end.

replace-one: the record is exchanged. The pair is
((1-p) N(-a) + p N(-a-s), (1-p) N(0) + p N(s)), which x -> -a - x exchanges. With a = 0 it is
R(s, 1, p) of the paper, which conjectured that it is the worst case; it is [BSA24, Lemma cpgdpinf,
footnote].

All likelihood ratios are monotone: see `gaussian_mixture`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from shiftdp._checks import Array, finite, number_in
from shiftdp._errors import InvalidInput
from shiftdp.fdp.gaussian import GaussianTradeoff
from shiftdp.fdp.gaussian_mixture import (
    backward_profile,
    epsilon_from_profile,
    forward_profile,
    reflected,
    sum_up,
    tangents,
    two_sided_profile,
    widest,
)
from shiftdp.fdp.mixture_curve import Rate, between, upper_point
from shiftdp.fdp.subsampling import Subsampled
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["PoissonReplaceOne", "PoissonZeroOut"]

_NORMAL = Rate(0.0, (0.0, 0.0))
_WIDE = 10.0  # up to here a Gaussian knows its tangents


@dataclass(frozen=True)
class PoissonZeroOut(TradeoffFunction):
    """T((1-p) N(a) + p N(a+s), N(0)), or with `swapped` T(N(0), (1-p) N(a) + p N(a+s)).

    >>> f = PoissonZeroOut(p=0.01, a=0.0, s=1.0)
    >>> round(f.delta(0.005), 9), round(f.inverse().delta(0.005), 9)
    (0.000963144, 0.002635151)
    """

    p: float
    a: float
    s: float
    swapped: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", number_in("p", self.p, 0.0, 1.0))
        object.__setattr__(self, "a", finite("a", self.a, 0.0))
        object.__setattr__(self, "s", finite("s", self.s, 0.0))
        if not isinstance(self.swapped, bool):
            raise InvalidInput(
                "swapped", self.swapped, "is not a truth value", "give True or False"
            )

    @property
    def symmetric(self) -> bool:
        return self._simple is not None

    def inverse(self) -> TradeoffFunction:
        return self if self.symmetric else replace(self, swapped=not self.swapped)

    @property
    def _d(self) -> float:
        return sum_up(self.a, self.s)

    @property
    def _simple(self) -> GaussianTradeoff | None:
        """G(mu), where it is that."""
        if self.p == 1.0:
            return GaussianTradeoff(self._d)
        return GaussianTradeoff(self.a) if self.p == 0.0 or self._d == self.a else None

    def _mixture_first(self, epsilon: Array) -> tuple[Array, Array]:
        return forward_profile(self.p, self.a, self._d, epsilon)

    def _mixture_last(self, epsilon: Array) -> tuple[Array, Array]:
        return backward_profile(self.p, self.a, self._d, epsilon)

    def _delta(self, epsilon: Array) -> Array:
        if self._simple is not None:
            return self._simple._delta(epsilon)
        if self.swapped:
            return reflected(epsilon, self._mixture_first, self._mixture_last)
        return reflected(epsilon, self._mixture_last, self._mixture_first)

    @property
    def _smooth(self) -> bool:
        return self._simple is None or self._simple._smooth

    def _tangents(self, epsilon: Array) -> tuple[Array, Array]:
        if self._simple is not None:
            return self._simple._tangents(epsilon)
        if self.swapped and self.a == 0.0 and self.s <= _WIDE:
            # for eps >= 0 the profile of C_p(G(s)), which needs no threshold
            return Subsampled(GaussianTradeoff(self.s), self.p)._tangents(epsilon)
        return tangents(self._mixture_first if self.swapped else self._mixture_last, epsilon)

    def _epsilon(self, delta: Array) -> Array:
        if self._simple is not None:
            return self._simple._epsilon(delta)
        profile = self._mixture_first if self.swapped else self._mixture_last
        return epsilon_from_profile(profile, delta, widest(self._d))

    def _beta(self, alpha: Array) -> Array:
        """T(N(0), mixture) is alpha = Phi(-x) -> the mixture's mass left of x; else its inverse."""
        if self._simple is not None:
            return self._simple._beta(alpha)
        left = Rate(self.p, (self.a, self._d))
        if self.swapped:
            return between(lambda t: left.down(upper_point(t)), alpha)
        return between(lambda t: _NORMAL.down(-left.argument_up(t)), alpha)


@dataclass(frozen=True)
class PoissonReplaceOne(TradeoffFunction):
    """T((1-p) N(-a) + p N(-a-s), (1-p) N(0) + p N(s)).

    >>> f = PoissonReplaceOne(p=0.01, a=0.0, s=1.0)
    >>> round(f.delta(0.01), 9), round(f.epsilon(1e-5), 9)
    (0.003327579, 0.209371556)
    """

    p: float
    a: float
    s: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", number_in("p", self.p, 0.0, 1.0))
        object.__setattr__(self, "a", finite("a", self.a, 0.0))
        object.__setattr__(self, "s", finite("s", self.s, 0.0))

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def _span(self) -> float:
        """a + 2s: the largest distance."""
        return sum_up(sum_up(self.a, self.s), self.s)

    @property
    def _simple(self) -> GaussianTradeoff | None:
        """G(mu), where it is that."""
        if self.p == 1.0:
            return GaussianTradeoff(self._span)
        return GaussianTradeoff(self.a) if self.p == 0.0 or self._span == self.a else None

    def _profile(self, epsilon: Array) -> tuple[Array, Array]:
        return two_sided_profile(self.p, self.a, self.s, epsilon)

    def _delta(self, epsilon: Array) -> Array:
        if self._simple is not None:
            return self._simple._delta(epsilon)
        return reflected(epsilon, self._profile, self._profile)

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

    def _beta(self, alpha: Array) -> Array:
        """alpha is the mass of (1-p) N(0) + p N(-s) right of x, f that of the other left of x."""
        if self._simple is not None:
            return self._simple._beta(alpha)
        right, left = Rate(self.p, (0.0, self.s)), Rate(self.p, (self.a, sum_up(self.a, self.s)))
        return between(lambda t: left.down(-right.argument_up(t)), alpha)
