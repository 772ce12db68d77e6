"""Slow, independent ways to what a run reveals: all orders, all starts, and exact laws.

Nothing here uses the library but its runs and geometries as records of numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisyCGD, NoisyGD

BatchRun = NoisyGD | NoisyCGD


def batches_of(run: BatchRun) -> list[int]:
    """The sizes of the batches of an epoch."""
    if isinstance(run, NoisyGD):
        return [run.n]
    full, rest = divmod(run.n, run.batch_size)
    return [run.batch_size] * full + ([rest] if rest and run.last_batch != "drop" else [])


def divisors_of(run: BatchRun) -> list[int]:
    """What the sums over the batches of an epoch are divided by."""
    if isinstance(run, NoisyGD) or run.last_batch == "own_size":
        return batches_of(run)
    return [run.batch_size for _ in batches_of(run)]


def steps_of(run: BatchRun, geometry: Geometry) -> tuple[Array, Array, Array]:
    """Lipschitz constant, sensitivity if visited, and noise of each step."""
    eta = np.broadcast_to(np.asarray(run.learning_rate), run.steps)
    sigma = np.broadcast_to(np.asarray(run.noise), run.steps)
    m, M = geometry.strong_convexity, geometry.smoothness
    c = np.maximum(np.abs(1 - eta * m), np.abs(1 - eta * M))
    sizes = np.array(list(itertools.islice(itertools.cycle(divisors_of(run)), run.steps)))
    return c, eta * geometry.sensitivity / sizes, eta * sigma


def least_mu(c: Array, s: Array, sd: Array, diameter: float = math.inf) -> float:
    """Theorem B1 by SciPy's isotonic regression, one start after the other."""
    zeros = np.flatnonzero(c == 0.0)
    begin = int(zeros[-1]) if zeros.size else 0  # what a step with c = 0 forgets costs nothing
    best, zbar = math.inf, 0.0
    for tau in range(c.size):
        if tau >= begin and (tau == begin or diameter < math.inf):
            w = np.ones(c.size - tau)
            w[:-1] = np.cumprod(c[tau + 1 :][::-1])[::-1]
            pushed = s[tau:].copy()
            pushed[0] += c[tau] * min(diameter, zbar)
            # a step without noise is one with the next that has some
            ends = np.flatnonzero(sd[tau:])
            v = (w * sd[tau:])[ends] ** 2
            p = np.add.reduceat(w * pushed, np.append(0, ends[:-1] + 1))
            g = scipy.optimize.isotonic_regression(p / v, weights=v).x
            best = min(best, float(np.sum(v * g * g)))
        zbar = c[tau] * zbar + s[tau]
    return math.sqrt(best)


def mu_of_visits(run: BatchRun, geometry: Geometry, visits: Sequence[int]) -> float:
    """Theorem B1 for a record that is in the batches of these steps (counted from 0)."""
    c, s, sd = steps_of(run, geometry)
    visited = np.zeros(run.steps)
    visited[list(visits)] = s[list(visits)]
    return least_mu(c, visited, sd, geometry.diameter)


def positions(run: BatchRun) -> Iterator[tuple[float, list[int]]]:
    """One position for the whole run: its probability and its visits (fixed, shuffled once)."""
    sizes = batches_of(run)
    for j, size in enumerate(sizes):
        yield size / run.n, list(range(j, run.steps, len(sizes)))
    if sum(sizes) < run.n:
        yield 1 - sum(sizes) / run.n, []


def reshuffles(run: BatchRun) -> Iterator[tuple[float, list[int]]]:
    """A new position in each epoch: every sequence of them."""
    sizes = batches_of(run)
    ell = len(sizes)
    epochs = -(-run.steps // ell)
    sizes = [*sizes, run.n - sum(sizes)]  # the last place is that of the dropped ones
    places = range(ell + 1 if sizes[-1] else ell)
    for sequence in itertools.product(places, repeat=epochs):
        weight = math.prod(sizes[j] / run.n for j in sequence)
        steps = [epoch * ell + j for epoch, j in enumerate(sequence) if j < ell]
        yield weight, [k for k in steps if k < run.steps]


def gaussian_delta(mu: float, epsilon: float) -> float:
    """delta(eps) of G(mu) as written in every textbook."""
    if mu == 0.0:
        return 0.0
    log_tail = float(scipy.special.log_ndtr(-mu / 2 - epsilon / mu))
    return float(scipy.special.ndtr(mu / 2 - epsilon / mu)) - math.exp(epsilon + log_tail)


def mixed_delta(cases: Sequence[tuple[float, float]], epsilon: float) -> float:
    """The average over pairs (weight, mu)."""
    return math.fsum(w * gaussian_delta(mu, epsilon) for w, mu in cases)


def linear_shift(
    run: BatchRun, geometry: Geometry, visits: Sequence[int], curvature: float
) -> float:
    """Exact mean shift over deviation of X_t if all losses are quadratics with this curvature.

    Where a sum is divided by more than its size, the ridge is outside and not divided with it.
    """
    _, s, sd = steps_of(run, geometry)
    weights = [r / b for r, b in zip(batches_of(run), divisors_of(run), strict=True)]
    ridge = max(geometry.strong_convexity, 0.0)
    mean = variance = 0.0
    for k in range(run.steps):
        eta = run.learning_rate if isinstance(run.learning_rate, float) else run.learning_rate[k]
        slope = 1 - eta * (ridge + weights[k % len(weights)] * (curvature - ridge))
        mean = slope * mean + (s[k] if k in visits else 0.0)
        variance = slope**2 * variance + sd[k] ** 2
    return abs(mean) / math.sqrt(variance)


def hockey_stick(p: Array, q: Array, epsilon: float) -> float:
    """sup_E P(E) - e^eps Q(E) for masses on the same cells, the worse of the two directions."""
    gamma = math.exp(epsilon)
    one = float(np.sum(np.maximum(p - gamma * q, 0.0)))
    return max(one, float(np.sum(np.maximum(q - gamma * p, 0.0))))
