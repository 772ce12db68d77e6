"""What the closed forms share: powers without cancellation, windows, and refusals."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp.interpolation.closed_forms._shared import (
    best_window,
    bounded,
    ceiling,
    contractive,
    long_enough,
    one_minus_power,
    one_minus_powers,
    per_step,
    stationary_factor,
)


@given(st.floats(1e-12, 1.0), st.integers(1, 10**6))
def test_one_minus_a_power_keeps_its_digits(decay: float, k: int) -> None:
    with mpmath.workdps(50):
        exact = float(1 - (1 - mpmath.mpf(decay)) ** k)
    assert one_minus_power(decay, k) == pytest.approx(exact, rel=1e-13)


def test_one_minus_powers_at_the_ends() -> None:
    assert one_minus_powers(0.0, [0, 1, 5]).tolist() == [0.0, 1.0, 1.0]
    assert one_minus_powers(1.0, [0, 1, 5]).tolist() == [0.0, 0.0, 0.0]


@given(st.floats(1e-9, 1.0), st.integers(1, 10**6))
def test_the_factor_grows_with_the_run_to_its_limit(decay: float, t: int) -> None:
    limit = (2.0 - decay) / decay
    assert stationary_factor(decay, t) <= min(t, limit) * (1 + 1e-12)
    assert stationary_factor(decay, math.inf) == pytest.approx(limit)
    assert stationary_factor(0.0, t) == t


@given(st.floats(0.01, 1.0), st.floats(0.01, 50.0), st.integers(1, 200))
def test_the_best_window_is_the_best_of_all(s: float, D: float, longest: int) -> None:
    K = best_window(s, D, longest)
    cost = [s * s * k + D * D / k for k in range(1, longest + 1)]
    assert 1 <= K <= longest
    assert cost[K - 1] == pytest.approx(min(cost), rel=1e-12)


@given(st.integers(1, 10**6), st.floats(1e-3, 1e3))
def test_a_quotient_that_is_whole_but_for_rounding_is_not_raised(k: int, s: float) -> None:
    D = float(Fraction(s) * k)
    assert ceiling(D, s) == k
    assert ceiling(D * (1 + 1e-12), s) == k + 1


def test_what_has_no_meaning_is_refused() -> None:
    with pytest.raises(UnmetHypothesis, match="exceeds 1"):
        contractive(1.1)
    with pytest.raises(UnmetHypothesis, match="is infinite"):
        bounded(math.inf)
    with pytest.raises(UnmetHypothesis, match="is below ceil"):
        long_enough("steps", 3, 4)
    with pytest.raises(UnmetHypothesis, match="infinitely many steps"):
        ceiling(1e300, 1e-300)
    with pytest.raises(InvalidInput, match="does not fit 3 steps"):
        per_step("noise", np.ones(2), 3)
