"""Renyi moments of every tradeoff function, of products, and where there are none."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Minimum,
    PiecewiseLinear,
    PoissonReplaceOne,
    PoissonZeroOut,
    ShiftedSubsampled,
    TradeoffFunction,
    WithFailure,
)
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.renyi.conversions import epsilon_balle
from tests.fdp.renyi.exact_moments import (
    ORDERS,
)


@pytest.mark.parametrize(
    "f",
    [
        WithFailure(GaussianTradeoff(1.0).subsample(0.1), 1e-9),
        ApproxDPTradeoff(1.0, 1e-9).subsample(0.1),
        GaussianTradeoff(math.inf).subsample(0.1),
        PiecewiseLinear([0.0, 1.0], [0.9, 0.0]),
    ],
)
def test_infinite_losses(f: TradeoffFunction) -> None:
    assert f.renyi(2.0) == math.inf


def test_moments_of_products_are_multiplied() -> None:
    parts: list[tuple[TradeoffFunction, int]] = [
        (GaussianTradeoff(0.5), 2),
        (GaussianTradeoff(1.0).subsample(0.01), 1000),
        (ShiftedSubsampled(0.01, 0.1, 1.0), 10**6),
    ]
    product = Composite(tuple(parts))
    for order in (1.01, 2.0, 30.0):
        expected = math.fsum(k * f._log_moment(order) for f, k in parts)
        assert expected <= product._log_moment(order) <= expected * (1 + 1e-14)
        assert product.renyi(order) == product._log_moment(order) / (order - 1.0)


@pytest.mark.parametrize(
    "f",
    [
        GaussianTradeoff(1.0).subsample(0.02),
        ShiftedSubsampled(0.02, 0.01, 1.0),
        PoissonReplaceOne(0.02, 0.01, 0.5),
        PoissonZeroOut(0.02, 0.0, 1.0),
        PoissonZeroOut(0.02, 0.0, 1.0, swapped=True),
    ],
)
def test_divergences_rise_with_the_order_and_prove_less_than_the_profile(
    f: TradeoffFunction,
) -> None:
    product = f.power(300)
    values = [product.renyi(order) for order in ORDERS]
    assert all(one < two * (1 + 1e-9) for one, two in pairwise(values))
    orders = 1.0 + np.geomspace(0.5, 100.0, 12)
    converted = min(epsilon_balle(k, product.renyi(k), 1e-5) for k in orders.tolist())
    low, _ = product.epsilon_interval(1e-5)  # type: ignore[attr-defined]
    assert low <= converted <= 1.5 * low + 0.1


def test_the_worse_of_two_leaks_more_than_both() -> None:
    there = PoissonZeroOut(0.1, 0.0, 1.0)
    both = Minimum((there, there.inverse()))
    assert max(there.renyi(4.0), there.inverse().renyi(4.0)) <= both.renyi(4.0)
