"""Privacy-loss laws of steps with random participation: pairs of Gaussian mixtures on a line.

Where the likelihood ratio rises along the line, {L > x} is {Z > z} with z the point where the ratio
is e^x. So tails are sums of Gaussian tails, and the density is that of Z over the slope of L. For
nodes no z has to be solved for: they are placed on the line, and the loss there is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._rounding import LARGEST_EXPONENT
from shiftdp.fdp.losses.analytic import AnalyticLoss, Stretch
from shiftdp.fdp.losses.closed_forms import GaussianLoss
from shiftdp.fdp.losses.law import Atoms, Side, log_normal, log_sum
from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.fdp.pairs.mean_ratio import MeanRatio

Components = tuple[tuple[float, float], ...]
"""(weight, mean) of each component of a mixture of unit Gaussians."""

NORMAL: Components = ((1.0, 0.0),)
_PANEL = 6.0
"""How wide a panel may be, in standard deviations.

Also in units of 1/s, s being the largest distance of two means of a mixture: its logarithm has no
branch points within pi/s of the line, and half a panel is less.
"""
_DECAY = 20.0  # by how much a logarithm may fall on one panel


@dataclass(frozen=True, eq=False)
class PairLoss(AnalyticLoss):
    """Two Gaussian mixtures on the line whose likelihood ratio, upper to lower, rises with z.

    P is the lower mixture, so that the loss rises with z too; if `falling`, P is the upper one.
    """

    lower: Components
    upper: Components
    ratio: MeanRatio
    falling: bool = False

    @property
    def _symmetric(self) -> bool:
        return self.ratio.odd

    def _world(self, side: Side) -> Components:
        return self.lower if (side == "P") != self.falling else self.upper

    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        z = self.ratio.at(-x if self.falling else x)
        left, right = _mixture_tails(self._world(side), z)
        return (right, left) if self.falling else (left, right)

    def _log_density(self, x: Array, side: Side) -> Array:
        z = self.ratio.at(-x if self.falling else x)
        value = _mixture_density(self._world(side), z) - self.ratio.log_slope(z)
        return np.where(np.isfinite(z), value, -math.inf)

    def _stretches(self, orders: Sequence[float], tail: float) -> list[Stretch]:
        """Along the line, where the integrand of order t is q^{1+t} p^{-t}.

        The slope of its logarithm at z is -z + (1+t) m - t m', m and m' being averages of the means
        of Q and of P, and its curvature -1 + (1+t) v - t v', v and v' variances of such averages.
        """
        if self._symmetric:
            orders = [max(t, -1.0 - t) for t in orders]
        (p_low, p_high), (q_low, q_high) = (
            (min(m for _, m in side), max(m for _, m in side))
            for side in (self._world("P"), self._world("Q"))
        )
        ends = [
            (1.0 + t) * mq - t * mp
            for t in orders
            for mq in (q_low, q_high)
            for mp in (p_low, p_high)
        ]
        spread_p, spread_q = p_high - p_low, q_high - q_low
        curvature = 1.0 + 0.25 * max(
            max(0.0, -1.0 - t) * spread_q * spread_q + max(0.0, t) * spread_p * spread_p
            for t in orders
        )
        widest = min(_PANEL, _PANEL / max(spread_q, spread_p))
        low = 0.0 if self._symmetric else min(ends) - tail
        sign = -1.0 if self.falling else 1.0

        def points(y: Array) -> tuple[Array, Array]:
            gain = self.ratio.from_origin(y)
            return sign * gain, _mixture_density(self.lower, y) + 0.5 * gain

        return [Stretch(low, max(ends) + tail, points, self.ratio.slope, widest, curvature)]


@dataclass(frozen=True, eq=False)
class ShiftedSubsampledLoss(AnalyticLoss):
    """S_p(a, s), 0 < p < 1 and 0 <= a < d = a + s; for a = 0 it is C_p(G(s)).

    [Theorem B2; for a = 0 BSA24, prop subgdpcdf]. With K = a d/2: losses above K are those of
    (1-p) N(a) + p N(d) against N(0). Losses up to K in size are a mixture of those of G(a) and of
    G(d), for a = 0 an atom (1-p) erf(s/sqrt 8) at 0. L under P is -L under Q.
    """

    p: float
    a: float
    d: float

    @cached_property
    def _pair(self) -> PairLoss:
        law = MeanLaw.of((self.a, self.d), (1.0 - self.p, self.p))
        return PairLoss(NORMAL, law.pairs(), MeanRatio(law, "one-sided"))

    @property
    def _gaussians(self) -> list[tuple[float, GaussianLoss]]:
        """The Gaussians of a mixture, each with its log weight."""
        return [
            (math.log1p(-self.p), GaussianLoss(self.a)),
            (math.log(self.p), GaussianLoss(self.d)),
        ]

    def _in_the_middle(self, x: Array) -> NDArray[np.bool_]:
        return np.asarray((np.abs(x) <= 0.5 * self.a * self.d) & (self.a > 0.0))

    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        size, pair = np.abs(x), self._pair
        left, right = pair._log_tails(size, side)
        mirrored = pair._log_tails(size, "P" if side == "Q" else "Q")
        left, right = np.where(x < 0.0, mirrored[::-1], (left, right))
        middle = self._in_the_middle(x)
        if middle.any():
            parts = [(w, g._log_tails(x[middle], side)) for w, g in self._gaussians]
            left[middle] = log_sum([w + tails[0] for w, tails in parts])
            right[middle] = log_sum([w + tails[1] for w, tails in parts])
        return left, right

    def _log_density(self, x: Array, side: Side) -> Array:
        size, pair = np.abs(x), self._pair
        mirrored = pair._log_density(size, "P" if side == "Q" else "Q")
        value = np.where(x < 0.0, mirrored, pair._log_density(size, side))
        middle = self._in_the_middle(x)
        if middle.any():
            value[middle] = self._middle_density(x[middle], side)
        return value

    def _middle_density(self, x: Array, side: Side) -> Array:
        return log_sum([w + g._log_density(x, side) for w, g in self._gaussians])

    def _atoms(self, side: Side) -> Atoms:
        if self.a > 0.0:
            return super()._atoms(side)
        mass = math.log1p(-self.p) + math.log(math.erf(self.d / math.sqrt(8.0)))
        return Atoms(np.zeros(1), np.array([mass]))

    def _stretches(self, orders: Sequence[float], tail: float) -> list[Stretch]:
        """Along the line right of (a + d)/2, and over the losses up to K."""
        a, d, start = self.a, self.d, 0.5 * (self.a + self.d)
        steepest = max(max(t + 1.0, -t) for t in orders)
        # where it is not stationary, at the start, the slope of the integrand is at most `start`
        widest = min(_PANEL, _PANEL / (d - a), _DECAY / (1.0 + start))

        def beyond(y: Array) -> tuple[Array, Array]:
            # log A(y + start), of which nothing cancels
            k = (d - a) * y
            steep = np.log1p(self.p * np.expm1(np.minimum(k, LARGEST_EXPONENT)))
            loss = a * (y + 0.5 * d) + steep + np.maximum(k - LARGEST_EXPONENT, 0.0)
            return loss, log_normal(y + start) + 0.5 * loss

        end = max(steepest * d - start, 0.0) + tail
        far = Stretch(0.0, end, beyond, lambda y: self._pair.ratio.slope(y + start), widest)
        if a == 0.0:
            return [far]

        def below(y: Array) -> tuple[Array, Array]:
            x = a * y  # y = x/a keeps its digits even where x is a subnormal number
            return x, self._middle_density(x, "P") + (0.5 * x + math.log(a))

        return [Stretch(0.0, 0.5 * d, below, lambda y: np.full(y.shape, a), _PANEL), far]


def _mixture_tails(mixture: Components, z: Array) -> tuple[Array, Array]:
    """log of the masses left and right of z."""
    left = [math.log(w) + scipy.special.log_ndtr(z - m) for w, m in mixture]
    right = [math.log(w) + scipy.special.log_ndtr(m - z) for w, m in mixture]
    return log_sum(left), log_sum(right)


def _mixture_density(mixture: Components, z: Array) -> Array:
    return log_sum([math.log(w) + log_normal(z - m) for w, m in mixture])
