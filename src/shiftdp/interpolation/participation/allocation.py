"""Random allocation: in each epoch a record goes to one of the l batches, at random. [Theorem C5]

The steps of an epoch are not independent, but a vertex of the majorant has a jump, and an epoch has
one: after a vertex the rest of its epoch is empty, and later epochs are fresh. So Theorem C5 holds
with the classes of an epoch as hazards: the chance of a jump in a class, given none before.

The youngest epochs and the oldest one are told apart by classes of positions. Those between are put
at their youngest position, which only raises mu [Lemma C0a]. That stretch is not random, and of its
points only those on their upper hull can be vertices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import GENEROUS
from shiftdp.interpolation.participation.ages import Ages
from shiftdp.interpolation.participation.jumps import JumpLaw
from shiftdp.interpolation.participation.law import Grid, ParticipationLaw, law_of_path
from shiftdp.interpolation.participation.path import LARGEST_CAP, JumpPath, Resolution, in_ticks

_MOST_CLASSES = 90  # of all epochs together: the time grows with the square of their number
_MOST_YOUNG = 20  # epochs that are told apart at most: older ones are short against their clocks
_HEAVY = 0.5  # the oldest epoch is told apart if its jumps are still so large a part of the largest
_COARSER = 1.1  # steps in which the excess of the ratio over 1 grows
_FINEST = 1.02  # ratio of clocks
_ON_THE_CHORD = 1e-13  # of a height
_LARGEST_JUMPS = 2.0  # more than the mean, in units of the largest jump against its noise
# what is told apart, but for the ratio, which is chosen
FINE = Resolution(ratio=_FINEST, levels=1500, values=1, rung=1.1, cells=1500)


@dataclass(frozen=True, eq=False)
class Allocation:
    """A run in which a record takes part once in each epoch.

    Args:
        ages: one entry for each step, as by `ages_of_steps`; participations do not matter.
        batches: steps of an epoch; the youngest epoch is the last of the run.
    """

    ages: Ages
    batches: int

    def __post_init__(self) -> None:
        if len(self.ages.jump) % self.batches or np.any(self.ages.count != 1.0):
            raise UnmetHypothesis(
                "steps", len(self.ages.jump), "are not whole epochs", "run whole epochs"
            )

    @property
    def epochs(self) -> int:
        return len(self.ages.jump) // self.batches

    @property
    def largest(self) -> NDArray[np.float64]:
        """The largest jump of each epoch."""
        return np.asarray(self.ages.jump.reshape(self.epochs, self.batches).max(axis=1))

    @property
    def ceiling(self) -> float:
        """What mu never exceeds: each epoch at its youngest position, with its largest jump."""
        rise = np.zeros(len(self.ages.jump))
        rise[:: self.batches] = self.largest
        return math.sqrt(self.ages.energy(rise)) * (1.0 + GENEROUS)


def allocation_law(
    run: Allocation, *, delta: float, resolution: Resolution | None = None
) -> ParticipationLaw:
    """A law that dominates mu(J), J being the positions. [Theorem C5]

    Args:
        run: the steps.
        delta: the tail that matters.
        resolution: how finely it is rounded; chosen if not given.

    >>> from shiftdp.interpolation.participation.ages import ages_of_steps
    >>> ones = np.ones(4)  # two batches: the last step, or the one before it
    >>> law = allocation_law(Allocation(ages_of_steps(ones, ones, ones, ones), 4), delta=1e-5)
    >>> round(law.mu[-1], 2), round(law.mu[0], 2)
    (1.0, 0.5)
    """
    return allocation_on_grid(run, delta=delta, resolution=resolution)[0]


def allocation_on_grid(
    run: Allocation, *, delta: float, resolution: Resolution | None = None
) -> tuple[ParticipationLaw, Grid | None]:
    """`allocation_law` with the grid that it was computed on, which is None if mu is 0."""
    ceiling = run.ceiling
    if ceiling <= 0.0:
        return ParticipationLaw((0.0,), (1.0,)), None
    typical = np.full(len(run.ages.jump), 1.0 / run.batches) * run.ages.jump
    largest = float(np.max(run.ages.jump / np.sqrt(run.ages.clock)))
    return law_of_path(
        lambda finely: allocation_path(run, finely),
        resolution or FINE,
        delta=delta,
        guess=math.sqrt(run.ages.energy(typical)) + _LARGEST_JUMPS * largest,
        ceiling=ceiling,
    )


def allocation_path(run: Allocation, resolution: Resolution) -> JumpPath:
    """The path of an allocation on a lattice, clocks rounded down and jumps rounded up.

    Args:
        run: the steps.
        resolution: `ratio` is the least one; it grows until there are not too many classes.
    """
    young, classes = _classes(run, resolution)
    jump, clock, size, epochs = run.ages.jump, run.ages.clock, run.batches, run.epochs
    highest = run.largest
    total = float(np.sum(highest))
    largest = float(np.max(jump))
    equal = float(np.min(jump)) == largest and epochs <= LARGEST_CAP
    parts = 1.0 if equal else resolution.levels * largest / total
    unit = largest / (math.floor(parts) if parts >= 1.0 else parts) * (1.0 + 4.0 * GENEROUS)

    def units(height: float) -> int:
        return math.ceil(height / unit * (1.0 + GENEROUS))

    clocks, laws, opens, cap = list[float](), list[JumpLaw](), [False], 0

    def told_apart(e: int) -> None:
        ends = classes[e]
        for a, b in zip([e * size, *ends[:-1]], ends, strict=True):
            clocks.append(float(clock[a]))
            chance = (b - a) / ((e + 1) * size - a)  # given that it was not before
            values = np.array([0, units(float(np.max(jump[a:b])))])
            laws.append(JumpLaw(values, np.array([1.0 - chance, chance])))
            opens.append(a == e * size)

    for e in range(young):
        told_apart(e)
    oldest = epochs - 1 if epochs - 1 in classes and epochs > young else epochs
    done = 0
    for e, height in _upper_hull(run, range(young, oldest)):
        if units(height) == done:
            continue  # it is not above what is rounded up already
        clocks.append(float(clock[e * size]))
        laws.append(JumpLaw(np.array([0, units(height) - done]), np.array([0.0, 1.0])))
        opens.append(True)
        done = units(height)
    if oldest < epochs:
        told_apart(oldest)
    cap = done + sum(units(float(x)) for x in highest[:young])
    cap += units(float(highest[-1])) if oldest < epochs else 0
    if cap > LARGEST_CAP:
        raise UnmetHypothesis("levels", cap, "are too many", f"use at most {LARGEST_CAP}")
    ticks, tick = in_ticks(np.array(clocks))
    scale = unit * unit / tick * (1.0 + GENEROUS)
    told = sorted(classes)
    starts = [a for e in told for a in (e * size, *classes[e][:-1])]
    return JumpPath(
        ticks,
        tuple(laws),
        np.array(opens),
        cap,
        scale,
        lost=0.0,
        unit=unit,
        tick=tick,
        starts=tuple(starts),
    )


def _classes(run: Allocation, resolution: Resolution) -> tuple[int, dict[int, list[int]]]:
    """How many epochs are young, and where the classes of those told apart end."""
    young = min(run.epochs, _MOST_YOUNG)
    highest = run.largest
    heavy = highest[-1] > _HEAVY * highest.max()
    ratio = resolution.ratio
    while True:
        told = [*range(young), *([run.epochs - 1] if heavy and run.epochs > young else [])]
        found = {e: _class_ends(run, e, ratio) for e in told}
        if sum(map(len, found.values())) <= _MOST_CLASSES:
            return young, found
        ratio = 1.0 + (ratio - 1.0) * _COARSER
        young = max(min(young, 4), young - 1)


def _class_ends(run: Allocation, epoch: int, ratio: float) -> list[int]:
    """Positions of an epoch whose clocks, and jumps, are within a ratio."""
    jump, clock = run.ages.jump, run.ages.clock
    a, end = epoch * run.batches, (epoch + 1) * run.batches
    ends = list[int]()
    while a < end:
        alike = (clock[a:end] <= ratio * clock[a]) & (jump[a:end] * ratio >= jump[a])
        alike &= jump[a:end] <= ratio * jump[a]
        a = end if alike.all() else a + int(np.argmin(alike))
        ends.append(a)
    return ends


def _upper_hull(run: Allocation, epochs: range) -> list[tuple[int, float]]:
    """Epochs, each at its youngest position, and the heights on the hull of what they gather.

    A point that is above a chord by a part of 1e-13 only is left out: even a thousand times in a
    row that is less than the part of 1e-9 by which all heights are raised.
    """
    hull, height = list[tuple[int, float]](), 0.0
    clock, largest = run.ages.clock[:: run.batches], run.largest
    for e in epochs:
        height += float(largest[e])
        while len(hull) > 1:
            (before, low), (last, high) = hull[-2:]
            span = float(clock[e] - clock[before])  # 0 between epochs so old that clocks stand
            share = float(clock[last] - clock[before]) / span if span > 0.0 else 1.0
            if high > (low + (height - low) * share) * (1.0 + _ON_THE_CHORD):
                break
            hull.pop()
        hull.append((e, height))
    return [(e, height * (1.0 + GENEROUS)) for e, height in hull]
