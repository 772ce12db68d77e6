"""The running total of a ledger."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.fdp import (
    GaussianTradeoff,
    Identity,
    Minimum,
    Mixture,
    PoissonReplaceOne,
    PoissonZeroOut,
    WithFailure,
)
from shiftdp.privacy.ledger.running_total import RunningTotal, is_gaussian, least_root
from tests.privacy.ledger.examples import DELTA

STEP = PoissonZeroOut(0.01, 0.0, 1.0)


def test_directions_are_composed_one_by_one_in_whichever_order_they_were_given() -> None:
    there, back = STEP.power(3), STEP.inverse().power(4)
    total = (
        RunningTotal()
        .plus(Minimum((there, there.inverse())), 2)
        .plus(Minimum((back, back.inverse())))
    )
    product = STEP.power(10)
    assert total.tradeoff() == Minimum((product.inverse(), product))


def test_gaussians_and_failures_enter_both_directions() -> None:
    total = (
        RunningTotal().plus(WithFailure(STEP.worse_direction(), 1e-6)).plus(GaussianTradeoff(0.5))
    )
    without, there = total.tradeoff().directions
    assert there == WithFailure(STEP.compose(GaussianTradeoff(0.5)), 1e-6)
    assert without == there.inverse()


def test_nothing_is_spent_where_nothing_is_revealed() -> None:
    assert RunningTotal().plus(Identity(), 5) == RunningTotal() == RunningTotal().plus(STEP, 0)
    assert RunningTotal().tradeoff() == Identity()


def test_a_step_that_happens_to_be_gaussian_is_counted_as_logs_have_counted_it() -> None:
    full = PoissonReplaceOne(1.0, 0.0, 0.5)
    assert not is_gaussian(full)
    total = RunningTotal().plus(full)
    assert total.others == ((full, 1),)
    assert total.epsilon(1e-5) == pytest.approx(GaussianTradeoff(1.0).epsilon(1e-5), rel=1e-12)


@given(
    st.lists(st.tuples(st.floats(1e-160, 10.0), st.integers(1, 10**6)), min_size=1, max_size=8),
)
def test_sums_of_squares_are_exact_and_rounded_up(parts: list[tuple[float, int]]) -> None:
    spent = RunningTotal()
    for mu, times in parts:
        spent = spent.plus(GaussianTradeoff(mu), times)
    square = sum(k * Fraction(mu) ** 2 for mu, k in parts)
    assert spent.square == square
    root = least_root(spent.square)
    assert Fraction(root) ** 2 >= square > Fraction(math.nextafter(root, 0.0)) ** 2


@settings(max_examples=10)
@given(st.floats(0.05, 1.0), st.integers(2, 100), st.floats(0.0, 2.0))
def test_a_quick_answer_is_never_a_wrong_one(mu: float, k: int, more: float) -> None:
    """What `fits` says from a rounded total agrees with the total itself."""
    f = Mixture([GaussianTradeoff(mu), GaussianTradeoff(mu / 2)], [0.5, 0.5])
    spent = RunningTotal().plus(f, k).plus(GaussianTradeoff(more))
    epsilon = spent.epsilon(DELTA)
    low, high = spent.tradeoff().epsilon_interval(DELTA)  # type: ignore[attr-defined]
    assert low <= epsilon <= high
    assert spent.fits(epsilon, DELTA)
    assert not spent.fits(low * (1 - 1e-9), DELTA)
