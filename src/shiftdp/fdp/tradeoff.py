"""What a tradeoff function is, and what can be asked of every one.

`f = T(P, Q)` gives, for each false positive rate alpha of a test between P and Q, the least false
negative rate f(alpha). It is convex, decreasing, and at most 1 - alpha [BSA24, Lemma fdpchar]. Its
other face is the privacy profile

    delta(eps) = sup_alpha 1 - f(alpha) - e^eps alpha = H_{exp(eps)}(Q || P),

and each determines the other. A subclass states both in closed form, rounded to the private side:
f down, delta and epsilon up. Everything else is derived here, once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftdp._checks import GREATEST_ORDER, Array, array_in, count, number_in, probability
from shiftdp._errors import InvalidInput, NoClosedForm
from shiftdp._roots import bracket_up, least
from shiftdp._rounding import LEAST, NINE_ROUNDINGS, THREE_ROUNDINGS, complement_down
from shiftdp.fdp.duality import tradeoff_from_profile

if TYPE_CHECKING:
    from shiftdp.fdp.composition.product import Product

__all__ = ["TradeoffFunction", "several", "tradeoff"]

_NOTHING = 1e-19  # what is smaller is lost when it is subtracted from 1


class TradeoffFunction(ABC):
    """An immutable tradeoff function on [0, 1]; all methods are vectorised."""

    # --- what a subclass says ---

    @abstractmethod
    def _delta(self, epsilon: Array) -> Array:
        """delta(eps) for all real eps and both infinities, never too small."""

    def _beta(self, alpha: Array) -> Array:
        """f(alpha), never too large. By duality, unless a subclass knows better."""
        back = self.inverse()
        # what is too small to be subtracted from 1 need not be known
        return tradeoff_from_profile(
            lambda e: self._delta_or(e, np.full(e.shape, _NOTHING)),
            lambda e: back._delta_or(e, np.full(e.shape, _NOTHING)),
            alpha,
        )

    def _epsilon(self, delta: Array) -> Array:
        """The least eps >= 0 with delta(eps) <= delta, never too small."""

        def enough(epsilon: Array) -> NDArray[np.bool_]:
            return self._delta(epsilon) <= delta

        high = bracket_up(enough, np.ones(delta.shape))
        # bisect where there is something to find; delta(inf) > delta has no answer but infinity
        finite = np.isfinite(high)
        found = least(
            lambda e: enough(np.where(finite, e, math.inf)) | ~finite,
            np.zeros(delta.shape),
            np.where(finite, high, 1.0),
        )
        return np.where(finite, found, math.inf)

    def _delta_or(self, epsilon: Array, floor: Array) -> Array:
        """The larger of delta(eps) and the floor: a subclass may save what lies below it."""
        return np.maximum(self._delta(epsilon), floor)

    def _epsilon_or(self, delta: Array, floor: Array) -> Array:
        """The larger of eps(delta) and the floor, likewise."""
        return np.maximum(self._epsilon(delta), floor)

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether f is its own inverse: the two data sets may be exchanged."""

    def inverse(self) -> TradeoffFunction:
        """T(Q, P): the left-continuous inverse, inf {alpha : f(alpha) <= y}."""
        if self.symmetric:
            return self
        raise NoClosedForm(f"{self} has no inverse in closed form")

    @property
    def _smooth(self) -> bool:
        """Whether a subclass knows its `_tangents`."""
        return False

    @property
    def _curved(self) -> bool:
        """Whether the profile has no kinks but at eps = 0."""
        return self._smooth

    @property
    def _composed(self) -> bool:
        """Whether the profile is composed numerically: costly to ask, and known to a width."""
        return False

    def _tangents(self, epsilon: Array) -> tuple[Array, Array]:
        """delta(eps) and the slope P(loss > eps) = -d delta / d e^eps, for eps >= 0.

        The first too large by at most a relative 1e-11, the second right to that.
        """
        raise NoClosedForm(f"{self} does not know the slope of its profile")

    def _largest_loss(self) -> float:
        """The largest finite privacy loss, where there is one and it has an atom; else infinity."""
        return math.inf

    def _log_moment(self, order: float) -> float:
        """log E_P[(dQ/dP)^order] for order > 1, never too small."""
        raise NoClosedForm(
            f"{self} has no closed form for its Renyi divergence; ask for epsilon or delta instead"
        )

    def _gaussian_below(self) -> tuple[float, float]:
        """mu and q with f >= G(mu) (x) h_q; loose, for where nothing better can be computed.

        A function that is (eps, q)-DP both ways is bounded by f_{eps,0} (x) h_q, and f_{eps,0}, two
        lines that meet at x = 1/(1 + e^eps), by the Gaussian through that point: Phi(-mu/2) = x. As
        Phi(-v) <= e^{-v^2/2}/2 and x >= e^-eps/2, mu = 2 sqrt(2 eps) is large enough.
        """
        sides = (self, self.inverse())
        q = max(float(f._delta(np.array([math.inf]))[0]) for f in sides)
        if q >= 1.0:
            return 0.0, 1.0
        eps = max(float(f._epsilon(np.array([q]))[0]) for f in sides)
        return 2.0 * math.sqrt(2.0 * eps) * (1.0 + NINE_ROUNDINGS), q

    def _join(self, product: Product, k: int) -> None:
        """Enter a product k times: what this function is made of, or itself."""
        product.factor(self, k)

    # --- what users ask ---

    @overload
    def __call__(self, alpha: float) -> float: ...
    @overload
    def __call__(self, alpha: ArrayLike) -> float | Array: ...
    def __call__(self, alpha: ArrayLike) -> float | Array:
        """f(alpha): the least false negative rate at false positive rate alpha."""
        points = array_in("alpha", alpha, 0.0, 1.0)
        flat = points.ravel()
        # the ends need no search: f(1) = 0, and f(0) = 1 - delta(inf)
        beta = np.zeros(flat.shape)
        if (flat == 0.0).any():
            infinite = np.clip(self._delta(np.array([math.inf])), 0.0, 1.0)
            beta[flat == 0.0] = complement_down(infinite)
        inside = (flat > 0.0) & (flat < 1.0)
        if inside.any():
            beta[inside] = self._beta(flat[inside])
        return _shaped(np.clip(beta, 0.0, complement_down(flat)), points)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: ArrayLike) -> float | Array: ...
    def delta(self, epsilon: ArrayLike) -> float | Array:
        """The least delta for which f is (eps, delta)-DP; eps may be negative."""
        points = array_in("epsilon", epsilon, -math.inf)
        return _shaped(np.clip(self._delta(points.ravel()), 0.0, 1.0), points)

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: ArrayLike) -> float | Array: ...
    def epsilon(self, delta: ArrayLike) -> float | Array:
        """The least eps >= 0 for which f is (eps, delta)-DP; may be infinite."""
        points = array_in("delta", delta, 0.0, 1.0)
        flat = points.ravel()
        values = self._epsilon(flat)
        values[flat >= 1.0] = 0.0
        return _shaped(values, points)

    def renyi(self, order: float) -> float:
        """The Renyi divergence D_order(Q || P), 1 < order <= 1e100. [BSA24, app:rdp]"""
        order = number_in("order", order, 1.0, GREATEST_ORDER, open_low=True)
        moment = self._log_moment(order)
        # what underflows is still positive
        return moment / (order - 1.0) + (LEAST if moment > 0.0 else 0.0)

    def advantage(self) -> float:
        """Total variation: the most by which an attacker's TPR can exceed its FPR."""
        return self.delta(0.0)

    def tpr(self, fpr: float) -> float:
        """The most true positives that an attacker can have at this false positive rate."""
        fnr = self(number_in("fpr", fpr, 0.0, 1.0))
        # 1 - x is exact for x >= 1/2
        return 1.0 - fnr if fnr >= 0.5 or fnr == 0.0 else math.nextafter(1.0 - fnr, 1.0)

    def bayes_risk(self, prior: float) -> float:
        """The least error of an attacker who holds the Q world to have probability `prior`.

        min_alpha (1 - prior) alpha + prior f(alpha) = prior (1 - delta(log((1 - prior)/prior))).

        >>> from shiftdp.fdp import GaussianTradeoff
        >>> round(GaussianTradeoff(1.0).bayes_risk(0.5), 6)
        0.308538
        """
        prior = number_in("prior", prior, 0.0, 1.0)
        if prior in (0.0, 1.0):
            return 0.0
        # through the rarer world, so that the result keeps its digits; rounded down
        log_odds = math.log1p(-prior) - math.log(prior)
        least = abs(log_odds) - THREE_ROUNDINGS * (1.0 + abs(log_odds))
        if log_odds >= 0:
            risk = prior * (1.0 - self.delta(least)) * (1 - NINE_ROUNDINGS)
        else:
            risk = (1.0 - prior) * (1.0 - self.inverse().delta(least)) * (1 - NINE_ROUNDINGS)
        return max(0.0, risk - 2 * LEAST)  # where a part of it says nothing

    def symmetrize(self) -> TradeoffFunction:
        """max(f, f^-1), which f-DP implies, the two data sets being interchangeable.

        [DRS22, Prop 2]
        """
        if self.symmetric:
            return self
        from shiftdp.fdp.functions.envelope import Maximum

        return Maximum((self, self.inverse()))

    def subsample(self, p: float) -> TradeoffFunction:
        """C_p(f): the same mechanism on a random share p of the records. [BSA24, Def cp]"""
        from shiftdp.fdp.functions.subsampling import subsample

        return subsample(self, probability("p", p))

    def compose(self, *others: TradeoffFunction) -> TradeoffFunction:
        """The product with other tradeoff functions: all of the mechanisms are released."""
        from shiftdp.fdp.composition.product import compose

        return compose((self, *others))

    def power(self, k: int) -> TradeoffFunction:
        """The k-fold product with itself."""
        from shiftdp.fdp.composition.product import power

        return power(self, count("k", k, 0))


def tradeoff(name: str, value: Any) -> TradeoffFunction:
    """What a user passes as a tradeoff function, if it is one."""
    if not isinstance(value, TradeoffFunction):
        raise InvalidInput(
            name, value, "is not a tradeoff function", "give one, such as GaussianTradeoff(1.0)"
        )
    return value


def several(name: str, values: Iterable[TradeoffFunction]) -> tuple[TradeoffFunction, ...]:
    """At least one tradeoff function."""
    if not isinstance(values, Iterable):
        raise InvalidInput(name, values, "is not a list", "give a list of tradeoff functions")
    parts = tuple(tradeoff(name, value) for value in values)
    if not parts:
        raise InvalidInput(name, parts, "is empty", "give at least one function")
    return parts


def _shaped(values: Array, like: Array) -> float | Array:
    return float(values[0]) if like.ndim == 0 else values.reshape(like.shape)
