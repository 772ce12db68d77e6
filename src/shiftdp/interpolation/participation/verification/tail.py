"""The law of mu(V) from classes, for the verifier alone: Theorem C5 once more. [Theorem C5]

Nothing here is shared with the engine. All terms are positive and computed in floats, each of
which is off by a part of 1e-16; sums have at most 1e5 terms and there are at most 1e3 of them in a
row, so that a part of 1e-8 in all is more than enough. What is not followed is counted as lost:
sums above the cap, by the law of the whole sum; first passages that are too unlikely, by Chernoff's
bound; and transitions that are too unlikely (`transitions`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp.interpolation.participation.verification.classes import Classes, JumpTable
from shiftdp.interpolation.participation.verification.transitions import (
    RELATIVE,
    SHIFT,
    Found,
    lines_of,
    log_moments,
    reach_of,
    transitions,
)

_HALVES = 2  # square roots of energies are rounded up to halves of cells
_LARGEST = (300, 150, 101, 4000, 8000)  # slopes, classes, jumps of one, cells, levels
_AT_ONCE = 1 << 18  # numbers that are moved at once: more would not be in the processor's cache
_VANISHED = 1e-30  # tails below it count as 0


def proved_tail(
    classes: Classes,
    slopes: tuple[int, ...],
    cap: int,
    square: float,
    cells: int,
    *,
    rare: float,
    small: float,
) -> tuple[Array, float]:
    """P(mu >= n cells) for n = 0 to cells + 1, and what is lost.

    Args:
        classes: jumps and clocks.
        slopes: falling to 0, in multiples of 2^-46 units for a tick; the first must be steepest.
        cap: sums above it are lost.
        square: (unit^2 / tick) / cell^2, rounded up: rise^2 / ticks times this is mu^2 in cells.
        cells: of mu; what is beyond them is in the last entry.
        rare: the total probability that may be lost in one step of the ladder, about.
        small: transitions below it, between the same two classes, count as the largest of them.
    """
    m = len(classes.tables)
    _check(classes, slopes, cap, cells)
    above = np.zeros((m + 1, cells + 2))
    above[0, 0] = 1.0
    origin = _origins(cells)
    lost = classes.lost + _beyond(classes, cap)
    moments = log_moments(classes)
    upper = lines_of(classes.ticks, slopes[0], cap)
    ticks = np.array(classes.ticks, dtype=np.float64)
    each = rare / (m + 1) ** 2
    unmoved = rare / (m + 1)
    for g, h in pairwise(slopes):
        lower = lines_of(classes.ticks, h, cap)
        reach = reach_of(classes, moments, h, each)
        found = transitions(classes, upper, lower, reach, above[:, 0], each)
        if found is not None:
            steep, flat = g / 2.0**SHIFT, h / 2.0**SHIFT
            apart = (ticks[found.ends] - ticks[found.starts][:, None])[:, :, None]
            apart = np.maximum(apart, 1.0)  # of an end before its start, which has no chance
            chord = found.rises**2 / apart
            tangents = (steep + flat) * found.rises - steep * flat * apart
            listed = [
                _listed(found, chances, energy * square, above[:, 0], each, small)
                for chances, energy in ((found.direct, chord), (found.through, tangents))
            ]
            lost += sum(missing for _, missing in listed)
            (one, _), (other, _) = listed
            moves = _Moves(*(np.append(a, b) for a, b in zip(one, other, strict=True)))
            _add(above, origin, moves, unmoved)
        above[above < _VANISHED] = 0.0
        lost += 3.0 * rare + (m + 1) * _VANISHED
        upper = lower
    law = _nothing_after(classes) @ above
    return law * (1.0 + RELATIVE), lost * (1.0 + RELATIVE)


def _check(classes: Classes, slopes: tuple[int, ...], cap: int, cells: int) -> None:
    """What makes the computation sound, and its cost bounded."""
    highest = np.cumsum([int(table.values[-1]) for table in classes.tables])
    steepest = max(
        min(int(high), cap) / tick if tick > 0 else math.inf
        for high, tick in zip(highest, classes.ticks[1:], strict=True)
    )
    falling = all(a > b for a, b in pairwise(slopes))
    if not falling or slopes[-1] != 0 or slopes[0] / 2.0**SHIFT * (1.0 - RELATIVE) < steepest:
        raise ValueError("the slopes do not fall from above the steepest one to 0")
    jumps = max(len(table.values) for table in classes.tables)
    sizes = (len(slopes), len(classes.tables), jumps, cells, cap)
    if any(size > most for size, most in zip(sizes, _LARGEST, strict=True)):
        raise ValueError("the grid is too fine to be followed")
    if any(a > b for a, b in pairwise(classes.ticks)):
        raise ValueError("clocks fall")


def _beyond(classes: Classes, cap: int) -> float:
    """A bound on the probability that all jumps together exceed the cap."""
    total, cut = np.ones(1), 0.0
    epoch, none = np.zeros(1), 1.0
    for table, opens, last in _with_ends(classes):
        # within an epoch: the law of its one jump so far, and the chance of none
        if opens:
            epoch, none = np.zeros(1), 1.0
        jump = np.zeros(int(table.values[-1]) + 1)
        jump[table.values] = table.probabilities * none
        jump[0], none = 0.0, none * float(table.probabilities[0])
        spread = np.zeros(max(len(epoch), len(jump)))
        spread[: len(epoch)] += epoch
        spread[: len(jump)] += jump
        epoch = spread
        if last:
            epoch[0] += none
            new = np.zeros(len(total) + len(epoch) - 1)
            for value in np.flatnonzero(epoch):
                new[value : value + len(total)] += epoch[value] * total
            cut += float(np.sum(new[cap + 1 :]))
            total = new[: cap + 1]
    return cut


def _with_ends(classes: Classes) -> Iterator[tuple[JumpTable, bool, bool]]:
    size = len(classes.tables)
    for i, table in enumerate(classes.tables):
        yield table, classes.opens[i], i + 1 == size or classes.opens[i + 1]


class _Moves(NamedTuple):
    """From a start to an end, adding an energy, with a probability."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    energy: Array
    chance: Array


