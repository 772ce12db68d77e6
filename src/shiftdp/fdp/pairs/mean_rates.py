"""The error rates of threshold tests between mixtures of Gaussians with many means.

A rate is x -> sum_i w_i K(x - m_i), where K is Phi, or for the capped ratio of Theorem B7
K(v) = Phi(v) for v >= 0 and 1/2 + v/sqrt(2 pi) for v < 0. It rises; `argument_up` inverts it.

*Digits.* An alpha may be close to one of the sums C_j = w_0 + ... + w_{j-1}, near which the rate is
all but constant. So it is compared with alpha as

    sum_{m_i >= x} w_i K(x - m_i) - sum_{m_i < x} w_i Phi(m_i - x)    against    alpha - C_j,

j being the number of means below x, and the differences on the right are known to all digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._roots import least
from shiftdp._rounding import FAR_TAIL, LEAST_FLOAT, UNIT
from shiftdp.fdp.pairs.mean_law import MeanLaw, remainder, total

__all__ = ["MeanRate"]

_INVERSE_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
_BRACKET = 1e-6  # how far, as a part of 1 + |z|, quantiles of components bracket that of their sum
_BLOCK = 1 << 16  # numbers at once: arrays that stay in the cache


@dataclass(frozen=True, eq=False)
class MeanRate:
    """x -> sum_i w_i K(x - m_i)."""

    law: MeanLaw
    capped: bool = False

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        """C_j and 1 - C_j, j = 0, ..., n, each as a rounded number and what that leaves out."""
        weights = self.law.weight.ravel().tolist()
        below, beyond = [(0.0, 0.0)], [(1.0, 0.0)]
        for i in range(1, len(weights) + 1):
            rest = weights[i:]
            high, tail = remainder(rest), math.fsum(rest)
            below.append((high, remainder(rest, high)))
            beyond.append((tail, math.fsum([*rest, -tail])))
        return np.array(below).T, np.array(beyond).T

    def _sides(self, x: Array) -> tuple[Array, Array, Array]:
        """The sum over m_i >= x, that over m_i < x, and their rounding error together."""
        law = self.law
        v = x - law.mean
        size = np.minimum(np.abs(v), FAR_TAIL)
        tail = scipy.special.ndtr(-np.abs(v))
        # of log Phi: its own error, and that of the argument, one rounding of it
        error = law.weight * tail * (4 * UNIT * (10.0 + law.sum_error + 2.0 * size * (size + 1.0)))
        left = v < 0.0
        if self.capped:
            line = _INVERSE_SQRT_2PI * np.minimum(v, 0.0)
            tail = np.where(left, 0.5 + line, tail)
            rounding = law.weight * (4 * UNIT * (4.0 + law.sum_error) * (0.5 - line))
            error = np.where(left, rounding, error)
        terms = law.weight * tail
        lost = 4 * law.size * LEAST_FLOAT
        above, below = total(np.where(left, terms, 0.0)), total(np.where(left, 0.0, terms))
        return above, below, total(error) * (1.0 + 32 * UNIT) + lost

    def down(self, x: Array) -> Array:
        """The rate, rounded down; not below 0."""
        return np.concatenate([self._down(block) for block in self._blocks(x)])

    def _down(self, x: Array) -> Array:
        above, below, error = self._sides(x)
        known = self._sums[0][0][np.searchsorted(self.law.mean.ravel(), x, side="right")]
        error = error + 4 * UNIT * (known + below + np.abs(above))
        return np.asarray(np.maximum((known - below) + above - error, 0.0))

    def argument_up(self, alpha: Array) -> Array:
        """x with rate(x) = alpha, rounded up, for 0 < alpha < 1."""
        return np.concatenate([self._argument_up(block) for block in self._blocks(alpha)])

    def _argument_up(self, alpha: Array) -> Array:
        means = self.law.mean.ravel()
        (low, low_rest), (high, high_rest) = self._sums
        large = alpha >= 0.5  # then alpha - 1 is exact

        def enough(x: Array) -> NDArray[np.bool_]:
            above, below, error = self._sides(x)
            j = np.searchsorted(means, x, side="right")
            first = np.where(large, (alpha - 1.0) + high[j], alpha - low[j])
            rest = np.where(large, high_rest[j], -low_rest[j])
            error = error + 4 * UNIT * (np.abs(first) + np.abs(rest) + np.abs(above) + below)
            return np.asarray(above - below - error >= first + rest)

        z = scipy.special.ndtri(alpha)
        margin = _BRACKET * (1.0 + np.abs(z))
        # K <= Phi, and K = Phi right of 0
        return least(enough, means[0] + z - margin, np.maximum(z, 0.0) + means[-1] + margin)

    def _blocks(self, x: Array) -> list[Array]:
        columns = max(1, _BLOCK // self.law.size)
        return np.array_split(x, max(1, -(-x.size // columns)))
