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
from shiftdp.fdp.functions.sampled_step import SampledStep
from shiftdp.fdp.renyi.conversions import epsilon_balle
from shiftdp.fdp.renyi.line import participating
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


@pytest.mark.parametrize("order", [1 + 1e-9, 1.5, 50.0, 1e4, 1e8])
@pytest.mark.parametrize(
    ("p", "a", "s"), [(1e-300, 0.0, 1.0), (0.5, 1e-9, 1e-9), (0.1, 3.0, 200.0)]
)
def test_far_from_the_ordinary(p: float, a: float, s: float, order: float) -> None:
    """Between the moment of either component alone, by its weight, and that of taking part."""
    steps: list[SampledStep] = [
        ShiftedSubsampled(p, a, s),
        PoissonZeroOut(p, a, s, swapped=True),
        PoissonReplaceOne(p, a, s),
    ]
    for f in steps:
        found = f._log_moment(order)
        pure = order * (order - 1.0) / 2.0
        assert max(0.0, order * math.log(p) + pure * (a + s) ** 2) * (1 - 1e-9) <= found
        assert order * math.log1p(-p) + pure * a * a <= found * (1 + 1e-9) + 1e-15
        assert found <= participating(p, a, f._span, order) * (1 + 1e-12)


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