def _listed(
    found: Found, chance: Array, energy: Array, weight: Array, each: float, small: float
) -> tuple[_Moves, float]:
    """The transitions one by one, small ones together; and what is left out."""
    worth = chance * weight[found.starts][:, None, None]
    followed, width = worth > each / chance.shape[2], chance.shape[2]
    missing = float(np.sum(worth[~followed]))
    alone = np.nonzero(followed & (worth >= small))
    together = np.where(followed & (worth < small), chance, 0.0)
    some = np.nonzero(together.any(axis=2))
    largest = width - 1 - np.argmax(together[some][:, ::-1] > 0.0, axis=1)
    listed = _Moves(
        found.starts[np.append(alone[0], some[0])],
        found.ends[np.append(alone[1], some[1])],
        np.append(energy[alone], energy[(*some, largest)]),
        np.append(chance[alone], together[some].sum(axis=1)),
    )
    return listed, missing


def _add(
    above: Array,
    origin: NDArray[np.int16],
    moves: _Moves,
    unmoved: float,
) -> None:
    """Move mass to the ends, mu^2 raised by the energies, mu rounded up to cells.

    All of it moves from where it was before; the tail of a start, up to `unmoved`, does not.
    """
    starts, ends, energy, chance = moves
    if not starts.size:
        return
    cells = above.shape[1] - 2
    half = np.minimum(np.ceil(np.sqrt(energy) * _HALVES), _HALVES * cells + 1.0).astype(np.int64)
    step = _HALVES * cells + 2
    kinds, kind = np.unique(starts * step + half, return_inverse=True)
    order = np.argsort(kind, kind="stable")
    gained = np.zeros_like(above)
    edges = np.append(np.searchsorted(kinds // step, np.unique(starts)), kinds.size).tolist()
    places = np.searchsorted(kind[order], np.arange(kinds.size + 1))
    width = cells + 2
    index = np.empty((_AT_ONCE // width + int(np.diff(edges).max()), width), dtype=np.intp)
    raised = np.empty(index.shape)
    while len(edges) > 1:
        # as many starts as there is room for
        count = max(1, sum(edge - edges[0] <= _AT_ONCE // width for edge in edges[1:]))
        a, b = edges[0], edges[count]
        index[: b - a] = origin[kinds[a:b] % step]
        for u, v in pairwise(edges[: count + 1]):
            law = above[int(kinds[u]) // step]
            law = np.where(law > unmoved, law, 0.0)
            np.take(law, index[u - a : v - a], out=raised[u - a : v - a], mode="clip")
        own = order[places[a] : places[b]]
        parts = (chance[own], (ends[own], kind[own] - a))
        chances = scipy.sparse.csr_array(parts, shape=(above.shape[0], b - a))
        gained += chances @ raised[: b - a]
        del edges[:count]
    above += gained


def _origins(cells: int) -> NDArray[np.int16]:
    """For each root of an energy, in halves: which cells are at cell y or above afterwards.

    Mass at cell n is iff n^2 + energy > (y - 1)^2: from the cell that stands here on.
    """
    edge = np.arange(-1.0, cells + 1.0)
    origin = np.zeros((_HALVES * cells + 2, cells + 2), dtype=np.int16)
    for row, root in zip(origin, np.arange(len(origin)) / _HALVES, strict=True):
        far = np.flatnonzero(edge >= root)
        row[far] = np.sqrt((edge[far] - root) * (edge[far] + root)).astype(np.int16) + 1
    return origin


def _nothing_after(classes: Classes) -> Array:
    """The probability that no epoch after that of each class, or 0, has a jump."""
    found, later, epoch = [1.0], 1.0, 1.0
    for i in range(len(classes.tables), 0, -1):
        found.append(later)
        epoch *= float(classes.tables[i - 1].probabilities[0])
        if classes.opens[i - 1]:
            later, epoch = later * epoch, 1.0
    return np.array([later, *found[:0:-1]])
