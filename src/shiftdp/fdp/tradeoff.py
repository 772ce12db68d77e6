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
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftdp._checks import GREATEST_ORDER, Array, array_in, count, number_in, probability
from shiftdp._errors import InvalidInput, NoClosedForm
from shiftdp._roots import bracket_up, least
from shiftdp._rounding import (
    GENEROUS,
    LEAST_FLOAT,
    NINE_ROUNDINGS,
    NOT_ZERO,
    THREE_ROUNDINGS,
    complement_down,
)
from shiftdp.fdp.duality import tradeoff_from_profile

if TYPE_CHECKING:
    from shiftdp.fdp.composition.product import Product

DEFAULT_ACCURACY = 1e-3  # of epsilon, where a product is composed numerically
_MOST_FACTORS = 1e300  # of a product: their number times a loss, or a rate, is a float
_NOTHING = 1e-19  # what is smaller is lost when it is subtracted from 1
_RELATIVE, _ABSOLUTE = 2e-12, 4e-15  # what is at most added to the epsilon of a closed form


class TradeoffFunction(ABC):
    """An immutable tradeoff function on [0, 1]; all methods are vectorised."""

    type_name: ClassVar[str] = ""  # in documents; "" for functions that have no written form

    # --- what a subclass says ---

    @abstractmethod
    def _delta(self, epsilon: Array) -> Array:
        """delta(eps) for all real eps and both infinities, never too small."""

    def _beta(self, alpha: Array) -> Array:
        """f(alpha), never too large. By duality, unless a subclass knows better."""
        back = self.inverse()
        # 1 - delta is the same float for all smaller deltas
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
        # where delta(inf) > delta, no eps is enough: the answer is infinity, without a search
        finite = np.isfinite(high)
        found = least(
            lambda e: enough(np.where(finite, e, math.inf)) | ~finite,
            np.zeros(delta.shape),
            np.where(finite, high, 1.0),
        )
        return np.where(finite, found, math.inf)

    def _delta_or(self, epsilon: Array, floor: Array) -> Array:
        """max(delta(eps), floor). A subclass may save work where delta is clearly the smaller."""
        return np.maximum(self._delta(epsilon), floor)

    def _delta_down_to(self, epsilon: Array, floor: float) -> Array:
        """delta(eps) where it is above the floor, and elsewhere some bound on it; likewise."""
        return self._delta(epsilon)

    def _epsilon_or(self, delta: Array, floor: Array) -> Array:
        """max(eps(delta), floor), likewise."""
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
        """Whether `_tangents` can be asked; then no loss is infinite."""
        return False

    @property
    def _curved(self) -> bool:
        """Whether the profile is smooth everywhere but at eps = 0."""
        return self._smooth

    def _tangents(self, epsilon: Array) -> tuple[Array, Array]:
        """delta(eps) and P(loss > eps) = -d delta / d e^eps, for eps >= 0.

        Both with a relative error of at most 2e-11, and delta never too small.
        """
        raise NoClosedForm(f"{self} does not know the slope of its profile")

    def _largest_loss(self) -> float:
        """The largest finite privacy loss if it has positive probability, else infinity."""
        return math.inf

    def _log_moment(self, order: float) -> float:
        """log E_P[(dQ/dP)^order] for order > 1, never too small."""
        raise NoClosedForm(
            f"{self} has no closed form for its Renyi divergence; ask for epsilon or delta instead"
        )

    def _gaussian_below(self) -> tuple[float, float]:
        """mu and q with f >= G(mu) (x) h_q; loose, for where nothing better can be computed.

        A function that is (eps, q)-DP both ways is bounded by f_{eps,0} (x) h_q.
        """
        sides = (self, self.inverse())
        q = max(float(f._delta(np.array([math.inf]))[0]) for f in sides)
        if q >= 1.0:
            return 0.0, 1.0
        eps = max(float(f._epsilon(np.array([q]))[0]) for f in sides)
        from shiftdp.fdp.functions.approx_dp import pure_dp_mu

        return pure_dp_mu(eps), q

    @property
    def _record_first(self) -> bool | None:
        """Whether f is T(with a record, without it), and not T(without, with); None if unknown."""
        return None

    def _deflated(self, factor: float) -> TradeoffFunction:
        """f with its mu multiplied by a factor below 1, where it is made of Gaussians."""
        return self

    def _parameters(self) -> dict[str, Any]:
        """What the constructor takes to make an equal function."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def _join(self, product: Product, k: int) -> None:
        """Enter a product k times: by the factors that f is a product of, or as a factor."""
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
        return shaped(np.clip(beta, 0.0, complement_down(flat)), points)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: ArrayLike) -> float | Array: ...
    def delta(self, epsilon: ArrayLike) -> float | Array:
        """The least delta for which f is (eps, delta)-DP; eps may be negative."""
        points = array_in("epsilon", epsilon, -math.inf)
        return shaped(np.clip(self._delta(points.ravel()), 0.0, 1.0), points)

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
        return shaped(values, points)

    def renyi(self, order: float) -> float:
        """The Renyi divergence D_order(Q || P), 1 < order <= 1e100. [BSA24, app:rdp]"""
        order = number_in("order", order, 1.0, GREATEST_ORDER, open_low=True)
        moment = self._log_moment(order)
        # what underflows is still positive
        return moment / (order - 1.0) + (LEAST_FLOAT if moment > 0.0 else 0.0)

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
        return max(0.0, risk - 2 * LEAST_FLOAT)  # where a part of it says nothing

    def symmetrize(self) -> TradeoffFunction:
        """max(f, f^-1), which f-DP implies, the two data sets being interchangeable.

        [DRS22, Prop 2]
        """
        if self.symmetric:
            return self
        from shiftdp.fdp.functions.envelope import Maximum

        return Maximum((self, self.inverse()))

    def worse_direction(self) -> TradeoffFunction:
        """min{f, f^-1}**: what holds of two data sets, whichever comes first.

        >>> from shiftdp.fdp import PoissonZeroOut
        >>> f = PoissonZeroOut(p=0.01, a=0.0, s=1.0)
        >>> f.worse_direction().delta(0.005) == max(f.delta(0.005), f.inverse().delta(0.005))
        True
        """
        if self.symmetric:
            return self
        from shiftdp.fdp.functions.envelope import Minimum

        return Minimum((self.inverse(), self))

    @property
    def directions(self) -> tuple[TradeoffFunction, TradeoffFunction]:
        """What f says of T(without, with) and of T(with, without) one record.

        Under Poisson sampling and zero-out adjacency the two differ, and f is the worse of them.
        An attacker faces the same one in every release, so each is composed on its own, and the
        worse product counts. Functions that do not tell the directions apart give themselves twice.

        >>> from shiftdp.fdp import PoissonZeroOut
        >>> f = PoissonZeroOut(p=0.01, a=0.0, s=1.0)
        >>> f.worse_direction().directions == (f.inverse(), f)
        True
        """
        return self, self

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

        many = count("k", k, 0)
        number_in("k", many, 0.0, _MOST_FACTORS)
        return power(self, many)

    def group(self, k: int) -> TradeoffFunction:
        """1 - (1 - f)^{o k}: what f-DP of one record says of k of them at once. [DRS22, Thm 2.14]

        >>> from shiftdp.fdp import GaussianTradeoff
        >>> GaussianTradeoff(0.5).group(3)
        GaussianTradeoff(mu=1.5)
        """
        from shiftdp.fdp.functions.group import GroupTradeoff

        several = GroupTradeoff(self, count("k", k, 1))
        return several if several._simple is None else several._simple

    # --- what the parts of the library that hold a function ask ---

    @property
    def gdp_mu(self) -> float | None:
        """The parameter of Gaussian differential privacy where f is G(mu), else None.

        >>> from shiftdp.fdp import GaussianTradeoff, LaplaceTradeoff
        >>> GaussianTradeoff(0.5).gdp_mu, LaplaceTradeoff(0.5).gdp_mu
        (0.5, None)
        """
        return None

    def implied_mu(self) -> float:
        """The mu of a Gaussian tradeoff function that lies below f, or infinity if none is known.

        A mixture leaks as its worst part in the far tail, and a random batch as if its record took
        part each time.

        >>> from shiftdp.fdp import GaussianTradeoff, Mixture
        >>> Mixture([GaussianTradeoff(0.5), GaussianTradeoff(1.0)]).implied_mu()
        1.0
        """
        mu, failure = self._gaussian_below()
        return mu if failure == 0.0 else math.inf

    def split_failure(self) -> tuple[TradeoffFunction, float]:
        """g and q with f = g (x) h_q: what holds unless a failure of probability q happens."""
        return self, 0.0

    @property
    def composed(self) -> bool:
        """Whether the profile is composed numerically: costly to ask, and known to a width."""
        return False

    @property
    def accuracy(self) -> float:
        """To which width epsilon is composed; the default where f is a closed form."""
        return DEFAULT_ACCURACY

    def epsilon_below(self, delta: float, inflation: float = 0.0) -> float:
        """A number not above the epsilon that exact arithmetic would give.

        With `epsilon` it encloses the numerical error. `inflation` is the part by which the mu of
        Gaussians may have been rounded up before they were given.
        """
        above = self._deflated(1.0 - inflation).epsilon(delta)
        return max(0.0, above * (1.0 - _RELATIVE) - _ABSOLUTE)

    def _delta_below(self, epsilon: Array) -> Array:
        """Numbers not above the delta that exact arithmetic would give."""
        return np.maximum(self._delta(epsilon) * (1.0 - GENEROUS) - NOT_ZERO, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """f in dictionaries, lists, numbers and strings; `from_dict` reads it.

        >>> from shiftdp.fdp import GaussianTradeoff
        >>> GaussianTradeoff(0.5).subsample(0.1).to_dict()
        {'type': 'subsampled', 'base': {'type': 'gaussian', 'mu': 0.5}, 'p': 0.1}
        """
        if not self.type_name:
            raise InvalidInput("tradeoff", self, "has no JSON form", "certify the run anew")
        fields = self._parameters().items()
        return {"type": self.type_name, **{name: _plain(value) for name, value in fields}}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> TradeoffFunction:
        """The function that `to_dict` wrote."""
        from shiftdp.fdp.documents import tradeoff_from_dict

        return tradeoff_from_dict(data)


def _plain(value: Any) -> Any:
    if isinstance(value, TradeoffFunction):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


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


def shaped(values: Array, like: Array) -> float | Array:
    """The values in the shape of what was asked for; a float for a single number."""
    return float(values[0]) if like.ndim == 0 else values.reshape(like.shape)
