"""What can be asked of the law of a privacy loss, and the laws in closed form.

The loss of f = T(P, Q) is L = log dQ/dP. Everything is stated in logarithms, for L under Q and
under P: dQ = e^L dP ties the two.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from typing import Literal, NamedTuple, overload

import numpy as np
import scipy
from numpy.typing import ArrayLike

from shiftdp._checks import Array, array_in
from shiftdp.fdp.losses.loss_moment import exp_excess, log_moment
from shiftdp.fdp.tradeoff import _shaped

__all__ = [
    "Atoms",
    "BlendLoss",
    "FiniteLoss",
    "GaussianLoss",
    "LaplaceLoss",
    "PrivacyLoss",
    "Side",
    "log_normal",
    "log_sum",
]

Side = Literal["P", "Q"]
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_LOG_HALF = -math.log(2.0)
_NONE = np.zeros(0)
_STEEPEST = 1e9  # orders beyond ask for the largest loss alone


class Atoms(NamedTuple):
    """Where a law has atoms, in rising order, infinite losses included, and their log masses."""

    loss: Array
    log_mass: Array


@dataclass(frozen=True, eq=False)
class PrivacyLoss(ABC):
    """The law of L = log dQ/dP under Q or under P. All methods are vectorised and in log space."""

    _: KW_ONLY
    under: Side = "Q"

    # --- what a kind says ---

    @abstractmethod
    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        """log Pr(L <= x) and log Pr(L > x) for finite x, each right wherever it is below 1/2."""

    @abstractmethod
    def _log_density(self, x: Array, side: Side) -> Array:
        """Of the continuous part, at finite x."""

    def _atoms(self, side: Side) -> Atoms:
        return Atoms(_NONE, _NONE)

    @abstractmethod
    def _log_moment(self, s: float) -> float:
        """log E_Q[e^{sL}; L finite], which is log E_P[e^{(s+1)L}; L finite]."""

    # --- what users ask ---

    @property
    def atoms(self) -> Atoms:
        """The losses of positive probability, with log probabilities.

        Under Q the loss may be +inf, under P -inf: what one world shows and the other never does.
        """
        return self._atoms(self.under)

    @overload
    def log_cdf(self, x: float) -> float: ...
    @overload
    def log_cdf(self, x: ArrayLike) -> float | Array: ...
    def log_cdf(self, x: ArrayLike) -> float | Array:
        """log Pr(L <= x)."""
        points, (left, right) = self._tails(x)
        return _shaped(np.where(right < _LOG_HALF, _log_complement(right), left), points)

    @overload
    def log_survival(self, x: float) -> float: ...
    @overload
    def log_survival(self, x: ArrayLike) -> float | Array: ...
    def log_survival(self, x: ArrayLike) -> float | Array:
        """log Pr(L > x)."""
        points, (left, right) = self._tails(x)
        return _shaped(np.where(left < _LOG_HALF, _log_complement(left), right), points)

    @overload
    def log_density(self, x: float) -> float: ...
    @overload
    def log_density(self, x: ArrayLike) -> float | Array: ...
    def log_density(self, x: ArrayLike) -> float | Array:
        """The log density of the continuous part; -inf where there is none."""
        points = array_in("x", x, -math.inf)
        flat = points.ravel()
        finite = np.isfinite(flat)
        values = np.full(flat.shape, -math.inf)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            values[finite] = self._log_density(flat[finite], self.under)
        return _shaped(values, points)

    @overload
    def log_mgf(self, s: float) -> float: ...
    @overload
    def log_mgf(self, s: ArrayLike) -> float | Array: ...
    def log_mgf(self, s: ArrayLike) -> float | Array:
        """log E[e^{sL}] for real s; +inf where an infinite loss makes it so.

        Orders beyond 1e9 are refused, and for Poisson steps also those at which what is to be
        integrated is too narrow, |s| times the sensitivity squared being above some 1e6.
        """
        points = array_in("s", s, -_STEEPEST, _STEEPEST)
        # an infinite loss is +inf under Q, where it counts for s > 0, and -inf under P
        sign, shift = (1.0, 0.0) if self.under == "Q" else (-1.0, -1.0)
        infinite = bool(np.isinf(self.atoms.loss).any())
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            values = [
                0.0
                if order == 0.0
                else math.inf
                if infinite and sign * order > 0.0
                else self._log_moment(order + shift)
                for order in points.ravel().tolist()
            ]
        return _shaped(np.array(values), points)

    def _tails(self, x: ArrayLike) -> tuple[Array, tuple[Array, Array]]:
        points = array_in("x", x, -math.inf)
        flat = points.ravel()
        finite = np.isfinite(flat)
        lost = self.atoms.log_mass[self.atoms.loss == -math.inf]
        lowest = lost[0] if lost.size else -math.inf
        left = np.where(flat > 0.0, 0.0, lowest)
        right = np.where(flat > 0.0, -math.inf, _log_complement(lowest))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            left[finite], right[finite] = self._log_tails(flat[finite], self.under)
        return points, (left, right)


@dataclass(frozen=True, eq=False)
class GaussianLoss(PrivacyLoss):
    """G(mu), 0 < mu < inf: N(mu^2/2, mu^2) under Q and N(-mu^2/2, mu^2) under P."""

    mu: float

    def _standard(self, x: Array, side: Side) -> Array:
        half = 0.5 * self.mu
        return np.asarray(x / self.mu + (-half if side == "Q" else half))

    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        v = self._standard(x, side)
        return scipy.special.log_ndtr(v), scipy.special.log_ndtr(-v)

    def _log_density(self, x: Array, side: Side) -> Array:
        return log_normal(self._standard(x, side)) - math.log(self.mu)

    def _log_moment(self, s: float) -> float:
        return 0.5 * (s * self.mu) * ((s + 1.0) * self.mu)


@dataclass(frozen=True, eq=False)
class LaplaceLoss(PrivacyLoss):
    """Lap(mu) against Lap(0): under Q atoms 1/2 at mu and e^-mu/2 at -mu, and between them the
    density e^{(l - mu)/2}/4. Under P, -L has that law.
    """

    mu: float

    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        sign = 1.0 if side == "Q" else -1.0
        inside = (x >= -self.mu) & (x < self.mu)
        part = 0.5 * (sign * x - self.mu) + _LOG_HALF  # of what lies on the far side of x
        outer = np.where(inside, part, np.where((x < -self.mu) == (side == "Q"), -math.inf, 0.0))
        other = _log_complement(outer)
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
        """M(s) = a e^{s mu} + b e^{-(s+1) mu}, a = (s+1)/(2s+1), b = s/(2s+1). [Mir17, Table 2]

        It is even in u = s + 1/2, and a + b = 1.
        """
        s = max(s, -1.0 - s)
        u, mu = s + 0.5, self.mu
        if (s + 1.0) * mu >= 1.0:
            w = 2.0 * u * mu
            return s * mu + math.log1p(-s * mu * (-math.expm1(-w) / w if w > 0.0 else 1.0))
        if u >= 0.25:  # the terms of first order cancel
            growth = exp_excess(np.array([s * mu, -(s + 1.0) * mu]))
            return math.log1p(float((s + 1.0) * growth[0] + s * growth[1]) / (2.0 * u))
        # e^{-mu/2} (cosh v + (mu/2) sinh(v)/v) - 1 with v = u mu, as differences from 1
        v = u * mu
        above = 2.0 * math.sinh(0.5 * v) ** 2
        above += (
            0.5
            * mu
            * float(exp_excess(np.array(v)) - exp_excess(np.array(-v)))
            * (0.5 / v if v > 0.0 else 0.0)
        )
        above -= float(exp_excess(np.array(0.5 * mu)))
        return math.log1p(math.exp(-0.5 * mu) * above)


@dataclass(frozen=True, eq=False)
class FiniteLoss(PrivacyLoss):
    """Finitely many losses, in rising order, with log masses under Q and under P.

    A loss of +inf has no mass under P, one of -inf none under Q.
    """

    loss: Array
    log_q: Array
    log_p: Array

    def _log_mass(self, side: Side) -> Array:
        return self.log_q if side == "Q" else self.log_p

    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        mass = self._log_mass(side)
        upto = np.append(-math.inf, np.logaddexp.accumulate(mass))
        beyond = np.append(np.logaddexp.accumulate(mass[::-1])[::-1], -math.inf)
        place = np.searchsorted(self.loss, x, side="right")
        return upto[place], beyond[place]

    def _log_density(self, x: Array, side: Side) -> Array:
        return np.full(x.shape, -math.inf)

    def _atoms(self, side: Side) -> Atoms:
        mass = self._log_mass(side)
        live = mass > -math.inf
        return Atoms(self.loss[live], mass[live])

    def _log_moment(self, s: float) -> float:
        finite = np.isfinite(self.loss)
        lost = np.exp(self.log_q[self.loss == math.inf]).sum()
        lost_back = np.exp(self.log_p[self.loss == -math.inf]).sum()
        return log_moment(s, self.loss[finite], self.log_q[finite], (float(lost), float(lost_back)))


@dataclass(frozen=True, eq=False)
class BlendLoss(PrivacyLoss):
    """One of several laws, drawn at random with the given log weights and revealed."""

    parts: tuple[PrivacyLoss, ...]
    log_weights: tuple[float, ...]

    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        tails = [part._log_tails(x, side) for part in self.parts]
        left, right = zip(*tails, strict=True)
        return self._sum(left), self._sum(right)

    def _log_density(self, x: Array, side: Side) -> Array:
        return self._sum([part._log_density(x, side) for part in self.parts])

    def _sum(self, values: tuple[Array, ...] | list[Array]) -> Array:
        return log_sum([w + v for w, v in zip(self.log_weights, values, strict=True)])

    def _atoms(self, side: Side) -> Atoms:
        of_parts = [part._atoms(side) for part in self.parts]
        masses = [w + a.log_mass for w, a in zip(self.log_weights, of_parts, strict=True)]
        return merged(np.concatenate([a.loss for a in of_parts]), np.concatenate(masses))

    def _log_moment(self, s: float) -> float:
        moments = [part._log_moment(s) for part in self.parts]
        pairs = list(zip(self.log_weights, moments, strict=True))
        value = float(log_sum([np.array(w + m) for w, m in pairs]))
        if not abs(value) < 1.0:
            return value
        return math.log1p(math.fsum(math.exp(w) * math.expm1(m) for w, m in pairs))


def merged(loss: Array, log_mass: Array) -> Atoms:
    """Atoms in rising order, equal losses taken together."""
    places, index = np.unique(loss, return_inverse=True)
    total = np.full(places.shape, -math.inf)
    np.logaddexp.at(total, index, log_mass)
    return Atoms(places, total)


def log_normal(v: Array) -> Array:
    """log of the standard normal density."""
    return np.asarray(-0.5 * v * v - _LOG_SQRT_2PI)


def log_sum(terms: list[Array]) -> Array:
    """log of a sum of exponentials."""
    return reduce(lambda total, term: np.asarray(np.logaddexp(total, term)), terms)


def _log_complement(log_p: Array | float) -> Array:
    """log(1 - p), p a probability up to rounding."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-np.minimum(np.exp(log_p), 1.0)))
