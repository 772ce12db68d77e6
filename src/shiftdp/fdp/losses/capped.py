"""The privacy-loss law of the bound of Theorem B7 for batches without replacement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp.fdp.losses.analytic import AnalyticLoss, Stretch
from shiftdp.fdp.losses.law import Side, log_normal, log_sum
from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.fdp.pairs.mean_ratio import MeanRatio

_PANEL = 6.0  # how wide a panel may be, in standard deviations and in units of 1/(largest mean)
_DECAY = 20.0  # by how much a logarithm may fall on one panel
_LOG_INVERSE_SQRT_2PI = -0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class CappedLoss(AnalyticLoss):
    """Losses log B(y), y > x, with the P-density phi(y), and their opposites: `HiddenExchange`.

    B(y) = E exp(y c - c^2/2), c = min(W, y), and x is the fixed point, where the Q-mass U(x) of all
    losses above 0 is Phi(x). There are no losses between -log B(x) and log B(x).
    """

    law: MeanLaw
    start: float

    @cached_property
    def _ratio(self) -> MeanRatio:
        return MeanRatio(self.law, "capped")

    @cached_property
    def _knot(self) -> float:
        return float(self._ratio(np.array([self.start]))[0])

    def _point(self, x: Array) -> Array:
        """y where log B(y) is |x|, or the fixed point, if that is further."""
        size = np.abs(x)
        outside = size > self._knot
        y = np.full(x.shape, self.start)
        if outside.any():
            y[outside] = np.maximum(self._ratio.at(size[outside]), self.start)
        return y

    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        y = self._point(x)
        # of a loss of at least |x|: left and right of it under P, and under Q
        p = scipy.special.log_ndtr(y), scipy.special.log_ndtr(-y)
        q = self._less(y), self._more(y)
        left, right = q if side == "Q" else p
        mirrored = p[::-1] if side == "Q" else q[::-1]
        return np.where(x < 0.0, mirrored[0], left), np.where(x < 0.0, mirrored[1], right)

    def _more(self, y: Array) -> Array:
        """log Q(loss > log B(y)) = log U(y), U(y) = int_y^inf phi B."""
        terms = []
        for w, m in self.law.pairs():
            tail = scipy.special.log_ndtr(np.minimum(m - y, 0.0))
            with np.errstate(divide="ignore"):
                line = np.log(np.maximum(m - y, 0.0)) + _LOG_INVERSE_SQRT_2PI
            terms.append(math.log(w) + np.logaddexp(tail, line))
        return log_sum(terms)

    def _less(self, y: Array) -> Array:
        """log Q(loss <= log B(y)) = log(1 - U(y)), summed as Phi(-x) + int_x^y phi B.

        A sum of positive terms, where 1 - U(y) would cancel.
        """
        gained = np.full(y.shape, scipy.special.log_ndtr(-self.start))
        for w, m in self.law.pairs():
            low, high = max(self.start, m), np.maximum(y, m)
            # phi(v - m) between low and high, and 1/sqrt(2 pi) between the start and m
            with np.errstate(divide="ignore"):
                upper, lower = scipy.special.log_ndtr(m - low), scipy.special.log_ndtr(m - high)
                part = upper + np.log(-np.expm1(np.minimum(lower - upper, 0.0)))
                flat = np.log(np.maximum(np.minimum(y, m) - self.start, 0.0))
            both = np.logaddexp(part, flat + _LOG_INVERSE_SQRT_2PI)
            gained = np.logaddexp(gained, math.log(w) + both)
        return np.asarray(np.minimum(gained, 0.0))

    def _log_density(self, x: Array, side: Side) -> Array:
        y, size = self._point(x), np.abs(x)
        value = log_normal(y) - self._ratio.log_slope(y)
        heavy: NDArray[np.bool_] = (x > 0.0) == (side == "Q")
        return np.where(size > self._knot, value + np.where(heavy, size, 0.0), -math.inf)

    def _stretches(self, orders: Sequence[float], tail: float) -> list[Stretch]:
        """Between the values of W, at which B changes its form.

        The logarithm of B is convex, so that of the integrand falls by no more than that of phi.
        """
        law, ratio = self.law, self._ratio
        steepest = max(max(t + 1.0, -t) for t in orders)
        end = max(steepest * law.largest, self.start) + tail
        inner = [m for _, m in law.pairs() if self.start < m < end]
        edges = [self.start, *inner, end]

        def points(y: Array) -> tuple[Array, Array]:
            loss = ratio(y)
            return loss, log_normal(y) + 0.5 * loss

        found = []
        for low, high in pairwise(edges):
            fastest = max(min(high, law.largest), 1.0)  # of the phases of the terms of B
            widest = min(_PANEL / fastest, _DECAY / (1.0 + self.start))
            found.append(Stretch(low, high, points, ratio.slope, widest))
        return found
