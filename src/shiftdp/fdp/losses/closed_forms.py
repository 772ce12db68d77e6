"""The privacy-loss laws of the Gaussian and of the Laplace mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp.fdp.functions.laplace import laplace_log_moment
from shiftdp.fdp.losses.analytic import AnalyticLoss, Stretch
from shiftdp.fdp.losses.law import Atoms, Side, log_complement, log_normal

_LOG_HALF = -math.log(2.0)
_PANEL = 6.0  # standard deviations on which 32 nodes integrate a Gaussian to all digits


@dataclass(frozen=True, eq=False)
class GaussianLoss(AnalyticLoss):
    """G(mu), 0 < mu < inf: N(mu^2/2, mu^2) under Q and N(-mu^2/2, mu^2) under P."""

    mu: float

    def _standard(self, x: Array, side: Side) -> Array:
        """The loss, from its mean, in units of its standard deviation."""
        half = 0.5 * self.mu
        return np.asarray(x / self.mu + (-half if side == "Q" else half))

    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        v = self._standard(x, side)
        return scipy.special.log_ndtr(v), scipy.special.log_ndtr(-v)

    def _log_density(self, x: Array, side: Side) -> Array:
        return log_normal(self._standard(x, side)) - math.log(self.mu)

    def _log_moment(self, s: float) -> float:
        return 0.5 * (s * self.mu) * ((s + 1.0) * self.mu)

    def _stretches(self, orders: Sequence[float], tail: float) -> list[Stretch]:
        """One stretch, in standard deviations y = x/mu: sqrt(dP dQ) is e^{-mu^2/8} N(0, 1)."""
        mu, farthest = self.mu, max(abs(t + 0.5) for t in orders)

        def points(y: Array) -> tuple[Array, Array]:
            return mu * y, log_normal(y) - 0.5 * (0.5 * mu) ** 2

        return [
            Stretch(0.0, farthest * mu + tail, points, lambda y: np.full(y.shape, mu), _PANEL)
        ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class LaplaceLoss(AnalyticLoss):
    """Lap(mu) against Lap(0).

    Under Q there are atoms 1/2 at mu and e^-mu/2 at -mu, and between them the density
    e^{(l - mu)/2}/4. Under P, -L has that law.
    """

    mu: float

    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        sign = 1.0 if side == "Q" else -1.0
        inside = (x >= -self.mu) & (x < self.mu)
        part = 0.5 * (sign * x - self.mu) + _LOG_HALF  # of what lies on the far side of x
        outer = np.where(inside, part, np.where((x < -self.mu) == (side == "Q"), -math.inf, 0.0))
        other = log_complement(outer)
        return (outer, other) if side == "Q" else (other, outer)

    def _log_density(self, x: Array, side: Side) -> Array:
        sign = 1.0 if side == "Q" else -1.0
        inside = np.abs(x) < self.mu
        return np.where(inside, 0.5 * (sign * x - self.mu) + 2.0 * _LOG_HALF, -math.inf)

    def _atoms(self, side: Side) -> Atoms:
        masses = [_LOG_HALF - self.mu, _LOG_HALF]
        return Atoms(
            np.array([-self.mu, self.mu]), np.array(masses if side == "Q" else masses[::-1])
        )

    def _log_moment(self, s: float) -> float:
        return laplace_log_moment(self.mu, s)

    def _stretches(self, orders: Sequence[float], tail: float) -> list[Stretch]:
        """Between the atoms sqrt(dP dQ) has the constant density e^{-mu/2}/4."""
        level = 2.0 * _LOG_HALF - 0.5 * self.mu
        return [Stretch(0.0, self.mu, lambda y: (y, np.full(y.shape, level)), np.ones_like)]
