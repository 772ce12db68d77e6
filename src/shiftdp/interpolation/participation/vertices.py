"""The law of mu(V), vertex by vertex, down a ladder of slopes. [Theorem C5]

Let g_0 > g_1 > ... > g_K = 0 be slopes, and j_k the first class at which R - g_k L is largest: a
vertex of the least concave majorant. As the slope falls, j_k moves to older classes, and it does so
as a Markov chain, because the path after a vertex does not depend on the path before it.

**Theorem C5.** Let A_k(j, i, r) be the probability that the path from vertex j rises by r up to a
jump at i > j, never above the line of slope g_k from j, and i is the first place on it where
R - g_{k+1} L is largest. Then

    P(j_1, ..., j_K, r_1, ..., r_K) = prod A_k(j_k, j_{k+1}, r_k) * P(no jump after j_K),

the product being over those k with j_{k+1} > j_k, and

    mu(V)^2 <= sum_k e_k <= (1 + log(g_k/g_{k+1})^2 / 4 + ...) mu(V)^2,
    e_k = (g_k + g_{k+1}) r_k - g_k g_{k+1} dL_k,   dL_k = L_{j_{k+1}} - L_{j_k},

where e_k may be r_k^2 / dL_k if no class between the two was above the line of slope g_{k+1} from
j_k before: then the chord is above all of them, and is the majorant.

With B(s, i, x) the probability that the path from s is first above the line of slope g_{k+1} at i,
by x (a *first passage*),

    A_k(j, i, .) = [ B(j, i, .) + sum_{j<s<i} A_k(j, s, .) * B(s, i, .) ] where the rise is below
                   the line of slope g_k from j.

*Proof.* Given that j is the vertex at g_k, the path from j stays below the line of slope g_k for
ever; i is the next vertex iff it is the first maximum of R - g_{k+1} L from j on: what follows i
stays below the line of slope g_{k+1} from i, which is the same statement about the next vertex, and
what lies between satisfies the definition of A_k. Events about disjoint sets of classes are
independent (for one jump an epoch: a vertex has a jump, so the rest of its epoch is empty), which
gives the product. Every maximum of a path is reached through the records before it: the record
before i is a vertex s of the same kind, or j itself, and between records the path is below the line
from the last of them, hence below the line of slope g_k from j; so that line need only be watched
at records. Between two of these vertices the majorant is concave with slopes between g_{k+1} and
g_k; of all such curves the two tangents that meet have the largest energy: parts x and y with
x + y = dL and g_k x + g_{k+1} y = r, which cost g_k^2 x + g_{k+1}^2 y = (g_k + g_{k+1}) r -
g_k g_{k+1} dL. Against a single face of slope g that is at most (g_k + g_{k+1})/g - g_k g_{k+1}/g^2
times as much, which is largest at their harmonic mean. ∎

All terms are positive: rounding changes the law by a part of 1e-9 at most, which is added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, GENEROUS
from shiftdp.interpolation.participation.energies import Energies, Moves, move
from shiftdp.interpolation.participation.first_passage import (
    SHIFT,
    Reaches,
    line_heights,
    overshoots,
)
from shiftdp.interpolation.participation.path import JumpPath

_STEEPEST = 1.001  # times what is needed: the first slope is above all that are possible
_FLATTEST = 0.9  # of the least slope that a rise by one lattice point can have
_FLAT = 30.0  # times less than the mean slope: faces so flat hardly cost anything
_BELOW_MEAN = 0.5, 4.0  # below this part of the mean slope, rungs are so many times wider ...
_MOST_SLOPES, _WIDER = 300, 1.1  # who checks a law follows no more; else all rungs are wider
_FAINT = 1e-5  # of the probability of what is followed by itself: what is rarer is dropped
_ENDS = 1e-2  # of it: tails so rare, all that there are together, are not moved on
_HEIGHTS = 48  # of records that one product of matrices serves
_NOTHING = 1e-30  # tails below it count as 0, so that no product leaves the range of floats
_UNEXPLAINED = 1e-10  # of the mass: more than float sums can be off


@dataclass(frozen=True, eq=False)
class Tail:
    """P(mu > cell n) for n = -1, 0, ...: `above[n]` is the mass at cells n and above.

    Args:
        above: the masses, the last one beyond all cells.
        cell: the width of a cell in mu.
        lost: mass that was not followed.
    """

    above: Array
    cell: float
    lost: float


def ladder(path: JumpPath, ratio: float) -> list[int]:
    """Falling slopes in multiples of 2^-46 (`SHIFT`), the last one 0."""
    highest = np.cumsum([int(law.values[-1]) for law in path.laws])
    if highest[-1] == 0:
        return [1, 0]  # a path that never jumps
    steepest = float(np.max(np.minimum(highest, path.cap) / path.clock[1:])) * _STEEPEST
    mean = _mean_rise(path) / float(path.clock[-1])
    flattest = max(_FLATTEST / float(path.clock[-1]), mean / _FLAT)
    slopes = _falling(steepest, flattest, mean, ratio)
    while len(slopes) >= _MOST_SLOPES:
        ratio **= _WIDER
        slopes = _falling(steepest, flattest, mean, ratio)
    whole = [math.ceil(slope * 2.0**SHIFT) for slope in slopes]
    return [*dict.fromkeys(whole), 0]


def _falling(steepest: float, flattest: float, mean: float, ratio: float) -> list[float]:
    """Slopes from the steepest to one that is not above the flattest."""
    slopes = [steepest]
    while slopes[-1] > flattest:
        slopes.append(slopes[-1] / ratio ** _stretch(slopes[-1], steepest, mean))
    return slopes


def _stretch(slope: float, steepest: float, mean: float) -> float:
    """How much wider a rung may be, in logarithms, than where mu is most sensitive to its width.

    That is where most of the energy is: around the mean slope, and where few late participations
    are the steepest there can be.
    """
    if slope < _BELOW_MEAN[0] * mean:
        return _BELOW_MEAN[1]
    return 1.0


def vertex_law(path: JumpPath, slopes: list[int], cells: int, top: float, tiny: float) -> Tail:
    """The law of mu(V), from above. [Theorem C5]

    Args:
        path: of jumps, rounded up.
        slopes: the ladder; the first is above every slope of the path.
        cells: into which mu is rounded up.
        top: the largest mu in a cell; what is above it is counted in the last entry.
        tiny: probabilities below it are not followed one by one.
    """
    m = path.classes
    cell = top / cells
    squared = path.scale / cell**2 * (1.0 + AMPLE)  # cells^2 for rise^2 / ticks
    energies = Energies(cells)
    # above[j, n]: P(the vertex is j, and mu up to it is at cell n or above)
    above = np.zeros((m + 1, cells + 2))
    above[0, 0] = 1.0
    lost, faint = path.lost, tiny * _FAINT
    nothing = tiny * _ENDS / ((m + 1) * len(slopes))
    reached = Reaches(path, faint / (m + 1) ** 2)
    upper = line_heights(path, slopes[0])
    for slope, lower_slope in pairwise(slopes):
        lower = line_heights(path, lower_slope)
        weight = above[:, 0].copy()
        reach = reached(lower_slope)
        found = _transitions(path, upper, lower, weight, lower_slope, reach, faint)
        single = _followed(found.single, weight, found, lower, tiny, faint)
        several = _followed(found.several, weight, found, lower, tiny, faint)
        g, g_low = slope / 2.0**SHIFT, lower_slope / 2.0**SHIFT
        chords = single.rise**2 / single.apart(path)
        tangents = (g + g_low) * several.rise - g * g_low * several.apart(path)
        energy = np.concatenate([chords, tangents]) * (squared * (1.0 + AMPLE))
        move(above, energies, single.joined(several, energy), nothing)
        above[above < _NOTHING] = 0.0
        # the last two: what is out of reach, and the ends of tails that were not moved
        lost += found.dropped + single.dropped + several.dropped + faint
        lost += (m + 1) * (nothing + _NOTHING)
        upper = lower
    law = path.nothing_after() @ above * (1.0 + 2.0 * path.error + GENEROUS)
    # all that is not followed is in `lost`; were more than roundings missing, it would be added
    missing = 1.0 - float(law[0]) - lost - _UNEXPLAINED
    return Tail(law, cell, (lost + max(missing, 0.0)) * (1.0 + GENEROUS))


class _Found(NamedTuple):
    """A_k(j, i, x) for the starts j, the ends low + 0, 1, ..., and x - 1 above the lower line."""

    starts: NDArray[np.int64]
    low: int
    single: Array
    several: Array
    dropped: float


@dataclass(frozen=True, eq=False)
class _Transitions:
    """From vertex `start` to vertex `end` with a rise, each with its probability A_k."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    rise: NDArray[np.int64]
    probability: Array
    dropped: float

    def apart(self, path: JumpPath) -> Array:
        """The clock between the two vertices."""
        return (path.clock[self.end] - path.clock[self.start]).astype(np.float64)

    def joined(self, other: _Transitions, energy: Array) -> Moves:
        return Moves(
            np.append(self.start, other.start),
            np.append(self.end, other.end),
            energy,
            np.append(self.probability, other.probability),
        )


