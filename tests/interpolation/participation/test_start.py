"""Runs in a bounded set, cut where that costs least."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from shiftdp.interpolation.participation.ages import equal_ages
from shiftdp.interpolation.participation.law import ParticipationLaw, dominating_law
from shiftdp.interpolation.participation.path import Resolution
from shiftdp.interpolation.participation.start import bounded_ages, cut_ages, start_law
from shiftdp.interpolation.participation.verification.epochs import start_of
from tests.interpolation.participation.patterns import majorant_energy, violation


def distance(v: tuple[int, ...], c: float, s: float, diameter: float) -> float:
    z = 0.0
    for x in v:
        z = min(diameter, c * z + s * x)
    return z


@pytest.mark.parametrize("c", [1.0, 0.9, 0.5, 0.0])
@pytest.mark.parametrize("diameter", [0.7, 2.5, 100.0])
def test_the_start_dominates_all_patterns(c: float, diameter: float) -> None:
    law = start_law(0.3, c, 1.1, diameter, 8)
    assert math.fsum(law.probabilities) == pytest.approx(1.0, abs=1e-12)
    exact = [(distance(v, c, 1.1, diameter), v) for v in itertools.product([0, 1], repeat=8)]
    for x in {z for z, _ in exact}:
        tail = math.fsum(0.3 ** sum(v) * 0.7 ** (8 - sum(v)) for z, v in exact if z >= x)
        above = math.fsum(law.probabilities[law.values >= x * (1.0 - 1e-15)])
        assert above >= tail - 1e-12
    mean = math.fsum(z * 0.3 ** sum(v) * 0.7 ** (8 - sum(v)) for z, v in exact)
    assert mean <= law.mean <= 1.02 * mean
    assert law.values[-1] <= diameter * (1.0 + 1e-8)


def test_a_long_past_has_reached_its_law_or_the_diameter() -> None:
    a, b = start_law(0.1, 0.9, 1.0, 5.0, 400), start_law(0.1, 0.9, 1.0, 5.0, math.inf)
    assert a.mean <= b.mean == pytest.approx(a.mean, rel=1e-4)
    assert start_law(0.1, 1.0, 1.0, 5.0, 10**9).mean == pytest.approx(5.0)
    assert start_law(0.0, 1.0, 1.0, 5.0, 50).mean == 0.0


@pytest.mark.parametrize(("c", "diameter", "last"), [(1.0, 1.5, 3), (0.8, 2.0, 5), (0.9, 0.5, 1)])
def test_no_pattern_is_above_the_law_of_a_cut_run(c: float, diameter: float, last: int) -> None:
    t, p, s = 8, 0.3, 1.0
    clock = np.cumsum(c ** (2.0 * np.arange(last)))
    mu, chance = [], []
    for v in itertools.product([0, 1], repeat=t):
        jumps = [c**j * s * v[t - 1 - j] for j in range(last)]
        jumps[-1] += c**last * distance(v[: t - last], c, s, diameter)
        mu.append(math.sqrt(majorant_energy(clock, np.cumsum(jumps))))
        chance.append(p ** sum(v) * (1.0 - p) ** (t - sum(v)))
    ages = cut_ages(p, c, s, 1.0, t, diameter, last)
    law = dominating_law(ages, delta=1e-6, resolution=Resolution(1.01, 600, 60))
    assert violation(law, np.array(mu), np.array(chance)) <= 1e-15
    assert max(mu) <= ages.ceiling
    assert law.mean <= 1.03 * float(np.dot(mu, chance))


def second_moment(law: ParticipationLaw) -> float:
    return math.fsum(w * mu * mu for mu, w in zip(law.mu, law.weight, strict=True))


def test_a_small_set_costs_less_than_none_and_a_large_one_is_no_set() -> None:
    coarse = Resolution(1.2, 300, 20, cells=300)

    def cost(diameter: float) -> float:
        ages = bounded_ages(0.1, 1.0, 1.0, 1.0, 200, diameter)
        return second_moment(dominating_law(ages, delta=1e-5, resolution=coarse))

    free = equal_ages(0.1, 1.0, 1.0, 1.0, 200)
    without = second_moment(dominating_law(free, delta=1e-5, resolution=coarse))
    small, large = cost(3.0), cost(1e6)
    assert small < 0.8 * without
    assert large == pytest.approx(without, rel=1e-6)


def test_an_endless_run_in_a_bounded_set_has_a_law() -> None:
    ages = bounded_ages(0.05, 1.0, 1.0, 1.0, math.inf, 5.0)
    assert ages.start is not None
    assert math.isfinite(ages.ceiling)


@pytest.mark.parametrize("diameter", [1e5, 1e12])
@pytest.mark.parametrize("c", [1.0, 1.0 - 1e-9])
def test_very_wide_sets_have_a_lattice_of_bounded_size(diameter: float, c: float) -> None:
    """A displacement below a unit counts as one: the law is above that of a finer lattice."""
    law = start_law(0.01, c, 1.0, diameter, 10**15)
    assert len(law.values) <= 20_002
    farthest = min(diameter, 1.0 / (1.0 - c)) if c < 1.0 else diameter
    assert law.values[-1] >= farthest
    ours = start_of(0.01, c, 1.0, diameter, 10**15)
    assert len(ours.values) <= 20_002
    assert law.mean == pytest.approx(farthest, rel=0.1)
