"""A law that dominates mu(V): by all patterns, by exact formulas, and where numbers are extreme."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shiftdp.fdp import HiddenExchange
from shiftdp.interpolation.participation.ages import ages_of_steps, equal_ages
from shiftdp.interpolation.participation.law import (
    ParticipationLaw,
    dominating_law,
    law_of_tail,
    resolution_for,
    rough_law,
)
from shiftdp.interpolation.participation.path import Resolution, class_ends
from shiftdp.interpolation.participation.vertices import Tail
from tests.interpolation.participation.patterns import (
    all_patterns,
    long_sticks,
    stick_breaking,
    violation,
)

COARSE = Resolution(1.3, 60, 6, rung=1.3, cells=80)
FINE = Resolution(1.01, 1200, 80, rung=1.05, cells=1500)


Steps = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def random_schedule(rng: np.random.Generator) -> Steps:
    t = int(rng.integers(1, 9))
    p = np.full(t, rng.choice([0.02, 0.3, 0.7])) if rng.uniform() < 0.5 else rng.uniform(size=t)
    c = rng.uniform(0.4, 1.3, t) if rng.uniform() < 0.6 else np.full(t, rng.choice([1.0, 0.8]))
    s = rng.uniform(0.2, 3.0, t) if rng.uniform() < 0.5 else np.ones(t)
    sd = rng.uniform(0.3, 3.0, t) if rng.uniform() < 0.5 else np.ones(t)
    if rng.uniform() < 0.3:
        sd[-min(2, t) :] *= 4.0  # a cool-down
    return p, c, s, sd


@pytest.mark.parametrize("resolution", [COARSE, FINE, None])
@pytest.mark.parametrize("seed", range(8))
def test_no_pattern_is_above_the_law(seed: int, resolution: Resolution | None) -> None:
    steps = random_schedule(np.random.default_rng(seed))
    law = dominating_law(ages_of_steps(*steps), delta=1e-6, resolution=resolution)
    mu, chance = all_patterns(*steps)
    assert violation(law, mu, chance) <= 1e-15
    assert math.fsum(law.weight) == pytest.approx(1.0, abs=1e-14)
    assert list(law.mu) == sorted(set(law.mu))


@pytest.mark.parametrize("c", [1e-6, 0.1, 0.19, 0.5, 0.9])
def test_no_pattern_is_above_the_rough_law_even_if_all_clocks_are_one_class(c: float) -> None:
    law, top = rough_law(equal_ages(0.3, c, 1.0, 1.0, 8), delta=1e-6)
    assert top > 0.0
    t = np.ones(8)
    mu, chance = all_patterns(0.3 * t, c * t, t, t)
    assert violation(law, mu, chance) <= 1e-15


@pytest.mark.slow
def test_no_pattern_is_above_the_law_in_hundreds_of_schedules() -> None:
    rng = np.random.default_rng(100)
    for _ in range(400):
        steps = random_schedule(rng)
        resolution = Resolution(
            float(rng.choice([1.005, 1.1, 1.5])),
            int(rng.choice([20, 200, 900])),
            int(rng.choice([2, 20])),
            float(rng.choice([1.05, 1.5])),
            int(rng.choice([30, 500])),
        )
        delta = float(rng.choice([1e-3, 1e-6, 1e-12]))
        law = dominating_law(ages_of_steps(*steps), delta=delta, resolution=resolution)
        assert violation(law, *all_patterns(*steps)) <= 1e-15


@pytest.mark.parametrize("p", [0.05, 0.4])
def test_equal_steps_have_the_law_of_broken_sticks(p: float) -> None:
    exact = stick_breaking(9, Fraction(p))
    mu = np.sqrt([float(energy) for energy in exact]) * 2.0
    chance = np.array([float(q) for q in exact.values()])
    law = dominating_law(equal_ages(p, 1.0, 2.0, 1.0, 9), delta=1e-6, resolution=FINE)
    assert violation(law, mu, chance) <= 1e-15
    assert law.mean == pytest.approx(float(mu @ chance), rel=0.01)


@pytest.mark.parametrize(("p", "s", "t"), [(0.02, 2.0, 120), (0.1, 0.5, 80)])
def test_runs_without_contraction_cost_hardly_more_than_broken_sticks(
    p: float, s: float, t: int
) -> None:
    """With the grid that is chosen: from 1% to 2.2% of epsilon, and never less."""
    law = dominating_law(equal_ages(p, 1.0, s, 1.0, t), delta=1e-5)
    energy, chance = long_sticks(t, p, 0.01, 600)
    tails = np.append(np.cumsum(chance[::-1])[::-1], 0.0)
    mu, weight = np.array(law.mu), np.array(law.weight)
    for value in mu:
        more = tails[np.searchsorted(s * np.sqrt(energy), value * (1.0 + 1e-12), side="right")]
        assert more <= math.fsum(weight[mu > value]) + 1e-12
    energy, chance = long_sticks(t, p, 0.01, 600, down=False)
    some = chance > 1e-15
    exact = HiddenExchange(
        tuple((s * np.sqrt(energy[some])).tolist()),
        tuple((chance[some] / chance[some].sum()).tolist()),
    )
    assert 1.0 <= HiddenExchange(law.mu, law.weight).epsilon(1e-5) / exact.epsilon(1e-5) <= 1.03


@pytest.mark.parametrize(("p", "t"), [(0.05, 40), (0.3, 60)])
def test_the_mean_energy_of_equal_steps_is_the_exact_one(p: float, t: int) -> None:
    """E mu^2 = s^2 (p^2 t + p (1 - p) H_t) at c = 1."""
    fine = Resolution(1.003, 600, 100, rung=1.05, cells=1500)
    law = dominating_law(equal_ages(p, 1.0, 1.5, 1.0, t), delta=1e-5, resolution=fine)
    energy = math.fsum(w * x * x for w, x in zip(law.weight, law.mu, strict=True))
    exact = 2.25 * (p * p * t + p * (1.0 - p) * math.fsum(1.0 / k for k in range(1, t + 1)))
    assert exact <= energy <= 1.015 * exact


def test_one_step_has_two_values() -> None:
    law = dominating_law(equal_ages(0.25, 1.0, 2.0, 1.0, 1), delta=1e-5)
    assert law.weight[0] == pytest.approx(0.75, abs=1e-6)
    assert 2.0 <= law.mu[1] <= 2.01


def test_a_record_that_always_takes_part_costs_what_theorem_b1_says() -> None:
    law = dominating_law(equal_ages(1.0, 0.9, 1.0, 1.0, 50), delta=1e-6)
    w = 0.9 ** np.arange(50)
    full = w.sum() / math.sqrt((w**2).sum())
    assert full <= law.mean <= 1.06 * full


@pytest.mark.parametrize("p", [0.0, 1e-300])
def test_a_record_that_never_takes_part_costs_nothing(p: float) -> None:
    law = dominating_law(equal_ages(p, 0.9, 1.0, 1.0, 50), delta=1e-6)
    assert law.mean < 1e-6
    assert dominating_law(equal_ages(0.5, 0.9, 0.0, 1.0, 9), delta=1e-6).mu == (0.0,)


@pytest.mark.parametrize("delta", [1e-5, 1e-9, 1e-12])
def test_the_tail_goes_on_to_small_deltas(delta: float) -> None:
    ages = equal_ages(0.01, 0.95, 1.0, 1.0, 400)
    law = dominating_law(ages, delta=delta)
    # two last steps in a row: a lower bound on the tail at the value of both
    both = math.sqrt(1.0 + 0.0) * (1.0 + 0.95) / math.sqrt(1.0 + 0.95**2)
    tail = math.fsum(w for mu, w in zip(law.mu, law.weight, strict=True) if mu > both - 1e-12)
    assert tail >= 0.01**2
    # what is not told apart is a small part of delta
    assert law.weight[-1] <= 3e-3 * delta


@pytest.mark.parametrize("steps", [10**6, 10**7, math.inf])
def test_long_runs_that_forget_are_all_alike(steps: float) -> None:
    some = Resolution(1.1, 400, 30, cells=500)
    long = dominating_law(equal_ages(0.01, 0.95, 1.0, 1.0, steps), delta=1e-5, resolution=some)
    short = dominating_law(equal_ages(0.01, 0.95, 1.0, 1.0, 2000), delta=1e-5, resolution=some)
    assert long.mean == pytest.approx(short.mean, rel=1e-3)


@pytest.mark.parametrize("steps", [10**6])
def test_a_long_run_without_contraction_has_the_mean_of_its_bulk(steps: int) -> None:
    p, s = 0.01, 100.0 / math.sqrt(steps)  # so that t (p s)^2 = 1
    coarse = Resolution(2.0, 4000, 20, rung=1.4, cells=200)
    law = dominating_law(equal_ages(p, 1.0, s, 1.0, steps), delta=1e-5, resolution=coarse)
    assert 1.0 <= law.mean <= 1.35
    assert law.weight[-1] < 1e-7


@pytest.mark.slow
def test_a_run_of_very_many_steps_has_a_law() -> None:
    coarse = Resolution(4.0, 200, 10, rung=1.5, cells=100)
    law = dominating_law(equal_ages(1e-5, 1.0, 1e-2, 1.0, 1e10), delta=1e-5, resolution=coarse)
    assert 0.01 <= law.mean < math.inf


def test_more_participation_more_displacement_and_less_noise_cost_more() -> None:
    fine = Resolution(1.05, 700, 30)

    def mean(p: float, s: float, sd: float, c: float) -> float:
        return dominating_law(equal_ages(p, c, s, sd, 60), delta=1e-5, resolution=fine).mean

    base = mean(0.1, 1.0, 1.0, 0.95)
    assert mean(0.12, 1.0, 1.0, 0.95) > base
    assert mean(0.1, 1.1, 1.0, 0.95) > base
    assert mean(0.1, 1.0, 0.9, 0.95) > base
    assert mean(0.1, 1.0, 1.0, 0.97) > base


def test_noise_at_the_end_lowers_the_whole_tail() -> None:
    ones = np.ones(200)
    flat, raised = ones.copy(), ones.copy()
    raised[-10:] = 3.0
    laws = [
        dominating_law(
            ages_of_steps(0.02 * ones, ones, 2.0 * ones, sd),
            delta=1e-5,
            resolution=Resolution(1.08, 400, 40),
        )
        for sd in (flat, raised)
    ]
    for x in np.linspace(0.1, 3.0, 30):
        tails = [math.fsum(w for mu, w in zip(a.mu, a.weight, strict=True) if mu > x) for a in laws]
        assert tails[1] <= tails[0] * 1.001


def test_excess_leaves_at_the_bottom_and_what_is_lost_is_at_the_top() -> None:
    law = law_of_tail(Tail(np.array([1.1, 0.6, 0.2]), 0.5, 0.01), 7.0)
    assert law.mu == pytest.approx((0.0, 0.5, 7.0), rel=1e-8)
    assert law.weight == pytest.approx((0.39, 0.4, 0.21))
    missing = law_of_tail(Tail(np.array([0.9, 0.6, 0.2]), 0.5, 0.1), 7.0)
    assert missing.weight[-1] == pytest.approx(0.3)


def test_the_resolution_keeps_the_number_of_classes_in_bounds() -> None:
    for p, c, t in [(0.1, 0.999, 5000), (0.01, 1.0, 10**9), (0.001, 1.0, 10**4), (0.3, 0.95, 60)]:
        ages = equal_ages(p, c, 1.0, 1.0, t)
        assert len(class_ends(ages, resolution_for(ages).ratio)) <= 100


def test_the_mean_of_a_law() -> None:
    assert ParticipationLaw((0.0, 2.0), (0.75, 0.25)).mean == 0.5
