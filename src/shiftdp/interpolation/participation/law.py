"""A law that dominates mu(V): what Theorem B7 asks of the participation of a record."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shiftdp._rounding import GENEROUS
from shiftdp.interpolation.participation.ages import Ages
from shiftdp.interpolation.participation.path import (
    JumpPath,
    Resolution,
    class_ends,
    equal_jumps,
    many,
    path_of,
    rough_sum,
)
from shiftdp.interpolation.participation.vertices import Tail, ladder, vertex_law

_NO_MORE = 1e-9  # a mu so small need not be told from 0
# a law that only has to say how large mu may be
_COARSE = Resolution(ratio=1.4, levels=150, values=12, rung=1.4, cells=150)
_RUNG = 1.15  # ratio of neighbouring slopes: mu^2 is at most 0.5% too large
_FEW_RUNG = 1.2  # the same: 0.8%, where few take part and most faces are single chords
_WIDE_RUNG = 1.25  # the same: 1.2%, where the lattice costs more than that
_DEVIATIONS = 6.5  # of the sum of rare jumps: more are very rare
_LARGEST_JUMPS = 1.5  # one rare jump, the largest, and a half
_DENSE = 0.75  # from here on many participations matter
_FINEST = 1.04  # ratio of clocks
_FOR_A_FACTOR = 7.3  # classes of unequal jumps for each factor of e between clocks
_FEWEST, _FEWEST_DENSE, _MOST = 34, 42, 46  # of them, where few take part, where many do, and ever
_ROUGH = 0.4  # times as many classes and levels has a law that only has to tell bounds apart
_ROUGH_CELLS = 800  # of it: they may go too far
_COARSER = 1.1  # steps in which the excess of the ratio over 1 grows
_MANY_LEVELS = 600  # a lattice with more points costs as much as one for unequal jumps
_MOST_LEVELS = 4000  # more would take several seconds
_PART = 1e-3  # of delta: rarer things are rounded more coarsely
_CAP_PART = 1e-4  # of delta: sums that are not followed


@dataclass(frozen=True)
class ParticipationLaw:
    """Values of mu, rising, with weights that add up to 1: mu(V) is stochastically at most this.

    >>> ParticipationLaw((0.0, 1.0), (0.9, 0.1)).mean
    0.1
    """

    mu: tuple[float, ...]
    weight: tuple[float, ...]

    @property
    def mean(self) -> float:
        return math.fsum(mu * w for mu, w in zip(self.mu, self.weight, strict=True))


@dataclass(frozen=True)
class Grid:
    """What a law was computed on: any choice gives a valid law, this one gives this law.

    Args:
        starts: the youngest age of each class, 0 being the last step of the run.
        unit: of the lattice of jumps.
        tick: of the clocks.
        values: jumps of a class that are told apart.
        cap: the largest sum that was followed.
        slopes: of the ladder, in multiples of 2^-46 units for a tick.
        cell: the width of a cell in mu.
        cells: how many there are.
    """

    starts: tuple[int, ...]
    unit: float
    tick: float
    values: int
    cap: int
    slopes: tuple[int, ...]
    cell: float
    cells: int


def dominating_law(
    ages: Ages, *, delta: float, resolution: Resolution | None = None
) -> ParticipationLaw:
    """A law that dominates mu(V), fine enough for privacy at delta. [Theorem C5, Lemma C0a]

    Args:
        ages: the run as one record sees it.
        delta: the tail that matters: rarer things are not told apart.
        resolution: how finely classes, jumps and clocks are rounded; chosen if not given.

    >>> from shiftdp.interpolation.participation.ages import equal_ages
    >>> law = dominating_law(equal_ages(0.5, 1.0, 1.0, 1.0, 1), delta=1e-5)
    >>> [round(mu, 3) for mu in law.mu[:2]], [round(w, 3) for w in law.weight[:2]]
    ([0.0, 1.0], [0.5, 0.5])
    """
    return law_on_grid(ages, delta=delta, resolution=resolution)[0]


def law_on_grid(
    ages: Ages,
    *,
    delta: float,
    resolution: Resolution | None = None,
    top: float | None = None,
) -> tuple[ParticipationLaw, Grid | None]:
    """The dominating law with the grid that it was computed on; none if mu is as good as 0.

    Args:
        ages: the run as one record sees it.
        delta: the tail that matters.
        resolution: how finely classes, jumps and clocks are rounded; chosen if not given.
        top: how far the cells have to go (see `rough_law`); found out if not given.
    """
    ceiling = ages.ceiling
    if ceiling <= _NO_MORE:
        return ParticipationLaw((ceiling,), (1.0,)), None
    resolution = resolution or resolution_for(ages)

    def path_at(finely: Resolution) -> JumpPath:
        return path_of(ages, finely, _CAP_PART * delta)

    if top is None:
        shape = {"delta": delta, "guess": _top(ages), "ceiling": ceiling}
        return law_of_path(path_at, resolution, **shape)
    found, grid = _tail(path_at, resolution, top, delta)
    return law_of_tail(found, ceiling), grid


def rough_law(ages: Ages, *, delta: float) -> tuple[ParticipationLaw, float]:
    """A dominating law that is a few per cent larger, and how far a finer one has to go.

    It takes less than a tenth of a second.
    """
    usual, ceiling = resolution_for(ages), ages.ceiling
    if ceiling <= _NO_MORE:
        return ParticipationLaw((ceiling,), (1.0,)), ceiling
    levels = max(round(_ROUGH * usual.levels), _COARSE.levels)
    few = replace(usual, levels=levels, rung=_COARSE.rung, cells=_ROUGH_CELLS)
    few = _with_classes(ages, few, round(_ROUGH * len(class_ends(ages, usual.ratio))))
    tail, top = _far_enough(
        lambda finely: path_of(ages, finely, _CAP_PART * delta),
        few,
        delta=delta,
        guess=_top(ages),
        ceiling=ceiling,
    )
    return law_of_tail(tail, ceiling), top


def law_of_path(
    path_at: Callable[[Resolution], JumpPath],
    resolution: Resolution,
    *,
    delta: float,
    guess: float,
    ceiling: float,
) -> tuple[ParticipationLaw, Grid]:
    """The law of mu for a path that is given at any resolution, and its grid.

    Args:
        path_at: the path, rounded as finely as is said.
        resolution: how finely.
        delta: the tail that matters.
        guess: about how large mu may be.
        ceiling: what mu never exceeds.
    """
    levels = max(_COARSE.levels, resolution.levels // 3)
    coarse = replace(_COARSE, levels=min(levels, resolution.levels))
    _, top = _far_enough(path_at, coarse, delta=delta, guess=guess, ceiling=ceiling)
    found, grid = _tail(path_at, resolution, top, delta)
    return law_of_tail(found, ceiling), grid


def _far_enough(
    path_at: Callable[[Resolution], JumpPath],
    coarse: Resolution,
    *,
    delta: float,
    guess: float,
    ceiling: float,
) -> tuple[Tail, float]:
    """A coarse law that says how far the cells of a finer one have to go."""
    top = min(guess, ceiling)
    while True:
        rough, _ = _tail(path_at, coarse, top, delta)
        far = int(np.count_nonzero(rough.above > _PART * delta))
        if far < len(rough.above) or top >= ceiling:
            return rough, min(far * rough.cell, ceiling)
        top = min(4.0 * top, ceiling)


def _tail(
    path_at: Callable[[Resolution], JumpPath], finely: Resolution, top: float, delta: float
) -> tuple[Tail, Grid]:
    path = path_at(finely)
    slopes, top = ladder(path, finely.rung), top * (1.0 + GENEROUS)
    found = vertex_law(path, slopes, finely.cells, top, _PART * delta)
    lattice = (path.starts, path.unit, path.tick, finely.values, path.cap)
    return found, Grid(*lattice, tuple(slopes), found.cell, finely.cells)


def law_of_tail(tail: Tail, ceiling: float) -> ParticipationLaw:
    """The law whose probabilities of each value or more are those of the tail.

    The probability that was dropped on the way (`lost`) is added to all of them, which puts it at
    the largest value, the ceiling. Sums above 1 are cut to 1, which lowers the weight of the
    smallest values.
    """
    above = np.minimum(tail.above + tail.lost, 1.0)
    above[0] = 1.0
    weight = above - np.append(above[1:], 0.0)
    mu = np.arange(len(above)) * tail.cell * (1.0 + GENEROUS)
    mu[-1] = max(ceiling, mu[-1])
    kept = weight > 0.0
    return ParticipationLaw(tuple(mu[kept].tolist()), tuple(weight[kept].tolist()))


def resolution_for(ages: Ages) -> Resolution:
    """As fine as about a second allows.

    Each class that jumps costs half a lattice point, and the ratio of clocks costs about its half.
    Equal jumps are on the lattice and cost nothing there. What it takes to follow the vertices
    grows with the square of the number of classes.
    """
    needed = math.ceil(rough_sum(ages) / float(np.max(ages.jump)))  # levels, if jumps are one
    if not equal_jumps(ages):
        classes = _FOR_A_FACTOR * math.log(float(ages.clock[-1] / ages.clock[0]))
        fewest, cells = (_FEWEST_DENSE, 1300) if many(ages) > _DENSE else (_FEWEST, 2200)
        finest = Resolution(_FINEST, levels=1800, values=60, rung=_WIDE_RUNG, cells=cells)
        return _with_classes(ages, finest, most=round(min(max(classes, fewest), _MOST)))
    if needed > _MANY_LEVELS:
        levels = min(max(needed, 1800), _MOST_LEVELS)
        finest = Resolution(_FINEST, levels=levels, values=40, rung=_WIDE_RUNG, cells=1000)
        return _with_classes(ages, finest, most=max(30, 58 * 1800 // levels))
    if many(ages) > _DENSE:
        finest = Resolution(_FINEST, levels=_MANY_LEVELS, values=60, rung=_RUNG, cells=2000)
        return _with_classes(ages, finest, most=80)
    finest = Resolution(_FINEST, levels=_MANY_LEVELS, values=60, rung=_FEW_RUNG, cells=2600)
    return _with_classes(ages, finest, most=80)


def _with_classes(ages: Ages, finest: Resolution, most: int) -> Resolution:
    """The finest ratio of clocks that makes at most so many classes; there is always one."""
    ratio = finest.ratio
    while len(class_ends(ages, ratio)) > max(most, 1):
        ratio = 1.0 + (ratio - 1.0) * _COARSER
    return replace(finest, ratio=ratio)


def _top(ages: Ages) -> float:
    """A generous range of mu; what is above it is not told apart."""
    alone = ages.jump**2 / ages.clock
    rare = math.sqrt(float(np.sum(ages.count * ages.participation * alone)))
    largest = math.sqrt(float(np.max(alone)))
    if ages.start:
        largest += float(ages.start.values[-1] - ages.start.mean) / math.sqrt(float(ages.clock[-1]))
    return math.sqrt(ages.hull) + _DEVIATIONS * rare + _LARGEST_JUMPS * largest
