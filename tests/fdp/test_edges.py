"""The ends of the stated ranges: infinite losses, the largest numbers, and the ends of f."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    LaplaceTradeoff,
    PiecewiseLinear,
    PoissonReplaceOne,
    PoissonZeroOut,
    ShiftedSubsampled,
    TradeoffFunction,
)

NOTHING = ApproxDPTradeoff(math.inf, 0.0)
HUGE = (LaplaceTradeoff(1e308), ApproxDPTradeoff(1e308))


@pytest.mark.parametrize(
    "f",
    [
        NOTHING.power(2),
        NOTHING.compose(LaplaceTradeoff(1.0)),
        LaplaceTradeoff(1.0).compose(GaussianTradeoff(math.inf)),
        PiecewiseLinear([0, 1], [0, 0]).power(1000),
        *(f.power(1000) for f in HUGE),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("error")
def test_a_product_that_promises_nothing_says_so(f: TradeoffFunction) -> None:
    assert f.advantage() == f.delta(1.0) == 1.0
    assert f.epsilon(1e-5) == math.inf
    assert f(0.5) == 0.0
    assert f.renyi(2.0) == math.inf


@pytest.mark.parametrize("f", HUGE, ids=str)
@pytest.mark.filterwarnings("error")
def test_a_product_with_huge_losses_has_bounds(f: TradeoffFunction) -> None:
    product = f.compose(LaplaceTradeoff(1.0))
    assert product.delta(1.0) == 1.0
    assert product.epsilon(1e-5) >= 1e308
    assert product(0.0) == 1.0


@pytest.mark.parametrize(
    ("f", "q"),
    [
        (PiecewiseLinear([0, 1], [0.9, 0]), 0.1),
        (ApproxDPTradeoff(1.0, 0.1).subsample(0.5), 0.05),
        (GaussianTradeoff(math.inf).subsample(0.25), 0.25),
    ],
)
def test_infinite_losses_of_the_factors_are_in_the_delta_of_the_product(
    f: TradeoffFunction, q: float
) -> None:
    product, exact = f.compose(f, f, GaussianTradeoff(1.0)), 1.0 - (1.0 - q) ** 3
    assert exact * (1 - 1e-12) <= product.delta(math.inf) <= exact * (1 + 1e-12)
    assert product(0.0) == pytest.approx(1.0 - exact, rel=1e-12)


@pytest.mark.filterwarnings("error")
def test_a_product_answers_at_every_epsilon() -> None:
    f = LaplaceTradeoff(1.0).power(2)
    assert np.all(np.asarray(f.delta([-math.inf, -1e308])) == 1.0)
    assert np.all(np.asarray(f.delta([1e308, math.inf])) <= 1e-9)


SAMPLED = (ShiftedSubsampled, PoissonZeroOut, PoissonReplaceOne)
MEANS = (1e-300, 1e-120, 1.0, 1e60, 1e120)


@pytest.mark.parametrize("order", [1.5, 1e3, 1e100])
@pytest.mark.filterwarnings("error")
def test_renyi_divergences_are_numbers_up_to_the_largest_order(order: float) -> None:
    gaussians = [GaussianTradeoff(s).subsample(0.1) for s in MEANS]
    steps = [kind(0.1, 0.0, s) for kind in SAMPLED for s in MEANS]
    for f in (*gaussians, *steps, LaplaceTradeoff(1e308), *(g.power(1000) for g in gaussians)):
        assert f.renyi(order) > 0.0


@pytest.mark.parametrize("order", [1.01e100, 1e155, 1e308])
def test_orders_beyond_are_refused_with_the_range(order: float) -> None:
    for f in (GaussianTradeoff(1.0).subsample(0.1), LaplaceTradeoff(1.0)):
        with pytest.raises(InvalidInput, match=r"give a number in \(1, 1e\+100\]"):
            f.renyi(order)
