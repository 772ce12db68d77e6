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

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp.interpolation.participation.verification.classes import Classes, JumpTable

_SHIFT = 46  # slopes are multiples of 2^-46
_RELATIVE = 1e-8  # see above
_TILTS = 2.0 ** np.linspace(-12.0, 2.0, 30)  # of Chernoff's bound
_HALVES = 2  # square roots of energies are rounded up to halves of cells
_LARGEST = (300, 150, 101, 4000, 8000)  # slopes, classes, jumps of one, cells, levels
_TOGETHER = 16  # ends that one product of matrices serves
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
    for g, h in pairwise(slopes):
        lower = _lines(classes.ticks, h, cap)
        reach = _reach(classes, moments, h, each)
        steep, flat = g / 2.0**_SHIFT, h / 2.0**_SHIFT
        for j, ends, rises, direct, through in _transitions(
            classes, upper, lower, reach, above[:, 0].copy(), each
        ):
            apart = (ticks[ends] - ticks[j])[:, None]
            chord = rises**2 / apart
            tangents = (steep + flat) * rises - steep * flat * apart
            one, missing = _listed(ends, direct, chord * square, float(above[j, 0]), each, small)
            other, more = _listed(ends, through, tangents * square, float(above[j, 0]), each, small)
            lost += missing + more
            target, energy, chance = (np.append(a, b) for a, b in zip(one, other, strict=True))
            _add(above, origin, j, target, energy, chance)
        above[above < _VANISHED] = 0.0
        lost += 2.0 * rare + (m + 1) * _VANISHED
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


def _lines(ticks: list[int], slope: int, cap: int) -> NDArray[np.int64]:
    """Whole heights of lines from each class to each later one, at most the cap; -1 elsewhere."""
    heights = np.full((len(ticks), len(ticks)), -1, dtype=np.int64)
    for j, begin in enumerate(ticks):
        row = [
            min(cap, slope * (end - begin) >> _SHIFT) if end > begin else -1
            for end in ticks[j + 1 :]
        ]
        heights[j, j + 1 :] = row
    return heights


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


def _transitions(
    classes: Classes,
    upper: NDArray[np.int64],
    lower: NDArray[np.int64],
    reach: NDArray[np.int64],
    weight: Array,
    each: float,
) -> Iterator[tuple[int, NDArray[np.int64], Array, Array, Array]]:
    """For each start, from the oldest to the youngest: ends, rises, and both kinds of chances.

    Rises are counted from the lower line; the first kind has no record on the way.
    """
    starts = np.flatnonzero(weight > 0.0)
    high = int(reach[starts].max())
    while int(reach[int(starts[0]) : high + 1].max()) > high:
        high = int(reach[int(starts[0]) : high + 1].max())
    starts = starts[starts < high]
    if not starts.size:
        return
    first = int(starts[0])
    width = int((upper - lower)[first : high + 1, first : high + 1].max(initial=0))
    if width <= 0:
        return
    passages = _first_passages(classes, lower, reach, first, high, width)
    found = _by_records(passages, upper, lower, starts, first, high, weight, each)
    direct, through = found
    across = np.arange(1, width + 1)
    for row in range(len(starts) - 1, -1, -1):
        j = int(starts[row])
        ends = np.arange(j + 1, high + 1)
        some = (direct[row, ends - first] + through[row, ends - first]).any(axis=1)
        ends = ends[some]
        if ends.size:
            rises = (lower[j, ends][:, None] + across).astype(np.float64)
            yield j, ends, rises, direct[row, ends - first], through[row, ends - first]


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
    free, spent = np.zeros((size, room)), np.zeros((size, room))
    for i in range(first + 1, high + 1):
        table = classes.tables[i - 1]
        s = np.flatnonzero(reach[first:i] >= i)
        spent[i - 1 - first, 0] = 1.0
        if not s.size:
            continue
        own = slice(int(s[0]), i - first)
        if classes.opens[i - 1]:
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
        found[own, i - first] = np.take_along_axis(new, line[:, None] + heights[1 : width + 1], 1)
    return found


