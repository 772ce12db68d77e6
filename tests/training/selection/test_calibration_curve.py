"""Cells of a calibration curve: joined by public numbers, with intervals that hold for each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from shiftdp.training.selection.calibration_curve import calibration, groups, share_interval

Z = 1.959963984540054
COUNTS = st.floats(-1e3, 1e4)
NOISES = st.sampled_from([0.0, 0.1, 3.0, 200.0])


@pytest.mark.parametrize("noise", [0.3, 5.0, 22.5])
@pytest.mark.parametrize("records", [0, 1, 5, 50, 100, 1000])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_intervals_cover_whatever_the_count(noise: float, records: int, share: float) -> None:
    rng = np.random.default_rng([records, int(100 * share), int(10 * noise)])
    runs, inside = 400, 0
    for positive in rng.binomial(records, share, size=runs):
        of_second, of_first = noise * rng.normal(size=2)
        found = share_interval(
            positive + of_second, records - positive + of_first, noise, Z, expected=100.0
        )
        inside += found.low <= share <= found.high
    assert inside >= binom.ppf(1e-5, runs, 0.95)


@pytest.mark.parametrize(("records", "level"), [(50, 0.5), (100, 0.68)])
def test_they_cover_at_other_levels_and_have_an_end(records: int, level: float) -> None:
    rng = np.random.default_rng(3)
    z = {0.5: 0.6744897501960817, 0.68: 0.9944578832097535}[level]
    found = [
        share_interval(p + 2.0 * a, records - p + 2.0 * b, 2.0, z, records)
        for p, a, b in zip(rng.binomial(records, 0.3, 400), *rng.normal(size=(2, 400)), strict=True)
    ]
    inside = sum(one.low <= 0.3 <= one.high for one in found)
    assert binom.ppf(1e-5, 400, level) <= inside < 400
    assert max(one.high - one.low for one in found) < 0.5


def test_without_noise_they_are_those_of_clopper_and_pearson() -> None:
    for positive, negative in [(3, 9), (0, 4), (7, 0), (0, 0)]:
        found = share_interval(positive, negative, 0.0, Z, 10.0)
        if positive + negative:
            exact = binomtest(positive, positive + negative).proportion_ci(0.95)
            assert found[1:] == pytest.approx((exact.low, exact.high))
        else:
            assert found == (0.5, 0.0, 1.0)


def test_a_count_that_cannot_be_told_from_none_says_nothing() -> None:
    (cell,) = calibration(np.array([[3.0], [2.0]]), np.array([0.0, 1.0]), 10.0, Z, 100)
    assert cell.share[1:] == (0.0, 1.0)


@given(COUNTS, COUNTS, NOISES, st.floats(1.0, 1e6))
def test_no_interval_is_a_point_and_each_has_its_share(
    positive: float, negative: float, noise: float, expected: float
) -> None:
    found = share_interval(positive, negative, noise, Z, expected)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert found.low < found.high


@given(st.integers(1, 40), st.integers(1, 10**6), NOISES)
def test_cells_are_joined_without_a_gap_so_that_they_stand_above_their_noise(
    cells: int, n: int, noise: float
) -> None:
    found = groups(cells, n, noise)
    assert [one.start for one in found] == [0, *(one.stop for one in found[:-1])]
    assert found[-1].stop == cells
    assert all(one.start < one.stop for one in found)
    if len(found) > 1:
        even = n / len(found)
        assert even >= 15.0 * noise * (cells / len(found)) ** 0.5 * (1.0 - 1e-9)
        assert even >= 50.0 * (1.0 - 1e-9)


def test_all_joined_cells_are_reported_with_their_sums() -> None:
    counts = np.array([[90.0, 40.0, 10.0, -4.0], [10.0, 60.0, 30.0, 2.0]])
    edges = np.array([0.0, 0.2, 0.5, 0.9, 1.0])
    one, two = calibration(counts, edges, 2.0, Z, 140)
    assert (one.low, one.high, one.records) == (0.0, 0.5, 200.0)
    assert (two.low, two.high, two.records) == (0.5, 1.0, 38.0)
    assert one.share.value == pytest.approx(0.35)
    assert one.share.low < 0.35 < one.share.high < two.share.value
