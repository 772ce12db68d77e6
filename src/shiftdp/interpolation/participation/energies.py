"""Adding energies to laws of mu: cells that are even in mu, and a table of where each one goes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array

_PARTS = 2  # square roots of energies are rounded up to this part of a cell
_TOGETHER = 16  # ends whose energies are much the same, so that one product of matrices serves them


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
        roots = np.arange(_PARTS * cells + 2) / _PARTS
        before = np.arange(-1.0, cells + 1.0)
        left = np.sign(before) * before**2 - roots[:, None] ** 2
        source = np.sqrt(np.maximum(left, 0.0)).astype(np.int16) + np.int16(1)
        source[left < 0.0] = 0
        self.source: NDArray[np.int16] = source

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


def move(above: Array, energies: Energies, moves: Moves) -> None:
    """Add what moves from each start to its ends; what was at the start remains.

    Ends are after their starts, so that the last start comes first.
    """
    if not moves.start.size:
        return
    order = np.argsort(moves.start, kind="stable")
    starts, begins = np.unique(moves.start[order], return_index=True)
    typical = np.sum(above[starts, 1:], axis=1) / above[starts, 0]
    row = energies.rows(moves.energy, typical[np.searchsorted(starts, moves.start)])
    for j, own in zip(starts[::-1], np.split(order, begins[1:])[::-1], strict=True):
        total = above[j, 0]
        first = max(int(np.argmax(above[j] < total)) - 1, 0)  # all mass is at this cell or above
        rows, which = np.unique(row[own], return_inverse=True)
        ends, where = np.unique(moves.end[own], return_inverse=True)
        flat = np.bincount(where * rows.size + which, moves.probability[own], ends.size * rows.size)
        chances = flat.reshape(ends.size, rows.size)
        shifted = above[j][energies.source[rows, first:]]
        for a in range(0, ends.size, _TOGETHER):
            some = chances[a : a + _TOGETHER]
            used = np.flatnonzero(some.any(axis=0))
            above[ends[a : a + _TOGETHER], first:] += some[:, used] @ shifted[used]
        above[ends, :first] += (chances.sum(axis=1) * total)[:, None]
