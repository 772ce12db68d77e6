"""Classes made afresh: binomials, sums and clocks of the verifier."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from shiftdp.interpolation.participation.ages import ages_of_steps, equal_ages
from shiftdp.interpolation.participation.path import Resolution, path_of
from shiftdp.interpolation.participation.verification import classes as made_afresh
from shiftdp.interpolation.participation.verification.classes import (
    classes_of,
    steps_of_equal,
    steps_of_schedule,
    thinned,
)


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (9, 0.99), (60, 0.01), (300, 0.5), (10**7, 1e-3)])
def test_binomial_probabilities_are_right_to_a_part_of_1e_12(n: int, p: float) -> None:
    low, chances, _ = made_afresh._binomial(n, p)
    with mpmath.workdps(50):
        q = mpmath.mpf(p)
        for i in sorted({*range(min(len(chances), 20)), len(chances) // 2, len(chances) - 1}):
            k = low + i
            exact = mpmath.binomial(n, k) * q**k * (1 - q) ** (n - k)
            assert abs(chances[i] / exact - 1) < 1e-11


@pytest.mark.parametrize(
    ("p", "c", "steps"), [(0.1, 1.0, 500), (0.02, 0.97, 9000), (0.3, 0.9, math.inf), (0.2, 0.0, 9)]
)
def test_equal_steps_are_those_of_the_engine(p: float, c: float, steps: float) -> None:
    path = path_of(equal_ages(p, c, 1.3, 0.8, steps), Resolution(1.1, 300, 20), 1e-9)
    found = classes_of(steps_of_equal(p, c, 1.3, 0.8, steps), path.starts, path.unit, path.tick, 20)
    assert found.ticks == path.clock.tolist()
    for table, law in zip(found.tables, path.laws, strict=True):
        np.testing.assert_array_equal(table.values, law.values)
        np.testing.assert_allclose(table.probabilities, law.probabilities, rtol=1e-10, atol=1e-18)


@pytest.mark.parametrize("seed", range(5))
def test_weights_and_clocks_of_a_schedule_are_on_their_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c, s, sd = rng.uniform(0.5, 1.2, 9), rng.uniform(0.2, 2.0, 9), rng.uniform(0.3, 2.0, 9)
    steps = steps_of_schedule(np.full(9, 0.5), c, s, sd)
    w, clock = Fraction(1), Fraction(0)
    for j in range(9):
        k = 8 - j
        clock += (w * Fraction(sd[k])) ** 2
        ratio = Fraction(steps.jump[j]) ** 2 / Fraction(steps.clock[j])
        assert ratio >= (w * Fraction(s[k])) ** 2 / clock
        assert float(ratio) == pytest.approx(float((w * Fraction(s[k])) ** 2 / clock), rel=1e-8)
        w *= Fraction(c[k])


def test_forgotten_steps_are_one_sure_jump() -> None:
    ones = np.ones(900)
    mine = steps_of_schedule(0.1 * ones, 0.9 * ones, ones, ones)
    theirs = ages_of_steps(0.1 * ones, 0.9 * ones, ones, ones)
    np.testing.assert_allclose(mine.jump, theirs.jump, rtol=1e-8)
    assert mine.participation[-1] == 1.0
    with pytest.raises(ValueError, match="no noise"):
        steps_of_schedule(ones, ones, ones, np.append(np.ones(899), 0.0))


def test_a_class_dominates_all_patterns() -> None:
    p, jump = np.array([0.2, 0.5, 0.5, 0.9]), np.array([1.0, 0.7, 0.69, 0.2])
    table, lost = made_afresh._sum_of(np.ones(4), p, jump, 0.25, 6)
    assert math.fsum(table.probabilities) + lost == pytest.approx(1.0, abs=1e-14)
    for x in np.linspace(0.0, 2.6, 60):
        exact = math.fsum(
            math.prod(np.where(v, p, 1.0 - p))
            for v in itertools.product([0, 1], repeat=4)
            if np.dot(v, jump) > x
        )
        above = math.fsum(table.probabilities[table.values * 0.25 > x])
        assert above >= exact - 1e-14


def test_thinning_only_moves_up() -> None:
    values, chances = np.arange(50), np.random.default_rng(0).dirichlet(np.ones(50))
    table = thinned(values, chances, 7)
    assert len(table.values) <= 8
    assert table.probabilities[0] == chances[0]
    for x in range(50):
        assert table.probabilities[table.values >= x].sum() >= chances[x:].sum() - 1e-15


@pytest.mark.parametrize("starts", [(1,), (0, 3, 3), (0, 7, 5), (0, 99)])
def test_classes_that_do_not_cover_the_run_are_refused(starts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="one after the other"):
        classes_of(steps_of_equal(0.1, 1.0, 1.0, 1.0, 20), starts, 1.0, 0.01, 5)