def _transitions(
    path: JumpPath,
    upper: NDArray[np.int64],
    lower: NDArray[np.int64],
    weight: Array,
    slope: int,
    reach: NDArray[np.int64],
    faint: float,
) -> _Found:
    """A_k from all vertices that have mass: without a record on the way (one face), and others."""
    active = np.flatnonzero(weight > 0.0)
    low, high = int(active[0]), _furthest(active, reach)
    active = active[active < high]
    width = int((upper - lower)[low : high + 1, low : high + 1].max(initial=0))
    if width <= 0 or not active.size:
        nowhere = np.zeros((0, 1, 1))
        return _Found(active[:0], low, nowhere, nowhere, 0.0)
    passages = overshoots(path, lower, width, low, high, reach)
    # how far above the lower line each end may be, for each start
    room = (upper - lower)[active, low : high + 1]
    room[np.arange(low, high + 1)[None, :] <= active[:, None]] = 0
    x = np.arange(1, width + 1)
    single = np.where(x <= room[:, :, None], passages[active - low], 0.0)
    borrow = _borrowed(path, slope)[low : high + 1, low : high + 1]
    negligible = faint / (path.classes + 1) ** 2
    rows = active - low
    several, dropped = _by_records(passages, single, room, borrow, rows, weight[active], negligible)
    return _Found(active, low, single, several, dropped)


