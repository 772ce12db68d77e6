"""How a jump path gets above a line: the laws from which the vertices of its majorant are made."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._rounding import GENEROUS
from shiftdp.interpolation.participation.path import JumpPath

SHIFT = 46
"""Slopes are whole multiples of 2^-46: what lies below a line is decided in exact arithmetic."""

_TILTS = np.geomspace(2e-3, 3.5, 28)  # exponents of Chernoff's bound, in units of the least jump


def line_heights(path: JumpPath, slope: int) -> NDArray[np.int64]:
    """floor(g (L_i - L_j)) for j < i, at most the cap; -1 elsewhere. g = slope / 2^46."""
    apart = path.clock[None, :] - path.clock[:, None]
    # beyond this the line is above the cap, and the product might be above 2^63
    enough = ((path.cap + 1) << SHIFT) // max(slope, 1) + 1
    heights = np.minimum(path.cap, (slope * np.clip(apart, 0, enough)) >> SHIFT)
    return np.where(apart > 0, heights, -1)


def overshoots(
    path: JumpPath,
    heights: NDArray[np.int64],
    width: int,
    low: int,
    high: int,
    reach: NDArray[np.int64],
) -> Array:
    """P(from vertex s: never above the line before class i, then above it by x), x = 1 to width.

    Entry [s - low, i - low, x - 1] for low <= s < i <= high, 0 where i is out of reach of s. After
    a vertex, the rest of its epoch has no jump. `fresh` and `used` are the laws of the height, from
    each s, where the present epoch has not, or has, had its jump; they are one where each class is
    an epoch alone.
    """
    size = high - low + 1
    found = np.zeros((size, size, width))
    columns = int(heights[low, low + 1 : high + 1].max()) + 1 + width
    fresh = np.zeros((size, columns))
    alone = bool(path.opens[low + 1 : high + 1].all())
    used = fresh if alone else np.zeros((size, columns))
    across = np.arange(max(columns, size))
    filled = 1  # columns that may be other than 0
    for i in range(low + 1, high + 1):
        n = i - low  # starts low .. i - 1
        used[n - 1, 0] = 1.0
        within = reach[low:i] >= i
        if not within.any():
            continue
        starts = slice(int(np.argmax(within)), n)
        if path.opens[i] and not alone:
            fresh[starts, :filled] += used[starts, :filled]
            used[starts, :filled] = 0.0
        line = heights[low:i, i][starts, None]
        end = int(line[0, 0]) + 1  # the line from the youngest start is the highest
        row = np.zeros((len(line), end + width))
        law = path.laws[i - 1]
        for value, probability in zip(law.values[1:], law.probabilities[1:], strict=True):
            taken = min(filled, end + width - int(value))
            if taken > 0:
                row[:, value : value + taken] += probability * fresh[starts, :taken]
        found[starts, n] = row[across[: len(line), None], line + 1 + across[:width]]
        fresh[starts, :filled] *= law.none
        used[starts, :end] += np.where(across[:end] <= line, row[:, :end], 0.0)
        filled = max(filled, end)
    return found


class Reaches:
    """For each slope: up to which class a path can get above the line, but for `negligible`.

    Chernoff's bound on the rise from one vertex to another; the moments, in logarithms, are summed
    once and serve every slope.
    """

    def __init__(self, path: JumpPath, negligible: float) -> None:
        least = [int(law.values[1]) for law in path.laws if len(law.values) > 1]
        tilts = _TILTS / min(least, default=1)
        moments, chance = [], 1.0
        for i, law in enumerate(path.laws, start=1):
            chance = 1.0 if path.opens[i] else chance  # that the epoch has had no jump before
            grown = tilts[:, None] * law.values[None, 1:] + np.log(law.probabilities[1:])
            # of at least 1 - q + q E e^(tilt jump), q being the chance
            with np.errstate(divide="ignore"):
                logs = np.log([chance, 1.0 - chance * (1.0 - law.none)])
            grown = np.logaddexp.reduce(grown, axis=1, initial=-np.inf)
            moments.append(np.logaddexp(grown + logs[0], logs[1]))
            chance *= law.none
        total = np.concatenate([np.zeros((len(tilts), 1)), np.cumsum(moments, axis=0).T], axis=1)
        self._rise = total[:, None, :] - total[:, :, None]
        self._tilted = tilts[:, None, None] * (path.clock[None, :] - path.clock[:, None])
        self._log_negligible = math.log(negligible) - GENEROUS

    def __call__(self, slope: int) -> NDArray[np.int64]:
        """The last class that can be reached from each vertex; the vertex itself if none can."""
        g = slope / 2.0**SHIFT
        bound = np.min(self._rise - g * self._tilted, axis=0)
        size = bound.shape[0]
        bound[np.tril_indices(size)] = -np.inf
        possible = bound > self._log_negligible
        last = size - 1 - np.argmax(possible[:, ::-1], axis=1)
        return np.where(possible.any(axis=1), last, np.arange(size))
