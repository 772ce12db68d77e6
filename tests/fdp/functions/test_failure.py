"""A mechanism that fails with a small probability."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.fdp import GaussianTradeoff, LaplaceTradeoff, PoissonZeroOut, WithFailure

STEP = PoissonZeroOut(p=0.01, a=0.1, s=1.0)


def test_a_failure_is_that_of_both_directions() -> None:
    f = WithFailure(STEP.worse_direction(), 1e-6)
    assert f.directions == (WithFailure(STEP.inverse(), 1e-6), WithFailure(STEP, 1e-6))


def test_below_the_probability_of_a_failure_epsilon_is_surely_infinite() -> None:
    f = WithFailure(GaussianTradeoff(1.0), 1e-6)
    assert f.epsilon_below(9e-7) == f.epsilon(9e-7) == math.inf
    # it may have been rounded up by a thousandth
    assert f.epsilon_below(1e-6) < f.epsilon(1e-6) == math.inf


@given(st.floats(0.0, 0.9), st.floats(0.0, 0.99), st.floats(0.0, 1.0))
def test_it_fails_or_is_what_it_was(q: float, share: float, alpha: float) -> None:
    """delta is q + (1 - q) delta_f; the errors that are left are made by the rest of the runs."""
    f = LaplaceTradeoff(1.5)
    failing = WithFailure(f, q)
    expected = q + (1.0 - q) * f.delta(share * 1.5)
    assert failing.delta(share * 1.5) == pytest.approx(expected, rel=1e-12)
    if alpha < 1.0 - q:
        rest = (1.0 - q) * f(alpha / (1.0 - q))
        assert failing(alpha) == pytest.approx(rest, rel=1e-9, abs=1e-12)
