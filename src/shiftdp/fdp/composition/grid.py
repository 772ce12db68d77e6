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
  through them has modulus 1, so no output errs by more than `FFT_ULPS log2(N)` ulps of the sum of
  the moduli of the inputs. Forward that sum is at most 2; the k-th power multiplies the error by k;
  backward it is the sum of the moduli of the spectrum.
- *Atoms.* What their rounding moves, tilted, counts k times as well.
- *Infinite losses* of the factors: 1 - prod (1 - q_i)^{k_i}.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._errors import ShiftdpError
from shiftdp._rounding import (
    AMPLE,
    FFT_ULPS,
    INVERTIBLE_EXPONENT,
    LARGEST_EXPONENT,
    NINE_ROUNDINGS,
    ULP,
)
from shiftdp.fdp.composition.connect_the_dots import LossAtoms
from shiftdp.fdp.composition.grid_law import LOG_TAIL, GridLaw

_NEGLIGIBLE = -60.0  # log modulus below which Fourier coefficients are left out
MOST_ATOMS = 1 << 23  # of one grid: 64 MB for an array of them
_KEPT = 1 << 17  # points of a transform up to which its memory is kept
_LESS_TILTED, _NEARLY_GAUSS = 0.7, 1.1  # the next tilt to try, and when none is worth trying


class GridTooFine(ShiftdpError):
    """A grid with more atoms than fit into memory."""


def compose_atoms(
    parts: Sequence[tuple[Sequence[LossAtoms], int]], theta: float, sides: Sequence[int]
) -> list[GridLaw]:
    """Products of discrete laws with multiplicities, tilted by theta > 0, on one grid.

    Args:
        parts: for each factor its laws, one for each side and all at the same places, and its
            multiplicity.
        sides: of each law, whether it bounds the product from above (+1) or from below (-1).
    """
    mesh = parts[0][0][0].mesh
    tilted = [_tilt(laws, theta) for laws, _ in parts]
    counts = [k for _, k in parts]
    log_scale = np.sum([k * t.log_moment for t, k in zip(tilted, counts, strict=True)], axis=0)
    mean = np.sum([k * t.mean for t, k in zip(tilted, counts, strict=True)], axis=0)
    variance = math.fsum(k * t.variance for t, k in zip(tilted, counts, strict=True))
    lam = math.sqrt(-2.0 * LOG_TAIL / max(variance, mesh * mesh))  # best for Gaussian tails
    middle = float(mean[0])
    high = _edge(tilted, counts, mesh, lam, middle)
    low = -_edge(tilted, counts, mesh, -lam, middle)
    if not (high - low) / mesh < MOST_ATOMS:  # which may be more than integers of C hold
        raise GridTooFine(
            f"{(high - low) / mesh:.2g} atoms for the product, more than {MOST_ATOMS}"
        )
    start = math.floor(low / mesh) - 1
    widest = max(int(t.right_place[-1] + t.left_place[-1]) + 1 for t in tilted)
    size = scipy.fft.next_fast_len(max(math.ceil(high / mesh) - start + 2, widest), real=True)
    if size > MOST_ATOMS:
        raise GridTooFine(f"{size:.2g} atoms for the product, more than {MOST_ATOMS}")
    laws = []
    for row, side in enumerate(sides):
        infinite = math.fsum(k * dots[row].infinite for dots, k in parts)
        scale = float(log_scale[row])
        # the tilted mass beyond the window, untilted at its edge
        missed = math.exp(min(0.0, scale - theta * high + LOG_TAIL))
        frequencies, coefficients, atom_error = _transform(tilted, counts, row, size)
        law = GridLaw(
            side, mesh, start, size, theta, scale, float(mean[row]), frequencies, coefficients,
            atom_error, infinite + missed,
        )  # fmt: skip
        laws.append(law)
    return laws


