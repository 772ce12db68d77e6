"""Points of a tradeoff function, and its drawing."""

import re

import numpy as np

from shiftdp.fdp import GaussianTradeoff, Identity
from shiftdp.privacy.statement.curve import drawing, profile_points, tradeoff_points
from tests.privacy.statement.examples import certificates


def test_points_are_those_of_the_function() -> None:
    alpha = np.linspace(0.0, 1.0, 21)
    f = GaussianTradeoff(1.0)
    assert np.array_equal(tradeoff_points(f, alpha), f(alpha))


def test_points_of_a_composed_function_lie_below_it_and_close() -> None:
    f = certificates()["poisson"].f
    alpha = np.array([0.01, 0.1, 0.3, 0.7])
    points = tradeoff_points(f, alpha)
    exact = np.asarray(f(alpha))
    assert np.all(points <= exact + 1e-5)  # both are bounds, read off other grids
    assert np.all(points >= exact - 5e-3)


def test_a_profile_falls() -> None:
    eps, delta = profile_points(GaussianTradeoff(1.0))
    assert eps[0] == 0.0
    assert np.all(np.diff(eps) >= 0)
    assert np.all(np.diff(delta) <= 0)
    assert profile_points(Identity())[0].size == 1


def test_a_drawing_starts_and_ends_in_the_corners() -> None:
    (curve,) = re.findall(r'class="curve" d="M([^"]*)"', drawing(GaussianTradeoff(1.0)))
    points = [tuple(map(float, point.split())) for point in curve.split("L")]
    assert points[0] == (62.0, 14.0)
    assert points[-1] == (362.0, 314.0)
