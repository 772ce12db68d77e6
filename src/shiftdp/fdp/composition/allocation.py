"""Random allocation: one of the steps of an epoch moves by s, and nobody learns which. [Theorem A1]

The pair is ((1/l) sum_i N(s e_i, I), N(0, I)) in l dimensions. Its likelihood ratio is the mean of
l independent ratios of N(s, 1) to N(0, 1), whose law `ratio_sums` rounds to what leaks more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shiftdp._checks import LEAST_FINENESS, Array, count, number_in
from shiftdp._errors import InvalidInput
from shiftdp._rounding import AMPLE, INVERTIBLE_EXPONENT, NINE_ROUNDINGS, ULP
from shiftdp.fdp.composition.ratio_sums import RatioLaw, sum_of_ratios
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.pairs.profiles import reflected
from shiftdp.fdp.tradeoff import TradeoffFunction

FINE, ROUGH = 1 / 32, 1 / 8
"""Finenesses: epsilon is about a part of 0.001, and of 0.02, above the exact one."""

_LEAST, _MOST, _MOST_BATCHES = 1e-5, 16.0, 10**6
"""Moves between which a law is computed, and of how many batches at most. Others are bounded by the
Gaussian whose step is known: there, what hiding the step gains is lost in rounding or of no use."""

_FARTHEST = 1e150  # a move whose square is a float


@dataclass(frozen=True)
class AllocatedZeroOut(TradeoffFunction):
    """T((1/l) sum_i N(s e_i, I), N(0, I)) of l `batches`, or with `swapped` the other way round.

    What a grid proves of it: never less private than G(s), of which the place is known, nor more
    than the pair. Intervals of its compositions are about this function, not about the pair.

    Args:
        s: how far the one step moves, in units of its noise.
        batches: l, in one of which it is, each with the same probability.
        fineness: of the grid, in deviations of the likelihood ratio.

    >>> f = AllocatedZeroOut(s=1.0, batches=100)
    >>> round(f.delta(0.2), 5), round(f.inverse().delta(0.2), 5)
    (0.0032, 0.00465)
    """

    type_name = "allocated_zero_out"

    s: float
    batches: int
    fineness: float = FINE
    swapped: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "s", number_in("s", self.s, 0.0, _FARTHEST))
        object.__setattr__(self, "batches", count("batches", self.batches, 1))
        object.__setattr__(
            self, "fineness", number_in("fineness", self.fineness, LEAST_FINENESS, 1.0)
        )
        if not isinstance(self.swapped, bool):
            raise InvalidInput(
                "swapped", self.swapped, "is not a truth value", "give True or False"
            )

    @property
    def _simple(self) -> GaussianTradeoff | None:
        """G(s), where there is one batch, or no law is computed."""
        if 1 < self.batches <= _MOST_BATCHES and _LEAST <= self.s <= _MOST:
            return None
        return GaussianTradeoff(self.s)

    @property
    def symmetric(self) -> bool:
        return self._simple is not None

    def inverse(self) -> TradeoffFunction:
        return self if self.symmetric else self._inverse

    @cached_property
    def _inverse(self) -> AllocatedZeroOut:
        """It shares the law."""
        other = replace(self, swapped=not self.swapped)
        other.__dict__["_law"] = self._law
        other.__dict__["_inverse"] = self
        return other

    @property
    def _record_first(self) -> bool | None:
        return None if self.symmetric else not self.swapped

    @property
    def gdp_mu(self) -> float | None:
        return None if self._simple is None else self.s

    @cached_property
    def _law(self) -> RatioLaw:
        return sum_of_ratios(self.s, self.batches, self.fineness)

    # --- the profile ---

    def _delta(self, epsilon: Array) -> Array:
        gaussian = GaussianTradeoff(self.s)._delta(epsilon)
        if self._simple is not None:
            return gaussian
        there, back = self._profile_with, self._profile_without
        if not self.swapped:
            there, back = back, there
        return np.minimum(reflected(epsilon, there, back), gaussian)

    def _profile_with(self, epsilon: Array) -> tuple[Array, Array]:
        """E (X - gamma)_+, and gamma P(X > gamma): the record's world first."""
        x, sums = self._values, self._sums
        gamma = np.exp(np.minimum(epsilon, INVERTIBLE_EXPONENT) - AMPLE)
        i = np.searchsorted(x, gamma)
        inside = i < x.size
        j = np.minimum(i, x.size - 1)
        part = sums.above[j] + np.maximum(x[j] - gamma, 0.0) * sums.mass_above[j]
        delta = np.where(inside, part, 0.0) * sums.up + self._law.infinite / self.batches
        return delta * (1.0 + AMPLE), gamma * np.where(inside, sums.mass_above[j], 0.0)

    def _profile_without(self, epsilon: Array) -> tuple[Array, Array]:
        """E (1 - gamma X)_+, and gamma E[X; gamma X < 1]: the world without the record first."""
        x, sums = self._values, self._sums
        most = np.exp(-np.minimum(epsilon, INVERTIBLE_EXPONENT) + AMPLE)
        i = np.searchsorted(x, most) - 1
        inside = i >= 0
        j = np.maximum(i, 0)
        part = sums.below[j] + np.maximum(most - x[j], 0.0) * sums.mass_below[j]
        delta = np.where(inside, part / most, 0.0) * sums.up + self._law.zero
        slope = np.where(inside, sums.mass_below[j] - part / most, 0.0)
        return delta * (1.0 + AMPLE), np.maximum(slope, 0.0)

    @cached_property
    def _values(self) -> Array:
        """The values of the mean; float errors of them are less than the AMPLE in gamma."""
        return np.asarray(np.exp(self._law.exponents - math.log(self.batches)))

    @cached_property
    def _sums(self) -> _Sums:
        x, q = self._values, self._law.mass
        above, below = np.cumsum(q[::-1])[::-1], np.cumsum(q)
        gaps = np.diff(x)
        return _Sums(
            mass_above=above,
            above=np.append(np.cumsum((gaps * above[1:])[::-1])[::-1], 0.0),
            mass_below=below,
            below=np.append(0.0, np.cumsum(gaps * below[:-1])),
            up=1.0 + 2.0 * (x.size + 8) * ULP,
        )

    # --- loose, where the law has no ends ---

    def _log_moment(self, order: float) -> float:
        """That of G(s): divergences are jointly convex, and the place may as well be told."""
        return GaussianTradeoff(self.s)._log_moment(order)

    def _gaussian_below(self) -> tuple[float, float]:
        return self.s * (1.0 + NINE_ROUNDINGS), 0.0


@dataclass(frozen=True, eq=False)
class _Sums:
    """Of each value x_i: masses from it on and up to it, and the means of what X is beyond it.

    `above` is E (X - x_i)_+ and `below` E (x_i - X)_+, as sums of terms of one sign; `up` is a
    factor for their roundings.
    """

    mass_above: Array
    above: Array
    mass_below: Array
    below: Array
    up: float
