"""The independent check of a law of mu(V): is it what the steps of the run allow? [Theorem C5]

The claim is a law and the grid that it was found on. Nothing is searched, and nothing of the engine
is used: classes, jumps, clocks and transitions are made afresh from the steps, with every rounding
upwards, and the tail that they prove has to be below that of the claim at every place. Any grid is
sound; a bad one only proves less. The work is bounded by the limits on the grid.

An honest claim is that of the engine, with tails that are larger by a part of 1e-6 of themselves
and of 1e-4 of delta: that is more than the roundings here. A law that is lower than what is proved,
at any place, is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import VerificationFailed
from shiftdp.interpolation.participation.law import Grid, ParticipationLaw
from shiftdp.interpolation.participation.sticks import Sticks
from shiftdp.interpolation.participation.verification.classes import (
    Classes,
    Steps,
    classes_of,
    steps_of_equal,
    steps_of_schedule,
)
from shiftdp.interpolation.participation.verification.epochs import (
    UP,
    Start,
    allocated_classes,
    classes_with_start,
    start_of,
)
from shiftdp.interpolation.participation.verification.order import (
    claimed_tail,
    require_dominated,
    require_enough,
)
from shiftdp.interpolation.participation.verification.sticks import proved_sticks
from shiftdp.interpolation.participation.verification.tail import proved_tail

_RARE = 1e-7  # of delta: what the verifier leaves out in a step of the ladder
_SMALL = 9e-4  # of delta: transitions below it are put together
_LARGEST_NUMBER = 1 << 62  # of a grid: the sum of two is still a whole number of 64 bits
_BLOCKS = 8000  # of ages, for the largest value of mu
_SLOPES = 8  # tails of the slope of a line for each factor of 2


def verify_equal_steps(
    p: float,
    c: float,
    s: float,
    sd: float,
    steps: float,
    *,
    law: ParticipationLaw,
    grid: Grid,
    delta: float,
    scale: float | None = None,
) -> None:
    """Raise `VerificationFailed` unless the law dominates mu(V) for equal steps with c <= 1.

    Args:
        p: probability of taking part.
        c: contraction of a step.
        s: displacement of a step in which the record takes part.
        sd: noise of a step.
        steps: how many there are; math.inf if c < 1.
        law: what is claimed.
        grid: that it was found on.
        delta: the tail that the law was made for.
        scale: of the noise, in which values are compared (see `require_dominated`).
    """
    verify_law(steps_of_equal(p, c, s, sd, steps), law=law, grid=grid, delta=delta, scale=scale)


def verify_schedule(
    p: Array,
    c: Array,
    s: Array,
    sd: Array,
    *,
    law: ParticipationLaw,
    grid: Grid,
    delta: float,
    scale: float | None = None,
) -> None:
    """Raise `VerificationFailed` unless the law dominates mu(V) for steps that may differ.

    Arguments as for `verify_equal_steps`, with an array in the order of time for each number.
    """
    verify_law(steps_of_schedule(p, c, s, sd), law=law, grid=grid, delta=delta, scale=scale)


def verify_cut_run(
    p: float,
    c: float,
    s: float,
    sd: float,
    steps: float,
    diameter: float,
    last: float,
    *,
    law: ParticipationLaw,
    grid: Grid,
    delta: float,
    scale: float | None = None,
) -> None:
    """Raise `VerificationFailed` unless the law dominates mu(V) for a run in a bounded set.

    Only its last steps are followed; before them the two runs are at a random distance, which the
    diameter bounds. [Lemma C4]

    Args:
        p: probability of taking part.
        c: contraction of a step.
        s: displacement of a step in which the record takes part.
        sd: noise of a step.
        steps: how many there are.
        diameter: of the set.
        last: how many of the steps are followed.
        law: what is claimed.
        grid: that it was found on.
        delta: the tail that the law was made for.
        scale: of the noise, in which values are compared (see `require_dominated`).
    """
    followed = steps_of_equal(p, c, s, sd, last)
    if last >= steps or c == 0.0:
        verify_law(followed, law=law, grid=grid, delta=delta, scale=scale)
        return
    found = start_of(p, c, s, diameter, steps - last)
    start = Start(found.values * math.pow(c, last) * UP, found.chances)
    with _grids_that_prove_nothing():
        _require_sound(grid)
        on = (grid.starts, grid.unit, grid.tick, grid.values)
        classes = classes_with_start(followed, start, *on)
        ceiling = _ceiling(followed, float(start.values[-1]))
        verify_classes(classes, law=law, grid=grid, delta=delta, ceiling=ceiling, scale=scale)


def verify_allocation(
    c: Array,
    s: Array,
    sd: Array,
    batches: int,
    *,
    law: ParticipationLaw,
    grid: Grid,
    delta: float,
    scale: float | None = None,
) -> None:
    """Raise `VerificationFailed` unless the law dominates mu(V) for random allocation.

    Arguments as for `verify_schedule`; `batches` is how many steps an epoch has.
    """
    steps = steps_of_schedule(np.ones(len(c)), c, s, sd, batches)
    with _grids_that_prove_nothing():
        _require_sound(grid)
        if len(steps.age) % batches:
            raise ValueError("the run does not consist of whole epochs")
        classes = allocated_classes(steps, batches, grid.starts, grid.unit, grid.tick)
        first = np.zeros(len(steps.age))
        first[::batches] = steps.jump.reshape(-1, batches).max(axis=1)
        ceiling = _ceiling(steps._replace(jump=first))
        verify_classes(classes, law=law, grid=grid, delta=delta, ceiling=ceiling, scale=scale)


def verify_law(
    steps: Steps, *, law: ParticipationLaw, grid: Grid, delta: float, scale: float | None = None
) -> None:
    """Raise `VerificationFailed` unless the law dominates mu(V) for steps listed by age."""
    with _grids_that_prove_nothing():
        _require_sound(grid)
        classes = classes_of(steps, grid.starts, grid.unit, grid.tick, grid.values)
        ceiling = _ceiling(steps)
        verify_classes(classes, law=law, grid=grid, delta=delta, ceiling=ceiling, scale=scale)


def _require_sound(grid: Grid) -> None:
    """Refuse what is no grid, before anything is computed on it."""
    sizes = (grid.unit, grid.tick, grid.cell)
    whole = (*grid.starts, *grid.slopes, grid.values, grid.cap, grid.cells)
    if not all(math.isfinite(x) and x > 0.0 for x in sizes):
        raise ValueError("a unit, tick or cell is not positive")
    if not all(0 <= x <= _LARGEST_NUMBER and int(x) == x for x in whole):
        raise ValueError("a count is not a whole number")
    if not (grid.starts and len(grid.slopes) > 1 and grid.values and grid.cap and grid.cells):
        raise ValueError("it is empty")


@contextmanager
def _grids_that_prove_nothing() -> Iterator[None]:
    try:
        yield
    except ValueError as problem:
        raise VerificationFailed(f"the grid of the law proves nothing: {problem}") from problem


def verify_classes(
    classes: Classes,
    *,
    law: ParticipationLaw,
    grid: Grid,
    delta: float,
    ceiling: float,
    scale: float | None = None,
) -> None:
    """Raise `VerificationFailed` unless the law dominates that of the classes.

    Args:
        classes: jumps and clocks, rounded to the safe side.
        law: what is claimed.
        grid: lattice, ladder and cells.
        delta: the tail that matters.
        ceiling: what mu never exceeds: the place of what is lost or beyond all cells.
        scale: of the noise, in which values are compared (see `require_dominated`).
    """
    require_dominated(*_proved(classes, grid, delta, ceiling), law, scale)


def verify_sticks(
    p: float,
    steps: int,
    *,
    law: ParticipationLaw,
    sticks: Sticks,
    delta: float,
    scale: float | None = None,
) -> None:
    """Raise `VerificationFailed` unless the law dominates mu(V) for a walk. [Theorem C7]

    That is: equal steps with c = 1, and displacements and noise of 1.
    """
    with _grids_that_prove_nothing():
        at, proved = proved_sticks(p, steps, sticks, delta)
    require_dominated(at, proved, law, scale)


def verify_long_run(
    p: float,
    steps: float,
    recent: int,
    *,
    law: ParticipationLaw,
    grid: Grid | Sticks,
    delta: float,
) -> None:
    """Raise `VerificationFailed` unless the law dominates mu(V) for a long walk. [Theorem C6]

    That is: equal steps with c = 1, and displacements and noise of 1, of which the last are
    followed.

    The grid is that of the last steps. For each value x of the claim, mu(V) > x takes, with a slope
    q of the line under which all older steps are, mu of the last ones > sqrt(x^2 - q^2 (t - J)) -
    q sqrt(J). Slopes are finer than those of the engine: each of its tails is one of these.

    Args:
        p: probability of taking part.
        steps: how many there are.
        recent: J, how many of the last ones are followed.
        law: what is claimed.
        grid: on which the law of the last ones was found.
        delta: the tail that the law was made for.
    """
    with _grids_that_prove_nothing():
        if isinstance(grid, Sticks):
            at, proved = proved_sticks(p, recent, grid, delta)
        else:
            followed = steps_of_equal(p, 1.0, 1.0, 1.0, recent)
            _require_sound(grid)
            classes = classes_of(followed, grid.starts, grid.unit, grid.tick, grid.values)
            at, proved = _proved(classes, grid, delta, _ceiling(followed))
    mu, claimed = claimed_tail(law)
    slopes = _slopes(p, recent, _RARE * delta)
    inner = (mu[:, None] / UP) ** 2 - slopes.values**2 * (steps - recent)
    left = np.sqrt(np.maximum(inner, 0.0)) - slopes.values * math.sqrt(recent)
    # P(mu of the last ones > left): of all values above it, the least one
    place = np.searchsorted(at, left / UP, side="right")
    chance = np.where(left < 0.0, 1.0, np.append(proved, 0.0)[place]) @ slopes.chances
    chance = np.where(mu >= math.sqrt(steps), 0.0, np.minimum(chance * UP, 1.0))
    require_enough(mu, chance, claimed[1:])


def _slopes(p: float, recent: float, negligible: float) -> Start:
    """Slopes that all older participations are under, by Ville's inequality for each tail."""
    count = math.ceil(-math.log2(negligible)) * _SLOPES
    values, tails = list[float](), [1.0]
    for k in range(1, count + 1):
        psi = k / _SLOPES * math.log(2.0) / recent
        theta = math.log1p(math.expm1(psi) / p)
        values.append(min(psi / theta * UP, 1.0))
        tails.append(math.pow(2.0, -k / _SLOPES))
    return Start(np.array([*values, 1.0]), np.array(tails) - np.array([*tails[1:], 0.0]))