def _by_records(
    passages: Array,
    upper: NDArray[np.int64],
    lower: NDArray[np.int64],
    starts: NDArray[np.int64],
    first: int,
    high: int,
    weight: Array,
    each: float,
) -> tuple[Array, Array]:
    """Transitions with no record between, and with records between, never above the upper line."""
    width = passages.shape[2]
    ends = np.arange(first, high + 1)
    allowed = np.where(ends > starts[:, None], (upper - lower)[starts][:, ends], 0)
    within = np.arange(1, width + 1) <= allowed[:, :, None]
    direct = passages[starts - first] * within
    through = np.zeros_like(direct)
    for s in range(int(starts[0]) + 1, high):
        here = direct[:, s - first] + through[:, s - first]
        likely = np.flatnonzero(here.sum(axis=1) * weight[starts] > each)
        later = np.flatnonzero(passages[s - first].any(axis=1))
        if not likely.size or not later.size:
            continue
        onward = passages[s - first][later]
        heights = np.flatnonzero(here[likely].any(axis=0))
        # by the sum of both overshoots, 2 to 2 width, of which width + 1 are enough
        shifted = np.zeros((heights.size, later.size, width + 2))
        for row, x in zip(shifted, heights.tolist(), strict=True):
            row[:, x + 2 :] = onward[:, : width - x]
        sums = here[np.ix_(likely, heights)] @ shifted.reshape(heights.size, -1)
        sums = sums.reshape(likely.size, later.size, width + 2)
        j = starts[likely][:, None]
        i = ends[later][None, :]
        # two whole parts of heights of a line are the whole part of both, or one less
        extra = (lower[j, i] - lower[j, s] - lower[s, i])[:, :, None]
        place = np.clip(np.arange(1, width + 1) + extra, 0, width + 1)
        more = np.take_along_axis(sums, place, axis=2)
        through[likely[:, None], later] += more * within[likely[:, None], later]
    return direct, through


def _listed(
    ends: NDArray[np.int64], chance: Array, energy: Array, weight: float, each: float, small: float
) -> tuple[tuple[NDArray[np.int64], Array, Array], float]:
    """End, energy and probability of each transition, small ones together; and what is left out."""
    worth = chance * weight
    followed, width = worth > each / chance.shape[1], chance.shape[1]
    missing = float(np.sum(worth[~followed]))
    alone = followed & (worth >= small)
    together = np.where(followed & ~alone, chance, 0.0)
    some = np.flatnonzero(together.any(axis=1))
    largest = width - 1 - np.argmax(together[some, ::-1] > 0.0, axis=1)
    where = np.flatnonzero(alone)
    listed = (
        np.append(ends[where // width], ends[some]),
        np.append(energy.ravel()[where], energy[some, largest]),
        np.append(chance.ravel()[where], together[some].sum(axis=1)),
    )
    return listed, missing


def _add(
    above: Array,
    origin: NDArray[np.int16],
    j: int,
    ends: NDArray[np.int64],
    energy: Array,
    chance: Array,
) -> None:
    """Move mass of class j to its ends, mu^2 raised by the energies, mu rounded up to cells."""
    if not ends.size:
        return
    cells = above.shape[1] - 2
    half = np.minimum(np.ceil(np.sqrt(energy) * _HALVES), _HALVES * cells + 1.0)
    roots, which = np.unique(half, return_inverse=True)
    places, where = np.unique(ends, return_inverse=True)
    size = places.size * roots.size
    weights = np.bincount(where * roots.size + which, chance, size).reshape(places.size, -1)
    low = max(0, int(np.count_nonzero(above[j] == above[j, 0])) - 1)  # all mass is here or above
    raised = above[j][origin[roots.astype(np.intp), low:]]
    above[places, :low] += np.sum(weights, axis=1)[:, None] * above[j, 0]
    for a in range(0, places.size, _TOGETHER):
        some = weights[a : a + _TOGETHER]
        used = np.flatnonzero(some.any(axis=0))
        above[places[a : a + _TOGETHER], low:] += some[:, used] @ raised[used]


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
