"""Privacy-loss laws of steps with random participation: pairs of Gaussian mixtures on a line.

Where the likelihood ratio rises along the line, {L > x} is {Z > z} with z the point where the ratio
is e^x, so that tails are sums of Gaussian tails and the density is that of Z over the slope of L.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._errors import InvalidInput
from shiftdp.fdp.losses.kinds import Atoms, PrivacyLoss, Side, log_normal, log_sum
from shiftdp.fdp.losses.loss_moment import NEAR, log_moment, log_total, nodes
from shiftdp.fdp.pairs.likelihood_ratio import OneSidedRatio, TwoSidedRatio

__all__ = ["Components", "PairLoss", "ShiftedSubsampledLoss"]

Components = tuple[tuple[float, float], ...]
"""(weight, mean) of each component of a mixture of unit Gaussians."""

_MARGIN = 10.0  # e^-50 of a Gaussian lies beyond
Orders = tuple[float, ...]
Points = tuple[Array, Array]
"""Losses, and log masses under Q."""


@dataclass(frozen=True, eq=False)
class PairLoss(PrivacyLoss):
    """Two mixtures whose log ratio rises along the line, or with `falling` falls."""

    p_side: Components
    q_side: Components
    ratio: OneSidedRatio | TwoSidedRatio
    falling: bool = False

    def _side(self, side: Side) -> Components:
        return self.q_side if side == "Q" else self.p_side

    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        z = self.ratio.at(-x if self.falling else x)
        left, right = _mixture_tails(self._side(side), z)
        return (right, left) if self.falling else (left, right)

    def _log_density(self, x: Array, side: Side) -> Array:
        z = self.ratio.at(-x if self.falling else x)
        value = _mixture_density(self._side(side), z) - self.ratio.log_slope(z)
        return np.where(np.isfinite(z), value, -math.inf)

    def _log_moment(self, s: float) -> float:
        return _two_stages(s, self._points)

    def _points(self, orders: Orders) -> Points | None:
        """Along the line, where the integrand is q^{1+s} p^{-s}.

        The slope of its logarithm at z is -z + (1+s) m - s m', m and m' being averages of the means
        of Q and of P, and its curvature -1 + (1+s) v - s v', v and v' variances of such averages.
        """
        sign = -1.0 if self.falling else 1.0
        (p_low, p_high), (q_low, q_high) = (
            (min(m for _, m in side), max(m for _, m in side))
            for side in (self.p_side, self.q_side)
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

        def integrands(z: Array) -> list[Array]:
            log_q, loss = _mixture_density(self.q_side, z), sign * self.ratio(z)
            return [log_q + t * loss for t in orders]

        found = nodes(
            integrands,
            min(ends) - _MARGIN,
            max(ends) + _MARGIN,
            curvature,
            4.0 / max(spread_q, spread_p),
        )
        if found is None:
            return None
        z, weights = found
        return sign * self.ratio(z), _mixture_density(self.q_side, z) + np.log(weights)


@dataclass(frozen=True, eq=False)
class ShiftedSubsampledLoss(PrivacyLoss):
    """S_p(a, s), 0 < p < 1 and 0 <= a < d = a + s; for a = 0 it is C_p(G(s)).

    [Theorem B2; for a = 0 BSA24, prop subgdpcdf]. With K = a d/2: losses above K are those of
    (1-p) N(a) + p N(d) against N(0), losses up to K in size a mixture of those of G(a) and G(d),
    for a = 0 an atom (1-p) erf(s/sqrt 8) at 0; and L under P is -L under Q.
    """

    p: float
    a: float
    d: float

    @property
    def _ratio(self) -> OneSidedRatio:
        return OneSidedRatio(self.p, self.a, self.d)

    @property
    def _knot(self) -> float:
        return 0.5 * self.a * self.d

    @property
    def _shares(self) -> Components:
        return ((1.0 - self.p, self.a), (self.p, self.d))

    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        left, right = np.empty(x.shape), np.empty(x.shape)
        mirrored, middle = self._parts(x)
        outer = ~(mirrored | middle)
        other: Side = "P" if side == "Q" else "Q"
        if mirrored.any():
            right[mirrored], left[mirrored] = self._outer_tails(-x[mirrored], other)
        if middle.any():
            parts = [(math.log(w), _standard(x[middle], m, side)) for w, m in self._shares]
            left[middle] = log_sum([w + scipy.special.log_ndtr(v) for w, v in parts])
            right[middle] = log_sum([w + scipy.special.log_ndtr(-v) for w, v in parts])
        if outer.any():
            left[outer], right[outer] = self._outer_tails(x[outer], side)
        return left, right

    def _parts(self, x: Array) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.bool_]], ...]:
        """Where x is below -K, and where it is between -K and K."""
        return x < -self._knot, (np.abs(x) <= self._knot) & (self.a > 0.0)

    def _outer_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        mixture = self._shares if side == "Q" else ((1.0, 0.0),)
        return _mixture_tails(mixture, self._ratio.at(x))

    def _log_density(self, x: Array, side: Side) -> Array:
        value = np.empty(x.shape)
        mirrored, middle = self._parts(x)
        outer = ~middle
        if middle.any():
            value[middle] = self._middle_density(x[middle], side)
        if outer.any():
            z = self._ratio.at(np.abs(x[outer]))
            # q under Q right of 0, and left of it what P has on the right
            heavy = mirrored[outer] == (side == "P")
            both = [_mixture_density(c, z) for c in (((1.0, 0.0),), self._shares)]
            value[outer] = np.where(heavy, both[1], both[0]) - self._ratio.log_slope(z)
        return np.asarray(value)

    def _middle_density(self, x: Array, side: Side) -> Array:
        return log_sum(
            [math.log(w / m) + log_normal(_standard(x, m, side)) for w, m in self._shares]
        )

    def _atoms(self, side: Side) -> Atoms:
        if self.a > 0.0:
            return super()._atoms(side)
        mass = math.log1p(-self.p) + math.log(math.erf(self.d / math.sqrt(8.0)))
        return Atoms(np.zeros(1), np.array([mass]))

    def _log_moment(self, s: float) -> float:
        return _two_stages(max(s, -1.0 - s), self._points)  # M(s) = M(-1 - s)

    def _points(self, orders: Orders) -> Points | None:
        """Over x in the middle, and along the line outside."""
        losses, masses = [self._atoms("Q").loss], [self._atoms("Q").log_mass]
        if self.a > 0.0:
            a, half = self.a, 0.5 * self.d  # over x/a, which may be all that is a float
            found = nodes(
                lambda y: [self._middle_density(a * y, "Q") + t * a * y for t in orders],
                -half, half, 1.0,
            )  # fmt: skip
            if found is None:
                return None
            y, weights = found
            losses.append(a * y)
            masses.append(self._middle_density(a * y, "Q") + (np.log(weights) + math.log(a)))
        ratio, start = self._ratio, 0.5 * (self.a + self.d)

        def integrands(z: Array) -> list[Array]:
            loss, base = ratio(z), log_normal(z)
            return [base + max(t + 1.0, -t) * loss for t in orders]

        # the slope is at most z where it is not stationary
        widest = min(4.0 / (self.d - self.a), 20.0 / (1.0 + start))
        end = max(start, max(max(t + 1.0, -t) for t in orders) * self.d) + _MARGIN
        found = nodes(integrands, start, end, 1.0, widest)
        if found is None:
            return None
        z, weights = found
        loss, base = ratio(z), log_normal(z) + np.log(weights)
        return np.concatenate([*losses, loss, -loss]), np.concatenate([*masses, base + loss, base])


def _two_stages(s: float, points: Callable[[Orders], Points | None]) -> float:
    """log M(s) on points that hold its integrand; near M = 1 on points that hold the law as well,
    to be summed from 1.
    """
    found = points((s,))
    if found is None:
        raise InvalidInput("s", s, "is too large to integrate e^{sL}", "give an order nearer to 0")
    value = log_total(found[1] + s * found[0])
    if not abs(value) < NEAR:
        return value
    found = points((s, 0.0, -1.0))
    return value if found is None else log_moment(s, *found)


def _standard(x: Array, mu: float, side: Side) -> Array:
    """The loss x of G(mu) in units of its standard deviation, from its mean."""
    return np.asarray(x / mu + (-0.5 * mu if side == "Q" else 0.5 * mu))


def _mixture_tails(mixture: Components, z: Array) -> tuple[Array, Array]:
    """log of the masses left and right of z."""
    left = [math.log(w) + scipy.special.log_ndtr(z - m) for w, m in mixture]
    right = [math.log(w) + scipy.special.log_ndtr(m - z) for w, m in mixture]
    return log_sum(left), log_sum(right)


def _mixture_density(mixture: Components, z: Array) -> Array:
    return log_sum([math.log(w) + log_normal(z - m) for w, m in mixture])
