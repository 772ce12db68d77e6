"""Log-likelihood ratios of two-component Gaussian mixtures, as rising functions that are inverted.

With d = a + s, k(z) = s (z - (a + d)/2) and j(z) = -s (z + s/2),

    one-sided   (1-p) N(a) + p N(d) against N(0):
                L(z) = a (z - a/2) + log(1 - p + p e^k)
    two-sided   the same against (1-p) N(0) + p N(-s):
                L(z) = a (z - a/2) + log(1 - p + p e^k) - log(1 - p + p e^j),

the second odd about z = a/2. `at` inverts: its z is right to some units in the last place, either
of z itself or of the loss that was asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._roots import newton_in_bracket
from shiftdp._rounding import AMPLE, LARGEST_EXPONENT, NOT_ZERO
from shiftdp.fdp.pairs.profiles import sum_up

__all__ = ["OneSidedRatio", "TwoSidedRatio"]

_LOG_2 = math.log(2.0)
_FARTHEST = 1e200  # no logarithm of a Gaussian tail beyond is a float


@dataclass(frozen=True)
class OneSidedRatio:
    """(1-p) N(a) + p N(d) against N(0), 0 < p < 1 and 0 <= a < d.

    >>> ratio = OneSidedRatio(p=0.1, a=0.5, d=1.5)
    >>> bool(abs(ratio(ratio.at(np.array([3.0])))[0] - 3.0) < 1e-14)
    True
    """

    p: float
    a: float
    d: float

    origin, odd = 0.0, False

    def __call__(self, z: Array) -> Array:
        a, p = self.a, self.p
        k = (self.d - a) * (z - 0.5 * (a + self.d))
        # p (e^k - 1) keeps the digits of a small loss, the odds those of a large one
        rise = p * np.expm1(np.minimum(k, 1.0))
        far = (k >= 1.0) | (rise <= -0.5)
        rest = np.log1p(np.maximum(rise, -0.5))
        if far.any():
            rest[far] = math.log1p(-p) + _softplus(self._odds(z[far]))
        return np.asarray(a * (z - 0.5 * a) + rest)

    def from_origin(self, z: Array) -> Array:
        """The ratio is not odd: its line begins at 0."""
        return self(z)

    def beyond(self, y: Array) -> Array:
        """L(y + (a + d)/2) for y >= 0, where k = s y >= 0."""
        k = (self.d - self.a) * y
        steep = np.log1p(self.p * np.expm1(np.minimum(k, LARGEST_EXPONENT)))
        return np.asarray(
            self.a * (y + 0.5 * self.d) + steep + np.maximum(k - LARGEST_EXPONENT, 0.0)
        )

    def slope(self, z: Array) -> Array:
        share = scipy.special.expit(self._odds(z))
        return np.asarray(self.a + (self.d - self.a) * share)

    def log_slope(self, z: Array) -> Array:
        part = math.log(self.d - self.a) + scipy.special.log_expit(self._odds(z))
        return np.asarray(np.logaddexp(math.log(self.a), part) if self.a > 0.0 else part)

    def _odds(self, z: Array) -> Array:
        """log of p e^k over 1 - p."""
        a, d = self.a, self.d
        return np.asarray(math.log(self.p) - math.log1p(-self.p) + (d - a) * (z - 0.5 * (a + d)))

    def at(self, x: Array) -> Array:
        """z with L(z) = x; for a = 0 and x <= log(1 - p) there is none, and z = -inf."""
        p, a, d = self.p, self.a, self.d
        if a == 0.0:
            return np.asarray(0.5 * d + _log_shifted(x, p) / d)
        # convex: Newton's method from the right, where each component alone reaches x
        high, low = self.above(x), self.above(x - _LOG_2)
        return newton_in_bracket(lambda z, e: self(z) - e, self.slope, x, low, high)

    def above(self, x: Array) -> Array:
        """z with x <= L(z) <= x + log 2."""
        alone = 0.5 * self.d + (x - math.log(self.p)) / self.d
        if self.a > 0.0:
            other = 0.5 * self.a + (x - math.log1p(-self.p)) / self.a
            alone = np.minimum(alone, other)
        return np.asarray(np.clip(alone, -_FARTHEST, _FARTHEST))


@dataclass(frozen=True)
class TwoSidedRatio:
    """(1-p) N(a) + p N(a+s) against (1-p) N(0) + p N(-s), 0 < p < 1, a >= 0, s > 0.

    >>> ratio = TwoSidedRatio(p=0.1, a=0.5, s=1.0)
    >>> z = ratio.at(np.array([-3.0, 3.0]))
    >>> (z.sum().round(12), ratio(z).round(12).tolist())
    (np.float64(0.5), [-3.0, 3.0])
    """

    p: float
    a: float
    s: float

    @property
    def _above(self) -> OneSidedRatio:
        return OneSidedRatio(self.p, self.a, sum_up(self.a, self.s))

    @property
    def _below(self) -> OneSidedRatio:
        """The other mixture, mirrored, against N(0)."""
        return OneSidedRatio(self.p, 0.0, self.s)

    odd = True

    @property
    def origin(self) -> float:
        """The point about which the log-likelihood ratio is odd."""
        return 0.5 * self.a

    def __call__(self, z: Array) -> Array:
        t = z - self.origin
        return np.asarray(np.copysign(self.from_origin(np.abs(t)), t))

    def from_origin(self, t: Array) -> Array:
        """L at t = z - a/2 >= 0: a sum of terms >= 0, as 1 - p + p e^k is 1 - p + p e^j plus
        p e^k (1 - e^{-2st}).
        """
        p, s = self.p, self.s
        middle = 0.5 * (self.a + s)
        base = (1.0 - p) + p * np.exp(-s * (t + middle))
        with np.errstate(divide="ignore"):
            gain = np.log(-np.expm1(-2.0 * s * t))
        return np.asarray(
            self.a * t + _softplus(math.log(p) + s * (t - middle) + gain - np.log(base))
        )

    def slope(self, z: Array) -> Array:
        return self._above.slope(z) + self._below.slope(-z)

    def log_slope(self, z: Array) -> Array:
        return np.asarray(np.logaddexp(self._above.log_slope(z), self._below.log_slope(-z)))

    def at(self, x: Array) -> Array:
        """z with L(z) = x."""
        loss, centre = np.abs(x), self.origin
        # L is above the one-sided loss
        high = np.maximum(self._above.above(loss) - centre, 0.0) * (1.0 + AMPLE) + NOT_ZERO
        t = newton_in_bracket(
            lambda t, e: self.from_origin(t) - e,
            lambda t: self.slope(centre + t),
            loss,
            np.zeros(x.shape),
            high,
        )
        return np.asarray(centre + np.copysign(np.where(x == 0.0, 0.0, t), x))


def _softplus(u: Array) -> Array:
    return np.asarray(np.maximum(u, 0.0) + np.log1p(np.exp(-np.abs(u))))


def _log_shifted(x: Array, p: float) -> Array:
    """log((e^x - 1 + p)/p), -inf where that is no number."""
    rest = 1.0 - p
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        small = np.log(np.maximum(np.exp(np.minimum(x, 0.0)) - rest, 0.0) / p)
        near = np.log1p(np.maximum(np.expm1(np.clip(x, -1.0, 1.0)) / p, -1.0))
        large = x + np.log1p(-rest * np.exp(-np.maximum(x, 0.0))) - math.log(p)
    return np.where(x < -_LOG_2, small, np.where(x < 1.0, near, large))
