"""What a privacy-loss law answers.

The privacy loss of f = T(P, Q) is L = log dQ/dP. Every tradeoff function has a law (`LossLaw`) that
can be brought to finitely many nodes, from which the moment generating function is summed. A law in
closed form (`PrivacyLoss`) also knows its tails, density, atoms and real moments. These are stated
in logarithms, for L under Q and under P; the two are tied by dQ = e^L dP.

**Who reads it, and who must not.** Contour integrals and the public `privacy_loss` read the law:
they want the nearest numbers that floats give. Certified numbers, on a grid or by Renyi moments,
need numbers that err to one side only, and read those that the tradeoff function states itself
(`shiftdp.fdp.stated`): the hockey-stick divergence delta(eps) = E_Q[(1 - e^(eps - L))_+] and the
moment E_Q[e^((order - 1) L)], rounded up, with a proof beside each. docs/fdp.md, "The privacy
loss", says why neither can be had from the other without loss; tests hold the two to each other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from typing import Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from shiftdp._checks import Array, array_in
from shiftdp.fdp.losses.quadrature import Quadrature
from shiftdp.fdp.tradeoff import shaped

Side = Literal["P", "Q"]
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_LOG_HALF = -math.log(2.0)
_NONE = np.zeros(0)  # the places, and the masses, of no atoms
_LARGEST_ORDER = 1e9  # beyond, log M(s) is s times the largest loss to all digits of a float


class Atoms(NamedTuple):
    """The losses of positive probability, in rising order, and their log probabilities."""

    loss: Array
    log_mass: Array


class LossLaw(ABC):
    """The law of a privacy loss, as nodes."""

    @abstractmethod
    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        """Nodes that give M(s) = E_Q[e^{sL}] for complex |s| <= reach, at least.

        A tail of mass up to e^log_floor is left out. Leaving it out, rather than following it,
        keeps M(c) finite where a rare, large loss would make it astronomical without changing
        delta.
        """


@dataclass(frozen=True, eq=False)
class PrivacyLoss(LossLaw):
    """The law of L = log dQ/dP under Q or under P. All methods are vectorised and in log space."""

    _: KW_ONLY
    under: Side = "Q"

    # --- what each kind of law states ---

    @abstractmethod
    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        """log Pr(L <= x) and log Pr(L > x) for finite x, each right wherever it is below 1/2."""

    @abstractmethod
    def _log_density(self, x: Array, side: Side) -> Array:
        """The log density of the continuous part, at finite x."""

    def _atoms(self, side: Side) -> Atoms:
        return Atoms(_NONE, _NONE)

    @abstractmethod
    def _log_moment(self, s: float) -> float:
        """log E_Q[e^{sL}; L finite], which is log E_P[e^{(s+1)L}; L finite]."""

    # --- what users ask ---

    @property
    def atoms(self) -> Atoms:
        """The losses of positive probability, with log probabilities.

        Under Q the loss may be +inf, under P -inf: what can happen in one world only.
        """
        return self._atoms(self.under)

    @overload
    def log_cdf(self, x: float) -> float: ...
    @overload
    def log_cdf(self, x: ArrayLike) -> float | Array: ...
    def log_cdf(self, x: ArrayLike) -> float | Array:
        """log Pr(L <= x)."""
        points, (left, right) = self._tails(x)
        return shaped(np.where(right < _LOG_HALF, log_complement(right), left), points)

    @overload
    def log_survival(self, x: float) -> float: ...
    @overload
    def log_survival(self, x: ArrayLike) -> float | Array: ...
    def log_survival(self, x: ArrayLike) -> float | Array:
        """log Pr(L > x)."""
        points, (left, right) = self._tails(x)
        return shaped(np.where(left < _LOG_HALF, log_complement(left), right), points)

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
        return shaped(values, points)

    @overload
    def log_mgf(self, s: float) -> float: ...
    @overload
    def log_mgf(self, s: ArrayLike) -> float | Array: ...
    def log_mgf(self, s: ArrayLike) -> float | Array:
        """log E[e^{sL}] for real s; +inf where an infinite loss makes it so.

        Orders beyond 1e9 are refused. For Poisson steps so are those at which the integrand is too
        narrow to be found: |s| times the squared sensitivity above some 1e6.
        """
        points = array_in("s", s, -_LARGEST_ORDER, _LARGEST_ORDER)
        # an infinite loss is +inf under Q, where it counts for s > 0, and -inf under P
        sign, shift = (1.0, 0.0) if self.under == "Q" else (-1.0, -1.0)
        infinite = bool(np.isinf(self.atoms.loss).any())

        def at(order: float) -> float:
            if order == 0.0:
                return 0.0
            return math.inf if infinite and sign * order > 0.0 else self._log_moment(order + shift)

        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            values = [at(order) for order in points.ravel().tolist()]
        return shaped(np.array(values), points)

    def _tails(self, x: ArrayLike) -> tuple[Array, tuple[Array, Array]]:
        points = array_in("x", x, -math.inf)
        flat = points.ravel()
        finite = np.isfinite(flat)
        lost = self.atoms.log_mass[self.atoms.loss == -math.inf]
        lowest = lost[0] if lost.size else -math.inf
        left = np.where(flat > 0.0, 0.0, lowest)
        right = np.where(flat > 0.0, -math.inf, log_complement(lowest))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            left[finite], right[finite] = self._log_tails(flat[finite], self.under)
        return points, (left, right)


def log_normal(v: Array) -> Array:
    """log of the standard normal density."""
    return np.asarray(-0.5 * v * v - _LOG_SQRT_2PI)


def log_sum(terms: list[Array]) -> Array:
    """log of a sum of exponentials, elementwise."""
    return reduce(lambda total, term: np.asarray(np.logaddexp(total, term)), terms)


def log_complement(log_p: Array | float) -> Array:
    """log(1 - p), p a probability up to rounding."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-np.minimum(np.exp(log_p), 1.0)))
