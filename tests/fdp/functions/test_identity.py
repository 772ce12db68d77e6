"""Perfect privacy."""

import math

import numpy as np
import pytest

from shiftdp.fdp import GaussianTradeoff, Identity, LaplaceTradeoff, TradeoffFunction

PERFECT = Identity()


def test_every_test_is_a_guess() -> None:
    alpha = np.linspace(0.0, 1.0, 101)
    np.testing.assert_allclose(PERFECT(alpha), 1.0 - alpha, rtol=3e-16, atol=0)
    assert PERFECT.advantage() == 0.0
    assert PERFECT.delta(0.0) == PERFECT.epsilon(1e-300) == PERFECT.renyi(1e6) == 0.0
    # 1 - e^epsilon for epsilon < 0
    assert PERFECT.delta(-1.0) == pytest.approx(1.0 - math.exp(-1.0), rel=1e-14)


@pytest.mark.parametrize("f", [GaussianTradeoff(1.0), LaplaceTradeoff(0.3)], ids=repr)
def test_it_adds_nothing_to_a_product(f: TradeoffFunction) -> None:
    assert PERFECT.compose(f) == f.compose(PERFECT) == f
    assert PERFECT.power(10**9) == PERFECT
    assert PERFECT.subsample(0.1).advantage() == f.subsample(0.0).advantage() == 0.0
