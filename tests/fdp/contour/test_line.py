"""Where the integral is not known well enough, it is refused."""

from __future__ import annotations

import math

import pytest

from shiftdp.fdp import ApproxDPTradeoff, LaplaceTradeoff, TradeoffFunction
from shiftdp.fdp.contour.estimate import (
    ContourEstimate,
    ContourRefusal,
    estimate_delta,
    estimate_epsilon,
)
from tests.fdp.contour.cases import ASYMMETRIC, NOISE, Parts, subsampled
from tests.fdp.tilted_fft import reference_log_delta


@pytest.mark.parametrize("k", [1, 2, 10, 1000, 10**6])
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-30])
def test_lattices_alone_are_refused(k: int, delta: float) -> None:
    """Their delta is not smooth in eps; where eps = 0 serves, it may be seen."""
    assert estimate_epsilon([(ApproxDPTradeoff(0.1), k)], delta) is None


@pytest.mark.parametrize("f", [subsampled(0.1, 10.0), subsampled(0.025, 2 / 3), ASYMMETRIC])
def test_one_factor_is_right_or_refused(f: TradeoffFunction) -> None:
    for delta in (0.4, 1e-2, 1e-5, 1e-12, 1e-30):
        estimate = estimate_epsilon([(f, 1)], delta)
        if estimate is not None:
            assert estimate.value == pytest.approx(f.epsilon(delta), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("t", [2, 5, 10])
def test_few_factors_are_right_or_refused(t: int) -> None:
    parts: Parts = [(subsampled(0.025, 2 / 3), t)]
    for eps in (0.05, 0.5):
        estimate = estimate_delta(parts, eps)
        if estimate is not None:
            true, error = reference_log_delta(parts, eps, 2.5e-4, 6.0, 32.0)
            assert math.log(estimate.value) == pytest.approx(true, abs=NOISE + error)


def test_a_refusal_says_why() -> None:
    with pytest.raises(ContourRefusal, match="decays too slowly; compose on a grid instead"):
        ContourEstimate.of([(LaplaceTradeoff(0.1), 10)]).epsilon(1e-5)
