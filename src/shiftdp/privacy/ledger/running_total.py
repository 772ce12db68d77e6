"""What several releases cost together, kept so that one more is quick to add.

Gaussian releases are kept as the exact sum of mu^2, a fraction; others as the list of different
tradeoff functions with their multiplicities, composed numerically when somebody asks.

Under Poisson sampling and zero-out the two directions, record there or not, have different laws,
and a release is charged as the worse of the two. Which of them an attacker faces is the same in all
releases: the directions are composed one by one, and the worse total counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from shiftdp._roots import largest
from shiftdp._rounding import AMPLE
from shiftdp.fdp import GaussianTradeoff, Identity, TradeoffFunction
from shiftdp.fdp.composition.product import compose

_HALVINGS = 14
"""The largest release that fits is found to a part of 2^-14 of the budget's mu."""
_FAINTEST = 1e-150
"""A release with a smaller mu is none: the square of it is no normal float."""
_NO_GRID = 1e3
"""From this epsilon on nothing is composed: a grid of such losses would be too large."""
_COUNT_BITS = 3
"""How many leading bits of a count are kept when it is rounded up: at most an eighth is added."""


@dataclass(frozen=True)
class RunningTotal:
    """The product of releases: G(mu) with mu^2 = `square`, and other factors with their counts.

    >>> total = RunningTotal().plus(GaussianTradeoff(3.0)).plus(GaussianTradeoff(2.0), 4)
    >>> total.tradeoff()
    GaussianTradeoff(mu=5.0)
    """

    square: Fraction = Fraction(0)
    others: tuple[tuple[TradeoffFunction, int], ...] = ()

    def plus(self, f: TradeoffFunction, times: int = 1) -> RunningTotal:
        """The total after `times` more releases of f."""
        if times == 0:
            return self
        if is_gaussian(f):
            return replace(self, square=self.square + times * Fraction(f.gdp_mu or 0.0) ** 2)
        counts = dict(self.others)
        counts[f] = counts.get(f, 0) + times
        return replace(self, others=tuple(counts.items()))

    def tradeoff(self) -> TradeoffFunction:
        """The composed tradeoff function. [BSA24, Lemma various (c); DRS22, Thm 4]"""
        parts = [f.directions[1].power(k) for f, k in self.others]
        if self.square:
            parts.append(GaussianTradeoff(least_root(self.square)))
        return compose(parts).worse_direction() if parts else Identity()

    def epsilon(self, delta: float) -> float:
        """A proved upper bound on epsilon of the total."""
        if not self.others:
            return self.tradeoff().epsilon(delta)
        return min(_composed(self._rounded_up(), delta), _composed(self, delta))

    def epsilon_or_infinity(self, delta: float) -> float:
        """`epsilon`, or infinity, a bound too, where the total is too large to be composed."""
        if not self.others:
            return self.epsilon(delta)
        too_large = RunningTotal(self.square).epsilon(delta) > _NO_GRID
        return math.inf if too_large else _composed(self, delta)

    def fits(self, epsilon: float, delta: float) -> bool:
        """Whether the total is proved to be (epsilon, delta)-DP.

        The total rounded up is asked first: it leaks at least as much, and neighbouring totals
        share it, so that few compositions are run. What cannot be composed does not fit.
        """
        if not self.others:
            return self.epsilon(delta) <= epsilon
        if (
            RunningTotal(self.square).epsilon(delta) > epsilon
        ):  # a part is not less private than all
            return False
        return _composed(self._rounded_up(), delta) <= epsilon or _composed(self, delta) <= epsilon

    def largest_gaussian(self, epsilon: float, delta: float) -> float:
        """The largest mu, rounded down, of one more Gaussian release that fits."""
        budget = GaussianTradeoff.from_budget(epsilon, delta).mu
        if not self.others:
            left = Fraction(budget) ** 2 - self.square
            most = _root_below(left) if left > 0 else 0.0
            while most > 0.0 and not self._admits(most, epsilon, delta):
                most = most * (1.0 - AMPLE) if most > _FAINTEST else 0.0
            return most
        return largest(lambda mu: self._admits(mu, epsilon, delta), 0.0, budget, _HALVINGS)

    def _admits(self, mu: float, epsilon: float, delta: float) -> bool:
        return self.plus(GaussianTradeoff(mu)).fits(epsilon, delta)

    def _rounded_up(self) -> RunningTotal:
        """A total with at most an eighth more of everything, which many totals share."""
        square = self.square
        if square:
            mantissa, exponent = math.frexp(least_root(square))
            square = Fraction(math.ldexp(math.ceil(mantissa * 16) / 16, exponent)) ** 2
        return RunningTotal(square, tuple((f, _count_up(k)) for f, k in self.others))


def is_gaussian(f: TradeoffFunction) -> bool:
    """Whether a release is counted in the exact sum of mu^2.

    By its type: logs say how each release was counted, also of steps that happen to be Gaussian.
    """
    return f.type_name in ("gaussian", "identity")


def least_root(square: Fraction) -> float:
    """The least float whose square is at least this.

    >>> least_root(Fraction(2)) ** 2 >= 2, least_root(Fraction(9, 16))
    (True, 0.75)
    """
    root = _root_below(square)
    return root if Fraction(root) ** 2 == square else math.nextafter(root, math.inf)


def _root_below(square: Fraction) -> float:
    """The greatest float whose square is at most this."""
    n, d = square.numerator, square.denominator
    shift = max(0, 64 + (d.bit_length() - n.bit_length()) // 2 + 1)
    root = float(Fraction(math.isqrt((n << 2 * shift) // d), 1 << shift))
    while Fraction(root) ** 2 > square:
        root = math.nextafter(root, 0.0)
    while Fraction(above := math.nextafter(root, math.inf)) ** 2 <= square:
        root = above
    return root


def _count_up(k: int) -> int:
    unit = 1 << max(0, k.bit_length() - _COUNT_BITS)
    return -(-k // unit) * unit


@lru_cache(maxsize=256)
def _composed(total: RunningTotal, delta: float) -> float:
    return total.tradeoff().epsilon(delta)
