"""The law of mu(V) by all patterns, and other slow ways to it."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
from scipy.stats import binom

from shiftdp._checks import Array
from shiftdp.interpolation.participation.law import ParticipationLaw
from shiftdp.interpolation.participation.path import JumpPath


def majorant_energy(clock: Array, height: Array) -> float:
    """Of the least concave majorant of (0, 0) and the points: the largest slope, each time."""
    x, y, energy = 0.0, 0.0, 0.0
    clock, height = np.asarray(clock, dtype=float), np.asarray(height, dtype=float)
    while True:
        ahead = clock > x
        if not ahead.any() or height[ahead].max() <= y:
            return energy
        slopes = (height[ahead] - y) / (clock[ahead] - x)
        last = np.flatnonzero(slopes >= slopes.max() * (1.0 - 1e-14))[-1]
        new_x, new_y = clock[ahead][last], height[ahead][last]
        energy += (new_y - y) ** 2 / (new_x - x)
        x, y = new_x, new_y


def all_patterns(p: Array, c: Array, s: Array, sd: Array) -> tuple[Array, Array]:
    """mu and probability of each of the 2^t patterns of a schedule, in the order of time."""
    t = len(p)
    w = np.array([math.prod(c[k + 1 :]) for k in range(t)])
    clock = np.cumsum(((w * sd) ** 2)[::-1])
    mu, chance = [], []
    for v in itertools.product([0, 1], repeat=t):
        taken = np.array(v)
        mu.append(math.sqrt(majorant_energy(clock, np.cumsum((w * s * taken)[::-1]))))
        chance.append(math.prod(np.where(taken == 1, p, 1.0 - p)))
    return np.array(mu), np.array(chance)


def all_paths(path: JumpPath) -> tuple[Array, Array]:
    """Energy (in rise^2 / ticks) and probability of each path of a small JumpPath."""
    found = []
    laws = [list(zip(law.values, law.probabilities, strict=True)) for law in path.laws]
    for jumps in itertools.product(*laws):
        chance, jumped = 1.0, False
        for i, (value, probability) in enumerate(jumps, start=1):
            jumped = jumped and not bool(path.opens[i])
            if jumped:  # then there is no second jump in this epoch, counted once
                chance *= 1.0 if value == 0 else 0.0
            else:
                chance *= float(probability)
                jumped = value > 0
        if chance > 0.0:
            heights = np.cumsum([float(value) for value, _ in jumps])
            found.append((majorant_energy(path.clock[1:].astype(float), heights), chance))
    return np.array([e for e, _ in found]), np.array([q for _, q in found])


def stick_breaking(t: int, p: Fraction) -> dict[Fraction, Fraction]:
    """The exact law of mu^2/s^2 for t equal steps at c = 1: T law_T = sum_l kappa_l * law_{T-l}."""
    laws: list[dict[Fraction, Fraction]] = [{Fraction(0): Fraction(1)}]
    for total in range(1, t + 1):
        law: dict[Fraction, Fraction] = defaultdict(Fraction)
        for length in range(1, total + 1):
            for k in range(length + 1):
                chance = math.comb(length, k) * p**k * (1 - p) ** (length - k) / total
                for energy, weight in laws[total - length].items():
                    law[energy + Fraction(k * k, length)] += chance * weight
        laws.append(dict(law))
    return laws[t]


def long_sticks(
    t: int, p: float, mesh: float, cells: int, *, down: bool = True
) -> tuple[Array, Array]:
    """The same law in floats for hundreds of steps: energies on a lattice, and probabilities.

    Each n^2/l is rounded down to the lattice, so that the law is stochastically below the exact
    one; or split between two points, so that its mean is kept. The generating function of the laws,
    exp(sum_l kappa_l x^l / l), is expanded at each frequency of the lattice.
    """
    kappa = np.zeros((t + 1, 2 * cells))
    for length in range(1, t + 1):
        n = np.arange(length + 1)
        chance = binom.pmf(n, length, p)
        place = np.minimum(n * n / length / mesh, cells - 1.0)
        low = np.floor(place).astype(np.int64)
        part = np.zeros(n.size) if down else place - low
        np.add.at(kappa[length], low, chance * (1.0 - part))
        np.add.at(kappa[length], low + 1, chance * part)
    spectra = np.fft.rfft(kappa, axis=1)
    found = np.zeros_like(spectra)
    found[0] = 1.0
    for total in range(1, t + 1):
        each = spectra[1 : total + 1] * found[total - 1 :: -1]
        found[total] = each.sum(axis=0) / total
    law = np.maximum(np.fft.irfft(found[t], 2 * cells), 0.0)
    return mesh * np.arange(2 * cells, dtype=np.float64), law


def violation(law: ParticipationLaw, mu: Array, chance: Array) -> float:
    """The most by which P(mu(V) > x) exceeds the tail of the law; not positive if it dominates."""
    at, weight = np.array(law.mu), np.array(law.weight)
    # just below each value, so that a value itself counts as above
    places = np.unique(mu) * (1.0 - 1e-13) - 1e-15
    exact = np.array([math.fsum(chance[mu > x]) for x in places])
    bound = np.array([math.fsum(weight[at > x]) for x in places])
    return float(np.max(exact - bound))
