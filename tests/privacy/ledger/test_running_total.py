"""The running total of a ledger."""

from __future__ import annotations

import pytest

from shiftdp.fdp import (
    GaussianTradeoff,
    Identity,
    Minimum,
    PoissonReplaceOne,
    PoissonZeroOut,
    WithFailure,
)
from shiftdp.privacy.ledger.running_total import RunningTotal, is_gaussian

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
