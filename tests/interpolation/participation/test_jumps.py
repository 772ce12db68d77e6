"""Laws of sums of jumps: exact binomials, and roundings that only go up."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp._errors import UnmetHypothesis
from shiftdp.interpolation.participation.jumps import binomial, sum_law


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (7, 0.9), (60, 0.01), (200, 0.5)])
def test_a_binomial_law_is_exact(n: int, p: float) -> None:
    low, law, lost, error = binomial(n, p)
    q = Fraction(p)
    exact = [math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)]
    for k, value in enumerate(law, start=low):
        assert abs(Fraction(value) / exact[k] - 1) <= Fraction(error)
    left_out = sum(exact[:low], Fraction(0)) + sum(exact[low + len(law) :], Fraction(0))
    assert left_out <= Fraction(lost) + Fraction(1, 10**17)


@pytest.mark.parametrize(("n", "p"), [(10**6, 0.01), (10**9, 1e-6), (10**11, 0.03)])
def test_a_binomial_law_of_many_is_right_to_its_error(n: int, p: float) -> None:
    low, law, _, error = binomial(n, p)
    assert error < 2e-9
    with mpmath.workdps(60):
        q = mpmath.mpf(p)
        for i in np.linspace(0, len(law) - 1, 7).astype(int):
            k = low + int(i)
            exact = mpmath.binomial(n, k) * q**k * (1 - q) ** (n - k)
            assert abs(law[i] / exact - 1) <= error


def test_certain_and_impossible_participation() -> None:
    assert binomial(5, 1.0).low == 5
    assert binomial(5, 0.0).low == 0
    assert binomial(0, 0.5).probabilities.tolist() == [1.0]


def test_too_wide_a_law_is_refused() -> None:
    with pytest.raises(UnmetHypothesis, match="too wide"):
        binomial(1e15, 0.5)


@given(
    st.lists(st.tuples(st.floats(0.05, 1.0), st.floats(0.01, 5.0)), min_size=1, max_size=7),
    st.floats(0.05, 2.0),
    st.integers(2, 40),
)
def test_the_law_of_a_sum_dominates_all_patterns(
    entries: list[tuple[float, float]], unit: float, most: int
) -> None:
    p, jump = (np.array(x) for x in zip(*entries, strict=True))
    law, lost, _ = sum_law(np.ones(len(p)), p, jump, unit, most)
    assert law.values[0] == 0
    assert len(law.values) <= most + 1
    assert math.fsum(law.probabilities) + lost == pytest.approx(1.0, abs=1e-12)
    sums, chances = [], []
    for v in itertools.product([0, 1], repeat=len(p)):
        sums.append(float(np.dot(v, jump)))
        chances.append(math.prod(np.where(v, p, 1.0 - p)))
    for x in np.array(sums) * (1.0 - 1e-12):
        exact = math.fsum(q for y, q in zip(sums, chances, strict=True) if y > x)
        above = math.fsum(law.probabilities[law.values * unit > x])
        assert above + lost >= exact - 1e-12


def test_equal_jumps_that_are_whole_units_are_not_rounded() -> None:
    unit = 1.0 + 4e-9  # as a path has it
    law, lost, _ = sum_law(np.array([1000.0]), np.array([0.1]), np.array([1.0]), unit, 400)
    low, exact, _, _ = binomial(1000, 0.1)
    assert law.values[law.probabilities > 0.0].tolist() == list(range(low, low + len(exact)))
    np.testing.assert_allclose(law.probabilities[law.probabilities > 0.0], exact)
    assert lost < 1e-15


def test_entries_that_differ_little_are_one_binomial_with_the_largest() -> None:
    jump = np.linspace(1.0, 1.005, 50)
    law, _, _ = sum_law(np.ones(50), np.full(50, 0.3), jump, 1.005 * (1.0 + 4e-9), 100)
    assert law.values[-1] <= 50
    mean = float(law.values @ law.probabilities) * 1.005
    assert 0.3 * jump.sum() <= mean <= 0.3 * jump.sum() * 1.01
