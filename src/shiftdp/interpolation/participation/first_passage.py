"""How a jump path gets above a line: the laws from which the vertices of its majorant are made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp.interpolation.participation.path import JumpPath

__all__ = ["SHIFT", "line_heights", "overshoots", "reaches"]

SHIFT = 40
"""Slopes are whole multiples of 2^-40: what lies below a line is decided in exact arithmetic."""

_TILTS = np.geomspace(2e-3, 3.5, 28)  # exponents of Chernoff's bound, in units of the least jump
_LARGEST = 600.0  # of an exponent


def line_heights(path: JumpPath, slope: int) -> NDArray[np.int64]:
    """floor(g (L_i - L_j)) for j < i, at most the cap; -1 elsewhere. g = slope / 2^40."""
    apart = path.clock[None, :] - path.clock[:, None]
    # beyond this the line is above the cap, and the product might be above 2^63
    enough = ((path.cap + 1) << SHIFT) // max(slope, 1) + 1
    heights = np.minimum(path.cap, (slope * np.clip(apart, 0, enough)) >> SHIFT)
    return np.where(apart > 0, heights, -1)


def overshoots(
    path: JumpPath, heights: NDArray[np.int64], width: int, low: int, high: int
) -> Array:
    """P(from vertex s: never above the line before class i, then above it by x), x = 1 to width.

    Entry [s - low, i - low, x - 1] for low <= s < i <= high. After a vertex, the rest of its epoch
    has no jump. `fresh` and `used` are the laws of the height, from each s, where the present epoch
    has not, or has, had its jump.
    """
    size = high - low + 1
    found = np.zeros((size, size, width))
    columns = int(heights[low, low + 1 : high + 1].max()) + 1 + width
    fresh, used = np.zeros((size, columns)), np.zeros((size, columns))
    across = np.arange(width)[None, :]
    filled = 1  # columns that may be other than 0
    for i in range(low + 1, high + 1):
        n = i - low  # starts low .. i - 1
        used[n - 1, 0] = 1.0
        if path.opens[i]:
            fresh[:n, :filled] += used[:n, :filled]
            used[:n, :filled] = 0.0
        line = heights[low:i, i]
        end = int(line[0]) + 1  # the line from the youngest start is the highest
        row = np.zeros((n, end + width))
        law = path.laws[i - 1]
        for value, probability in zip(law.values[1:], law.probabilities[1:], strict=True):
            taken = min(filled, end + width - int(value))
            if taken > 0:
                row[:, value : value + taken] += probability * fresh[:n, :taken]
        found[:n, n] = np.take_along_axis(row, line[:, None] + 1 + across, axis=1)
        row[np.arange(end + width)[None, :] > line[:, None]] = 0.0
        fresh[:n, :filled] *= law.none
        used[:n, :end] += row[:, :end]
        filled = max(filled, end)
    return found


def reaches(path: JumpPath, negligible: float) -> _Reaches:
    """For each slope: up to which class a path can get above the line, but for `negligible`."""
    return _Reaches(path, negligible)


class _Reaches:
    """Chernoff's bound on rises: the moments are summed once and serve every slope."""

    def __init__(self, path: JumpPath, negligible: float) -> None:
        least = min(int(law.values[1]) for law in path.laws if len(law.values) > 1)
        tilts = _TILTS / least
        moments, chance = [], 1.0
        for i, law in enumerate(path.laws, start=1):
            chance = 1.0 if path.opens[i] else chance  # that the epoch has had no jump before
            grown = np.exp(np.minimum(tilts[:, None] * law.values[None, 1:], _LARGEST))
            moments.append(np.log1p(chance * ((grown - 1.0) @ law.probabilities[1:])))
            chance *= law.none
        total = np.concatenate([np.zeros((len(tilts), 1)), np.cumsum(moments, axis=0).T], axis=1)
        self._rise = total[:, None, :] - total[:, :, None]
        self._tilted = tilts[:, None, None] * (path.clock[None, :] - path.clock[:, None])
        self._log_negligible = np.log(negligible)

    def __call__(self, slope: int) -> NDArray[np.int64]:
        """The last class that can be reached from each vertex; the vertex itself if none can."""
        g = slope / 2.0**SHIFT
        bound = np.min(self._rise - g * self._tilted, axis=0)
        size = bound.shape[0]
        bound[np.tril_indices(size)] = -np.inf
        possible = bound > self._log_negligible
        last = size - 1 - np.argmax(possible[:, ::-1], axis=1)
        return np.where(possible.any(axis=1), last, np.arange(size))
