"""The path of a hidden record on a lattice: classes of ages, each with one jump and one clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import GENEROUS
from shiftdp.interpolation.participation.ages import Ages
from shiftdp.interpolation.participation.jumps import JumpLaw, lattice_law, sum_law

_FIRST_CLOCK = 4096  # ticks of the youngest clock: its rounding changes mu by a part of 1e-4
_LAST_CLOCK = 2.0**50  # ticks of the oldest one: floats hold them exactly
LARGEST_CAP = (1 << 14) - 2  # levels: heights of lines are found as products below 2^62
_RUNG = 1.15  # mu^2 is at most 0.5% too large then
_LEAST_RATIO = 1.003  # of neighbouring clocks, so that they remain different whole numbers
_DEVIATIONS = 9.0  # of the sum of jumps ...
_LARGEST_JUMPS = 5.0  # ... and rare ones besides: larger sums are rarer than any delta
_MANY = 20.0  # participations from which on the oldest clocks matter most
_DENSER = 0.95  # by how much of itself the spacing is reduced there
_END = 2.0  # of the logarithm of the clock: where the oldest clocks begin


@dataclass(frozen=True)
class Resolution:
    """How finely the path is rounded.

    Args:
        ratio: of the clocks of neighbouring classes.
        levels: lattice points up to the largest sum that matters.
        values: distinct jumps of a class.
        rung: ratio of neighbouring slopes of the ladder.
        cells: into which mu is rounded up.
    """

    ratio: float
    levels: int
    values: int
    rung: float = _RUNG
    cells: int = 1000


@dataclass(frozen=True, eq=False)
class JumpPath:
    """A path that is 0 at clock 0 and jumps, if at all, at the clocks of its classes 1 to m.

    Classes come in epochs with at most one jump in each; an independent class is an epoch alone.

    Args:
        clock: whole numbers 0 = L_0 < L_1 < ... < L_m, in ticks.
        laws: of the jump of each class, given that its epoch had none before.
        opens: whether class i (1 to m) is the first of its epoch; entry 0 is not used.
        cap: the largest rise that is followed.
        scale: what rise^2 / ticks has to be multiplied by to be mu^2.
        lost: probability that the true path is above this one or beyond the cap.
        error: by which part of itself the probability of a path may be too small.
        unit: of the lattice.
        tick: of the clock.
        starts: the youngest age of each class, 0 being the last step.
    """

    clock: NDArray[np.int64]
    laws: tuple[JumpLaw, ...]
    opens: NDArray[np.bool_]
    cap: int
    scale: float
    lost: float
    error: float = 0.0
    unit: float = 1.0
    tick: float = 1.0
    starts: tuple[int, ...] = ()

    @property
    def classes(self) -> int:
        return len(self.laws)

    def nothing_after(self) -> Array:
        """The probability that no epoch after the one of class j jumps, for j = 0 to m."""
        after, later = np.ones(self.classes + 1), 1.0  # of the epochs after the present one
        epoch = 1.0
        for j in range(self.classes, 0, -1):
            after[j] = later
            epoch *= self.laws[j - 1].none
            if self.opens[j]:
                later, epoch = later * epoch, 1.0
        after[0] = later
        return after


def path_of(ages: Ages, resolution: Resolution, negligible: float) -> JumpPath:
    """The ages in classes: all jumps of a class at its youngest clock, rounded up to a lattice.

    Args:
        ages: what is rounded.
        resolution: how finely.
        negligible: how likely a sum may be larger than what is followed.
    """
    ends = class_ends(ages, resolution.ratio)
    starts = [0, *ends[:-1]]
    unit = _unit(ages, resolution.levels)
    laws, lost, error = [], negligible, 0.0
    for a, b in zip(starts, ends, strict=True):
        parts = (ages.count[a:b], ages.participation[a:b], ages.jump[a:b])
        law, left_out, off = sum_law(*parts, unit, resolution.values)
        laws.append(law)
        lost, error = lost + left_out, error + off
    clocks = ages.clock[starts]
    if ages.start:
        laws.append(lattice_law(*ages.start, unit, resolution.values))
        clocks = np.append(clocks, ages.clock[-1])
    clock, tick = in_ticks(clocks)
    cap = _cap(laws, negligible)
    if cap > LARGEST_CAP:
        raise UnmetHypothesis("levels", cap, "are too many", f"use at most {LARGEST_CAP}")
    return JumpPath(
        clock=clock,
        laws=tuple(laws),
        opens=np.ones(len(laws) + 1, dtype=np.bool_),
        cap=cap,
        scale=unit * unit / tick * (1.0 + GENEROUS),
        lost=lost,
        error=error,
        unit=unit,
        tick=tick,
        starts=tuple(int(x) for x in (np.cumsum(ages.count) - ages.count)[starts]),
    )


def in_ticks(clocks: Array) -> tuple[NDArray[np.int64], float]:
    """0 and the clocks in whole ticks, rounded down; and the tick."""
    first, last = float(clocks[0]), float(clocks[-1])
    tick = max(first / _FIRST_CLOCK, last / _LAST_CLOCK)
    clock = np.floor(clocks / tick * (1.0 - GENEROUS)).astype(np.int64)
    if clock[0] < 1:
        raise UnmetHypothesis(
            "noise",
            math.sqrt(first / last),
            "is the part of the last step in that of the whole run, and cannot hide what it does",
            "give the last step more noise",
        )
    return np.append(0, np.maximum.accumulate(clock)), tick


def many(ages: Ages) -> float:
    """Between 0 (few participations matter) and 1 (many do)."""
    return min(1.0, ages.mean**2 / max(ages.variance, math.ulp(0.0)) / _MANY)


def class_ends(ages: Ages, ratio: float) -> list[int]:
    """Where classes end: clocks within a factor, a smaller one at the oldest if many take part."""
    clock, dense = ages.clock, many(ages)
    ends, a = list[int](), 0
    while a < len(clock):
        near = max(0.0, 1.0 - math.log(clock[-1] / clock[a]) / _END)
        spacing = max(1.0 + (ratio - 1.0) * (1.0 - _DENSER * dense * near), _LEAST_RATIO)
        b = int(np.searchsorted(clock, spacing * clock[a], side="right"))
        a = max(b, a + 1)
        ends.append(a)
    return ends


def _unit(ages: Ages, levels: int) -> float:
    """Of the lattice: a whole part of the largest jump, which equal jumps all are."""
    largest, rough = float(np.max(ages.jump)), rough_sum(ages)
    parts = 1 if equal_jumps(ages) and rough <= levels * largest else levels * largest / rough
    # a little more, so that the roundings of a whole number of units do not need one more
    return largest / (int(parts) if parts >= 1 else parts) * (1.0 + 4.0 * GENEROUS)


def rough_sum(ages: Ages) -> float:
    """About the largest sum of jumps that matters."""
    largest = float(np.max(ages.jump))
    return ages.mean + _DEVIATIONS * math.sqrt(ages.variance) + _LARGEST_JUMPS * largest


def equal_jumps(ages: Ages) -> bool:
    return float(np.min(ages.jump)) == float(np.max(ages.jump)) and ages.start is None


def _cap(laws: list[JumpLaw], negligible: float) -> int:
    """A sum that is exceeded with probability `negligible` at most."""
    total = np.ones(1)
    for law in laws:
        moved = np.zeros(len(total) + int(law.values[-1]))
        for value, probability in zip(law.values, law.probabilities, strict=True):
            moved[value : value + len(total)] += probability * total
        beyond = np.cumsum(moved[::-1])[::-1]
        # what is cut here is at most a part of 1/m of what may be
        kept = int(np.count_nonzero(beyond > negligible / (2.0 * len(laws))))
        total = moved[: max(kept, 1)]
    beyond = np.cumsum(total[::-1])[::-1]
    return max(int(np.count_nonzero(beyond > negligible / 2.0)), 1)
