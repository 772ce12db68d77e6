"""What a tradeoff function f = T(P, Q) states of itself, rounded to the private side.

Certified numbers rest on the methods below and on nothing else: the curve f (never too large), the
privacy profile delta(eps) with its tangents, epsilon and the Renyi moment (never too small). The
grid of `fdp.composition` reads the profile, `fdp.renyi` the moments. A subclass proves the rounding
of what it states beside the formula. Estimates read the law of the privacy loss instead
(`fdp.losses`), whose numbers are the nearest that floats give: see docs/fdp.md, "The privacy loss".

What is not stated here follows: `shiftdp.fdp.tradeoff` derives it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._errors import NoClosedForm
from shiftdp._roots import bracket_up, least
from shiftdp._rounding import GENEROUS, NOT_ZERO
from shiftdp.fdp.duality import tradeoff_from_profile

_NOTHING = 1e-19  # what is smaller is lost when it is subtracted from 1


class Stated(ABC):
    """What every tradeoff function says of itself.

    `_delta` and `symmetric`, and `inverse` where it is not symmetric, are all that it must say.
    """

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

    @abstractmethod
    def inverse(self) -> Stated:
        """T(Q, P): the same pair, the two distributions exchanged."""

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

    def _parameters(self) -> dict[str, Any]:
        """What the constructor takes to make an equal function."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def _delta_below(self, epsilon: Array) -> Array:
        """Numbers not above the delta that exact arithmetic would give."""
        return np.maximum(self._delta(epsilon) * (1.0 - GENEROUS) - NOT_ZERO, 0.0)
