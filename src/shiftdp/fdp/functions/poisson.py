"""One noisy step under Poisson sampling: a record takes part with probability p. [Theorem B3]

The step's input may be off by a, and the record moves it by at most s, in units of the noise.

zero-out: the record is there or not. The pair is ((1-p) N(a) + p N(a+s), N(0)); it is not
symmetric, so a run composes each direction on its own and takes the worse at the end.

replace-one: the record is exchanged. The pair is
((1-p) N(-a) + p N(-a-s), (1-p) N(0) + p N(s)), which x -> -a - x exchanges. With a = 0 it is
R(s, 1, p) of the paper, which conjectured that it is the worst case; it is [BSA24, Lemma cpgdpinf,
footnote].

All likelihood ratios are monotone: see `pairs.profiles`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from shiftdp._checks import Array
from shiftdp._errors import InvalidInput
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.functions.sampled_step import SampledStep
from shiftdp.fdp.functions.subsampling import Subsampled
from shiftdp.fdp.pairs.error_rates import Rate, upper_point
from shiftdp.fdp.pairs.profiles import (
    backward_profile,
    forward_profile,
    sum_up,
    two_sided_profile,
)
from shiftdp.fdp.renyi.line import line_log_moment
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["PoissonReplaceOne", "PoissonZeroOut"]

_NORMAL = Rate(0.0, (0.0, 0.0))
_WIDE = 10.0  # the largest mu for which a Gaussian gives its tangents


@dataclass(frozen=True)
class PoissonZeroOut(SampledStep):
    """T((1-p) N(a) + p N(a+s), N(0)), or with `swapped` T(N(0), (1-p) N(a) + p N(a+s)).

    >>> f = PoissonZeroOut(p=0.01, a=0.0, s=1.0)
    >>> round(f.delta(0.005), 9), round(f.inverse().delta(0.005), 9)
    (0.000963144, 0.002635151)
    """

    type_name = "poisson_zero_out"

    swapped: bool = False

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
        return self if self.symmetric else replace(self, swapped=not self.swapped)

    @property
    def _record_first(self) -> bool | None:
        return None if self.symmetric else not self.swapped

    def _profile(self, epsilon: Array) -> tuple[Array, Array]:
        profile = forward_profile if self.swapped else backward_profile
        return profile(self.p, self.a, self._d, epsilon)

    def _back(self, epsilon: Array) -> tuple[Array, Array]:
        profile = backward_profile if self.swapped else forward_profile
        return profile(self.p, self.a, self._d, epsilon)

    def _tangents(self, epsilon: Array) -> tuple[Array, Array]:
        if self._simple is None and self.swapped and self.a == 0.0 and self.s <= _WIDE:
            # for eps >= 0 the profile of C_p(G(s)), which needs no threshold
            return Subsampled(GaussianTradeoff(self.s), self.p)._tangents(epsilon)
        return super()._tangents(epsilon)

    def _own_log_moment(self, order: float) -> float:
        mixture, normal = (self.a, self._d), (0.0, 0.0)
        above, below = (mixture, normal) if self.swapped else (normal, mixture)
        return line_log_moment((1.0 - self.p, self.p), above, below, order)

    def _curve(self, alpha: Array) -> Array:
        """T(N(0), mixture) is alpha = Phi(-x) -> the mixture's mass left of x; else its inverse."""
        left = Rate(self.p, (self.a, self._d))
        if self.swapped:
            return left.down(upper_point(alpha))
        return _NORMAL.down(-left.argument_up(alpha))


@dataclass(frozen=True)
class PoissonReplaceOne(SampledStep):
    """T((1-p) N(-a) + p N(-a-s), (1-p) N(0) + p N(s)).

    >>> f = PoissonReplaceOne(p=0.01, a=0.0, s=1.0)
    >>> round(f.delta(0.01), 9), round(f.epsilon(1e-5), 9)
    (0.003327579, 0.209371556)
    """

    type_name = "poisson_replace_one"

    @property
    def _span(self) -> float:
        return sum_up(self._d, self.s)

    def _profile(self, epsilon: Array) -> tuple[Array, Array]:
        return two_sided_profile(self.p, self.a, self.s, epsilon)

    def _own_log_moment(self, order: float) -> float:
        weights = 1.0 - self.p, self.p
        return line_log_moment(weights, (self.a, self._d), (0.0, self.s), order)

    def _curve(self, alpha: Array) -> Array:
        """alpha is the mass of (1-p) N(0) + p N(-s) right of x, f that of the other left of x."""
        right, left = Rate(self.p, (0.0, self.s)), Rate(self.p, (self.a, self._d))
        return left.down(-right.argument_up(alpha))
