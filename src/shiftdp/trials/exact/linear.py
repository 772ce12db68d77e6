"""Linear recursions with random visits: what one coordinate of a quadratic loss leaks.

With slopes c_k the coordinate ends as N(S, v) with the record and N(0, v) without it,

    S = sum_k W_k rate_k moved_k V_k,    v = sum_k (W_k rate_k noise_k)^2,    W_k = prod_{j>k} c_j.

Given a released iterate the next segment starts from a known point, so that several releases are
several independent pairs as long as the participations of different segments are independent.
Where all losses may have any curvature of the class (Theorem B5), one slope may be the least one:
it forgets what came before. All that is chosen here (curvature, forgetting, position) is chosen to
leak much, and any choice is valid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, ULP
from shiftdp.fdp import GaussianTradeoff
from shiftdp.interpolation.instances.events import cells_of, epsilon_of_cells
from shiftdp.interpolation.instances.jump_law import (
    Accuracy,
    JumpLaw,
    law_of_choices,
    law_of_participations,
)
from shiftdp.interpolation.lower_bound import slope_floor
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import LangevinMC, Run
from shiftdp.trials.exact.timeline import Timeline, timeline_of

_CURVATURES = (0.0, 0.1, 0.3, 1.0)  # that are tried, between the least and the largest
_PER_STEP = 16.0 * ULP  # relative error of a weight, for each slope in it, and of a sum of squares
_SEARCH = Accuracy(levels=32, lattice=1 << 11, atoms=160, cells=300, labels=1500)  # to choose by
_MOST_POSITIONS = 64  # that are tried one by one


def linear_epsilon(run: Run, geometry: Geometry, delta: float) -> float | None:
    """An epsilon that some quadratic losses of the class need, rounded down; None if none is known.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> run = NoisyCGD(
    ...     n=30, batch_size=10, epochs=6, learning_rate=0.4, noise=0.4, order="reshuffled"
    ... )
    >>> losses = Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=3.0)
    >>> round(linear_epsilon(run, losses, 1e-5), 2)
    3.14
    """
    if geometry.bounded or geometry.prox_convexity:
        return None
    if isinstance(run, LangevinMC) and math.isinf(run.steps):
        return _stationary(run, geometry, delta)
    line = timeline_of(run, geometry)
    if line is None or geometry.sensitivity == 0.0:
        return None
    tried = list(_candidates(line, geometry))
    if not tried:
        return None
    if len(tried) > 1 and line.law != "position":
        tried = [max(tried, key=lambda each: _leak(line, each, delta, _SEARCH))]
    return max(_leak(line, each, delta, Accuracy()) for each in tried)


def _stationary(run: LangevinMC, geometry: Geometry, delta: float) -> float | None:
    """The stationary law of the chain on (m/2) x^2: N(0, 2 eta / (1 - c^2)), moved by L/m."""
    m, eta = geometry.strong_convexity, run.learning_rate
    if not 0.0 < eta * m < 2.0:
        return None
    mu = geometry.sensitivity / m * math.sqrt(m * (2.0 - eta * m) / 2.0)
    return GaussianTradeoff(mu * (1.0 - AMPLE)).epsilon(delta) * (1.0 - AMPLE)


def _candidates(line: Timeline, geometry: Geometry) -> Iterator[Array]:
    """Slopes of all steps: a quadratic throughout, and the same with one step that forgets."""
    m, M = geometry.strong_convexity, geometry.smoothness
    low = max(m, 0.0)
    steepest = 1.0 / float(np.max(line.rate))
    high = max(low, min(M, steepest)) if line.alike else low
    for part in _CURVATURES if high > low else (0.0,):
        slopes = 1.0 - line.rate * (low + part * (high - low))
        if (slopes < 0.0).any():
            return
        yield slopes
        if part == 0.0 and line.alike and math.isfinite(m) and m < M < math.inf:
            yield from _forgetting(line, slopes, slope_floor(line.rate, m, M))


def _forgetting(line: Timeline, slopes: Array, floor: Array) -> Iterator[Array]:
    """These slopes with one changed, at the beginning of an epoch or at ages an octave apart."""
    ages = {line.steps - 2**i for i in range(line.steps.bit_length())}
    if line.law == "each_epoch":
        ages = {begin - begin % line.epoch for begin in ages}
    for begin in sorted(age for age in ages if age > 0):
        if floor[begin] < slopes[begin]:
            other = slopes.copy()
            other[begin] = floor[begin]
            yield other


def _leak(line: Timeline, slopes: Array, delta: float, accuracy: Accuracy) -> float:
    segments = _segments(line)
    if line.law == "position":
        return _by_position(line, slopes, segments, delta)
    parts = [_kept(line, slopes, *segment) for segment in segments]
    laws = [_law(line, part, delta, accuracy) for part in parts]
    return epsilon_of_cells([cells_of(law, delta, accuracy) for law in laws], delta, accuracy)


def _segments(line: Timeline) -> list[tuple[int, int]]:
    """Those between releases, where what happens in them is independent; else the last alone."""
    ends = line.releases or (line.steps,)
    whole = all(end % line.epoch == 0 for end in ends[:-1])
    if line.law in ("position", "each_step") or (line.law == "each_epoch" and whole):
        return list(zip((0, *ends[:-1]), ends, strict=True))
    return [(0, line.steps)]


def _kept(line: Timeline, slopes: Array, begin: int, end: int) -> Array:
    """What is left of each displacement at the end, in units of the noise, rounded down."""
    rate, noise, moved = (x[begin:end] for x in (line.rate, line.noise, line.moved))
    weight = np.append(np.cumprod(slopes[begin:end][:0:-1])[::-1], 1.0)
    error = AMPLE + _PER_STEP * (end - begin)
    spread = math.sqrt(float(np.sum((weight * rate * noise) ** 2))) * (1.0 + error)
    return np.asarray(weight * rate * moved * (1.0 - error) / spread)


def _by_position(
    line: Timeline, slopes: Array, segments: list[tuple[int, int]], delta: float
) -> float:
    """Everything is known: Gaussians, of which the worst position counts."""
    parts = [(begin, _kept(line, slopes, begin, end)) for begin, end in segments]
    positions = range(line.epoch)[-_MOST_POSITIONS:]
    best = 0.0
    for position in positions:
        sums = [
            float(np.sum(moved[(np.arange(moved.size) + begin) % line.epoch == position]))
            for begin, moved in parts
        ]
        best = max(best, math.hypot(*sums))
    return float(GaussianTradeoff(best * (1.0 - AMPLE)).epsilon(delta)) * (1.0 - AMPLE)


def _law(line: Timeline, moved: Array, delta: float, accuracy: Accuracy) -> JumpLaw:
    """The law of the displacement that is left at the end of a segment, not above it."""
    if line.law == "each_step":
        counts = np.full(moved.size, line.copies)
        used = moved > 0.0
        p = line.p * (1.0 - ULP)
        return law_of_participations(moved[used], counts[used], p, delta, accuracy)
    epochs = -(-moved.size // line.epoch)
    padded = np.zeros(epochs * line.epoch)  # the last epoch may be unfinished
    padded[: moved.size] = moved
    unused = np.zeros((epochs, 1))  # by records that are in no batch
    table = np.hstack([padded.reshape(epochs, line.epoch), unused])
    if line.law == "shuffled_once":
        return _law_of_one(np.sum(table, axis=0), line.places)
    places = np.array(line.places) // math.gcd(*line.places)
    rows = [np.repeat(row, places) for row in table if row.any()]
    return law_of_choices(rows, accuracy)


def _law_of_one(values: Array, places: tuple[int, ...]) -> JumpLaw:
    """One of these values, as likely as there are places for it."""
    weights = np.array(places, dtype=np.float64) / sum(places)
    value, where = np.unique(values, return_inverse=True)
    return JumpLaw(value, np.asarray(np.bincount(where, weights), dtype=np.float64))
