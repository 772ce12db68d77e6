"""Privacy-loss laws of finitely many losses, and of one of several laws, drawn and revealed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftdp._checks import Array
from shiftdp.fdp.losses.law import Atoms, PrivacyLoss, Side, log_sum
from shiftdp.fdp.losses.profile import ProfileLaw
from shiftdp.fdp.losses.quadrature import Quadrature

_NEAR_ONE = 1.0  # |log M| below which M is summed from 1, so that log M keeps its digits


@dataclass(frozen=True, eq=False)
class FiniteLoss(PrivacyLoss):
    """Losses in rising order, with log masses under Q and under P.

    A loss of +inf has no mass under P, one of -inf none under Q.
    """

    loss: Array
    log_q: Array
    log_p: Array

    @classmethod
    def of(cls, masses: Iterable[tuple[float, float, float]]) -> FiniteLoss:
        """From (loss, log mass under Q, log mass under P); equal losses are taken together."""
        loss, log_q, log_p = np.array([row for row in masses if max(row[1:]) > -math.inf]).T
        (places, total_q), (_, total_p) = merged(loss, log_q), merged(loss, log_p)
        return cls(places, total_q, total_p)

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
        every = self._nodes
        value = every.log_sum(s)
        return math.log1p(every.excess(s)) if abs(value) < _NEAR_ONE else value

    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        """The nodes are the law itself."""
        return self._nodes

    @cached_property
    def _nodes(self) -> Quadrature:
        away = np.isfinite(self.loss) & (self.loss != 0.0)
        loss, q, p = self.loss, np.exp(self.log_q), np.exp(self.log_p)
        missing = float(q[loss == math.inf].sum()), float(p[loss == -math.inf].sum())
        return Quadrature(
            loss[away],
            0.5 * (self.log_q[away] + self.log_p[away]),
            atom=float(q[loss == 0.0].sum()),
            missing=missing,
            spikes=np.array([loss[away], q[away]]),
        )

    def subsampled(self, p: float) -> FiniteLoss:
        """C_p of a symmetric law, 0 < p < 1.

        A loss x > 0 becomes log(1 - p + p e^x), with the same mass under P; its mirror image has
        that mass under Q. The rest of both worlds has loss 0.
        """
        up = self.loss > 0.0
        x, log_q, log_p = self.loss[up], self.log_q[up], self.log_p[up]
        share, rest = math.log(p), math.log1p(-p)
        new_q = np.logaddexp(share + log_q, rest + log_p)
        with np.errstate(over="ignore"):
            loss = np.where(x < 1.0, np.log1p(p * np.expm1(np.minimum(x, 1.0))), new_q - log_p)
        # of q_i - p_i a share 1 - p comes to rest at 0, with what was there
        idle = rest + log_q + np.log(-np.expm1(-x))
        still = float(np.logaddexp.reduce(np.append(idle, self.log_q[self.loss == 0.0])))
        rows = [*zip(loss, new_q, log_p, strict=True), *zip(-loss, log_p, new_q, strict=True)]
        return FiniteLoss.of([*rows, (0.0, still, still)])


def merged(loss: Array, log_mass: Array) -> Atoms:
    """Atoms in rising order, equal losses taken together."""
    if loss.size == 0:
        return Atoms(loss, log_mass)
    order = np.argsort(loss)
    loss = loss[order]
    first = np.flatnonzero(np.append(True, loss[1:] > loss[:-1]))
    return Atoms(loss[first], np.logaddexp.reduceat(log_mass[order], first))


NOTHING = FiniteLoss.of([(0.0, 0.0, 0.0)])
"""P and Q are the same."""

EVERYTHING = FiniteLoss.of([(math.inf, 0.0, -math.inf), (-math.inf, -math.inf, 0.0)])
"""P and Q have nothing in common."""


@dataclass(frozen=True, eq=False)
class BlendLoss(PrivacyLoss):
    """One of several laws, drawn with the given log weights.

    There may be hundreds of parts, so nodes come from the profile of the whole.
    """

    parts: tuple[PrivacyLoss, ...]
    log_weights: tuple[float, ...]
    whole: ProfileLaw

    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        return self.whole.quadrature(log_floor, reach)

    def _log_tails(self, x: Array, side: Side) -> tuple[Array, Array]:
        tails = [part._log_tails(x, side) for part in self.parts]
        left, right = zip(*tails, strict=True)
        return self._sum(left), self._sum(right)

    def _log_density(self, x: Array, side: Side) -> Array:
        return self._sum([part._log_density(x, side) for part in self.parts])

    def _sum(self, values: Sequence[Array]) -> Array:
        return log_sum([w + v for w, v in zip(self.log_weights, values, strict=True)])

    def _atoms(self, side: Side) -> Atoms:
        of_parts = [part._atoms(side) for part in self.parts]
        masses = [w + a.log_mass for w, a in zip(self.log_weights, of_parts, strict=True)]
        return merged(np.concatenate([a.loss for a in of_parts]), np.concatenate(masses))

    def _log_moment(self, s: float) -> float:
        moments = [part._log_moment(s) for part in self.parts]
        value = float(self._sum([np.array(m) for m in moments]))
        if not abs(value) < 1.0:
            return value
        pairs = zip(self.log_weights, moments, strict=True)
        return math.log1p(math.fsum(math.exp(w) * math.expm1(m) for w, m in pairs))
