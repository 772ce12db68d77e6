"""The privacy-loss law of a mechanism that is drawn at random and revealed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp.fdp.losses.finite import merged
from shiftdp.fdp.losses.law import Atoms, PrivacyLoss, Side, log_sum
from shiftdp.fdp.losses.profile import ProfileLaw
from shiftdp.fdp.losses.quadrature import Quadrature

__all__ = ["BlendLoss"]


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
