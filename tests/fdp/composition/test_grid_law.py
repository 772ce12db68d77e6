"""Two ways to read a law: off its Fourier coefficients, and off its atoms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    LaplaceTradeoff,
    PiecewiseLinear,
    TradeoffFunction,
)
from shiftdp.fdp.composition.enclosure import Enclosures
from shiftdp.fdp.composition.grid_law import GridLaw, tradeoff_from_grid

DELTAS = np.geomspace(1e-9, 1e-2, 30)
CASES: list[tuple[TradeoffFunction, int]] = [
    (GaussianTradeoff(0.2), 25),
    (GaussianTradeoff(1.0).subsample(0.01), 500),
    (LaplaceTradeoff(0.5), 3),
]


def laws(f: TradeoffFunction, k: int) -> list[GridLaw]:
    enclosure = Enclosures(((f, k),), 1e-3).at(np.array([1e-5]))
    assert enclosure is not None
    return [enclosure.above, enclosure.below]


@pytest.mark.parametrize(("f", "k"), CASES, ids=repr)
def test_coefficients_and_atoms_tell_the_same(f: TradeoffFunction, k: int) -> None:
    for law in laws(f, k):
        single = np.concatenate([law.epsilon(DELTAS[i : i + 1]) for i in range(DELTAS.size)])
        np.testing.assert_allclose(single, law.epsilon(DELTAS), rtol=1e-6, atol=1e-7)
        at = law.knots()[law.knots() >= 0.0][::50]
        one_by_one = np.concatenate([law.delta(at[i : i + 1]) for i in range(at.size)])
        by_atoms = law.at_knots()[law.knots() >= 0.0][::50]
        np.testing.assert_allclose(one_by_one, by_atoms, rtol=1e-6, atol=1e-11)


@pytest.mark.parametrize(("f", "k"), CASES, ids=repr)
def test_epsilon_is_on_the_safe_side_of_its_own_delta(f: TradeoffFunction, k: int) -> None:
    for law in laws(f, k):
        for delta in (1e-7, 1e-5, 1e-3):
            found = law.epsilon(np.array([delta]))
            # an upper law is at most delta there, a lower one at least
            assert law.side * (float(law.delta(found)[0]) - delta) <= 0.0
            assert float(law.delta(found)[0]) == pytest.approx(delta, rel=1e-9)


def test_outside_of_the_window_only_what_is_certain_is_said() -> None:
    above, below = laws(GaussianTradeoff(0.2), 25)
    beyond = np.array([above.low - 1.0, above.high + 1.0])
    assert above.delta(beyond)[0] == 1.0
    assert 0.0 < above.delta(beyond)[1] <= above.delta(np.array([above.high]))[0]
    assert below.delta(beyond).tolist() == [0.0, 0.0]
    tiny = np.array([1e-300])
    assert above.epsilon(tiny)[0] == np.inf
    assert below.epsilon(tiny)[0] <= below.high


def test_a_larger_error_of_the_atoms_moves_both_bounds_apart() -> None:
    at = np.array([3.0])
    for law in laws(GaussianTradeoff(0.2), 25):
        worse = replace(law, atom_error=law.atom_error + 1e-12)
        assert law.side * (worse.delta(at)[0] - law.delta(at)[0]) > 0.0


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
