"""The two error rates of threshold tests between Gaussian mixtures.

A rate is x -> sum_i w_i K(c_i x - m_i), where K is Phi, or for the capped ratio of Theorem B7
K(v) = Phi(v) for v >= 0 and 1/2 + v/sqrt(2 pi) for v < 0. It rises; `argument_up` inverts it. A
tradeoff function is one rate at the point where another equals alpha; rounding that point to one
side rounds f down.

*Digits.* An alpha may be close to one of the sums C_j = w_0 + ... + w_{j-1}, near which the rate is
all but constant. So it is compared with alpha as

    sum_{i >= j} w_i K(c_i x - m_i) - sum_{i < j} w_i Phi(m_i - c_i x)    against    alpha - C_j,

j being the number of components that x has passed, and the differences on the right are known to
all digits.
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

_INVERSE_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
_BRACKET = 1e-6  # how far, as a part of 1 + |z|, quantiles of components bracket that of their sum
_BLOCK = 1 << 16  # numbers at once: arrays that stay in the cache


@dataclass(frozen=True, eq=False)
class MeanRate:
    """x -> sum_i w_i K(c_i x - m_i), the c_i being 1 unless given; m_i/c_i rises.

    >>> MeanRate(MeanLaw.of((0.0, 2.0), (0.5, 0.5))).down(np.array([1.0])).round(9).tolist()
    [0.5]
    """

    law: MeanLaw
    capped: bool = False
    scale: tuple[float, ...] = ()

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

    def _sides(self, x: Array) -> tuple[NDArray[np.intp], Array, Array, Array]:
        """j, the sum over i >= j, that over i < j, and their rounding error together."""
        law = self.law
        reach = np.array(self.scale)[:, None] * x if self.scale else x
        v = reach - law.mean
        passed = np.logical_and.accumulate(v >= 0.0, axis=0)
        left = ~passed
        size = np.minimum(np.abs(v), FAR_TAIL)
        tail = scipy.special.ndtr(np.where(left, v, -v))
        # of log Phi: its own error, and that of the argument, one rounding of it, and of a scale
        roundings = 10.0 + law.sum_error + 2.0 * size * (size + 1.0)
        if self.scale:
            roundings = roundings + 3.0 * (1.0 + size) * np.abs(reach)
        error = law.weight * tail * (4 * UNIT * roundings)
        if self.capped:
            line = _INVERSE_SQRT_2PI * np.minimum(v, 0.0)
            tail = np.where(left, 0.5 + line, tail)
            rounding = law.weight * (4 * UNIT * (4.0 + law.sum_error) * (0.5 - line))
            error = np.where(left, rounding, error)
        terms = law.weight * tail
        lost = 4 * law.size * LEAST_FLOAT
        above, below = total(np.where(left, terms, 0.0)), total(np.where(left, 0.0, terms))
        return passed.sum(axis=0), above, below, total(error) * (1.0 + 32 * UNIT) + lost

    def down(self, x: Array) -> Array:
        """The rate, rounded down; not below 0."""
        return np.concatenate([self._down(block) for block in self._blocks(x)])

    def _down(self, x: Array) -> Array:
        j, above, below, error = self._sides(x)
        known = self._sums[0][0][j]
        error = error + 4 * UNIT * (known + below + np.abs(above))
        return np.asarray(np.maximum((known - below) + above - error, 0.0))

    def argument_up(self, alpha: Array) -> Array:
        """x with rate(x) = alpha, rounded up, for 0 < alpha < 1."""
        return np.concatenate([self._argument_up(block) for block in self._blocks(alpha)])

    def _argument_up(self, alpha: Array) -> Array:
        (low, low_rest), (high, high_rest) = self._sums
        large = alpha >= 0.5  # then alpha - 1 is exact

        def enough(x: Array) -> NDArray[np.bool_]:
            j, above, below, error = self._sides(x)
            first = np.where(large, (alpha - 1.0) + high[j], alpha - low[j])
            rest = np.where(large, high_rest[j], -low_rest[j])
            error = error + 4 * UNIT * (np.abs(first) + np.abs(rest) + np.abs(above) + below)
            return np.asarray(above - below - error >= first + rest)

        z = scipy.special.ndtri(alpha)
        margin = _BRACKET * (1.0 + np.abs(z))
        scale = np.array(self.scale or (1.0,))[:, None]
        # K <= Phi, and K = Phi right of 0
        start = (self.law.mean + (z - margin)) / scale
        end = (self.law.mean + (np.maximum(z, 0.0) + margin)) / scale
        return least(enough, start.min(axis=0), end.max(axis=0))

    def _blocks(self, x: Array) -> list[Array]:
        columns = max(1, _BLOCK // self.law.size)
        return np.array_split(x, max(1, -(-x.size // columns)))


NORMAL_RATE = MeanRate(MeanLaw.of((0.0,), (1.0,)))
"""x -> Phi(x)."""
