"""The tradeoff curve of a law with atoms, against the knots of the exact one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp.fdp import ApproxDPTradeoff, PiecewiseLinear, TradeoffFunction
from shiftdp.fdp.composition.enclosure import Enclosures
from shiftdp.fdp.composition.grid_curve import tradeoff_from_grid

ALPHA = np.array([0.0, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.8, 0.99, 1.0])
LOPSIDED = PiecewiseLinear([0, 0.2, 1], [1, 0.4, 0])


def binomial(x: float, y: float, k: int) -> PiecewiseLinear:
    """T(P^k, Q^k) of two coins that fall on the first side with probability x, or 1 - y."""
    heads = np.arange(k, -1, -1)
    ways = np.array([math.comb(k, int(h)) for h in heads], dtype=np.float64)
    p = ways * x**heads * (1.0 - x) ** (k - heads)
    q = ways * (1.0 - y) ** heads * y ** (k - heads)
    alpha, beta = np.append(0.0, np.cumsum(p)), np.append(1.0, 1.0 - np.cumsum(q))
    alpha[-1], beta[-1] = 1.0, 0.0
    return PiecewiseLinear(alpha, np.clip(beta, 0.0, 1.0 - alpha))


@pytest.mark.parametrize(
    ("f", "x", "y"),
    [(ApproxDPTradeoff(1.0), 1.0 / (1.0 + math.e), 1.0 / (1.0 + math.e)), (LOPSIDED, 0.2, 0.4)],
    ids=["symmetric", "lopsided"],
)
@pytest.mark.parametrize("k", [2, 7])
def test_the_curve_of_coins(f: TradeoffFunction, x: float, y: float, k: int) -> None:
    enclosure = Enclosures(((f, k),), 1e-3).curve(0)
    assert enclosure is not None
    found = tradeoff_from_grid(enclosure.above, f.symmetric, ALPHA)
    exact = np.asarray(binomial(x, y, k)(ALPHA))
    assert np.all(found <= exact + 1e-12)
    # a curve is tilted to small deltas, which are known best: large ones are 0.4 here
    assert found == pytest.approx(exact, abs=5e-3)
