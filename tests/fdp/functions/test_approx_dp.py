"""(epsilon, delta)-DP: its corners, and the Gaussian that it implies."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp import ApproxDPTradeoff


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 1e-3, 0.7, 5.0, 35.0, 200.0, 699.0, 2000.0])
def test_pure_dp_implies_the_gaussian_that_touches_it(epsilon: float) -> None:
    mu = ApproxDPTradeoff(epsilon).implied_mu()
    with mpmath.workdps(60):
        corner = 1 / (1 + mpmath.exp(mpf(epsilon)))
        assert mpmath.ncdf(-mpf(mu) / 2) <= corner
        if epsilon < 708.0:
            assert mpmath.ncdf(-mpf(mu) / 2 * (1 - mpf("1e-8"))) > corner


@given(st.floats(0.0, 30.0), st.floats(0.0, 0.9))
def test_its_corner_is_where_both_errors_are_equal(epsilon: float, delta: float) -> None:
    """f(alpha) = alpha at (1 - delta)/(1 + e^epsilon), and max(1 - delta - e^eps alpha, ...)."""
    f = ApproxDPTradeoff(epsilon, delta)
    corner = (1.0 - delta) / (1.0 + math.exp(epsilon))
    assert f(corner) == pytest.approx(corner, rel=1e-12)
    for share in (0.0, 0.25, 0.9):
        left = 1.0 - delta - math.exp(epsilon) * share * corner
        assert f(share * corner) == pytest.approx(left, rel=1e-12)
    assert f.epsilon(delta) == pytest.approx(epsilon, rel=1e-12)
    assert f.advantage() == pytest.approx(1.0 - 2.0 * corner, rel=1e-9, abs=1e-14)