def _borrowed(path: JumpPath, slope: int) -> NDArray[np.bool_]:
    """Whether floor(g (L_i - L_j)) is one less than the difference of floor(g L_i), floor(g L_j).

    With the overshoot x, `u = x - borrowed` is the rise less a difference of heights of one line,
    so that it adds up over stretches.
    """
    # products modulo 2^64 have the right last 46 bits: the fractions of g L
    fraction = path.clock.astype(np.uint64) * np.uint64(slope) % np.uint64(1 << SHIFT)
    # a line between classes of one clock has the height -1: what jumps there is above it
    together = path.clock[None, :] == path.clock[:, None]
    return np.asarray((fraction[None, :] < fraction[:, None]) | together)


def _by_records(
    passages: Array,
    single: Array,
    room: NDArray[np.int64],
    borrow: NDArray[np.bool_],
    starts: NDArray[np.int64],
    weight: Array,
    faint: float,
) -> tuple[Array, float]:
    """Transitions over one record or more; and what is dropped, being less than `faint`.

    Args:
        passages: first passages from every class to every class.
        single: the transitions without a record between, from each of the starts.
        room: which overshoots are below the upper line, for each of these.
        borrow: what turns overshoots into numbers that add up.
        starts: classes.
        weight: the mass at each of them.
        faint: what is less likely from a start to a record is not followed.
    """
    own = borrow[starts]
    width, dropped = single.shape[2] + 1, 0.0
    several = np.zeros((*single.shape[:2], width))  # by u, 0 to width - 1
    u = np.arange(width)
    furthest = _ends_of(np.asarray(passages.any(axis=2)))
    for s in range(int(starts[0]) + 1, len(passages) - 1):
        end = int(furthest[s])
        if end <= s + 1:
            continue
        rows = int(np.searchsorted(starts, s))
        at = np.where(u <= (room - own)[:rows, s, None], several[:rows, s], 0.0)
        at += _by_additive_rise(single[:rows, s], own[:rows, s], 0)
        chance = at.sum(axis=1) * weight[:rows]
        likely = np.flatnonzero(chance > faint)
        if not likely.size:
            dropped += float(np.sum(chance))
            continue
        first, last = int(likely[0]), int(likely[-1]) + 1
        dropped += float(np.sum(chance[:first]) + np.sum(chance[last:]))
        onward = _by_additive_rise(passages[s, s + 1 : end], borrow[s, s + 1 : end], width - 1)
        heights = np.flatnonzero(at[first:last].any(axis=0))
        for a in range(int(heights[0]), int(heights[-1]) + 1, _HEIGHTS):
            b = min(a + _HEIGHTS, int(heights[-1]) + 1)
            # entry [u - a, e, k]: from u at the record to a + k at the end e
            shape, (line, step) = (b - a, end - s - 1, width - a), onward.strides
            moved = as_strided(onward[:, width - 1 :], shape, (-step, line, step))
            gained = at[first:last, a:b] @ moved.reshape(b - a, -1)
            several[first:last, s + 1 : end, a:] += gained.reshape(last - first, end - s - 1, -1)
    several = np.where(own[:, :, None], several[:, :, :-1], several[:, :, 1:])
    several[u[1:] > room[:, :, None]] = 0.0
    return several, dropped


