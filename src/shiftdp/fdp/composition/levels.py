"""Averages of tradeoff functions at equal levels of one of their two measures.

Let a pair (A, B) satisfy A(E) <= delta_j + gamma_j B(E) for every event E and finitely many
gamma_j >= 1. Then A(E) <= F(B(E)) with the concave F(q) = min(1, min_j delta_j + gamma_j q), whose
slopes are the gamma_j, from the largest down; and B(E) >= G(A(E)), G being its inverse. Both are
piecewise linear. With several pairs (`Lines`, one for each) there are three ways to go on:

    mean slope at equal q         sum_i w_i F_i'(q)
    ... of the worst so far       sum_i w_i max_{k <= i} F_k'(q)
    mean slope at equal x         sum_i w_i G_i'(x)

`above` and `below` integrate them: the divergences

    h(gamma) = sum_i w_i F_i(0) + int (sum_i w_i F_i'(q) - gamma)_+ dq,
    h(gamma) = int_0^1 (1 - gamma sum_i w_i G_i'(x))_+ dx.

*Roundings.* A breakpoint is a difference of two values of delta over one of gamma. What its
rounding moves F by, below a level, is at most a part of `2 ULP` of F there for each of the breaks;
weights add up to 1 within 1e-12, and a running sum of n positive terms errs by a part n ULP. All
are far below a part of 1e-9 of the two sums whose difference h is, and that is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._rounding import GENEROUS, NOT_ZERO


@dataclass(frozen=True, eq=False)
class Lines:
    """Guarantees (eps_j, delta_ij) of several pairs, eps_0 = 0 and rising; a row for each pair."""

    epsilon: Array
    delta: Array

    @cached_property
    def _broken(self) -> tuple[Array, Array]:
        """The points (q, F(q)) of each pair at which its slope changes, from q = 0 on.

        F is the conjugate of the greatest convex minorant of (gamma_j, delta_j), to which (0, 1)
        is added: a slope -q of the minorant is a break of F.
        """
        gamma = np.append(0.0, np.exp(self.epsilon))
        width = np.diff(gamma)
        breaks, values = [], []
        for row in self.delta:
            heights = np.append(1.0, np.minimum(row, 1.0))
            slopes = np.diff(heights) / width
            if np.any(slopes[1:] < slopes[:-1]):
                slopes = scipy.optimize.isotonic_regression(slopes, weights=width).x
            q = np.append(0.0, -np.minimum(slopes[::-1], 0.0))  # rising
            breaks.append(q)
            # F rises by gamma_j times the width of each piece, the steepest first
            values.append(heights[-1] + np.append(0.0, np.cumsum(gamma[:0:-1] * np.diff(q))))
        return np.array(breaks), np.minimum(np.array(values), 1.0)

    @property
    def at_zero(self) -> Array:
        """F_i(0)."""
        return np.asarray(self._broken[1][:, 0])

    def slopes_of_power(self) -> tuple[Array, Array]:
        """Levels q in rising order from 0 on, and F_i' between each and the next (rows by i)."""
        breaks, _ = self._broken
        steep = np.append(np.exp(self.epsilon[::-1]), 0.0)
        return _merged(breaks, steep)

    def slopes_of_inverse(self) -> tuple[Array, Array]:
        """Levels x from 0 to 1, and G_i' between each and the next."""
        _, values = self._broken
        starts = np.concatenate([np.zeros((len(values), 1)), values[:, :-1]], axis=1)
        return _merged(starts, np.append(0.0, np.exp(-self.epsilon[::-1])))


def _merged(starts: Array, slopes: Array) -> tuple[Array, Array]:
    """All levels of all rows, and the slope of each row from each level on."""
    levels = np.unique(starts)
    places = np.array([np.searchsorted(row, levels, side="right") - 1 for row in starts])
    return levels, slopes[places]


@dataclass(frozen=True, eq=False)
class MeanSlopes:
    """A discrete privacy-loss law: atoms in falling order of their likelihood ratio.

    Atom k has the Q-mass `mass`, the P-mass `dual` and the likelihood ratio `slope`; `infinite` is
    the Q-mass that P does not have. Its profile is h(gamma) = infinite + sum_k (mass_k - gamma
    dual_k)_+, to which the atoms with a ratio above gamma contribute. The ratio is stored, and not
    computed as mass_k / dual_k, because the quotient of two tiny floats may be far off.
    """

    slope: Array
    mass: Array
    dual: Array
    infinite: float

    @staticmethod
    def above(lines: Lines, weights: Array, *, worst: bool) -> MeanSlopes:
        """The mean of F_i' at equal q; with `worst`, of the largest among those up to i."""
        levels, slopes = lines.slopes_of_power()
        if worst:
            slopes = np.maximum.accumulate(slopes, axis=0)
        mean, dual = weights @ slopes, np.diff(levels)
        return MeanSlopes(mean[:-1], mean[:-1] * dual, dual, float(weights @ lines.at_zero))

    @staticmethod
    def below(lines: Lines, weights: Array) -> MeanSlopes:
        """The mean of G_i' at equal x."""
        levels, slopes = lines.slopes_of_inverse()
        mass = np.diff(np.append(levels, 1.0))
        flat = weights @ slopes
        with np.errstate(divide="ignore"):
            return MeanSlopes(1.0 / flat, mass, flat * mass, 0.0)

    def profile(self, epsilon: Array) -> Array:
        """h at e^eps, eps >= 0, rounded up."""
        if not self.mass.size:  # all parts may reveal everything
            return np.ones(epsilon.shape)
        mass, dual = np.cumsum(self.mass), np.cumsum(self.dual)
        gamma = np.exp(epsilon)
        slope = np.minimum.accumulate(self.slope)  # it falls, but for a rounding or two
        last = np.searchsorted(-slope, -gamma, side="left") - 1
        some = last >= 0
        there, back = np.where(some, mass[last], 0.0), np.where(some, gamma * dual[last], 0.0)
        h = self.infinite + np.maximum(there - back, 0.0) + GENEROUS * (there + back)
        return np.asarray(np.minimum(h * (1.0 + GENEROUS) + NOT_ZERO, 1.0))
