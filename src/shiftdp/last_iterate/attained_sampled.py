"""What some losses leak under random batches: the other side of a certificate. Theorem B8.

Each instance is a member of the class of losses that a certificate of the run speaks of, whose last
iterate has a law that can be computed. Without replacement all records share one loss, and the one
that is exchanged adds a gradient of length L to it: any slopes of the class, step by step, in any
number of coordinates (`drifting`). Where batches have random sizes, the ridge is all that records
share: the other losses are nothing, and the record's own is linear.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import NamedTuple

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import EIGHT_ROUNDINGS, ULP
from shiftdp.interpolation.instances.age_classes import AgeClasses, classes_of_steps, equal_classes
from shiftdp.interpolation.instances.clipped_walk import Phase, best_walk
from shiftdp.interpolation.instances.drifting import drifting_epsilon, whole_epsilon
from shiftdp.interpolation.instances.events import cells_of, epsilon_of_cells
from shiftdp.interpolation.instances.jump_law import Accuracy, law_of_choices
from shiftdp.interpolation.lower_bound import slope_floor
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD

UP, DOWN = 1.0 + EIGHT_ROUNDINGS, 1.0 - EIGHT_ROUNDINGS  # of products of a few factors


class LowerBound(NamedTuple):
    """What proves that some losses leak as much.

    Args:
        name: as comparisons show it.
        citation: where it is proved.
        anchor: the heading of docs/theory.md under which it is stated.
    """

    name: str
    citation: str
    anchor: str


RANDOM_BATCHES_LEAK = LowerBound(
    "Theorem B8", "Theorem B8", "theorem-b8-what-random-batches-leak-at-least"
)

_LONGEST = 2**40  # steps that stand for any number of them
_MOST_STEPS = 1_000_000  # of unequal steps, and of epochs that are listed
_MOST_PHASES = 20  # of unequal steps between two walls
_FADED = 16.0  # what has been contracted by more than exp(-16) is left out
_PER_SLOPE = 8.0 * ULP  # relative error of a weight, and of a deviation, for each slope in it


def sampled_epsilon(run: NoisySGD, geometry: Geometry, delta: float) -> float | None:
    """An epsilon below which no bound for the class can be at this delta; None if none is known.

    >>> run = NoisySGD(n=1000, batch_size=10, steps=1000, learning_rate=0.5, noise=1.0)
    >>> geometry = Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=40.0)
    >>> round(sampled_epsilon(run, geometry, 1e-5), 1)
    16.6
    """
    pair = _displacements(run, geometry)
    if pair is None:
        return None
    moved, away = pair
    if moved == 0.0:
        return 0.0
    if geometry.bounded:
        return _between_walls(run, geometry, moved, away, delta)
    p, found = _participation(run), []
    if not run.has_random_sizes and _drifts(geometry):
        found.append(drifting_epsilon(_classes(run, geometry, moved), p, delta))
    elif _curvature(geometry) * _fastest(run) <= 1.0:
        if run.in_epochs:
            return _allocated(run, geometry, moved, delta)
        found.append(whole_epsilon(_quadratic(run, geometry, moved), p, delta, away=away))
    return max(found, default=None)


def _displacements(run: NoisySGD, geometry: Geometry) -> tuple[float, float] | None:
    """How far the record moves the sum of gradients, and its other version, as a part, back.

    Without replacement one version of the record is like the others. Under Poisson sampling the two
    versions have gradients of norm at most G that are at most L apart.
    """
    L, G = geometry.sensitivity, geometry.gradient_bound
    if not run.has_random_sizes or geometry.adjacency == "zero_out":
        return L, 0.0
    if G is None:
        return None
    toward = min(L, G)
    return toward, max(0.0, (L / toward - 1.0) * DOWN) if toward else 0.0


def _drifts(geometry: Geometry) -> bool:
    """Whether the class shows more than one slope."""
    m, M = geometry.strong_convexity, geometry.smoothness
    return math.isfinite(m) and math.isfinite(M) and m < M


def _curvature(geometry: Geometry) -> float:
    """The least curvature, from 0 on, that all losses of the class may have: m, or that of 0."""
    return max(geometry.strong_convexity, 0.0)


def _fastest(run: NoisySGD) -> float:
    return float(np.max(run.learning_rate))


def _participation(run: NoisySGD) -> float:
    """Not above what it is."""
    return run.participation * (1.0 if run.batch_size == run.n else 1.0 - ULP)


def _classes(run: NoisySGD, geometry: Geometry, moved: float) -> AgeClasses:
    """The ages of a run whose slopes may be anything that the class of losses allows."""
    m, M = geometry.strong_convexity, geometry.smoothness
    rates = np.atleast_1d(np.asarray(run.learning_rate, dtype=np.float64))
    distinct, where = np.unique(rates, return_inverse=True)
    slopes = np.array([geometry.steepest(float(rate)) for rate in distinct])[where]
    return _aged(run, slopes, np.minimum(slope_floor(rates, m, M), slopes), moved)


def _quadratic(run: NoisySGD, geometry: Geometry, moved: float) -> AgeClasses:
    """The ages of a run with the slopes 1 - eta m throughout, or 1.

    These slopes are given, so that their rounding counts, once for each step that is remembered.
    """
    rates = np.atleast_1d(np.asarray(run.learning_rate, dtype=np.float64))
    slopes = np.maximum(1.0 - rates * _curvature(geometry), 0.0)
    gap = 1.0 - float(np.max(slopes))
    remembered = min(run.steps, _FADED / gap) if gap else 0.0
    return _aged(run, slopes, slopes, moved * max(0.0, 1.0 - _PER_SLOPE * remembered))


def _aged(run: NoisySGD, slopes: Array, floors: Array, moved: float) -> AgeClasses:
    b = run.batch_size
    if isinstance(run.learning_rate, float) and isinstance(run.noise, float):
        s, t = moved / (b * run.noise) * DOWN, int(min(run.steps, _LONGEST))
        return equal_classes(float(slopes[0]), float(floors[0]), s=s, sd=1.0, steps=t)
    rates = np.broadcast_to(np.asarray(run.learning_rate, dtype=np.float64), run.steps)
    c, f = (np.broadcast_to(x, run.steps) for x in (slopes, floors))
    return classes_of_steps(c, f, rates * (moved / b) * DOWN, rates * np.asarray(run.noise) * UP)


def _allocated(run: NoisySGD, geometry: Geometry, moved: float, delta: float) -> float | None:
    """One step of each epoch, drawn uniformly, is displaced."""
    equal = isinstance(run.learning_rate, float) and isinstance(run.noise, float)
    length, best = run.batches, Accuracy()
    steps = int(min(run.steps, _MOST_STEPS // length * length))
    if steps == 0 or (not equal and steps < run.steps):
        return None
    rates = np.broadcast_to(np.asarray(run.learning_rate, dtype=np.float64), steps)[::-1]
    noise = np.broadcast_to(np.asarray(run.noise, dtype=np.float64), steps)[::-1]
    slopes = np.maximum(1.0 - rates * _curvature(geometry), 0.0)
    if steps < run.steps and slopes[0] == 1.0:
        return None
    weight = np.concatenate([[1.0], np.cumprod(slopes[:-1])])
    # the noise of the steps that are not listed, if any, adds w^2 / (1 - c^2) of that of one
    older = 0.0 if steps == run.steps else (weight[-1] * rates[-1] * noise[-1]) ** 2
    older = older / (1.0 - slopes[0] ** 2) if older else 0.0
    deviation = math.sqrt(float(np.sum((weight * rates * noise) ** 2)) + older) * UP
    jumps = (weight * rates * (moved / run.batch_size) / deviation * DOWN).reshape(-1, length)
    felt = weight[::length] >= math.exp(-_FADED)
    law = law_of_choices(list(jumps[felt]), best)
    return epsilon_of_cells([cells_of(law, delta, best)], delta, best)


def _between_walls(
    run: NoisySGD, geometry: Geometry, moved: float, away: float, delta: float
) -> float | None:
    """The iterate is projected onto a segment."""
    phases = _phases(run, moved)
    low = _curvature(geometry)
    steepest = 1.0 / _fastest(run) * DOWN
    if phases is None or low > steepest or run.in_epochs:
        return None
    alike = not run.has_random_sizes
    return best_walk(
        phases,
        _participation(run),
        geometry.diameter,
        delta,
        curvatures=(low, max(low, min(geometry.smoothness, steepest)) if alike else low),
        pulled=alike or low > 0.0,
        away=away,
    )


def _phases(run: NoisySGD, moved: float) -> list[Phase] | None:
    """Stretches of equal steps; None if there are many."""
    b, t = run.batch_size, int(min(run.steps, _LONGEST))
    if isinstance(run.learning_rate, float) and isinstance(run.noise, float):
        kinds = [(t, run.learning_rate, run.noise)]
    else:
        rates = np.broadcast_to(np.asarray(run.learning_rate, dtype=np.float64), t).tolist()
        noise = np.broadcast_to(np.asarray(run.noise, dtype=np.float64), t).tolist()
        stretches = groupby(zip(rates, noise, strict=True))
        kinds = [(sum(1 for _ in same), *kind) for kind, same in stretches]
    if len(kinds) > _MOST_PHASES:
        return None
    return [Phase(n, eta, eta * moved / b * DOWN, eta * sd * UP) for n, eta, sd in kinds]
