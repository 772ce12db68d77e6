"""f from its profile: below the exact one whatever the search does, and close to it."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mpf

from shiftdp._checks import Array
from shiftdp.fdp import GaussianTradeoff, LaplaceTradeoff, PiecewiseLinear, TradeoffFunction
from shiftdp.fdp.duality import (
    smooth_tradeoff,
    tradeoff_from_profile,
    tradeoff_from_smooth_profile,
)
from tests.fdp import exact

ALPHA = np.array([0.0, 1e-12, 1e-5, 0.01, 0.2, 0.5, 0.9, 1.0 - 1e-6, 1.0])
FUNCTIONS: list[TradeoffFunction] = [
    GaussianTradeoff(0.1),
    GaussianTradeoff(3.0),
    LaplaceTradeoff(1.0),
    PiecewiseLinear([0, 0.1, 0.5, 1], [0.9, 0.6, 0.1, 0]),
]


def check(f: TradeoffFunction, found: Array, within: float) -> None:
    for alpha, value in zip(ALPHA.tolist(), found.tolist(), strict=True):
        true = exact.beta(f, alpha)
        assert mpf(value) <= true + mpf("1e-17")
        assert value == pytest.approx(float(true), abs=within)


@pytest.mark.parametrize("f", FUNCTIONS, ids=repr)
def test_the_search_finds_f(f: TradeoffFunction) -> None:
    check(f, tradeoff_from_profile(f._delta, f.inverse()._delta, ALPHA), 1e-13)


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_the_table_finds_a_smooth_f(mu: float) -> None:
    f = GaussianTradeoff(mu)
    check(f, tradeoff_from_smooth_profile(f._delta, f._delta, ALPHA), 2e-6)
    check(f, smooth_tradeoff(f, ALPHA), 2e-6)


def test_a_profile_that_is_too_large_gives_an_f_that_is_too_small() -> None:
    f = GaussianTradeoff(1.0)

    def larger(epsilon: Array) -> Array:
        return f._delta(epsilon) * 1.01

    found = tradeoff_from_profile(larger, larger, ALPHA)
    check(f, found, 0.011)
    assert np.all(found[2:7] < np.asarray(f(ALPHA[2:7])))
