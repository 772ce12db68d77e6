"""The two error rates of threshold tests between two-component Gaussian mixtures.

A rate is a sum_i w_i Phi(c_i x - m_i), a distribution function, which `argument_up` inverts. A
tradeoff function is one rate at the point where another equals alpha; rounding that point to one
side rounds f down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._roots import least
from shiftdp._rounding import FAR_TAIL, LEAST_FLOAT, THIRTY_SIX_ROUNDINGS, UNIT

__all__ = ["Rate", "between", "upper_point"]

_BRACKET = (
    1e-6  # how far, as a part of 1 + |z|, quantiles of the components bracket that of their sum
)


@dataclass(frozen=True)
class Rate:
    """x -> (1-p) Phi(c_0 x - m_0) + p Phi(c_1 x - m_1)."""

    p: float
    means: tuple[float, float]
    scales: tuple[float, float] = (1.0, 1.0)

    def _terms(self, x: Array, signs: tuple[float, float]) -> tuple[Array, Array, Array]:
        """w_i Phi(+-(c_i x - m_i)) for both i, and their rounding error together."""
        terms, error = [], np.full(x.shape, 4 * LEAST_FLOAT)
        rows = zip((1.0 - self.p, self.p), self.scales, self.means, signs, strict=True)
        for w, c, m, sign in rows:
            reach = c * x
            v = sign * (reach - m)
            term = w * scipy.special.ndtr(v)
            left = np.minimum(np.maximum(-v, 0.0), FAR_TAIL)
            # of log Phi: its own error, and that of the argument times 1 + |v|
            argument = 3.0 * np.abs(reach) + np.abs(m) + left
            error += term * (4 * UNIT * (6.0 + left * left + (1.0 + left) * argument))
            terms.append(term)
        return terms[0], terms[1], error

    def down(self, x: Array) -> Array:
        """The rate, rounded down."""
        first, second, error = self._terms(x, (1.0, 1.0))
        return np.maximum(first + second - error, 0.0)

    def argument_up(self, alpha: Array) -> Array:
        """x with rate(x) = alpha, rounded up, for 0 < alpha < 1."""
        # exact where p or alpha is 1/2 or more; elsewhere it is not needed
        gap = np.where(alpha >= 0.5, (1.0 - alpha) - self.p, (1.0 - self.p) - alpha)
        gap -= 2 * UNIT * np.where((alpha >= 0.5) | (self.p >= 0.5), np.abs(gap), 1.0)

        def enough(x: Array) -> NDArray[np.bool_]:
            # three ways to say it, for alpha close to 0, close to 1, and close to 1 - p, where the
            # rate may be all but constant
            first, second, error = self._terms(x, (1.0, 1.0))
            good = first + second - error >= alpha
            first, second, error = self._terms(x, (-1.0, -1.0))
            good |= (first + second + error <= 1.0 - alpha) & (alpha >= 0.5)
            first, second, error = self._terms(x, (-1.0, 1.0))
            return good | (first - second + error <= gap)

        z = scipy.special.ndtri(alpha)
        margin = _BRACKET * (1.0 + np.abs(z))
        ends = [(z + m) / c for m, c in zip(self.means, self.scales, strict=True)]
        widths = [margin / c for c in self.scales]
        low = np.minimum(ends[0] - widths[0], ends[1] - widths[1])
        high = np.maximum(ends[0] + widths[0], ends[1] + widths[1])
        return least(enough, low, high)


def upper_point(alpha: Array) -> Array:
    """x with Phi(-x) = alpha, rounded down."""
    x: Array = -scipy.special.ndtri(alpha)
    return x - THIRTY_SIX_ROUNDINGS * (1.0 + np.abs(x))


def between(curve: Callable[[Array], Array], alpha: Array) -> Array:
    """f on [0, 1] from its formula on (0, 1), where f(0) = 1 and f(1) = 0."""
    beta = np.where(alpha <= 0.0, 1.0, 0.0)
    inner = (alpha > 0.0) & (alpha < 1.0)
    if inner.any():
        beta[inner] = curve(alpha[inner])
    return beta
