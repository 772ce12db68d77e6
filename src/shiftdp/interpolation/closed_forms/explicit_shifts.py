"""Shifts written out step by step, as the paper's optimisation lemmas state them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array


@dataclass(frozen=True, eq=False)
class ExplicitShifts:
    """The sequences of Theorem shift from a start time tau to the last step t.

    `a_k + z_k = c z_{k-1} + s_k`, `a_k = lam_k (a_k + z_k)`, `z_t = 0`.

    Args:
        start: tau, so that step `start + 1` is the first one that is shifted.
        a: shifts of the steps tau + 1 .. t.
        z: distances between the process and its interpolation at tau, tau + 1 .. t (one more).
    """

    start: int
    a: Array
    z: Array

    @property
    def lam(self) -> Array:
        """The interpolation weights lambda_k, with the paper's convention 0/0 = 0."""
        whole = self.z[1:] + self.a
        return np.divide(self.a, whole, out=np.zeros_like(whole), where=whole > 0)

    def energy(self) -> float:
        """The sum of the squared shifts, `(mu sd)^2`."""
        return math.fsum(self.a * self.a)
