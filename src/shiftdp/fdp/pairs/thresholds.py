"""Thresholds of likelihood-ratio tests between two-component Gaussian mixtures.

The best test between two laws whose likelihood ratio rises is {X > x}, with x where the logarithm
of the ratio is e. `solve_up` and `solve_down` find such x, many at once, by Halley's method in a
bracket. An x that is a little off is no harm: a `Threshold` says by how much the ratio at x misses
e^e, with a bound on the rounding error of that number, and `shiftdp.fdp.pairs.profiles` makes up
for it.
"""

from __future__ import annotations

import math

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import (
    FAR_TAIL,
    GENEROUS,
    LARGEST_EXPONENT,
    NINE_ROUNDINGS,
    NOT_ZERO,
    ROOMY_EXPONENT,
    UNIT,
)

__all__ = ["Threshold", "solve_down", "solve_up"]

_MOST_STEPS = 80  # of a search for a threshold
# A threshold is found if |z| is below this times the slope over |x| + 3: its square, which is what
# (2) of `shiftdp.fdp.pairs.profiles` costs, is then less than a rounding error.
_THRESHOLD_FOUND = 1.5e-8
# Of z, log(1 + z) is taken by its Pade approximant in this range, below the first as at the first.
_PADE = (-0.9, 4.0)
_LARGEST_LOG = 500.0  # e^500 / p is a float, and e^eps - 1 = e^eps to the last digit beyond


class Threshold:
    """x where the log-likelihood ratio is about e, and how far off it is.

    ratio(x) = (1-p) e^{a(x - a/2)} + p e^{d(x - d/2)}, over (1-p) + p e^{-s(x + s/2)} if two-sided.
    """

    def __init__(self, p: float, a: float, d: float, e: Array, s: float = 0.0) -> None:
        """With s > 0 the ratio is the two-sided one."""
        self.p, self.q, self.a, self.d, self.s, self.e = p, 1.0 - p, a, d, s, e

    def guess(self, x: Array, e: Array) -> tuple[Array, Array, Array, Array]:
        """The ratio over e^e is 1 + z: z, the first two derivatives of log(1 + z), and about how
        much of z may be noise.
        """
        p, q, a, d, s = self.p, self.q, self.a, self.d, self.s
        m0 = q * np.expm1(np.minimum(a * (x - 0.5 * a) - e, LARGEST_EXPONENT))
        m1 = p * np.expm1(np.minimum(d * (x - 0.5 * d) - e, LARGEST_EXPONENT))
        z, noise = m0 + m1, np.abs(m0) + np.abs(m1)
        share = (m1 + p) / np.maximum((m0 + q) + (m1 + p), NOT_ZERO)
        slope = a + (d - a) * share
        spread = ((d - a) * (d - a)) * share * (1.0 - share)
        if s > 0.0:
            below = p * np.expm1(-s * (x + 0.5 * s))  # the denominator less 1
            z, noise = (z - below) / (1.0 + below), (noise - below) / (1.0 + below)
            share = (below + p) / (1.0 + below)
            slope += s * share
            spread -= s * s * share * (1.0 - share)
        return z, slope, spread, 8 * UNIT * noise

    def find(self, low: Array, high: Array, start: Array) -> Threshold:
        """Halley's method on the log of the ratio, kept in a shrinking bracket."""
        found = np.clip(start, low, high)
        x, e, active = found, self.e, np.arange(found.size)
        for step_number in range(_MOST_STEPS):
            z, slope, spread, noise = self.guess(x, e)
            far_off = np.abs(z) > np.maximum(_THRESHOLD_FOUND * slope / (np.abs(x) + 3.0), noise)
            if not far_off.any():
                break
            if not far_off.all():
                active = active[far_off]
                x, e, z, slope, spread, low, high = (
                    values[far_off] for values in (x, e, z, slope, spread, low, high)
                )
            above = z > 0.0
            high, low = np.where(above, x, high), np.where(above, low, x)
            near = np.minimum(np.maximum(z, _PADE[0]), _PADE[1])
            r = near * (6.0 + near) / (6.0 + 4.0 * near)  # log(1 + z), nearly
            if z.max() > _PADE[1]:
                r = np.where(z > _PADE[1], np.log1p(np.maximum(z, 0.0)), r)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = r / slope
                halley = 1.0 - 0.5 * step * spread / slope
                new = x - step / np.minimum(np.maximum(halley, 0.5), 2.0)
            if step_number < 2:  # the ends have not been tried; a slope of 0 leads to one of them
                new = np.where(np.isfinite(new), new, np.where(above, low, high))
                new = np.minimum(np.maximum(new, low), high)
            else:
                new = np.where((new > low) & (new < high), new, 0.5 * (low + high))
            moved = new != x  # what sits at an end of its bracket is done
            if not moved.all():
                active = active[moved]
                new, e, low, high = new[moved], e[moved], low[moved], high[moved]
            if active.size == 0:
                break
            found[active] = x = new
        return self.at(found)

    def at(self, x: Array) -> Threshold:
        """z at x with its rounding error, and what is certain of the slope of log(1 + z).

        For means 1e20 apart and more the error may be infinite or no number: `_bound` then has 1.
        """
        p, q, a, d, s = self.p, self.q, self.a, self.d, self.s
        self.x = x
        self.l0, self.l1 = a * (x - 0.5 * a), d * (x - 0.5 * d)
        k0, k1 = (
            np.minimum(self.l0 - self.e, ROOMY_EXPONENT),
            np.minimum(self.l1 - self.e, ROOMY_EXPONENT),
        )
        m0, m1 = q * np.expm1(k0), p * np.expm1(k1)
        z = m0 + m1
        # the arguments carry 2u|l| + u|k|, the products 5u
        argument0 = 2.0 * np.abs(self.l0) + np.abs(k0)
        argument1 = 2.0 * np.abs(self.l1) + np.abs(k1)
        error = (m0 + q) * argument0 + (m1 + p) * argument1
        error += 5.0 * (np.abs(m0) + np.abs(m1))
        share = (m1 + p) / np.maximum((m0 + q) + (m1 + p), NOT_ZERO)
        self.slope = a + (d - a) * np.maximum(share - NINE_ROUNDINGS * (1.0 + share), 0.0)
        if s > 0.0:
            j = -s * (x + 0.5 * s)
            below, other = p * np.expm1(j), p * np.exp(j)
            base = q + other
            error += 3.0 * np.abs(j) * other - 5.0 * below
            self.v = other / base  # the share of N(-s)
            z, error = (z - below) / base, error / base
            # for a small denominator the quotient itself has the smaller error
            plain = (q * np.exp(k0) + p * np.exp(k1)) / base
            plain_error = plain * (np.maximum(argument0, argument1) + 3.0 * np.abs(j) + 16)
            better = plain_error < error
            z, error = np.where(better, plain - 1.0, z), np.where(better, plain_error, error)
            self.slope += s * self.v * (1.0 - GENEROUS)
        self.z, self.error = z, UNIT * (error + 2.0 * np.abs(z))
        return self


