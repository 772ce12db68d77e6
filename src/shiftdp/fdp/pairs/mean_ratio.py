"""Log-likelihood ratios of Gaussian mixtures with many means, as rising functions to be inverted.

With l_i(z) = m_i (z - m_i/2) and A(z) = sum_i w_i e^{l_i(z)},

    one-sided   sum_i w_i N(m_i) against N(0):                 L(z) = log A(z)
    two-sided   sum_i w_i N(m_i) against sum_i w_i N(-m_i):    L(z) = log A(z) - log A(-z), odd
    capped      of Theorem B7, for z > 0:                      log A(z) with min(m_i, z) for m_i.

`at` inverts: its z is right to some units in the last place, either of z
itself or of the loss that was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import LARGEST_EXPONENT
from shiftdp.fdp.pairs.mean_law import MeanLaw, total
from shiftdp.fdp.pairs.mean_thresholds import (
    log_sum,
    missed,
    missed_two_sided,
    polished,
    solve,
    solve_two_sided,
)

_FARTHEST = 1e200  # no logarithm of a Gaussian tail beyond is a float
_BLOCK = 1 << 16  # numbers at once: arrays that stay in the cache
_STEPS = 3  # of Newton's method, from a threshold that is right to some digits
_NEAR = 1.0  # |L| below which A is summed from 1, so that L keeps its digits


@dataclass(frozen=True, eq=False)
class MeanRatio:
    """One of the three ratios of a law with a mean above 0.

    >>> ratio = MeanRatio(MeanLaw.of((0.0, 0.5, 1.5), (0.5, 0.4, 0.1)), "one-sided")
    >>> bool(abs(ratio(ratio.at(np.array([3.0])))[0] - 3.0) < 1e-14)
    True
    """

    law: MeanLaw
    kind: Literal["one-sided", "two-sided", "capped"]

    @property
    def odd(self) -> bool:
        return self.kind == "two-sided"

    def __call__(self, z: Array) -> Array:
        if self.odd:
            return np.asarray(np.copysign(self.from_origin(np.abs(z)), z))
        return self.from_origin(z)

    def from_origin(self, z: Array) -> Array:
        """L at z; two-sided, for z >= 0 only."""
        return self._by_blocks(self._two_sided if self.odd else self._one_sided, z)

    def slope(self, z: Array) -> Array:
        return np.exp(self.log_slope(z))

    def log_slope(self, z: Array) -> Array:
        return self._by_blocks(self._log_slope, z)

    def at(self, x: Array) -> Array:
        """z with L(z) = x; with a mean of 0 and one-sided for x <= log w_0 there is none: -inf."""
        return self._by_blocks(self._at, x)

    # --- a block of each ---

    def _means(self, z: Array) -> Array:
        return np.minimum(self.law.mean, z) if self.kind == "capped" else self.law.mean

    def _one_sided(self, z: Array) -> Array:
        means = self._means(z)
        exponents = means * (z - 0.5 * means)
        value, _ = log_sum(np.log(self.law.weight) + exponents, means)
        near = (np.abs(value) < _NEAR) & (exponents.max(axis=0) < LARGEST_EXPONENT)
        if near.any():
            value[near] = np.log1p(total(self.law.weight * np.expm1(exponents[:, near])))
        return value

    def _two_sided(self, z: Array) -> Array:
        """log(1 + (A(z) - A(-z))/A(-z)), z >= 0: a sum of terms >= 0."""
        mean, log_weight = self.law.mean, np.log(self.law.weight)
        with np.errstate(divide="ignore"):
            gain = np.log(-np.expm1(-2.0 * mean * z))
        rise, _ = log_sum(log_weight + mean * (z - 0.5 * mean) + gain, mean)
        base, _ = log_sum(log_weight - mean * (z + 0.5 * mean), mean)
        u = rise - base
        return np.asarray(np.maximum(u, 0.0) + np.log1p(np.exp(-np.abs(u))))

    def _log_slope(self, z: Array) -> Array:
        """log of the average mean, with the weights w_i e^{l_i}; two-sided the sum of two."""
        slope = self._log_average(z)
        return np.logaddexp(slope, self._log_average(-z)) if self.odd else slope

    def _log_average(self, z: Array) -> Array:
        means = self._means(z)
        exponents = np.log(self.law.weight) + means * (z - 0.5 * means)
        with np.errstate(divide="ignore"):
            above, _ = log_sum(exponents + np.log(means), means)
        return above - log_sum(exponents, means)[0]

    def _at(self, x: Array) -> Array:
        if self.odd:
            loss = np.abs(x)
            z = solve_two_sided(self.law, loss, _FARTHEST)
        else:
            loss, z = x, solve(self.law, x, self.kind == "capped", _FARTHEST)
        found = z > -_FARTHEST
        for _ in range(_STEPS):
            if self.odd:
                at, _ = missed_two_sided(self.law, z, loss)
            else:
                at = missed(self.law, z, loss, self.kind == "capped")
            z = np.where(found, polished(at), z)
        z = np.where(found, z, -math.inf)
        return np.asarray(np.copysign(np.where(loss == 0.0, 0.0, z), x)) if self.odd else z

    def _by_blocks(self, function: Callable[[Array], Array], z: Array) -> Array:
        columns = max(1, _BLOCK // self.law.size)
        parts = np.array_split(z, max(1, -(-z.size // columns)))
        with np.errstate(over="ignore", invalid="ignore"):
            return np.concatenate([function(part) for part in parts])
