"""A slow reference for products: tilted laws on a lattice, composed by FFT, extrapolated to h = 0.

The profile is interpolated linearly in gamma between the points e^{jh} ("connect the dots"), which
is the profile of a law on the lattice hZ. Tilting it by e^{theta L} moves its mean to eps, so small
deltas keep their digits. The error is even in h, and three lattices cancel two terms of it. None of
this is shared with the contour, neither the integral representation nor the quadrature.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp.fdp import TradeoffFunction

__all__ = ["reference_log_delta"]

ComplexArray = NDArray[np.complex128]
Parts = list[tuple[TradeoffFunction, int]]


def _lattice_law(f: TradeoffFunction, h: float, reach: float) -> tuple[Array, Array]:
    """Masses under Q at 0, h, 2h, ... and at 0, -h, -2h, ...; the atom at 0 is in the first."""
    m = int(np.ceil(reach / h)) + 2
    j = np.arange(m + 1, dtype=np.float64)
    grid: Array = j * h
    sides = []
    slopes = []
    for g in (f, f.inverse()):
        d = np.maximum(g._delta(grid) - g._delta(np.array([m * h])), 0.0)
        d[m:] = 0.0
        fall = np.diff(d)
        mass = np.zeros(m + 1)
        mass[1:-1] = (fall[1:] - np.exp(h) * fall[:-1]) / np.expm1(h)
        sides.append(np.maximum(mass, 0.0))
        slopes.append(fall[0] / np.expm1(h))
    up, down = sides[0], sides[1] * np.exp(-j * h)
    start = float(f._delta(np.zeros(1))[0])
    # the slope of the profile, in gamma, jumps by the atom at gamma = 1
    up[0] = slopes[0] + slopes[1] + 1.0 - start
    return up, down


def _log_delta(parts: Parts, eps: float, h: float, reach: float, length: float) -> float:
    laws = [(_lattice_law(f, h, reach), k) for f, k in parts]
    n = int(2 ** np.ceil(np.log2(length / h)))
    steps = [np.arange(up.size) * h for (up, _), _ in laws]

    def cumulant(theta: float) -> float:
        total = 0.0
        for ((up, down), k), x in zip(laws, steps, strict=True):
            gain = up @ np.expm1(theta * x) + down @ np.expm1(-theta * x)
            total += k * float(np.log1p(gain + (up.sum() + down.sum() - 1.0)))
        return total

    thetas = np.geomspace(1e-2, 600.0 / reach, 40)
    bounds = [cumulant(float(theta)) - theta * eps for theta in thetas]
    theta = float(thetas[int(np.argmin(bounds))])
    spectrum = np.zeros(n // 2 + 1, dtype=complex)
    log_norm = 0.0
    for ((up, down), k), x in zip(laws, steps, strict=True):
        right, left = up * np.exp(theta * x), down * np.exp(-theta * x)
        norm = right.sum() + left.sum()
        right, left = right / norm, left / norm
        log_norm += k * float(np.log(norm))
        law = np.zeros(n)
        law[: right.size] = right
        law[0] -= 1.0
        law[n - left.size + 1 :] += left[:0:-1]
        spectrum += k * _log1p(np.fft.rfft(law))
    # centre the window at eps, which is a lattice point
    at = round(eps / h)
    assert abs(at * h - eps) < 1e-9 * h + 1e-12
    total = np.roll(np.fft.irfft(np.exp(spectrum), n), -at)
    x = np.arange(n // 2) * h
    value = float((total[: n // 2] * np.exp(-theta * x)) @ -np.expm1(-x))
    return float(np.log(value)) + log_norm - theta * eps


def _log1p(z: ComplexArray) -> ComplexArray:
    """log(1 + z), right also for small z."""
    real, imaginary = z.real, z.imag
    modulus = np.maximum(2.0 * real + real * real + imaginary * imaginary, -1.0 + 1e-16)
    logarithm: ComplexArray = 0.5 * np.log1p(modulus) + 1j * np.arctan2(imaginary, 1.0 + real)
    return logarithm


def reference_log_delta(
    parts: Parts, eps: float, h: float, reach: float, length: float
) -> tuple[float, float]:
    """log delta(eps) extrapolated twice, and what the second time changed.

    From the lattices 2h, h and h/2. `reach` is how far the losses of one factor are followed,
    `length` that of the FFT.
    """
    coarse, middle, fine = (
        _log_delta(parts, eps, step, reach, length) for step in (2.0 * h, h, 0.5 * h)
    )
    first = middle + float(np.log1p(-np.expm1(coarse - middle) / 3.0))
    second = fine + float(np.log1p(-np.expm1(middle - fine) / 3.0))
    third = second + (second - first) / 15.0
    return third, abs(third - second)
