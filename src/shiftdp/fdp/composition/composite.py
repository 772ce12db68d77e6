"""Products of tradeoff functions without a closed form, composed numerically and certified."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shiftdp._checks import Array, count, number_in
from shiftdp._errors import ShiftdpError
from shiftdp._rounding import GENEROUS, NINE_ROUNDINGS
from shiftdp.fdp.composition.enclosure import (
    RANGES,
    Enclosures,
    infinite_loss,
    least_of,
    range_of,
    revealed,
)
from shiftdp.fdp.composition.grid_law import tradeoff_from_grid
from shiftdp.fdp.composition.loose_product import LooseProduct
from shiftdp.fdp.duality import smooth_tradeoff, tradeoff_from_profile
from shiftdp.fdp.tradeoff import DEFAULT_ACCURACY, TradeoffFunction, tradeoff

if TYPE_CHECKING:
    from shiftdp.fdp.composition.product import Product

_FINEST = 1e-9  # the best accuracy of epsilon that may be asked for
_SMOOTH = 64  # grid points for each significant Fourier coefficient, from which on a law is smooth


class AccuracyNotMet(ShiftdpError):
    """The interval that was asked for is narrower than the grid can give."""


@dataclass(frozen=True)
class Composite(TradeoffFunction):
    """f_1^{k_1} (x) f_2^{k_2} (x) ..., certified.

    Queries run on a few compositions, made when first needed: one for each delta whose epsilon is
    asked for, and one for curves over twelve decades of delta. `accuracy` is the width of
    `epsilon_interval`, which says so if it cannot be had. All other questions are answered whatever
    happens: where the grid would be too fine, by the finest one that is not, and by the bounds of
    `LooseProduct`, if those are less.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> f = GaussianTradeoff(2 / 3).subsample(0.025).power(2000)
    >>> low, high = f.epsilon_interval(1e-5)
    >>> low < 4.438137906 < high, high - low < 1e-3
    (True, True)
    """

    type_name = "product"

    factors: tuple[tuple[TradeoffFunction, int], ...]
    accuracy: float = DEFAULT_ACCURACY

    def __post_init__(self) -> None:
        number_in("accuracy", self.accuracy, _FINEST, 1.0)
        factors = ((tradeoff("factor", f), count("multiplicity", k)) for f, k in self.factors)
        object.__setattr__(self, "factors", tuple(factors))

    def within(self, accuracy: float) -> Composite:
        """This product of factors, composed to another accuracy."""
        return Composite(self.factors, accuracy)

    @property
    def symmetric(self) -> bool:
        return all(f.symmetric for f, _ in self.factors)

    @property
    def _curved(self) -> bool:
        return any(f._curved for f, _ in self.factors)

    @property
    def composed(self) -> bool:
        return True

    @property
    def _record_first(self) -> bool | None:
        """Known where all factors that are not symmetric agree."""
        found = {f._record_first for f, _ in self.factors if not f.symmetric}
        return found.pop() if len(found) == 1 else None

    def inverse(self) -> TradeoffFunction:
        if self.symmetric:
            return self
        return Composite(tuple((f.inverse(), k) for f, k in self.factors), self.accuracy)

    def _join(self, product: Product, k: int) -> None:
        for f, times in self.factors:
            f._join(product, k * times)

    def _log_moment(self, order: float) -> float:
        """Losses add up, so the moments of independent factors are multiplied."""
        return math.fsum(k * f._log_moment(order) for f, k in self.factors) * (1 + NINE_ROUNDINGS)

    def _gaussian_below(self) -> tuple[float, float]:
        return self._loose.gaussian._gaussian_below()

    # --- certified answers ---

    def _delta(self, epsilon: Array) -> Array:
        return self._bounded_down_to(epsilon, np.zeros(epsilon.shape))

    def _delta_or(self, epsilon: Array, floor: Array) -> Array:
        return np.maximum(self._bounded_down_to(epsilon, floor), floor)

    def _delta_down_to(self, epsilon: Array, floor: float) -> Array:
        return self._bounded_down_to(epsilon, np.full(epsilon.shape, floor))

    def _bounded_down_to(self, epsilon: Array, floor: Array) -> Array:
        """delta(eps); bounds below the floor are not improved by further compositions."""
        delta = np.where(epsilon == math.inf, revealed(self.factors), 1.0)
        todo = np.flatnonzero(np.isfinite(epsilon))
        for number in range(RANGES):
            if todo.size == 0:
                break
            curve = self._enclosures.curve(number)
            if curve is not None:
                delta[todo] = np.minimum(delta[todo], curve.above.delta(epsilon[todo]))
            if curve is None or not curve.narrow:
                # losses that end abruptly need ever finer meshes; what is known is still a bound
                delta[todo] = np.minimum(delta[todo], self._loose.delta(epsilon[todo]))
                break
            # the next composition is made for smaller deltas, and better there
            todo = todo[delta[todo] < least_of(number)]
            todo = todo[delta[todo] > floor[todo]]
        return np.maximum(delta, -np.expm1(np.minimum(epsilon, 0.0)))

    def _epsilon_or(self, delta: Array, floor: Array) -> Array:
        # one delta: a composition serves it alone, and a coarse one may show that floor is larger
        if delta.size == 1 and 0.0 < delta[0] < 1.0:
            coarse = self._enclosures.coarse(float(delta[0]))
            if coarse is not None and bool(coarse.delta(floor)[0] <= delta[0]):
                return np.array(floor)
        return np.maximum(self._epsilon(delta), floor)

    def epsilon_interval(self, delta: float) -> tuple[float, float]:
        """Two certified bounds between which the exact epsilon of the product lies.

        They are `accuracy` apart, or nearer; raises `AccuracyNotMet` if they would be farther.
        """
        low, high = self.epsilon_between(delta)
        if low < math.inf and not high - low <= self.accuracy:
            remedy = f"; ask for within({2 * (high - low):.1g})" if high - low <= 0.5 else ""
            raise AccuracyNotMet(
                f"epsilon at delta={delta:g} is known to {high - low:.2g} only, not to "
                f"accuracy={self.accuracy:g}{remedy}"
            )
        return low, high

    def epsilon_between(self, delta: float) -> tuple[float, float]:
        """The bounds of `epsilon_interval`, also where they are farther apart than `accuracy`."""
        delta = number_in("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
        if delta <= (infinite := self._infinite()):
            # 1 - prod (1 - q_i)^k_i >= 1 - exp(-sum k_i q_i), and the q_i are known to 1e-9
            surely = -math.expm1(-infinite) * (1.0 - GENEROUS)
            return math.inf if delta < surely else 0.0, math.inf
        at = np.array([delta])
        high = float(self._epsilon(at)[0])
        enclosure = self._enclosures.at(at)
        if enclosure is None:
            return 0.0, high
        return min(float(enclosure.interval(at)[0][0]), high), high

    def epsilon_below(self, delta: float, inflation: float = 0.0) -> float:
        return self.epsilon_between(delta)[0]

    def _delta_below(self, epsilon: Array) -> Array:
        curve = self._enclosures.curve(0)
        return np.zeros(epsilon.shape) if curve is None else curve.below.delta(epsilon)

    def _epsilon(self, delta: Array) -> Array:
        epsilon = np.full(delta.shape, math.inf)
        # where a loss can be infinite, no epsilon does for less than its probability
        infinite = self._infinite()
        ranges = np.array([range_of(d) if d > infinite else RANGES for d in delta.tolist()])
        for number in set(ranges[ranges < RANGES].tolist()):
            here = ranges == number
            enclosure = self._enclosures.at(delta[here])
            if enclosure is not None:
                epsilon[here] = enclosure.above.epsilon(delta[here])
            fine = epsilon[here] <= self.accuracy  # closed forms know small numbers better
            if fine.any():
                known = self._loose.gaussian._epsilon(delta[here])
                epsilon[here] = np.where(fine, np.minimum(epsilon[here], known), epsilon[here])
            if enclosure is None or not enclosure.narrow:
                epsilon[here] = np.minimum(epsilon[here], self._loose.epsilon(delta[here]))
        return epsilon

    def _beta(self, alpha: Array) -> Array:
        curve = self._enclosures.curve(0)
        if curve is None:
            forth, back = self._loose, self._loose.inverse()
            return tradeoff_from_profile(forth.delta, back.delta, alpha)
        law = curve.above
        if self._curved and law.frequencies.size < law.size // _SMOOTH:
            return smooth_tradeoff(self, alpha)
        return tradeoff_from_grid(law, self.symmetric, alpha)

    @cached_property
    def _enclosures(self) -> Enclosures:
        return Enclosures(self.factors, self.accuracy)

    @cached_property
    def _loose(self) -> LooseProduct:
        return LooseProduct(self.factors)

    def _infinite(self) -> float:
        """The probability that some loss is infinite, from above, by the union bound."""
        return math.fsum(k * infinite_loss(f) for f, k in self.factors)