@dataclass(frozen=True, eq=False)
class _Tilted:
    """Tilted laws of one factor, a row each: atoms right and left of 0, and the rest at 0.

    `moved` is the mass that is not at 0, `variance` the largest of the rows, `error` a bound on
    what the rounding of the atoms adds up to.
    """

    right_place: NDArray[np.int64]
    left_place: NDArray[np.int64]
    right: Array
    left: Array
    moved: Array
    log_moment: Array
    mean: Array
    variance: float
    error: Array


def _tilt(laws: Sequence[LossAtoms], theta: float) -> _Tilted:
    h, j, i = laws[0].mesh, laws[0].right_place, laws[0].left_place
    with np.errstate(over="ignore"):
        up, down = np.exp((theta * h) * j), np.exp((-theta * h) * i)
    right, left = np.array([d.right for d in laws]), np.array([d.left for d in laws])
    infinite = np.array([d.infinite for d in laws])
    centre = 1.0 - right.sum(axis=1) - left.sum(axis=1) - infinite
    with np.errstate(over="ignore"):
        right *= up
        left *= down
        moment = np.maximum(centre, 0.0) + right.sum(axis=1) + left.sum(axis=1)
    if not np.all(np.isfinite(moment)):
        # at losses of hundreds, nearly all of which are infinite, atoms may be mostly rounding
        raise GridTooFine(f"losses of {h * float(j[-1]):g} that cannot be tilted by {theta:g}")
    right /= moment[:, None]
    left /= moment[:, None]
    along, back = right * j, left * i
    mean = h * (along.sum(axis=1) - back.sum(axis=1))
    square = h * h * (along @ j + back @ i)
    error = np.array([float(d.right_error @ up) + float(d.left_error @ down) for d in laws])
    return _Tilted(
        j, i, right, left, right.sum(axis=1) + left.sum(axis=1), np.log(moment), mean,
        max(float((square - mean * mean).max()), 0.0), error / moment,
    )  # fmt: skip


def _edge(
    tilted: Sequence[_Tilted], counts: Sequence[int], mesh: float, lam: float, mean: float
) -> float:
    """An end of the window: a b with a tilted mass of at most e^LOG_TAIL beyond it.

    By Chernoff's bound with any lam, right of the mean for lam > 0, left for lam < 0. The given one
    is best for Gaussian tails; smaller ones are tried while they improve, unless the bound is close
    to a Gaussian's anyway.
    """
    best, gauss = math.inf, -2.0 * LOG_TAIL / abs(lam)  # from the mean
    for _ in range(60):
        edge = (_growth(tilted, counts, mesh, lam) - LOG_TAIL) / abs(lam)
        if edge > best:
            break
        best, lam = edge, _LESS_TILTED * lam
        if best - math.copysign(1.0, lam) * mean < _NEARLY_GAUSS * gauss:
            break
    return best


def _growth(tilted: Sequence[_Tilted], counts: Sequence[int], mesh: float, lam: float) -> float:
    """K(theta + lam) - K(theta), rounded up, of the row where it is largest."""
    growth = 0.0
    for t, k in zip(tilted, counts, strict=True):
        far = t.right_place if lam > 0 else t.left_place
        if abs(lam) * mesh * float(far[-1]) > INVERTIBLE_EXPONENT:
            return math.inf
        # what is that far on the other side is nothing
        total = t.right @ np.exp(np.maximum((lam * mesh) * t.right_place, -LARGEST_EXPONENT))
        total += t.left @ np.exp(np.maximum((-lam * mesh) * t.left_place, -LARGEST_EXPONENT))
        # the mass at 0 is not multiplied by anything
        excess = float((total * (1.0 + AMPLE) - t.moved).max())
        growth += k * math.log1p(max(excess, -1.0 + NINE_ROUNDINGS))
    return growth


