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
_FAINT = 1e-5  # of the probability of what is followed by itself: what is rarer is dropped
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
    count = max(1, math.ceil(math.log(steepest / flattest) / math.log(ratio)))
    slopes = steepest / ratio ** np.arange(count + 1)
    whole = [math.ceil(slope * 2.0**SHIFT) for slope in slopes]
    return [*dict.fromkeys(whole), 0]


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
    reached = Reaches(path, faint / (m + 1) ** 2)
    upper = line_heights(path, slopes[0])
    for slope, lower_slope in pairwise(slopes):
        lower = line_heights(path, lower_slope)
        weight = above[:, 0].copy()
        found = _transitions(path, upper, lower, weight, reached(lower_slope), faint)
        single = _followed(found.single, weight, found, lower, tiny, faint)
        several = _followed(found.several, weight, found, lower, tiny, faint)
        g, g_low = slope / 2.0**SHIFT, lower_slope / 2.0**SHIFT
        chords = single.rise**2 / single.apart(path)
        tangents = (g + g_low) * several.rise - g * g_low * several.apart(path)
        energy = np.concatenate([chords, tangents]) * (squared * (1.0 + AMPLE))
        move(above, energies, single.joined(several, energy))
        above[above < _NOTHING] = 0.0
        # the last two: what is out of reach, and what became 0 at each vertex
        lost += found.dropped + single.dropped + several.dropped + faint + (m + 1) * _NOTHING
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
    reach: NDArray[np.int64],
    faint: float,
) -> _Found:
    """A_k from all vertices that have mass: without a record on the way (one face), and others."""
    m = path.classes
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
    several = np.zeros_like(single)
    dropped = 0.0
    for s in range(int(active[0]) + 1, high):
        ends = np.flatnonzero(passages[s - low].any(axis=1))
        if not ends.size:
            continue
        at = single[:, s - low] + several[:, s - low]
        chance = at.sum(axis=1) * weight[active]
        likely = chance > faint / (m + 1) ** 2
        dropped += float(np.sum(chance[~likely]))
        rows = np.flatnonzero(likely)
        if not rows.size:
            continue
        at = at[rows]
        used = np.flatnonzero(at.any(axis=0))
        # probabilities by y = (height above the line at s) + (overshoot from s), 1 to width + 1
        padded = np.zeros((ends.size, 2 * width + 1))
        padded[:, width : 2 * width] = passages[s - low, ends]
        toeplitz = padded[:, width + np.arange(width + 1)[None, :] - used[:, None] - 1]
        product = at[:, used] @ np.moveaxis(toeplitz, 1, 0).reshape(used.size, -1)
        product = product.reshape(rows.size, ends.size, width + 1)
        # the height of a line over two stretches is that of both, or one more
        starts = active[rows]
        carry = lower[starts[:, None], low + ends] - lower[starts, s][:, None]
        carry = (carry - lower[s, low + ends][None, :])[:, :, None]
        more = np.where(carry == 0, product[:, :, :width], product[:, :, 1:])
        more[x > room[rows[:, None], ends][:, :, None]] = 0.0
        several[rows[:, None], ends] += more
    return _Found(active, low, single, several, dropped)


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
    chance = part * weight[found.starts][:, None, None]
    often = chance >= tiny
    start, end, above = np.nonzero(often)
    rare = np.where(often, 0.0, part)
    together = rare.sum(axis=2)
    worth = together * weight[found.starts][:, None]
    kept = worth >= faint
    start_2, end_2 = np.nonzero(kept)
    largest = part.shape[2] - 1 - np.argmax(rare[start_2, end_2, ::-1] > 0.0, axis=1)
    probability = np.append(part[start, end, above], together[start_2, end_2])
    start, end = np.append(start, start_2), np.append(end, end_2)
    begin, finish = found.starts[start], end + found.low
    rise = lower[begin, finish] + 1 + np.append(above, largest)
    return _Transitions(begin, finish, rise, probability, float(np.sum(worth[~kept])))


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