def _proved(classes: Classes, grid: Grid, delta: float, ceiling: float) -> tuple[Array, Array]:
    """Values of mu, and the probabilities of that much or more."""
    square = grid.unit / grid.tick * grid.unit / grid.cell / grid.cell * UP
    if not (0.0 < square < math.inf):
        raise ValueError("lattice, clock and cells are not of one size")
    lattice = (classes, grid.slopes, grid.cap, square, grid.cells)
    tail, lost = proved_tail(*lattice, rare=_RARE * delta, small=_SMALL * delta)
    at = np.append(np.arange(grid.cells + 1) * grid.cell * UP, ceiling)
    return np.minimum(at, ceiling), np.minimum(tail + lost, 1.0)


def _ceiling(steps: Steps, start: float = 0.0) -> float:
    """mu if the record always takes part: the largest slope, again and again."""
    taken = np.where(steps.participation > 0.0, steps.number * steps.jump, 0.0)
    taken[-1] += start
    block = -(-len(taken) // _BLOCKS)
    first = np.append(np.arange(0, len(taken) - 1, block), len(taken) - 1)
    rise, clock = np.cumsum(np.add.reduceat(taken, first)), steps.clock[first]
    x, y, energy = 0.0, 0.0, 0.0
    while y < rise[-1]:
        ahead = np.flatnonzero(clock > x)
        if not ahead.size:
            break
        slopes = (rise[ahead] - y) / (clock[ahead] - x)
        best = ahead[int(np.argmax(slopes))]
        energy += (rise[best] - y) ** 2 / (clock[best] - x)
        x, y = float(clock[best]), float(rise[best])
    return math.sqrt(energy) * UP
