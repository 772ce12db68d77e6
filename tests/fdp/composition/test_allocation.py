"""Random allocation: against integrals for two batches, and figures of other software."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from shiftdp import InvalidInput
from shiftdp.fdp import GaussianTradeoff
from shiftdp.fdp.composition.allocation import ROUGH, AllocatedZeroOut
from shiftdp.fdp.documents import tradeoff_from_dict

NODES = np.linspace(-12.0, 12.0, 4_801)
WEIGHTS = np.exp(-0.5 * NODES**2) * (NODES[1] - NODES[0]) / math.sqrt(2.0 * math.pi)


def lognormal_call(s: float, level: Any) -> Any:
    """E (e^{sY - s^2/2} - level)_+."""
    safe = np.maximum(level, 1e-300)
    d = -np.log(safe) / s
    return np.where(level > 0.0, ndtr(d + s / 2) - safe * ndtr(d - s / 2), 1.0 - level)


def two_batches(s: float, gamma: float) -> tuple[float, float]:
    """H_gamma of (1/2)(N(s e_1) + N(s e_2)) and N(0), both ways, by the trapezoidal rule."""
    first = np.exp(s * NODES - s * s / 2)
    there = float(WEIGHTS @ (0.5 * lognormal_call(s, 2.0 * gamma - first)))
    other = float(WEIGHTS @ (0.5 * lognormal_call(s, 2.0 / gamma - first)))
    return there, gamma * other - gamma + 1.0  # E (1 - gamma X)_+ by parity


@pytest.mark.parametrize("s", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_two_batches_are_the_integral_from_above(s: float, epsilon: float) -> None:
    f = AllocatedZeroOut(s, 2)
    there, back = two_batches(s, math.exp(epsilon))
    assert there * (1.0 - 1e-9) <= f.inverse().delta(epsilon) <= 1.01 * there
    assert back * (1.0 - 1e-9) <= f.delta(epsilon) <= 1.01 * back + 1e-9


def test_five_epochs_are_within_the_interval_of_another_accountant() -> None:
    """PLD_accounting 2.0 at an accuracy of 0.03: [1.19894, 1.21616], of all iterates."""
    f = AllocatedZeroOut(1.0, 100).power(5).worse_direction()
    assert 1.19894 < f.epsilon(1e-5) < 1.2075


def test_finer_grids_are_closer_and_none_is_below() -> None:
    known = AllocatedZeroOut(1.0, 30, 1 / 64)
    for f in (AllocatedZeroOut(1.0, 30, fineness) for fineness in (1 / 4, ROUGH, 1 / 32)):
        for g, h in ((f, known), (f.inverse(), known.inverse())):
            assert g.epsilon(1e-5) >= h.epsilon(1e-5) > 0.0
    coarse, rough = (AllocatedZeroOut(1.0, 30, x).epsilon(1e-5) for x in (1 / 4, ROUGH))
    assert rough - known.epsilon(1e-5) < 0.4 * (coarse - known.epsilon(1e-5))


def test_more_batches_leak_less_and_longer_moves_more() -> None:
    def delta(s: float, batches: int) -> float:
        return AllocatedZeroOut(s, batches, ROUGH).inverse().delta(0.5)

    by_batches = [delta(1.0, batches) for batches in (1, 2, 3, 7, 20, 64)]
    assert by_batches == sorted(by_batches, reverse=True)
    by_move = [delta(s, 10) for s in (0.1, 0.4, 1.0, 2.0, 5.0)]
    assert by_move == sorted(by_move)


@pytest.mark.parametrize(("s", "batches"), [(1.0, 1), (0.0, 9), (1e-9, 9), (40.0, 9), (1.0, 10**9)])
def test_where_no_law_is_computed_it_is_the_gaussian(s: float, batches: int) -> None:
    f = AllocatedZeroOut(s, batches)
    assert f.symmetric
    assert f.gdp_mu == s
    assert f.delta(0.1) == GaussianTradeoff(s).delta(0.1)
    assert f.inverse() is f


@pytest.mark.parametrize("f", [AllocatedZeroOut(1.0, 7, ROUGH), AllocatedZeroOut(0.2, 3, ROUGH)])
def test_it_is_a_tradeoff_function(f: AllocatedZeroOut) -> None:
    """Convex and falling, at most 1 - alpha, and one with its inverse and its profile."""
    alpha = np.linspace(0.0, 1.0, 41)
    for g in (f, f.inverse()):
        beta = np.asarray(g(alpha))
        assert np.all(np.diff(beta) <= 0.0)
        assert np.all(np.diff(beta, 2) >= -1e-9)
        assert np.all(beta <= 1.0 - alpha)
        # a supporting line, which no point of the curve is below
        for epsilon in (-1.0, 0.0, 0.4, 1.5):
            line = 1.0 - g.delta(epsilon) - math.exp(epsilon) * alpha
            assert np.all(beta >= line - 1e-9)
        assert g.epsilon(g.delta(0.3)) == pytest.approx(0.3, rel=1e-6)
        assert g.delta(-0.3) == pytest.approx(
            1.0 - math.exp(-0.3) * (1.0 - g.inverse().delta(0.3)), rel=1e-9
        )
    assert np.asarray(f.inverse()(np.asarray(f(alpha)))) == pytest.approx(alpha, abs=1e-6)


def test_far_tails_are_those_of_the_gaussian() -> None:
    """The law ends; what is beyond has the bound of a place that is known."""
    f = AllocatedZeroOut(1.0, 10, ROUGH)
    assert f.epsilon(1e-60) == pytest.approx(GaussianTradeoff(1.0).epsilon(1e-60), rel=1e-9)
    assert f.delta(math.inf) == 0.0
    assert f.renyi(3.0) == GaussianTradeoff(1.0).renyi(3.0)


def test_it_is_written_and_read_and_refuses_what_it_cannot_be() -> None:
    f = AllocatedZeroOut(0.7, 11, ROUGH, swapped=True)
    assert tradeoff_from_dict(f.to_dict()) == f
    assert f.inverse().inverse() is f
    given_otherwise = AllocatedZeroOut(np.asarray(0.5), 11, Fraction(1, 8))  # type: ignore[arg-type]
    assert (type(given_otherwise.s), type(given_otherwise.fineness)) == (float, float)
    assert hash(given_otherwise) == hash(AllocatedZeroOut(0.5, 11, ROUGH))
    assert hash(f) == hash(AllocatedZeroOut(0.7, 11, ROUGH, swapped=True))
    wrong: tuple[dict[str, Any], ...] = (
        {"s": -1.0}, {"batches": 0}, {"fineness": 1e-9}, {"swapped": 1},
    )  # fmt: skip
    for given in wrong:
        with pytest.raises(InvalidInput):
            AllocatedZeroOut(**{"s": 1.0, "batches": 3, **given})
