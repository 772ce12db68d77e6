"""The better and the worse of several functions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Maximum,
    Minimum,
    PoissonZeroOut,
    TradeoffFunction,
    WithFailure,
    dominates,
)
from tests.fdp.catalogue import base

STEP = PoissonZeroOut(p=0.01, a=0.1, s=1.0)
PRODUCT = STEP.power(10)


@pytest.mark.parametrize("f", [STEP, PRODUCT, WithFailure(STEP, 1e-6)], ids=repr)
def test_the_direction_with_the_record_first_is_found_in_either_order(f: PoissonZeroOut) -> None:
    back = f.inverse()
    assert Minimum((f, back)).directions == (back, f)
    assert Minimum((back, f)).directions == (back, f)
    assert back.worse_direction().directions == f.worse_direction().directions


@settings(max_examples=10)
@given(base, base)
def test_minimum_and_maximum(f: TradeoffFunction, g: TradeoffFunction) -> None:
    assert dominates(f, Minimum([f, g]), 1e-5)
    assert dominates(Maximum([f, g]), g, 1e-5)


def test_the_worse_has_the_larger_delta_and_the_better_the_larger_error() -> None:
    f, g = GaussianTradeoff(1.0), ApproxDPTradeoff(1.0, 1e-5)
    epsilons, alpha = np.linspace(-2.0, 5.0, 29), np.linspace(0.0, 1.0, 41)
    worse = np.maximum(f.delta(epsilons), g.delta(epsilons))
    np.testing.assert_allclose(Minimum([f, g]).delta(epsilons), worse, rtol=1e-12)
    better = np.maximum(f(alpha), g(alpha))
    np.testing.assert_allclose(Maximum([f, g])(alpha), better, rtol=1e-12, atol=1e-15)
