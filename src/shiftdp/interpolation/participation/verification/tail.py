"""The law of mu(V) from classes, for the verifier alone: Theorem C5 once more. [Theorem C5]

Nothing here is shared with the engine. All terms are positive and computed in floats, each of
which is off by a part of 1e-16; sums have at most 1e5 terms and there are at most 1e3 of them in a
row, so that a part of 1e-8 in all is more than enough. What is not followed is counted as lost:

- sums above the cap, by the law of the whole sum;
- first passages that are too unlikely, by Chernoff's bound: the probability that the rise from one
  class to another exceeds h is at most `exp(log E e^(tilt rise) - tilt h)`, for any tilt > 0;
- transitions that are too unlikely to be followed.
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

_SHIFT = 46  # slopes are multiples of 2^-46
_RELATIVE = 1e-8  # see above
_TILTS = 2.0 ** np.linspace(-12.0, 2.0, 30)  # of Chernoff's bound
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
    moments = _log_moments(classes)
    upper = _lines(classes.ticks, slopes[0], cap)
    ticks = np.array(classes.ticks, dtype=np.float64)
    each = rare / (m + 1) ** 2
    unmoved = rare / (m + 1)
    for g, h in pairwise(slopes):
        lower = _lines(classes.ticks, h, cap)
        reach = _reach(classes, moments, h, each)
        found = _transitions(classes, upper, lower, reach, above[:, 0], each)
        if found is not None:
            steep, flat = g / 2.0**_SHIFT, h / 2.0**_SHIFT
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
    return law * (1.0 + _RELATIVE), lost * (1.0 + _RELATIVE)


def _check(classes: Classes, slopes: tuple[int, ...], cap: int, cells: int) -> None:
    """What makes the computation sound, and its cost bounded."""
    highest = np.cumsum([int(table.values[-1]) for table in classes.tables])
    steepest = max(
        min(int(high), cap) / tick if tick > 0 else math.inf
        for high, tick in zip(highest, classes.ticks[1:], strict=True)
    )
    falling = all(a > b for a, b in pairwise(slopes))
    if not falling or slopes[-1] != 0 or slopes[0] / 2.0**_SHIFT * (1.0 - _RELATIVE) < steepest:
        raise ValueError("the slopes do not fall from above the steepest one to 0")
    jumps = max(len(table.values) for table in classes.tables)
    sizes = (len(slopes), len(classes.tables), jumps, cells, cap)
    if any(size > most for size, most in zip(sizes, _LARGEST, strict=True)):
        raise ValueError("the grid is too fine to be followed")
    if any(a > b for a, b in pairwise(classes.ticks)):
        raise ValueError("clocks fall")


class _Lines(NamedTuple):
    """Whole heights of lines from each class to each later one, at most the cap; -1 elsewhere.

    `short` says where that is one less than the difference of the whole heights over 0.
    """

    heights: NDArray[np.int64]
    short: NDArray[np.bool_]


def _lines(ticks: list[int], slope: int, cap: int) -> _Lines:
    """In exact arithmetic: the whole part of a difference, from whole parts and fractions."""
    whole, part = zip(*(divmod(slope * tick, 1 << _SHIFT) for tick in ticks), strict=True)
    if whole[-1] >= 1 << 62:
        raise ValueError("lines are steeper than whole numbers can follow")
    fraction, at = np.array(part, dtype=np.int64), np.array(ticks, dtype=np.int64)
    # classes of one clock have a line of height -1 between them
    short = (fraction[None, :] < fraction[:, None]) | (at[None, :] == at[:, None])
    over_zero = np.array(whole, dtype=np.int64)
    heights = np.minimum(over_zero[None, :] - over_zero[:, None] - short, cap)
    return _Lines(np.where(at[None, :] > at[:, None], heights, -1), short)


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


def _log_moments(classes: Classes) -> Array:
    """log E e^(tilt rise) up to each class, for each tilt, rounded up by independence of epochs."""
    total, chance = [np.zeros(len(_TILTS))], 1.0
    for table, opens in zip(classes.tables, classes.opens, strict=True):
        chance = 1.0 if opens else chance
        with np.errstate(divide="ignore"):
            exponents = np.outer(_TILTS, table.values[1:]) + np.log(
                table.probabilities[1:] * chance
            )
            rest = np.log(np.array([1.0 - chance * (1.0 - table.probabilities[0])]))
        largest = np.maximum(exponents.max(axis=1, initial=-math.inf), rest)
        terms = np.exp(exponents - largest[:, None]).sum(axis=1) + np.exp(rest - largest)
        total.append(total[-1] + largest + np.log(terms))
        chance *= float(table.probabilities[0])
    return np.array(total).T


def _reach(classes: Classes, moments: Array, slope: int, each: float) -> NDArray[np.int64]:
    """The last class at which a path from each class can be above the line, but for `each`."""
    m = len(classes.tables)
    ticks = np.array(classes.ticks, dtype=np.float64) * (slope / 2.0**_SHIFT)
    drift = moments - _TILTS[:, None] * ticks[None, :]
    last = np.arange(m + 1)
    for j in range(m):
        bound = np.min(drift[:, j + 1 :] - drift[:, j : j + 1], axis=0)
        possible = np.flatnonzero(bound > math.log(each) - _RELATIVE)
        if possible.size:
            last[j] = j + 1 + int(possible[-1])
    return last


class _Found(NamedTuple):
    """Chances of transitions [start, end, rise], with no record on the way and with some."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    rises: Array
    direct: Array
    through: Array


