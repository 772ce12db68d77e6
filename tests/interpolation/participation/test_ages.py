"""Ages of a run: weights and clocks, rounded to the side on which mu grows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp._errors import UnmetHypothesis
from shiftdp.interpolation.participation.ages import Ages, ages_of_steps, equal_ages, with_start
from tests.interpolation.participation.patterns import all_patterns

contractions = st.floats(0.3, 1.2)


@given(st.lists(st.tuples(contractions, st.floats(0.1, 3.0), st.floats(0.1, 3.0)), min_size=1))
def test_jumps_are_above_and_clocks_below_their_exact_values(
    steps: list[tuple[float, float, float]],
) -> None:
    c, s, sd = (np.array(x) for x in zip(*steps, strict=True))
    ages = ages_of_steps(np.full(len(c), 0.5), c, s, sd)
    exact = [math.prod((Fraction(x) for x in c[k + 1 :]), start=Fraction(1)) for k in range(len(c))]
    # all weights are in units of the largest of them, or of a float that is as good
    unit = Fraction(float(max(exact)))
    clock = Fraction(0)
    for j in range(len(c)):
        k = len(c) - 1 - j
        clock += (exact[k] * Fraction(sd[k])) ** 2
        ratio = Fraction(ages.jump[j]) ** 2 / Fraction(ages.clock[j])
        assert ratio >= (exact[k] * Fraction(s[k])) ** 2 / clock
        assert ages.jump[j] == pytest.approx(float(exact[k] * Fraction(s[k]) / unit), rel=1e-11)
        assert ages.clock[j] == pytest.approx(float(clock / unit**2), rel=1e-11)


@pytest.mark.parametrize("c", [1.0, 0.9, 0.999])
def test_equal_steps_are_a_schedule(c: float) -> None:
    ones = np.ones(300)
    one, other = (
        equal_ages(0.1, c, 2.0, 0.5, 300),
        ages_of_steps(0.1 * ones, c * ones, 2.0 * ones, 0.5 * ones),
    )
    size = min(len(one.count), len(other.count))
    np.testing.assert_allclose(one.jump[:size], other.jump[:size], rtol=1e-8, atol=1e-18)
    np.testing.assert_allclose(one.clock[:size], other.clock[:size], rtol=1e-8)


@pytest.mark.parametrize("steps", [10**6, 10**12])
def test_grouped_ages_have_the_jump_and_the_clock_of_the_youngest(steps: int) -> None:
    ages = equal_ages(0.01, 1.0, 1.0, 1.0, steps)
    first = np.concatenate([[0.0], np.cumsum(ages.count)[:-1]])
    assert ages.count.sum() == steps
    np.testing.assert_allclose(ages.clock, first + 1.0, rtol=1e-8)
    assert np.all(ages.clock <= first + 1.0)
    assert len(ages.count) < 60_000


def test_an_endless_run_has_the_remote_past_as_one_sure_jump() -> None:
    ages = equal_ages(0.01, 0.9, 1.0, 1.0, math.inf)
    kept = len(ages.count) - 1
    assert ages.participation[-1] == 1.0
    assert ages.jump[-1] >= 0.9**kept / 0.1
    assert ages.jump[-1] < 1e-17
    with pytest.raises(UnmetHypothesis, match="contraction below 1"):
        equal_ages(0.01, 1.0, 1.0, 1.0, math.inf)


def test_what_is_forgotten_in_a_schedule_is_one_sure_jump() -> None:
    ones = np.ones(1000)
    ages = ages_of_steps(0.1 * ones, 0.9 * ones, ones, ones)
    kept = len(ages.count) - 1
    assert kept < 1000
    assert ages.jump[-1] >= (0.9**kept - 0.9**1000) / 0.1
    assert ages.participation[-1] == 1.0


def test_a_map_that_forgets_everything_leaves_one_step() -> None:
    assert len(equal_ages(0.1, 0.0, 1.0, 1.0, 50).count) == 1
    ones = np.ones(4)
    ages = ages_of_steps(0.1 * ones, np.array([1.0, 1.0, 0.0, 1.0]), ones, ones)
    assert np.count_nonzero(ages.jump > 0.0) == 2


def test_weights_beyond_the_range_of_floats_are_no_problem() -> None:
    ones = np.ones(400)
    ages = ages_of_steps(0.1 * ones, np.append(np.full(200, 0.001), np.full(200, 2.0)), ones, ones)
    assert np.all(np.isfinite(ages.jump))
    assert np.all(np.isfinite(ages.clock))
    assert np.all(np.diff(ages.clock) >= 0.0)


def test_a_record_that_no_noise_follows_is_refused() -> None:
    ones = np.ones(3)
    with pytest.raises(UnmetHypothesis, match="nothing hides it"):
        ages_of_steps(ones, ones, ones, np.array([1.0, 1.0, 0.0]))
    silent = ages_of_steps(np.array([1.0, 1.0, 0.0]), ones, ones, np.array([1.0, 1.0, 0.0]))
    assert len(silent.count) == 2


@given(
    st.lists(
        st.tuples(contractions, st.floats(0.1, 3.0), st.floats(0.1, 3.0)), min_size=1, max_size=7
    )
)
def test_the_ceiling_is_the_value_of_taking_part_always(
    steps: list[tuple[float, float, float]],
) -> None:
    c, s, sd = (np.array(x) for x in zip(*steps, strict=True))
    mu, _ = all_patterns(np.full(len(c), 0.5), c, s, sd)
    ceiling = ages_of_steps(np.full(len(c), 0.5), c, s, sd).ceiling
    assert mu.max() <= ceiling
    assert ceiling == pytest.approx(mu.max(), rel=1e-6)


def test_the_ceiling_of_many_steps_is_rounded_up() -> None:
    assert 1.0 <= equal_ages(0.5, 1.0, 1.0, 1.0, 10**8).ceiling / 1e4 < 1.01
    assert equal_ages(0.0, 1.0, 1.0, 1.0, 100).ceiling == 0.0


def test_mean_and_variance_are_those_of_the_sum() -> None:
    ages = equal_ages(0.25, 1.0, 2.0, 1.0, 100)
    assert ages.mean == pytest.approx(50.0)
    assert ages.variance == pytest.approx(100.0)
    assert isinstance(with_start(ages, 3.0), Ages)
    assert with_start(ages, 3.0).mean == pytest.approx(53.0)
    assert with_start(ages, 0.0) is ages
