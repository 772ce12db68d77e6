"""What a function that states little has by default: everything follows from its profile."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp import GaussianTradeoff, NoClosedForm
from shiftdp._checks import Array
from shiftdp.fdp import TradeoffFunction


class OnlyItsProfile(TradeoffFunction):
    """G(mu), of which nothing is known but delta(eps)."""

    symmetric = True

    def __init__(self, mu: float) -> None:
        self.known = GaussianTradeoff(mu)

    def _delta(self, epsilon: Array) -> Array:
        return self.known._delta(epsilon)


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_curve_and_epsilon_follow_from_the_profile(mu: float) -> None:
    f, known = OnlyItsProfile(mu), GaussianTradeoff(mu)
    alpha = np.array([1e-6, 0.1, 0.5, 0.9])
    assert f(alpha) == pytest.approx(known(alpha), rel=1e-9)
    assert np.all(np.asarray(f(alpha)) <= np.asarray(known(alpha)) * (1 + 1e-12))
    for delta in (1e-9, 1e-5, 0.3):
        assert f.epsilon(delta) == pytest.approx(known.epsilon(delta), rel=1e-9)
        assert f.delta(f.epsilon(delta)) <= delta


def test_an_infinite_loss_needs_an_infinite_epsilon() -> None:
    class Lost(OnlyItsProfile):
        def _delta(self, epsilon: Array) -> Array:
            return np.maximum(super()._delta(epsilon), 0.01)

    f = Lost(1.0)
    assert f.epsilon(0.005) == math.inf
    assert f.epsilon(0.02) == pytest.approx(GaussianTradeoff(1.0).epsilon(0.02), rel=1e-9)
    assert f._gaussian_below()[1] == 0.01


def test_a_floor_replaces_what_is_below_it() -> None:
    f = OnlyItsProfile(1.0)
    at, floor = np.array([0.5, 30.0]), np.array([1e-9, 1e-9])
    assert f._delta_or(at, floor).tolist() == [f._delta(at)[0], 1e-9]
    assert f._epsilon_or(np.array([1e-5]), np.array([50.0])).tolist() == [50.0]
    assert np.all(f._delta_below(at) <= f._delta(at))


def test_what_is_not_stated_is_refused_by_name() -> None:
    f = OnlyItsProfile(1.0)
    assert not f._smooth
    assert not f._curved
    with pytest.raises(NoClosedForm, match="slope of its profile"):
        f._tangents(np.array([1.0]))
    with pytest.raises(NoClosedForm, match="Renyi divergence"):
        f.renyi(2.0)
    f.symmetric = False
    with pytest.raises(NoClosedForm, match="no inverse"):
        f.inverse()


def test_a_profile_and_its_symmetry_have_to_be_stated() -> None:
    with pytest.raises(TypeError, match="abstract"):
        TradeoffFunction()  # type: ignore[abstract]