def solve_up(p: float, a: float, d: float, e: Array, s: float = 0.0) -> Threshold:
    """The x where the ratio is e^e, e >= 0.

    It lies between a/2, where the ratio is at most 1, and the x at which either component of the
    mixture alone reaches e^e.
    """
    low = np.full(e.shape, 0.5 * a)
    with np.errstate(over="ignore"):
        alone = np.log1p(np.expm1(np.minimum(e, _LARGEST_LOG)) / p)
        if e.max() > _LARGEST_LOG:
            alone = np.where(e < _LARGEST_LOG, alone, e - math.log(p))
        high = np.minimum(0.5 * d + alone / d, d + FAR_TAIL)
        start = high
        if a > 0.0:
            high = np.minimum(high, 0.5 * a + (e - math.log1p(-p)) / a)
            # ... and this is a better guess unless N(d) holds the ratio down
            start = np.minimum(high, 0.5 * a + e / (a * (1.0 - p)))
    high = np.maximum(high, low)
    return Threshold(p, a, d, e, s).find(low, high, start)


def solve_down(p: float, a: float, d: float, e: Array) -> Threshold:
    """The x where the one-sided ratio is e^e, e <= 0.

    It is at most d/2. A bound on the other side, or a better one on this, is the x at which N(d)
    alone brings the ratio to e^e while the part of N(a) is held at its value at x = a/2.
    """
    high = np.minimum(0.5 * d + (e - math.log(p)) / d, 0.5 * d)
    with np.errstate(divide="ignore", over="ignore"):
        if a > 0.0:
            high = np.minimum(high, 0.5 * a + (e - math.log1p(-p)) / a)
        alone = 0.5 * d + np.log1p(np.maximum(np.expm1(e) / p, -1.0)) / d
    alone = np.clip(alone, -FAR_TAIL, None)
    if a == 0.0:  # then that is the solution
        return Threshold(p, a, d, e).at(np.minimum(alone, 0.5 * d))
    below = alone < 0.5 * a
    low = np.where(
        below, np.maximum(alone - GENEROUS * (1.0 + np.abs(alone)), -FAR_TAIL), -FAR_TAIL
    )
    high = np.maximum(np.where(below, high, np.minimum(high, alone)), low)
    return Threshold(p, a, d, e).find(low, high, high)
