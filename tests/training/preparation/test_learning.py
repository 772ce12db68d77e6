"""What is learnt: exact where noise is nothing, on a grid, and with the noise that is paid for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from shiftdp.privacy.noisy_sums import NoisySum
from shiftdp.training import Seeded
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.losses.base import Floats
from shiftdp.training.preparation.codes import scaled_to
from shiftdp.training.preparation.learning import (
    bin_edges,
    frequent_categories,
    learnt_moments,
    learnt_range,
    shown_masses,
)

QUIET = 1e-6


class Fixed(Stream):
    """Noise that is given."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = list(numbers)

    def draw(self, size: int) -> bytes:
        raise NotImplementedError

    def fill(self, out: Floats) -> None:
        out[...] = [self.numbers.pop(0) for _ in range(out.size)]


def stream(seed: int = 0) -> Stream:
    return Seeded(seed).open("noise")


def part(kind: str, noise: float = QUIET, threshold: float | None = None) -> NoisySum:
    return NoisySum(kind=kind, column="c", noise=noise, threshold=threshold)  # type: ignore[arg-type]


@pytest.mark.parametrize("within", [(0.0, 100.0), None])
def test_without_noise_a_range_is_that_of_the_quantiles(within: tuple[float, float] | None) -> None:
    values = np.linspace(10, 60, 100_001)
    low, high = learnt_range(values, within, part("histogram"), stream())
    width = 100 / 64 if within else 64 - 45.3
    assert abs(low - 10.25) < width
    assert abs(high - 59.75) < width


def test_far_entries_and_missing_ones_do_not_move_a_range() -> None:
    values = np.concatenate([np.full(1000, 5.5), [1e300, -np.inf, np.nan]])
    low, high = learnt_range(values, None, part("histogram", noise=10.0), stream())
    assert 4.0 <= low < high <= 8.0


def test_nothing_but_noise_leaves_the_declared_range() -> None:
    values = np.full(5, 3.0)
    assert learnt_range(values, (0.0, 9.0), part("histogram", 1e3), stream()) == (0.0, 9.0)
    low, high = learnt_range(values, None, part("histogram", 1e3), stream())
    assert low < high


@pytest.mark.parametrize("seed", range(5))
def test_a_column_that_spreads_over_many_bins_has_a_range(seed: int) -> None:
    """No bin has 6% of the records, and the noise is 2% of them: blocks of bins stand out."""
    values = np.exp(np.random.default_rng(seed).normal(0.0, 2.5, size=2_000))
    low, high = learnt_range(values, None, part("histogram", noise=40.0), stream(seed))
    inside = np.mean((values > low) & (values < high))
    assert inside > 0.5
    assert np.log(high / low) < 4 * 2.5


def test_bins_that_stand_out_alone_are_taken_alone() -> None:
    noisy = np.array([0.0, 3.0, 900.0, 4.0, 0.0, 60.0, -2.0, 1.0])
    np.testing.assert_array_equal(shown_masses(noisy, 10.0), [0, 0, 900, 0, 0, 60, 0, 0])


def test_bins_that_stand_out_together_are_taken_together_in_the_smallest_blocks() -> None:
    noisy = np.array([0.0, -5.0, 40.0, 40.0, 40.0, 40.0, 3.0, 0.0])
    np.testing.assert_array_equal(shown_masses(noisy, 10.0), [0, 0, 40, 40, 40, 40, 0, 0])


def test_noise_alone_hardly_ever_stands_out() -> None:
    rng = np.random.default_rng(0)
    found = [shown_masses(rng.normal(size=242), 1.0).any() for _ in range(300)]
    assert np.mean(found) < 0.02


@given(hnp.arrays(float, st.integers(1, 40), elements=st.floats(-100, 100)), st.floats(0.1, 50))
def test_shown_masses_are_counts_of_some_bins_and_nothing_below_0(noisy: Floats, s: float) -> None:
    masses = shown_masses(noisy, s)
    assert ((masses == 0.0) | (masses == noisy)).all()
    assert (masses >= 0.0).all()
    alone = noisy >= 4.5 * s
    assert masses.sum() >= 0.5 * noisy[alone].sum()


def test_edges_rise_and_reach_far() -> None:
    edges = bin_edges(None)
    assert (np.diff(edges) > 0).all()
    assert edges[-1] == 2.0**40
    assert edges[0] == -(2.0**40)


def test_without_noise_moments_are_those_of_the_entries() -> None:
    t = np.random.default_rng(0).uniform(-0.9, 0.3, size=20_000)
    mean, deviation = learnt_moments(np.append(t, np.nan), part("moments"), stream())
    assert mean == pytest.approx(t.mean(), abs=1e-6)
    assert deviation == pytest.approx(t.std(), abs=1e-6)


def test_the_noise_on_moments_is_what_is_paid_for() -> None:
    """The exact law of a small case: sums of two entries, one deviation of noise on each."""
    t = np.array([0.5, -0.25])
    mean, deviation = learnt_moments(t, part("moments", noise=0.25), Fixed(1.0, 0.0, 0.0))
    assert mean == pytest.approx((0.25 + 0.25) / 2, abs=1e-3)
    assert deviation == pytest.approx(math.sqrt(0.3125 / 2 - 0.25**2), abs=2e-2)


def test_moments_that_drown_in_noise_are_those_of_the_uniform_law() -> None:
    mean, deviation = learnt_moments(np.array([0.5]), part("moments", noise=10.0), Fixed(1, 1, 1))
    assert mean == 0.0
    assert deviation == pytest.approx(1 / math.sqrt(3))


def test_a_constant_column_keeps_a_deviation() -> None:
    mean, deviation = learnt_moments(np.full(1000, 0.5), part("moments"), stream())
    assert deviation >= 0.05
    assert mean == pytest.approx(0.5, abs=1e-6)


def test_categories_above_the_threshold_are_named_in_order() -> None:
    words = np.array(["b"] * 50 + ["a"] * 40 + ["rare"] + [None] * 60, dtype=object)
    found = frequent_categories(words, 5, part("categories", QUIET, 10.0), stream())
    assert found == ("a", "b")
    assert frequent_categories(words, 1, part("categories", QUIET, 10.0), stream()) == ("b",)


def test_a_category_of_one_person_is_named_as_often_as_is_paid_for() -> None:
    """Named if 1 + noise Z >= threshold, exactly."""
    one = part("categories", noise=2.0, threshold=4.0)
    words = np.array(["me"], dtype=object)
    assert frequent_categories(words, 5, one, Fixed(1.5)) == ("me",)
    assert frequent_categories(words, 5, one, Fixed(1.499)) == ()
    named = sum(bool(frequent_categories(words, 5, one, stream(i))) for i in range(2_000))
    expected = 2_000 * one.failure
    assert abs(named - expected) < 5 * math.sqrt(expected)


def test_the_sum_of_very_many_squares_does_not_overflow() -> None:
    t = np.ones((1 << 20) + 5)
    mean, _ = learnt_moments(t, part("moments"), stream())
    assert mean == pytest.approx(1.0, abs=1e-9)


def test_a_range_is_wide_enough_to_divide_by() -> None:
    least = math.ulp(0.0)
    part = NoisySum(kind="histogram", column="c", noise=QUIET)
    for within in ((0.0, 2 * least), (1e12, math.nextafter(1e12, 2e12))):
        values = np.full(10, within[0])
        low, high = learnt_range(values, within, part, Seeded(0).open("noise"))
        assert np.isfinite(scaled_to(values, low, high)).all()