def _by_additive_rise(chances: Array, borrow: NDArray[np.bool_], before: int) -> Array:
    """Probabilities of u = x - borrow = 0, 1, ... from those of overshoots x = 1, 2, ...

    Only u adds up over stretches (see `_borrowed`). `before` zeros are put in front of each row.
    """
    found = np.zeros((chances.shape[0], before + chances.shape[1] + 1))
    found[~borrow, before + 1 :] = chances[~borrow]
    found[borrow, before:-1] = chances[borrow]
    return found


def _ends_of(some: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each row, one more than the place of the last entry that is true; 0 if there is none."""
    return np.where(some.any(axis=1), some.shape[1] - np.argmax(some[:, ::-1], axis=1), 0)


def _followed(
    part: Array,
    weight: Array,
    found: _Found,
    lower: NDArray[np.int64],
    tiny: float,
    faint: float,
) -> _Transitions:
    """The transitions one by one; rare ones between the same two vertices as one, at their largest.

    Those that are rare even together are dropped.
    """
    start, end = np.nonzero(part.any(axis=2))
    mass = weight[found.starts[start]]
    part = part[start, end]
    often = part * mass[:, None] >= tiny
    pair, above = np.nonzero(often)
    rare = np.where(often, 0.0, part)
    together = rare.sum(axis=1)
    worth = together * mass
    some = np.flatnonzero(worth >= faint)
    largest = part.shape[1] - 1 - np.argmax(rare[some, ::-1] > 0.0, axis=1)
    probability = np.append(part[pair, above], together[some])
    both = np.append(pair, some)
    start, end = start[both], end[both]
    begin, finish = found.starts[start], end + found.low
    rise = lower[begin, finish] + 1 + np.append(above, largest)
    return _Transitions(begin, finish, rise, probability, float(np.sum(worth[worth < faint])))


def _furthest(active: NDArray[np.int64], reach: NDArray[np.int64]) -> int:
    """The last class that can be reached from the active ones, over any number of records."""
    high = int(reach[active].max())
    while True:
        further = int(reach[int(active[0]) : high + 1].max())
        if further <= high:
            return high
        high = further


def _mean_rise(path: JumpPath) -> float:
    """The mean of the whole rise, epochs with several classes included."""
    total, chance = 0.0, 1.0
    for i, law in enumerate(path.laws, start=1):
        chance = 1.0 if path.opens[i] else chance
        total += chance * float(law.values @ law.probabilities)
        chance *= law.none
    return total
