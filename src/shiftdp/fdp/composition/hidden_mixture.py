"""Mixtures of which it is never told which part ran: less is seen than of a `Mixture`.

One of several mechanisms runs, the i-th with probability w_i. [Theorem B6] bounds what the result
tells if i stays a secret, from bounds f_i on each of them, in two cases:

- *One measure is the same for all i.* The pairs are (A_i, B) with T(A_i, B) >= f_i. Then an event
  with B(E) = q has A_i(E) <= F_i(q) = 1 - f_i^-1(q) for every i, so that the mean of the A_i, which
  is what is seen, is bounded by sum_i w_i F_i(q). (`shared="second"`, or `"first"` of T(B, A_i).)
- *Neither is*, but i is a rising function of independent random choices v, and T(P_v, Q_v') is at
  least f_i(v) whenever v' <= v, in both directions. Then for gamma >= 1

      H_gamma <= sum_i w_i F_i(0) + int_0^1 (sum_i w_i max_{k <= i} F_k'(q) - gamma)_+ dq

  by Harris' inequality (`shared="neither"`; the proof is that of the theorem).

If i is told (`shared="told"`) the divergence is the mean of the divergences, as of a `Mixture`.

The f_i may be compositions, of which only certified values of delta are known: these are asked for
at a few hundred eps, and F_i is the concave, piecewise linear function that they prove (`levels`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from shiftdp._checks import Array, array_in, choice
from shiftdp._errors import InvalidInput
from shiftdp._rounding import AMPLE, GENEROUS, INVERTIBLE_EXPONENT
from shiftdp.fdp.composition.hidden_below import epsilon_from_below
from shiftdp.fdp.composition.levels import Lines, MeanSlopes
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.functions.mixture import log_mean_moment, worst_gaussian
from shiftdp.fdp.functions.piecewise_linear import PiecewiseLinear
from shiftdp.fdp.tradeoff import TradeoffFunction, several

Shared = Literal["first", "second", "neither", "told"]

_GRID = np.append(
    0.0, np.geomspace(1e-5, INVERTIBLE_EXPONENT, 1400)
)  # eps at which parts are asked
_FLOOR = 1e-12  # what is less of a part's delta need not be known well


@dataclass(frozen=True)
class HiddenMixture(TradeoffFunction):
    """The bound of the module's docstring.

    Args:
        components: f_1, f_2, ..., in rising order of i where neither measure is shared; then they
            are symmetric.
        weights: their probabilities, which add up to 1. Where neither measure is shared,
            Pr(i >= k) is w_k + w_{k+1} + ... or less.
        shared: which measure of the pairs (first, second) is the same for all i; or "told".

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> parts = [GaussianTradeoff(0.0), GaussianTradeoff(1.0)]
    >>> f = HiddenMixture(parts, [0.99, 0.01], "first")  # T(N(0), .99 N(0) + .01 N(1))
    >>> round(f.delta(0.1), 6), round(f.inverse().delta(0.005), 6)
    (7.3e-05, 0.000963)
    """

    type_name = "hidden_mixture"

    components: tuple[TradeoffFunction, ...]
    weights: tuple[float, ...]
    shared: Shared

    def __init__(
        self, components: Iterable[TradeoffFunction], weights: Iterable[float], shared: Shared
    ) -> None:
        parts = several("components", components)
        shares = array_in("weights", list(weights), 0.0, 1.0)
        if shares.shape != (len(parts),) or abs(math.fsum(shares.tolist()) - 1.0) > AMPLE:
            raise InvalidInput(
                "weights", shares.tolist(), "does not fit", f"give {len(parts)} that add up to 1"
            )
        choice("shared", shared, get_args(Shared))
        if shared == "neither" and not all(f.symmetric for f in parts):
            raise InvalidInput(
                "components",
                parts,
                "are not all symmetric",
                "give symmetric ones, or a shared side",
            )
        object.__setattr__(self, "components", parts)
        object.__setattr__(self, "weights", tuple(shares.tolist()))
        object.__setattr__(self, "shared", shared)

    @property
    def symmetric(self) -> bool:
        return all(f.symmetric for f in self.components) and self.shared in ("neither", "told")

    def inverse(self) -> TradeoffFunction:
        return self if self.symmetric else self._inverse

    @cached_property
    def _inverse(self) -> HiddenMixture:
        """Made once, and its own inverse is this one: neither is computed twice."""
        other: dict[Shared, Shared] = {"first": "second", "second": "first"}
        parts, shared = (f.inverse() for f in self.components), other.get(self.shared, self.shared)
        inverse = HiddenMixture(parts, self.weights, shared)
        inverse.__dict__["_inverse"] = self
        return inverse

    @property
    def _record_first(self) -> bool | None:
        found = {f._record_first for f in self.components if not f.symmetric}
        return found.pop() if len(found) == 1 else None

    # --- the bound ---

    @cached_property
    def _table(self) -> Array:
        """delta of each part at the points of the grid."""
        return np.array([_guarantees(f) for f in self.components])

    @cached_property
    def _on_grid(self) -> Array:
        """delta at the points of the grid."""
        lines, weights = Lines(_GRID, self._table), np.array(self.weights)
        if self.shared == "told":
            return np.asarray(np.minimum(weights @ self._table * (1.0 + GENEROUS), 1.0))
        if self.shared == "second":
            return MeanSlopes.below(lines, weights).profile(_GRID)
        return MeanSlopes.above(lines, weights, worst=self.shared == "neither").profile(_GRID)

    @cached_property
    def _curve(self) -> PiecewiseLinear:
        """All guarantees together, those of the other direction reflected."""
        back = self if self.symmetric else self._inverse
        return PiecewiseLinear.between(_GRID, self._on_grid, back._on_grid)

    def _delta(self, epsilon: Array) -> Array:
        return self._curve._delta(epsilon)

    def _epsilon(self, delta: Array) -> Array:
        return self._curve._epsilon(delta)

    def _beta(self, alpha: Array) -> Array:
        return self._curve._beta(alpha)

    def _gaussian_below(self) -> tuple[float, float]:
        return worst_gaussian(self.components)

    def _log_moment(self, order: float) -> float:
        """The moment were the part revealed, which is no less: divergences are jointly convex.

        Where neither measure is shared it is what the mechanism has if the part is told.
        """
        parts = zip(self.weights, self.components, strict=True)
        return log_mean_moment([(w, f._log_moment(order)) for w, f in parts if w > 0.0])

    @property
    def composed(self) -> bool:
        return any(f.composed for f in self.components)

    def epsilon_below(self, delta: float, inflation: float = 0.0) -> float:
        """Parts that are rounded down, where `epsilon` has parts that are rounded up.

        The parts and their weights count as they are: how the law of i was found is not asked.
        """
        known = _GRID, self._table
        high = self.epsilon(delta)
        shares = np.array(self.weights)
        return epsilon_from_below(self.components, shares, self.shared, known, delta, high)


def _guarantees(f: TradeoffFunction) -> Array:
    """delta at the points of the grid; what is tiny may be that of a Gaussian, if that is less."""
    mu, failure = f._gaussian_below()
    gaussian = np.minimum(GaussianTradeoff(mu)._delta(_GRID) + failure, 1.0)
    asked = gaussian > _FLOOR
    delta = gaussian.copy()
    own = f._delta_down_to(_GRID[asked], _FLOOR)
    delta[asked] = np.minimum(own, gaussian[asked])
    return np.clip(delta, 0.0, 1.0)
