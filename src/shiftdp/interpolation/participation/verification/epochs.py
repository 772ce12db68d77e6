"""Starts in bounded sets and random allocation, made afresh for the verifier alone. [Lemma C4]

Nothing here is shared with the engine.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shiftdp._checks import Array
from shiftdp.interpolation.participation.verification.classes import (
    Classes,
    JumpTable,
    Steps,
    classes_of,
    thinned,
)

UP = 1.0 + 1e-10  # heights, distances and squares of mu: far more than a dozen roundings
_DOWN = 1.0 - 1e-9  # clocks, of which honest grids have as much
_CHORD = 1e-13  # part by which a point may be above a chord, and is left out
_POINTS, _MOST_POINTS, _FORGETTING = 3000, 20000, 150.0  # of the lattice of distances
_MOST_STEPS = 4000  # that are followed; before them the distance is the diameter
_LONG_AGO = 14.0  # logarithm of a contraction after which it does not matter where one began
_MOST_LEVELS = 1e5  # of a jump, far more than grids may have
_ROUNDED = 1.0 + 2.0**-51  # a product and the one with this
_SLACK = 1.0 + 1e-9  # by which a unit is more than a whole part of a displacement


class Start(NamedTuple):
    """Distances, rising, with probabilities."""

    values: Array
    chances: Array


def start_of(p: float, c: float, s: float, diameter: float, steps: float) -> Start:
    """The distance after so many steps of `z <- min(D, c z + s V)` from 0, rounded up, c <= 1."""
    longest = s * min(steps, 1.0 / (1.0 - c) if c < 1.0 else math.inf)
    diameter = min(diameter, longest * _SLACK)
    fading = -math.log(c) if 0.0 < c < 1.0 else (0.0 if c >= 1.0 else math.inf)
    followed = int(min(steps, _MOST_STEPS, 1.0 + _LONG_AGO / fading if fading else math.inf))
    points = max(_POINTS, min(_MOST_POINTS, _FORGETTING / fading if fading else 0.0))
    whole = max(1, math.floor(points * min(s / diameter, 1.0)))
    # in a very wide set a displacement is less than a unit, and counts as one
    unit = max(min(s, diameter) / whole, diameter / _MOST_POINTS) * _SLACK
    last = math.ceil(diameter / unit)
    at = np.arange(last + 1)
    # where a distance is after a step without the record; it never falls as the distance grows
    stays = at if c >= 1.0 else np.ceil(c * at * _ROUNDED).astype(np.int64)
    firsts = np.append(0, np.flatnonzero(np.diff(stays)) + 1)
    places = stays[firsts]
    law = np.zeros(last + 1)
    law[0 if followed >= steps else last] = 1.0
    for _ in range(followed):
        moved = np.zeros(last + 1)
        moved[places] = np.add.reduceat(law, firsts)
        law = (1.0 - p) * moved
        law[whole:] += p * moved[: max(last + 1 - whole, 0)]
        law[last] += p * float(np.sum(moved[max(last + 1 - whole, 0) :]))
    kept = np.flatnonzero(law > 0.0)
    return Start(np.minimum(at[kept] * unit, diameter) * UP, law[kept] / math.fsum(law))


def classes_with_start(
    steps: Steps,
    start: Start,
    starts: tuple[int, ...],
    unit: float,
    tick: float,
    values: int,
) -> Classes:
    """The classes of the last steps, and the start, times its weight, at the last clock."""
    found = classes_of(steps, starts, unit, tick, values)
    if float(start.values[-1]) > unit * _MOST_LEVELS:
        raise ValueError("the lattice is too fine to be followed")
    points = np.ceil(start.values / unit * UP).astype(np.int64)
    lattice = np.bincount(points, start.chances)
    likely = np.flatnonzero(lattice > 0.0)
    likely = likely if likely[0] == 0 else np.append(0, likely)
    table = thinned(likely, np.asarray(lattice[likely], dtype=np.float64), values)
    last = math.floor(float(steps.clock[-1]) / tick * _DOWN)
    return Classes([*found.ticks, last], [*found.tables, table], [*found.opens, True], found.lost)


def allocated_classes(
    steps: Steps, batches: int, starts: tuple[int, ...], unit: float, tick: float
) -> Classes:
    """Epochs in which classes begin at these ages; all others are at their youngest position.

    The epochs that are not told apart lie between two that are, or are the oldest.
    """
    size, rest = divmod(len(steps.age), batches)
    ages = list(starts)
    if rest or ages != sorted(set(ages)) or not 0 <= ages[0] <= ages[-1] < len(steps.age):
        raise ValueError("the run has no such epochs, or its classes overlap")
    told: dict[int, list[int]] = {}
    for a in ages:
        told.setdefault(a // batches, []).append(a)
    if any(own[0] != e * batches for e, own in told.items()):
        raise ValueError("a class reaches from one epoch into another")
    between = [e for e in range(size) if e not in told]
    if between and between != list(range(between[0], between[-1] + 1)):
        raise ValueError("epochs that are not told apart are not neighbours")
    largest = steps.jump.reshape(size, batches).max(axis=1)
    ticks, tables, opens = [0], list[JumpTable](), list[bool]()

    def units(height: float) -> int:
        return math.ceil(height / unit * UP)

    def add(age: int, value: int, chance: float, first: bool) -> None:
        ticks.append(math.floor(float(steps.clock[age]) / tick * _DOWN))
        tables.append(JumpTable(np.array([0, value]), np.array([1.0 - chance, chance])))
        opens.append(first)

    done = 0
    hull = _hull([(float(steps.clock[e * batches]), float(largest[e]), e) for e in between])
    for e in range(size):
        if e in told:
            ends = [*told[e][1:], (e + 1) * batches]
            for a, b in zip(told[e], ends, strict=True):
                jump = units(float(np.max(steps.jump[a:b])))
                add(a, jump, (b - a) / ((e + 1) * batches - a), a == e * batches)
        elif e in hull and units(hull[e]) > done:  # else it is below what is there already
            add(e * batches, units(hull[e]) - done, 1.0, True)
            done = units(hull[e])
    return Classes(ticks, tables, opens, 0.0)


def _hull(points: list[tuple[float, float, int]]) -> dict[int, float]:
    """The upper hull of what is gathered at each clock: epochs with heights, a little raised."""
    kept, height = list[tuple[float, float, int]](), 0.0
    for x, rise, e in points:
        height += rise
        while len(kept) >= 2:
            (x0, y0, _), (x1, y1, _) = kept[-2:]
            # where all three clocks are the same, the last and highest point stands for them
            chord = y0 + (height - y0) * ((x1 - x0) / (x - x0)) if x > x0 else height
            if y1 > chord * (1.0 + _CHORD):
                break
            kept.pop()
        kept.append((x, height, e))
    return {e: y * (1.0 + len(points) * _CHORD) * UP for _, y, e in kept}
