"""The Laplace mechanism."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings

from shiftdp.fdp import ApproxDPTradeoff, LaplaceTradeoff, dominates
from tests.fdp.catalogue import log_uniform


@settings(max_examples=40)
@given(log_uniform(0.01, 8.0), log_uniform(0.01, 8.0))
def test_laplace_against_pure_privacy(mu: float, epsilon: float) -> None:
    """Lap(mu) is mu-DP and no better."""
    laplace, pure = LaplaceTradeoff(mu), ApproxDPTradeoff(epsilon)
    assume(abs(mu - epsilon) > 1e-6)
    if mu < epsilon:
        assert dominates(laplace, pure)
    elif laplace.delta(epsilon) > 1e-6:
        assert dominates(laplace, pure).holds is False


@settings(max_examples=40)
@given(log_uniform(0.01, 8.0), log_uniform(1e-3, 1.0))
def test_the_profile_by_hand(mu: float, share: float) -> None:
    """Pr(L > eps) - e^eps Pr(...) = 1 - e^{(eps - mu)/2} for eps in [0, mu], from the densities."""
    epsilon = share * mu
    f = LaplaceTradeoff(mu)
    assert f.delta(epsilon) == pytest.approx(-math.expm1((epsilon - mu) / 2), rel=1e-12, abs=1e-15)
    assert f.delta(mu * 1.001) == 0.0
    # half of the records are beyond the middle of either law
    assert f(0.5) == pytest.approx(0.5 * math.exp(-mu), rel=1e-12)