def _transitions(
    classes: Classes,
    upper: _Lines,
    lower: _Lines,
    reach: NDArray[np.int64],
    weight: Array,
    each: float,
) -> _Found | None:
    """From all classes that have weight; None if there are no transitions."""
    starts = np.flatnonzero(weight > 0.0)
    high = int(reach[starts].max())
    while int(reach[int(starts[0]) : high + 1].max()) > high:
        high = int(reach[int(starts[0]) : high + 1].max())
    starts = starts[starts < high]
    if not starts.size:
        return None
    first = int(starts[0])
    band = upper.heights - lower.heights
    width = int(band[first : high + 1, first : high + 1].max(initial=0))
    if width <= 0:
        return None
    passages = _first_passages(classes, lower.heights, reach, first, high, width)
    ends = np.arange(first, high + 1)
    room = np.where(ends > starts[:, None], band[starts][:, ends], 0)
    direct = passages[starts - first] * (np.arange(1, width + 1) <= room[:, :, None])
    short = lower.short[first : high + 1, first : high + 1]
    through = _by_records(passages, direct, room, short, starts - first, weight[starts], each)
    rises = lower.heights[starts][:, ends][:, :, None] + np.arange(1.0, width + 1.0)
    return _Found(starts, ends, rises, direct, through)


def _first_passages(
    classes: Classes,
    lower: NDArray[np.int64],
    reach: NDArray[np.int64],
    first: int,
    high: int,
    width: int,
) -> Array:
    """[s, i, x - 1]: P(from s, first above the lower line at i, by x), counted from class `first`.

    `free[s]` has the heights at which a path from s may be, weakly below its line, if its epoch may
    still jump, `spent[s]` if it may not: after s itself, and after a jump, until the next epoch.
    """
    size = high - first + 1
    found = np.zeros((size, size, width))
    room = int(lower[first, high]) + 1
    free = np.zeros((size, room))
    single = all(classes.opens[first:high])  # one class an epoch: all that is spent is free again
    spent = free if single else np.zeros((size, room))
    for i in range(first + 1, high + 1):
        table = classes.tables[i - 1]
        s = np.flatnonzero(reach[first:i] >= i)
        spent[i - 1 - first, 0] = 1.0
        if not s.size:
            continue
        own = slice(int(s[0]), i - first)
        if classes.opens[i - 1] and not single:
            free[own] += spent[own]
            spent[own] = 0.0
        line = lower[first:i, i][own]
        before = int(lower[first, i - 1]) + 1 if i > first + 1 else 1
        before = max(before, 1)
        new = np.zeros((len(line), int(line.max()) + 1 + width))
        for value, chance in zip(table.values[1:].tolist(), table.probabilities[1:], strict=True):
            end = min(new.shape[1], value + before)
            if value < end:
                new[:, value:end] += chance * free[own, : end - value]
        free[own] *= table.probabilities[0]
        heights = np.arange(new.shape[1])
        under = heights[: new.shape[1] - width] <= line[:, None]
        spent[own, : under.shape[1]] += new[:, : under.shape[1]] * under
        corner = np.arange(len(line)) * new.shape[1] + line
        found[own, i - first] = new.ravel()[corner[:, None] + heights[1 : width + 1]]
    return found


def _by_records(
    passages: Array,
    direct: Array,
    room: NDArray[np.int64],
    short: NDArray[np.bool_],
    starts: NDArray[np.int64],
    weight: Array,
    each: float,
) -> Array:
    """Transitions with records between, never above the upper line.

    An overshoot counts from the whole height of a line, and two whole heights in a row may be one
    less than that of both. The rise less the difference of heights over 0, one number less where a
    line is `short`, adds up: with it, stretches are put together.
    """
    width = passages.shape[2]
    onward = _lowered(passages, short)
    own = short[starts]
    at_once = _lowered(direct, own)
    through = np.zeros_like(at_once)
    limit = room - own
    for s in range(int(starts[0]) + 1, len(passages)):
        rows = starts < s
        through[rows, s] *= np.arange(width + 1) <= limit[rows, s][:, None]
        here = at_once[:, s] + through[:, s]
        likely = np.flatnonzero(rows & (here.sum(axis=1) * weight > each))
        later = np.flatnonzero(onward[s].any(axis=1))
        if not likely.size or not later.size:
            continue
        begin, end = int(later[0]), int(later[-1]) + 1
        heights = np.flatnonzero(here[likely].any(axis=0))
        low, high = int(heights[0]), int(heights[-1]) + 1
        shifted = np.zeros((high - low, end - begin, width + 1 - low))
        for x, row in enumerate(shifted):
            row[:, x:] = onward[s, begin:end, : width + 1 - low - x]
        sums = here[likely, low:high] @ shifted.reshape(high - low, -1)
        through[likely, begin:end, low:] += sums.reshape(likely.size, end - begin, -1)
    through = np.where(own[:, :, None], through[:, :, :-1], through[:, :, 1:])
    return np.asarray(through * (np.arange(1, width + 1) <= room[:, :, None]))


def _lowered(chances: Array, short: NDArray[np.bool_]) -> Array:
    """By x = 0 to width, from x = 1 to width; one number less where a line is short."""
    found = np.zeros((*chances.shape[:2], chances.shape[2] + 1))
    found[:, :, 1:] = chances
    less = np.nonzero(short & chances.any(axis=2))
    found[less] = np.append(chances[less], np.zeros((len(less[0]), 1)), axis=1)
    return found


class _Moves(NamedTuple):
    """From a start to an end, adding an energy, with a probability."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    energy: Array
    chance: Array


def _listed(
    found: _Found, chance: Array, energy: Array, weight: Array, each: float, small: float
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