def _transform(
    tilted: Sequence[_Tilted], counts: Sequence[int], row: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.complex128], float]:
    """The significant Fourier coefficients of a product: their frequencies, and their values.

    And a bound on the error of an atom from the rounding of these and the absence of the others. A
    coefficient F of a factor, known to e, contributes F^k, known to (|F| + e)^k - |F|^k.
    """
    ulps = FFT_ULPS * math.log2(size) * ULP
    errors = [2.0 * ulps * float(t.moved[row]) + float(t.error[row]) + 8 * ULP for t in tilted]
    frequencies, less_ones = _significant(tilted, counts, errors, row, size)
    log_modulus, log_most, phase = (
        np.zeros(frequencies.size),
        np.zeros(frequencies.size),
        np.zeros(frequencies.size),
    )
    for z, e, k in zip(less_ones, errors, counts, strict=True):
        re, im = z.real, z.imag
        near, length = re * (2.0 + re) + im * im, np.abs(1.0 + z)
        with np.errstate(divide="ignore"):
            far = np.log(length)
        log_modulus += k * np.where(near > -0.5, 0.5 * np.log1p(np.maximum(near, -0.5)), far)
        log_most += k * np.log(length + e)
        phase += k * np.arctan2(im, 1.0 + re)
    if not float(log_most.max(initial=0.0)) <= LARGEST_EXPONENT:
        raise GridTooFine(f"{max(counts):.2g} factors, whose rounding is more than their atoms")
    modulus, most = np.exp(log_modulus), np.exp(log_most)
    # logarithms err by ulps of themselves; half of a real transform stands for the whole
    rounded = 8 * ULP * most * (1.0 + np.abs(phase) - np.maximum(log_modulus, _NEGLIGIBLE))
    total = float((np.maximum(most - modulus, 0.0) + rounded + ulps * modulus).sum())
    atom_error = 2.0 / size * total + 2.0 * math.exp(_NEGLIGIBLE)
    return frequencies, modulus * np.exp(1j * phase), atom_error


def _significant(
    tilted: Sequence[_Tilted], counts: Sequence[int], errors: Sequence[float], row: int, size: int
) -> tuple[NDArray[np.int64], list[NDArray[np.complex128]]]:
    """The frequencies at which prod (|F_i| + e_i)^k_i may exceed e^_NEGLIGIBLE, and F_i - 1 there.

    No factor is above 1 + e_i, so a frequency is out as soon as one of them is small enough alone.
    """
    negligible = _NEGLIGIBLE - 4.0 * math.fsum(k * e for e, k in zip(errors, counts, strict=True))
    frequencies, parts = np.arange(size // 2 + 1), list[NDArray[np.complex128]]()
    signal, spectrum = _BUFFERS.of(size)
    for t, e, k in zip(tilted, errors, counts, strict=True):
        # the transform less 1: exact at frequency 0, and precise where it matters
        signal[:] = 0.0
        signal[t.right_place] = t.right[row]
        signal[size - t.left_place] = t.left[row]
        signal[0] = -t.moved[row]
        np.fft.rfft(signal, out=spectrum)
        part = spectrum[frequencies] if parts else spectrum
        square = part.real + 1.0
        square *= square
        square += part.imag * part.imag
        # (|F| + e)^2 <= |F|^2 + 3 e
        here = np.flatnonzero(square > math.exp(2.0 * negligible / k) - 3.0 * e - NINE_ROUNDINGS)
        parts = [*(known[here] for known in parts), part[here]]
        frequencies = frequencies[here]
    return frequencies, parts


class _Buffers(threading.local):
    """Room for one transform, kept: new pages for each call would take longer than the call."""

    signal = np.empty(0)
    spectrum = np.empty(0, dtype=np.complex128)

    def of(self, size: int) -> tuple[Array, NDArray[np.complex128]]:
        if size > _KEPT:
            return np.empty(size), np.empty(size // 2 + 1, dtype=np.complex128)
        if self.signal.size < size:
            self.signal, self.spectrum = np.empty(size), np.empty(size, dtype=np.complex128)
        return self.signal[:size], self.spectrum[: size // 2 + 1]


_BUFFERS = _Buffers()
