"""The last iterate of random batches, when it stays secret which of them a record was in.

[Theorem B7] The record's pattern of participation V is secret, and mu(V) is the value that
Theorem B1 would have for it. W is any law that is stochastically at least mu(V), or at least
mu(V) in the order of Theorem C8 (`pairs.law_splitting`). Then the last iterate is bounded

- with batches drawn without replacement, one record being exchanged, by `HiddenExchange`;
- with Poisson batches or random allocation, one record being there or not, by `HiddenZeroOut`;
- with Poisson batches, one record being exchanged, by `HiddenReplaceOne`.

Nothing is composed: each is a single function of the law of W.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array, array_in
from shiftdp._errors import InvalidInput
from shiftdp._roots import least, most
from shiftdp._rounding import (
    AMPLE,
    EIGHTEEN_ROUNDINGS,
    LARGEST_EXPONENT,
    LEAST_FLOAT,
    THIRTY_SIX_ROUNDINGS,
    UNIT,
)
from shiftdp.fdp.functions.sampled_step import RandomMean, ReplaceOne, ZeroOut
from shiftdp.fdp.pairs.mean_guesses import guess_forward
from shiftdp.fdp.pairs.mean_law import MeanLaw, total
from shiftdp.fdp.pairs.mean_profiles import capped_profile
from shiftdp.fdp.pairs.mean_rates import NORMAL_RATE, MeanRate
from shiftdp.fdp.pairs.profiles import upper_point
from shiftdp.fdp.renyi.capped import capped_log_moment
from shiftdp.fdp.tradeoff import TradeoffFunction

_SQRT_2 = math.sqrt(2.0)
_INVERSE_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
_LARGEST = 1e150  # of a value: its square is a number
_NEAR = 0.5  # thresholds up to which 1 - 2 Phi(-y) is taken as an error function


@dataclass(frozen=True)
class Hidden(RandomMean):
    """A law of W: values in rising order, and their probabilities.

    Pr(W >= mu_i) is weight_i + weight_{i+1} + ... for i > 0, exactly; the weights add up to 1 up to
    rounding, and the first of them counts as what the others leave.
    """

    mu: tuple[float, ...]
    weight: tuple[float, ...]

    def __post_init__(self) -> None:
        means = array_in("mu", self.mu, 0.0, _LARGEST)
        weights = array_in("weight", self.weight, 0.0, 1.0, open_low=True)
        if means.ndim != 1 or not np.all(np.diff(means) > 0.0):
            raise InvalidInput("mu", self.mu, "does not rise", "give different numbers, sorted")
        if weights.shape != means.shape:
            raise InvalidInput(
                "weight", self.weight, "does not fit", f"give {means.size} probabilities"
            )
        whole = math.fsum(weights.tolist())
        if abs(whole - 1.0) > AMPLE:
            raise InvalidInput(
                "weight", whole, "is the sum of all weights", "give weights that add up to 1"
            )
        object.__setattr__(self, "mu", tuple(means.tolist()))
        object.__setattr__(self, "weight", tuple(weights.tolist()))

    @cached_property
    def _law(self) -> MeanLaw:
        return MeanLaw.of(self.mu, self.weight)

    def _deflated(self, factor: float) -> TradeoffFunction:
        merged: dict[float, float] = {}
        for m, w in zip(self.mu, self.weight, strict=True):  # neighbours may become equal
            merged[m * factor] = merged.get(m * factor, 0.0) + w
        return replace(self, mu=tuple(merged), weight=tuple(merged.values()))


@dataclass(frozen=True)
class HiddenZeroOut(ZeroOut, Hidden):
    """T(E N(W, 1), N(0, 1)), or with `swapped` T(N(0, 1), E N(W, 1)). [Theorem B7, 2 and 4]

    >>> f = HiddenZeroOut(mu=(0.0, 1.0), weight=(0.99, 0.01))  # PoissonZeroOut(0.01, 0, 1)
    >>> round(f.delta(0.005), 9), round(f.inverse().delta(0.005), 9)
    (0.000963144, 0.002635151)
    """

    type_name = "hidden_zero_out"

    swapped: bool = False


@dataclass(frozen=True)
class HiddenReplaceOne(ReplaceOne, Hidden):
    """T(E N(-W, 1), E N(W, 1)). [Theorem B7, 3]

    >>> f = HiddenReplaceOne(
    ...     mu=(0.0, 1.0), weight=(0.99, 0.01)
    ... )  # PoissonReplaceOne(0.01, 0.0, 1.0)
    >>> round(f.delta(0.01), 9), round(f.epsilon(1e-5), 9)
    (0.003327579, 0.209371556)
    """

    type_name = "hidden_replace_one"


@dataclass(frozen=True)
class HiddenExchange(Hidden):
    """The bound on exchanging a record that is drawn without replacement. [Theorem B7, 1]

    For gamma = e^eps >= 1 and both directions the divergence is at most

        h(gamma) = int_0^inf phi(y) (B(y) - gamma)_+ dy,  B(y) = E exp(y c - c^2/2), c = min(W, y).

    B rises. So h is that of the tests {y > x}, which have a false positive rate Phi(-x) and a true
    positive rate U(x) = int_x^inf phi B; and f(alpha) is 1 - U(x) at alpha = Phi(-x), up to the
    fixed point f(a) = a, and from there on the inverse of that: this is the largest symmetric
    tradeoff function that h allows. For eps up to log B(x) at the fixed point, its profile is the
    line 1 - a (1 + gamma), which is less than h, and never above 1.

    If W is one number, f is G(W), which holds as well, and is more.

    >>> f = HiddenExchange(mu=(0.0, 1.0), weight=(0.99, 0.01))
    >>> round(f.delta(0.1), 9), round(f.epsilon(1e-5), 9)
    (7.29e-05, 0.199450448)
    """

    type_name = "hidden_exchange"

    @cached_property
    def _fixed(self) -> tuple[float, float]:
        """x at the fixed point a = Phi(-x), rounded up, and log B(x), rounded down.

        U(x) <= Phi(x), with Phi(x) = 1/2 + erf(x/sqrt 2)/2, is

            erf(x/sqrt 2)/2 + sum_{m_i <= x} w_i erf((x - m_i)/sqrt 2)/2
                >= sum_{m_i > x} w_i (m_i - x)/sqrt(2 pi).
        """
        x = least(lambda x: self._ahead(x, 1.0) <= 0.0, np.zeros(1), np.array([self._span]))
        means = np.minimum(self._law.mean, x)
        exponents = np.minimum(means * (x - 0.5 * means), LARGEST_EXPONENT)
        rise = total(self._law.weight * np.expm1(exponents))
        return float(x[0]), float(np.log1p(rise)[0])

    def _ahead(self, x: Array, sign: float) -> Array:
        """The right side of the inequality in `_fixed` less its left side.

        Rounded up if `sign` is 1, and down if it is -1; it falls as x grows.
        """
        law = self._law
        gone, left = np.maximum(x - law.mean, 0.0), np.maximum(law.mean - x, 0.0)
        done = scipy.special.erf(x / _SQRT_2) + total(
            law.weight * scipy.special.erf(gone / _SQRT_2)
        )
        ahead = total(law.weight * left) * _INVERSE_SQRT_2PI
        error = sign * (8.0 + law.sum_error) * UNIT
        return np.asarray(ahead * (1.0 + error) - 0.5 * done * (1.0 - error))

    def _own_log_moment(self, order: float) -> float:
        return capped_log_moment(self._law, self._fixed_below, order)

    @cached_property
    def _fixed_below(self) -> float:
        """x at the fixed point, rounded down."""
        above = np.array([self._fixed[0]])
        return float(most(lambda x: self._ahead(x, -1.0) >= 0.0, np.zeros(1), above)[0])

    def _profile(self, epsilon: Array) -> tuple[Array, Array]:
        x, knot = self._fixed
        line = epsilon <= knot * (1.0 - THIRTY_SIX_ROUNDINGS)
        if not line.any():
            return capped_profile(self._law, epsilon)
        delta, slope = np.empty(epsilon.shape), np.empty(epsilon.shape)
        delta[line], slope[line] = self._line(x, epsilon[line])
        if not line.all():
            delta[~line], slope[~line] = capped_profile(self._law, epsilon[~line])
        return delta, slope

    def _guess(self, delta: Array) -> Array:
        return guess_forward(self._law, delta, capped=True).epsilon

    def _line(self, x: float, epsilon: Array) -> tuple[Array, Array]:
        """1 - a (1 + gamma), rounded up, and a gamma."""
        a = float(NORMAL_RATE.down(np.array([-x]))[0])
        gamma = np.exp(epsilon)
        if x < _NEAR:
            rise = (1.0 + gamma) * math.erf(x / _SQRT_2) * (1.0 + 8 * UNIT)
            delta = 0.5 * (rise - np.expm1(epsilon) * (1.0 - 4 * UNIT))
            return delta * (1.0 + 4 * UNIT) + LEAST_FLOAT, a * gamma
        return 1.0 - a * (1.0 + gamma) * (1.0 - EIGHTEEN_ROUNDINGS) + 2 * UNIT, a * gamma

    def _curve(self, alpha: Array) -> Array:
        left = MeanRate(self._law, capped=True)
        beta = np.empty(alpha.shape)
        steep = alpha <= float(NORMAL_RATE.down(np.array([-self._fixed[0]]))[0])
        if steep.any():
            beta[steep] = left.down(upper_point(alpha[steep]))
        if not steep.all():
            beta[~steep] = NORMAL_RATE.down(-left.argument_up(alpha[~steep]))
        return beta

    def _gaussian_below(self) -> tuple[float, float]:
        """G(2 x), x being the fixed point if W were its largest value m.

        With q = Phi^-1 of U, U = 1/2 + (m - y)/sqrt(2 pi), f >= G(mu) needs mu >= y + q for all
        y from x to m; y + q falls in y, since dq/dy = -phi(0)/phi(q), and it is 2 x at y = x. Right
        of m the mu that is needed is m.
        """
        if self._simple is not None:
            return self._simple._gaussian_below()
        m = self._law.largest

        def enough(x: Array) -> NDArray[np.bool_]:
            done = 0.5 * scipy.special.erf(x / _SQRT_2) * (1.0 - 8 * UNIT)
            return np.asarray(done >= (m - x) * _INVERSE_SQRT_2PI * (1.0 + 8 * UNIT))

        x = least(enough, np.zeros(1), np.array([m]))
        return 2.0 * float(x[0]) * (1.0 + AMPLE), 0.0
