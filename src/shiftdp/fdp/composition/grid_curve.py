"""The tradeoff curve of a loss law on a grid: the largest of its supporting lines.

Every eps gives the line 1 - delta(eps) - e^eps alpha below f, and on a symmetric curve its mirror
image e^-eps (1 - delta(eps) - alpha). The law has atoms at the points of the grid, so f is made of
edges, and the line of one grid point follows a whole edge: about the best point is looked up for
each alpha, and its neighbours are tried too. Any line is a bound, so a poor choice costs tightness
only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._rounding import INVERTIBLE_EXPONENT, NINE_ROUNDINGS, THREE_ROUNDINGS
from shiftdp.fdp.composition.grid_law import GridLaw

__all__ = ["tradeoff_from_grid"]


def tradeoff_from_grid(law: GridLaw, symmetric: bool, alpha: Array) -> Array:
    """f(alpha) of an upper law, rounded down."""
    table = law.knots()
    if symmetric and law.low < 0.0:
        table = table[-law.start :]
    delta, slope = law.lines(table)
    known = delta < 1.0
    if not known.any():
        return np.zeros(alpha.shape)
    table, delta, slope = table[known], delta[known], slope[known]
    # the point (x, y) of the curve that each line touches, and on a symmetric one (y, x)
    x = (-slope / np.exp(np.minimum(table, INVERTIBLE_EXPONENT)))[::-1]
    signed = table[::-1]
    if symmetric:
        x = np.concatenate([x, np.maximum(1.0 - delta + slope, 0.0)])
        signed = np.concatenate([signed, -table])
    found = np.interp(alpha, np.maximum.accumulate(x), signed)
    mirrored = (found < 0.0) & symmetric
    eps = np.where(mirrored, -found, found)
    near = [law.mesh * (np.rint(eps / law.mesh) + j) for j in (-1, 0, 1)]
    first, last = float(table[0]), float(table[-1])
    lines = [_line(law, np.clip(e, first, last), alpha, mirrored) for e in near]
    return np.asarray(np.max(lines, axis=0))


def _line(law: GridLaw, epsilon: Array, alpha: Array, mirrored: NDArray[np.bool_]) -> Array:
    """The line of each eps at its alpha, rounded down."""
    room = 1.0 - np.minimum(law.lines(epsilon)[0], 1.0)
    gamma = np.exp(np.minimum(epsilon, INVERTIBLE_EXPONENT))
    steep = room - gamma * alpha * (1 + NINE_ROUNDINGS)
    steep = np.where((epsilon <= INVERTIBLE_EXPONENT) | (alpha == 0.0), steep, 0.0)
    line = np.where(mirrored, (room - alpha) / gamma * (1 - NINE_ROUNDINGS), steep)
    return np.maximum(line - THREE_ROUNDINGS, 0.0)
