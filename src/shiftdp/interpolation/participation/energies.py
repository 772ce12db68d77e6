"""Adding energies to laws of mu: cells that are even in mu, and a table of where each one goes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._rounding import NOT_ZERO

_PARTS = 2  # square roots of energies are rounded up to this part of a cell
_ROWS = 64  # of the table that are made at a time, so that they stay in the processor's cache
_GATHERED = 1 << 19  # numbers that are moved at a time, for the same reason


class Energies:
    """Where a law of mu in cells goes if an energy is added to mu^2.

    A law is given by `above[n]`, the mass at cells n and above, n = 0 to cells + 1; cell n stands
    for mu up to n, the last one for all that is larger. With an energy e, mass at cell n moves to
    cell ceil(sqrt(n^2 + e)), so that

        above'[y] = above[0 if (y - 1)^2 < e, else floor(sqrt((y - 1)^2 - e)) + 1].

    Args:
        cells: how many there are.

    >>> Energies(4).source[2 * 2].tolist()  # an energy of 2^2
    [0, 0, 0, 1, 3, 4]
    """

    def __init__(self, cells: int) -> None:
        before = np.arange(-1.0, cells + 1.0)
        squares = np.sign(before) * before**2
        self.source: NDArray[np.int16] = np.zeros((_PARTS * cells + 2, cells + 2), np.int16)
        for first in range(0, len(self.source), _ROWS):
            rows = self.source[first : first + _ROWS]
            roots = np.arange(first, first + len(rows)) / _PARTS
            start = min(math.ceil(roots[0]) + 1, cells + 1)  # of what is before, all has moved
            left = squares[start:] - roots[:, None] ** 2
            found = np.sqrt(np.maximum(left, 0.0)) + 1.0
            rows[:, start:] = np.where(left < 0.0, 0.0, found)

    def rows(self, energy: Array, typical: Array) -> NDArray[np.int64]:
        """The row of the table for each energy, rounded up by a part of a cell at `typical`."""
        # sqrt(typical^2 + energy) - typical in parts of a cell, and the energy that gives so many
        parts = np.ceil(energy / (np.sqrt(typical**2 + energy) + typical) * _PARTS) / _PARTS
        enough = np.maximum(parts * (parts + 2.0 * typical), energy)
        row = np.ceil(np.sqrt(enough) * _PARTS)
        return np.asarray(np.minimum(row, len(self.source) - 1.0), dtype=np.int64)


class Moves(NamedTuple):
    """From vertex `start` to vertex `end`, adding an energy, with a probability."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    energy: Array
    probability: Array


def move(above: Array, energies: Energies, moves: Moves, nothing: float = 0.0) -> None:
    """Add what moves from each start to its ends; what was at the start remains.

    Ends are after their starts, so that the last starts come first.

    Args:
        above: the law at each vertex.
        energies: where cells go.
        moves: from where to where.
        nothing: tails of a start up to it count as 0.
    """
    some = np.flatnonzero(above[moves.start, 0] > nothing)
    if not some.size:
        return
    order = some[np.lexsort((moves.energy[some], moves.start[some]))]
    start, end, probability = moves.start[order], moves.end[order], moves.probability[order]
    starts = slice(int(start[0]), int(start[-1]) + 1)
    own, total = above[starts], above[starts, 0]
    mean = (own.sum(axis=1) - total) / np.maximum(total, NOT_ZERO)
    row = energies.rows(moves.energy[order], mean[start - start[0]])
    # all mass of a start is at cell `first` or above, and none that counts at `last` or above
    first = np.maximum(np.argmax(own < total[:, None], axis=1) - 1, 0)
    last = np.count_nonzero(own > nothing, axis=1)
    different = np.append(True, (np.diff(start) > 0) | (np.diff(row) > 0))
    pair = np.cumsum(different) - 1  # of a start and a row
    begins = np.flatnonzero(different)
    pair_start, pair_row = start[begins], row[begins]
    reach = np.sqrt(last[pair_start - start[0]] ** 2 + (pair_row / _PARTS) ** 2) + 2.0
    stops = np.minimum(reach, above.shape[1]).astype(np.int64)
    bounds = np.append(begins, start.size)
    gather = _Gather()
    # the last starts come first: the law of one must not have grown before it moves
    for a, b in _chunks(pair_start, max(1, _GATHERED // above.shape[1])):
        low, high = int(first[pair_start[a:b] - start[0]].min()), int(stops[a:b].max())
        shifted = gather(above, energies.source, pair_start[a:b], pair_row[a:b], low, high)
        part = slice(bounds[a], bounds[b])
        ends, pairs = end[part], pair[part] - a
        nearest, furthest = int(ends.min()), int(ends.max()) + 1
        chances = scipy.sparse.csr_array(
            (probability[part], (ends - nearest, pairs)), shape=(furthest - nearest, b - a)
        )
        gained = chances @ shifted
        above[nearest:furthest, low:high] += gained
        above[nearest:furthest, :low] += gained[:, :1]


def _chunks(starts: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """From the last to the first: begin and end of whole runs of equal starts, at least one."""
    edges = [0, *(1 + np.flatnonzero(np.diff(starts))).tolist()]
    end, begin = len(starts), len(starts)
    for edge in reversed(edges):
        if begin < end and end - edge > most:
            yield begin, end
            end = begin
        begin = edge
    yield begin, end


class _Gather:
    """Laws of some starts after some moves, in memory that is used again: to get new costs more."""

    def __init__(self) -> None:
        self._places, self._values = np.empty(0, np.intp), np.empty(0)

    def __call__(
        self,
        above: Array,
        source: NDArray[np.int16],
        starts: NDArray[np.int64],
        rows: NDArray[np.int64],
        low: int,
        high: int,
    ) -> Array:
        """A line for each start and row of the table, from cell `low` to `high`."""
        width = high - low
        if rows.size * width > self._values.size:
            room = max(rows.size * width, _GATHERED)
            self._places, self._values = np.empty(room, np.intp), np.empty(room)
        places = self._places[: rows.size * width].reshape(-1, width)
        values = self._values[: rows.size * width].reshape(-1, width)
        places[:] = source[rows, low:high]
        edges = [0, *(1 + np.flatnonzero(np.diff(starts))).tolist(), rows.size]
        for a, b in pairwise(edges):
            np.take(above[starts[a]], places[a:b], out=values[a:b], mode="clip")
        return values
