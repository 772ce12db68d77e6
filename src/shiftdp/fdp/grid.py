"""Certified composition on a grid: one FFT each way, with every error bounded.

The atoms of each factor (see `connect_the_dots`) are *tilted*, q_j e^{theta j h} / M(theta), which
moves the mass of the total loss to the losses that matter for the delta in question, transformed,
raised to their multiplicities, multiplied, and transformed back. Untilting the result weighs an
absolute error by e^{-theta x}, so tails keep their *relative* accuracy: 1e-30 is as good as 1e-5.

Errors, all added to an upper bound and subtracted from a lower one:

- *Window.* Beyond its ends lies a tilted mass of at most e^LOG_TAIL each, by Chernoff's bound
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
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._errors import ShiftdpError
from shiftdp.fdp.connect_the_dots import Dots
from shiftdp.fdp.grid_law import LOG_TAIL, GridLaw

__all__ = ["MOST_ATOMS", "GridTooFine", "compose_dots"]

_ULP = 2.0**-52
_FFT_ULPS = 8.0  # a step of radix 2 to 11 costs no more, shared out over its factors of 2
_SILENT = -60.0  # log modulus of coefficients that are left out
MOST_ATOMS = 1 << 23


class GridTooFine(ShiftdpError):
    """A grid with more atoms than fit into memory."""


def compose_dots(parts: Sequence[tuple[Dots, int]], theta: float, side: int) -> GridLaw:
    """The product of discrete laws with multiplicities, tilted by theta > 0."""
    mesh = parts[0][0].mesh
    tilted = [_tilt(dots, theta) for dots, _ in parts]
    counts = [k for _, k in parts]
    log_scale = math.fsum(k * t.log_moment for t, k in zip(tilted, counts, strict=True))
    mean = math.fsum(k * t.mean for t, k in zip(tilted, counts, strict=True))
    variance = math.fsum(k * t.variance for t, k in zip(tilted, counts, strict=True))
    lam = math.sqrt(-2.0 * LOG_TAIL / max(variance, mesh * mesh))  # best for Gaussian tails
    high = _edge(tilted, counts, mesh, lam, mean)
    low = -_edge(tilted, counts, mesh, -lam, mean)
    start = math.floor(low / mesh) - 1
    widest = max(t.right.size + t.left.size + 1 for t in tilted)
    size = scipy.fft.next_fast_len(max(math.ceil(high / mesh) - start + 2, widest), real=True)
    if size > MOST_ATOMS:
        raise GridTooFine(f"{size:.2g} atoms for the product, more than {MOST_ATOMS}")
    loud, coefficients, atom_error = _transform(tilted, counts, size)
    infinite = math.fsum(k * dots.infinite for dots, k in parts)
    # the tilted mass beyond the window, untilted at its edge
    missed = math.exp(min(0.0, log_scale - theta * high + LOG_TAIL))
    return GridLaw(
        side, mesh, start, size, theta, log_scale, mean, loud, coefficients, atom_error,
        infinite + missed,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Tilted:
    """A tilted law: atoms at 1, 2, ... and -1, -2, ... times the mesh; the rest is at 0."""

    right: Array
    left: Array
    moved: float
    log_moment: float
    mean: float
    variance: float
    error: float


def _tilt(dots: Dots, theta: float) -> _Tilted:
    h = dots.mesh
    j, i = np.arange(1.0, dots.right.size + 1), np.arange(1.0, dots.left.size + 1)
    up, down = np.exp((theta * h) * j), np.exp((-theta * h) * i)
    right, left = dots.right * up, dots.left * down
    moment = max(0.0, dots.centre) + float(right.sum()) + float(left.sum())
    right /= moment
    left /= moment
    along, back = j * right, i * left
    mean = h * (float(along.sum()) - float(back.sum()))
    square = h * h * (float(j @ along) + float(i @ back))
    error = (float(dots.right_error @ up) + float(dots.left_error @ down)) / moment
    variance = max(square - mean * mean, 0.0)
    moved = float(right.sum()) + float(left.sum())
    return _Tilted(right, left, moved, math.log(moment), mean, variance, error)


def _edge(
    tilted: Sequence[_Tilted], counts: Sequence[int], mesh: float, lam: float, mean: float
) -> float:
    """b with tilted mass beyond it (on the side of lam) at most e^LOG_TAIL: Chernoff's bound.

    `lam` is best for Gaussian tails; smaller ones are tried while they improve, unless the bound is
    close to a Gaussian's anyway.
    """
    best, gauss = math.inf, -2.0 * LOG_TAIL / abs(lam)  # from the mean
    for _ in range(60):
        edge = (_growth(tilted, counts, mesh, lam) - LOG_TAIL) / abs(lam)
        if edge > best:
            break
        best, lam = edge, 0.7 * lam
        if best - math.copysign(1.0, lam) * mean < 1.1 * gauss:
            break
    return best


def _growth(tilted: Sequence[_Tilted], counts: Sequence[int], mesh: float, lam: float) -> float:
    """K(theta + lam) - K(theta), rounded up."""
    growth = 0.0
    for t, k in zip(tilted, counts, strict=True):
        far = t.right if lam > 0 else t.left
        if abs(lam) * mesh * far.size > 690.0:
            return math.inf
        exponents = (lam * mesh) * np.arange(1.0, max(t.right.size, t.left.size) + 1.0)
        powers = np.exp(np.clip(exponents, -700.0, 700.0))  # beyond, on the other side, is nothing
        total = float(powers[: t.right.size] @ t.right)
        total += float(t.left @ (1.0 / powers[: t.left.size]))
        # what is not in them sits at 0; the sums err by less than 1e-12 of themselves
        excess = total * (1.0 + 1e-12) - t.moved
        growth += k * math.log1p(max(excess, -1.0 + 1e-15))
    return growth


def _transform(
    tilted: Sequence[_Tilted], counts: Sequence[int], size: int
) -> tuple[NDArray[np.int64], NDArray[np.complex128], float]:
    """The coefficients of the product that count, where they are, and a bound on what their errors
    and the others do to an atom.

    A coefficient F of a factor, known to e, contributes F^k, known to (|F| + e)^k - |F|^k.
    """
    ulps = _FFT_ULPS * math.log2(size) * _ULP
    less_ones, errors = [], []
    for t in tilted:
        x = np.zeros(size)
        x[1 : t.right.size + 1] = t.right
        x[size - t.left.size :] += t.left[::-1]
        # the transform less 1: exact at frequency 0, and precise where it matters
        x[0] -= t.moved
        errors.append(2.0 * ulps * t.moved + t.error + 8 * _ULP)
        less_ones.append(scipy.fft.rfft(x, overwrite_x=True))
    loud = _loud(less_ones, errors, counts)
    log_modulus, log_most, phase = np.zeros(loud.size), np.zeros(loud.size), np.zeros(loud.size)
    for z, e, k in zip(less_ones, errors, counts, strict=True):
        re, im = z.real[loud], z.imag[loud]
        near = re * (2.0 + re) + im * im
        with np.errstate(divide="ignore"):
            far = np.log(np.hypot(1.0 + re, im))
        log_modulus += k * np.where(near > -0.5, 0.5 * np.log1p(np.maximum(near, -0.5)), far)
        log_most += k * np.log(np.abs(1.0 + z[loud]) + e)
        phase += k * np.arctan2(im, 1.0 + re)
    modulus, most = np.exp(log_modulus), np.exp(log_most)
    # logarithms err by ulps of themselves; half of a real transform stands for the whole
    rounded = 8 * _ULP * most * (1.0 + np.abs(phase) - np.maximum(log_modulus, _SILENT))
    total = float((np.maximum(most - modulus, 0.0) + rounded + ulps * modulus).sum())
    atom_error = 2.0 / size * total + 2.0 * math.exp(_SILENT)
    return loud, modulus * np.exp(1j * phase), atom_error


def _loud(
    less_ones: Sequence[NDArray[np.complex128]], errors: Sequence[float], counts: Sequence[int]
) -> NDArray[np.int64]:
    """Where prod (|F_i| + e_i)^k_i may be above e^_SILENT: no factor is above 1 + e_i, so none of
    them may be much below on its own.
    """
    silent = _SILENT - 4.0 * math.fsum(k * e for e, k in zip(errors, counts, strict=True))
    loud: NDArray[np.int64] | None = None
    for z, e, k in zip(less_ones, errors, counts, strict=True):
        part = z if loud is None else z[loud]
        # (|F| + e)^2 <= |F|^2 + 3 e
        square = (1.0 + part.real) ** 2 + part.imag**2
        here = np.flatnonzero(square > math.exp(2.0 * silent / k) - 3.0 * e - 1e-15)
        loud = here if loud is None else loud[here]
    return loud if loud is not None else np.zeros(0, dtype=np.int64)
