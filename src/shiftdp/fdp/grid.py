"""Certified composition on a grid: one FFT each way, with every error bounded.

The atoms of each factor (see `connect_the_dots`) are *tilted*, q_j e^{theta j h} / M(theta), which
moves the mass of the total loss to the losses that matter for the delta in question, transformed,
raised to their multiplicities, multiplied, and transformed back. Untilting the result weighs an
absolute error by e^{-theta x}, so tails keep their *relative* accuracy: 1e-30 is as good as 1e-5.

Errors, all added to an upper bound and subtracted from a lower one:

- *Window.* Beyond its ends lies a tilted mass of at most e^_TAIL each, by Chernoff's bound
  e^{K(theta+lam) - K(theta) - lam b}. It wraps around; what of it lands right of eps weighs at most
  e^{K - theta eps} there: for the left end at once, for the right end because a loss b + x has mass
  e^{-lam x} and lands x right of the start. What the right end loses is charged in full.
- *FFT.* A transform is a product of at most log2(N) sparse matrices whose rows have entries of
  modulus 1, each applied with a relative error of a few ulps [Higham 2002, Sec 24.1]; every path
  through them has modulus 1, so no output errs by more than `_FFT_ULPS log2(N)` ulps of the sum of
  the moduli of the inputs. Forward that sum is at most 2; the k-th power multiplies the error by k;
  backward it is the sum of the moduli of the spectrum.
- *Atoms.* What their rounding moves, tilted, counts k times as well.
- *Infinite losses* of the factors: 1 - prod (1 - q_i)^{k_i}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._errors import ShiftdpError
from shiftdp.fdp.connect_the_dots import Dots

__all__ = ["MOST_ATOMS", "GridLaw", "GridTooFine", "compose_dots"]

_ULP = 2.0**-52
_FFT_ULPS = 8.0  # a step of radix 2 to 11 costs no more, shared out over its factors of 2
_TAIL = math.log(1e-12)  # of the tilted mass, on either side of the window
_SILENT = -60.0  # log modulus of coefficients that are left out
_SUMS = 1e-12  # relative error of the sums over atoms
MOST_ATOMS = 1 << 23


class GridTooFine(ShiftdpError):
    """A grid with more atoms than fit into memory."""


@dataclass(frozen=True, eq=False)
class GridLaw:
    """The law of the total loss under Q on the grid x_i = (start + i) mesh, and its profile.

    `mass[i]` is the Q-mass of the losses from x_i on, `dual[i]` their P-mass times e^{x_i}; so
    delta(eps) = mass[i] - e^{eps - x_i} dual[i] for x_{i-1} <= eps <= x_i. Its answers are upper
    bounds (`side` +1) or lower bounds (-1) on the profile of the product.
    """

    side: int
    mesh: float
    start: int
    mass: Array
    dual: Array
    theta: float
    log_scale: float
    atom_error: float
    beyond: float

    def _slack(self, epsilon: Array) -> Array:
        """What rounding can have moved across eps (a geometric sum), and what has no place."""
        part = self.atom_error / -math.expm1(-self.theta * self.mesh) + 2.0 * math.exp(_TAIL)
        moved = part * np.exp(np.minimum(self.log_scale - self.theta * epsilon, 700.0))
        return self.side * (moved + (self.beyond if self.side > 0 else 0.0))

    def knots(self) -> Array:
        """The losses of the grid, but for the last."""
        return np.asarray(
            self.mesh * (self.start + np.arange(self.mass.size - 1)), dtype=np.float64
        )

    def at_knots(self) -> Array:
        """Bounds on delta at the knots, falling from left to right."""
        value = np.maximum(self.mass[1:] - math.exp(-self.mesh) * self.dual[1:], 0.0)
        bound = (value + self._slack(self.knots())) * (1.0 + self.side * _SUMS)
        # delta falls: what bounds it from below at a knot does so left of it, and where rounding
        # lifts a bound from above, the larger value is still one
        return np.clip(np.maximum.accumulate(bound[::-1])[::-1], 0.0, 1.0)

    def delta(self, epsilon: Array) -> Array:
        """A bound on delta(eps), exact between the knots; outside the window a trivial one."""
        place = np.floor(epsilon / self.mesh) - self.start
        i = np.clip(place, 0, self.mass.size - 2).astype(np.int64) + 1
        before = np.minimum(epsilon - self.mesh * (self.start + i), 0.0)
        value = np.maximum(self.mass[i] - np.exp(before) * self.dual[i], 0.0)
        bound = (value + self._slack(epsilon)) * (1.0 + self.side * _SUMS)
        inside = (place >= 0) & (place < self.mass.size - 1)
        if self.side < 0:
            return np.where(inside, np.maximum(bound, 0.0), 0.0)
        # right of the window delta is no larger than at its end
        outside = np.where(place < 0, 1.0, float(self.at_knots()[-1]))
        return np.where(inside, np.minimum(bound, 1.0), outside)

    def epsilon(self, delta: Array) -> Array:
        """The eps at which the bound passes delta; beyond the window infinity, or its end."""
        eps, bounds = self.knots(), self.at_knots()
        i = bounds.size - np.searchsorted(bounds[::-1], delta, side="right")
        j = np.clip(i, 1, bounds.size - 1)
        # in the cell before knot i, delta is mass - e^eps dual, with the slack of its left end
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            spare = delta / (1.0 + self.side * _SUMS) - self._slack(eps[j - 1])
            inside = eps[j] + np.log((self.mass[j] - spare) / self.dual[j])
        fallback = eps[j] if self.side > 0 else eps[j - 1]
        inside = np.where(np.isfinite(inside), np.clip(inside, eps[j - 1], eps[j]), fallback)
        inside = np.where(i == 0, 0.0 if self.side < 0 else eps[0], inside)
        end = math.inf if self.side > 0 else eps[-1]
        return np.maximum(np.where(i >= bounds.size, end, inside), 0.0)


def compose_dots(parts: Sequence[tuple[Dots, int]], theta: float, side: int) -> GridLaw:
    """The product of discrete laws with multiplicities, tilted by theta > 0."""
    mesh = parts[0][0].mesh
    tilted = [_tilt(dots, theta) for dots, _ in parts]
    counts = [k for _, k in parts]
    log_scale = math.fsum(k * t.log_moment for t, k in zip(tilted, counts, strict=True))
    variance = math.fsum(k * t.variance for t, k in zip(tilted, counts, strict=True))
    lam = math.sqrt(-2.0 * _TAIL / max(variance, mesh * mesh))  # best for Gaussian tails
    high, low = _edge(tilted, counts, mesh, lam), -_edge(tilted, counts, mesh, -lam)
    start = math.floor(low / mesh) - 1
    widest = max(t.right.size + t.left.size + 1 for t in tilted)
    size = scipy.fft.next_fast_len(max(math.ceil(high / mesh) - start + 2, widest), real=True)
    if size > MOST_ATOMS:
        raise GridTooFine(f"{size:.2g} atoms for the product, more than {MOST_ATOMS}")
    total, atom_error = _transform(tilted, counts, size)
    total = np.concatenate([total[start % size :], total[: start % size]])
    x = mesh * (start + np.arange(size))
    # left of where the weight passes 1e300 delta is 1 for all that is known
    atoms = np.maximum(total, 0.0) * np.exp(np.minimum(log_scale - theta * x, 690.0))
    mass = np.cumsum(atoms[::-1])[::-1]
    dual = _discounted(atoms, mesh)
    infinite = math.fsum(k * dots.infinite for dots, k in parts)
    # the tilted mass beyond the window, untilted at its edge
    missed = math.exp(min(0.0, log_scale - theta * high + _TAIL))
    return GridLaw(side, mesh, start, mass, dual, theta, log_scale, atom_error, infinite + missed)


def _discounted(atoms: Array, mesh: float) -> Array:
    """sum_{j >= i} atoms_j e^{-(j - i) mesh} for each i, up to a relative 1e-19."""
    if atoms.size * mesh < 1200.0:
        # around the middle no power overflows
        scale = np.exp(mesh * (np.arange(atoms.size) - atoms.size // 2))
        sums: Array = np.cumsum((atoms / scale)[::-1])[::-1] * scale
        return sums
    dual, shift = atoms.copy(), 1
    while shift * mesh < 45.0:
        dual[:-shift] += math.exp(-shift * mesh) * dual[shift:]
        shift *= 2
    return dual


@dataclass(frozen=True, eq=False)
class _Tilted:
    """A tilted law: atoms at 1, 2, ... and -1, -2, ... times the mesh; the rest is at 0."""

    right: Array
    left: Array
    log_moment: float
    variance: float
    error: float


def _tilt(dots: Dots, theta: float) -> _Tilted:
    h = dots.mesh
    j, i = np.arange(1, dots.right.size + 1), np.arange(1, dots.left.size + 1)
    up, down = np.exp(theta * h * j), np.exp(-theta * h * i)
    right, left = dots.right * up, dots.left * down
    moment = max(0.0, dots.centre) + float(right.sum()) + float(left.sum())
    right /= moment
    left /= moment
    mean = h * (float(j @ right) - float(i @ left))
    square = h * h * (float((j * j) @ right) + float((i * i) @ left))
    error = (float(dots.right_error @ up) + float(dots.left_error @ down)) / moment
    return _Tilted(right, left, math.log(moment), max(square - mean * mean, 0.0), error)


def _edge(tilted: Sequence[_Tilted], counts: Sequence[int], mesh: float, lam: float) -> float:
    """b with tilted mass beyond it (on the side of lam) at most e^_TAIL: Chernoff's bound.

    `lam` is best for Gaussian tails; smaller ones are tried while they improve.
    """
    best = math.inf
    for _ in range(60):
        edge = (_growth(tilted, counts, mesh, lam) - _TAIL) / abs(lam)
        if edge > best:
            break
        best, lam = edge, 0.7 * lam
    return best


def _growth(tilted: Sequence[_Tilted], counts: Sequence[int], mesh: float, lam: float) -> float:
    """K(theta + lam) - K(theta)."""
    growth = 0.0
    for t, k in zip(tilted, counts, strict=True):
        far = t.right if lam > 0 else t.left
        if abs(lam) * mesh * far.size > 690.0:
            return math.inf
        excess = float(np.expm1(lam * mesh * np.arange(1, t.right.size + 1)) @ t.right)
        excess += float(np.expm1(-lam * mesh * np.arange(1, t.left.size + 1)) @ t.left)
        growth += k * math.log1p(max(excess, -1.0 + 1e-15))
    return growth


def _transform(tilted: Sequence[_Tilted], counts: Sequence[int], size: int) -> tuple[Array, float]:
    """The cyclic convolution, and a bound on the error of each of its atoms.

    A coefficient F of a factor, known to e, contributes F^k, known to (|F| + e)^k - |F|^k.
    """
    ulps = _FFT_ULPS * math.log2(size) * _ULP
    less_ones = []
    log_most = np.zeros(size // 2 + 1)
    for t, k in zip(tilted, counts, strict=True):
        x = np.zeros(size)
        x[1 : t.right.size + 1] = t.right
        x[size - t.left.size :] += t.left[::-1]
        # the transform less 1: exact at frequency 0, and precise where it matters
        moved = float(t.right.sum()) + float(t.left.sum())
        x[0] -= moved
        e = 2.0 * ulps * moved + t.error + 8 * _ULP
        z = scipy.fft.rfft(x, overwrite_x=True)
        log_most += k * np.log(np.abs(1.0 + z) + e)
        less_ones.append(z)
    loud = np.flatnonzero(log_most > _SILENT)
    log_modulus, phase = np.zeros(loud.size), np.zeros(loud.size)
    for z, k in zip(less_ones, counts, strict=True):
        re, im = z.real[loud], z.imag[loud]
        near = re * (2.0 + re) + im * im
        with np.errstate(divide="ignore"):
            far = np.log(np.hypot(1.0 + re, im))
        log_modulus += k * np.where(near > -0.5, 0.5 * np.log1p(np.maximum(near, -0.5)), far)
        phase += k * np.arctan2(im, 1.0 + re)
    modulus, most = np.exp(log_modulus), np.exp(log_most[loud])
    spectrum = np.zeros(size // 2 + 1, dtype=np.complex128)
    spectrum[loud] = modulus * np.exp(1j * phase)
    total: Array = scipy.fft.irfft(spectrum, n=size, overwrite_x=True)
    # logarithms err by ulps of themselves; half of a real transform stands for the whole
    rounded = 8 * _ULP * most * (1.0 + np.abs(phase) - np.maximum(log_modulus, _SILENT))
    errors = np.maximum(most - modulus, 0.0) + rounded + ulps * modulus
    return total, 2.0 / size * float(errors.sum()) + 2.0 * math.exp(_SILENT)
