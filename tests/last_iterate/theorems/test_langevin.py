"""Langevin Monte Carlo and the exponential mechanism."""

from __future__ import annotations

import math

import pytest

from shiftdp import ApproxDPTradeoff, Maximum
from shiftdp.interpolation.closed_forms.langevin import lmc_stationary_convex, lmc_uniform
from shiftdp.last_iterate import ExponentialMechanism, LangevinMC
from tests.last_iterate.theorems import usual
from tests.last_iterate.theorems.by_name import bounds

EXAMPLES: usual.Examples = {
    "pure DP": (ExponentialMechanism(), usual.SMALL),
    "Prop lmc": (LangevinMC(steps=30, learning_rate=0.1), usual.RIDGE),
    "Cor expmechsc": (LangevinMC(steps=math.inf, learning_rate=0.1), usual.RIDGE),
    "Cor expmechconvex": (ExponentialMechanism(), usual.BALL),
    "Cor expmechsc and pure DP": (ExponentialMechanism(), usual.STEEP),
    "Cor expmechconvex and pure DP": (ExponentialMechanism(), usual.SMALL),
}


def test_theorems_on_samplers_are_called_with_the_right_lipschitz_constant() -> None:
    chain = LangevinMC(steps=math.inf, learning_rate=0.2)
    found = bounds(chain, diameter=1.5)
    assert found["Cor expmechsc"].mu == pytest.approx(lmc_uniform(0.5, 4.0, 3.0, 0.2))
    # Geometry.sensitivity is the distance of two gradients: twice the Lipschitz constant of each
    wide = lmc_stationary_convex(1.5, 1.5, 4.0, 0.2)
    assert 0.8 * wide < (found["Cor expmechconvex"].mu or 0.0) <= wide
    draw = bounds(ExponentialMechanism(), diameter=1.5)
    assert draw["Cor expmechsc"].mu == pytest.approx(3.0 / math.sqrt(0.5))
    assert draw["Cor expmechconvex"].mu == pytest.approx(math.sqrt(2 * 3.0 * 1.5))
    pure = draw["pure DP"].f
    assert isinstance(pure, ApproxDPTradeoff)
    assert pure.budget_epsilon == pytest.approx(3.0 * 1.5)
    assert pure.budget_delta == 0.0
    assert isinstance(draw["Cor expmechconvex and pure DP"].f, Maximum)
