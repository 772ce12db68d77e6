"""Estimates that steer searches, against certified numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from shiftdp._checks import Array
from shiftdp.fdp import (
    GaussianTradeoff,
)
from shiftdp.fdp.search.sampled_estimates import (
    Pair,
    best_count,
    epsilon_estimates,
    log_moments,
    orders,
    polish,
)
from tests.fdp.search.steps import STEPS

THETA = np.array([0.5, 1.0, 3.0, 8.0])


@pytest.mark.parametrize("pair", STEPS)
def test_moments_of_a_pair_are_its_renyi_divergences(pair: Pair) -> None:
    """log E_Q[r^{theta+1}] = theta D_{theta+1}."""
    found = log_moments(pair, 0.05, np.array([0.1]), 0.8, THETA)[0]
    exact = [theta * STEPS[pair].renyi(theta + 1.0) for theta in THETA.tolist()]
    assert found == pytest.approx(exact, rel=2e-3, abs=1e-7)


def test_a_step_that_everybody_takes_is_gaussian() -> None:
    far = log_moments("two_sided", 1.0, np.array([0.1]), 0.8, THETA)[0]
    assert far == pytest.approx(0.5 * THETA * (THETA + 1.0) * 1.7**2)
    near = log_moments("symmetric", 0.3, np.array([0.4]), 0.0, THETA)[0]
    assert near == pytest.approx(0.5 * THETA * (THETA + 1.0) * 0.4**2)


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_the_estimate_of_a_gaussian_is_close(mu: float, delta: float) -> None:
    rough = orders(mu)
    for theta in (rough, orders(mu, _best(mu, rough, delta))):
        estimate, _ = epsilon_estimates(_gaussian(mu, theta), theta, delta)
    assert float(estimate[0]) == pytest.approx(GaussianTradeoff(mu).epsilon(delta), rel=0.1)


def _gaussian(mu: float, theta: Array) -> Array:
    return np.asarray(0.5 * mu * mu * theta * (theta + 1.0))[None, :]


def _best(mu: float, theta: Array, delta: float) -> float:
    return float(epsilon_estimates(_gaussian(mu, theta), theta, delta)[1][0])


def test_the_best_count_is_where_the_cost_is_least() -> None:
    """A step adds 0.01 to mu^2, and what was before it counts the less, the longer ago it is."""

    def square(count: int) -> float:
        return 0.01 * count + 100.0 / count**2

    def cumulants(counts: Sequence[int], theta: Array) -> Array:
        return np.concatenate([_gaussian(math.sqrt(square(n)), theta) for n in counts])

    count, epsilon = best_count(cumulants, 1.0, 1000, 1e-5)
    best = min(range(1, 1001), key=square)
    assert square(count) <= 1.02 * square(best)
    exact = GaussianTradeoff(math.sqrt(square(best))).epsilon(1e-5)
    assert epsilon == pytest.approx(exact, rel=0.1)


def test_polishing_finds_the_bottom_of_a_bowl_and_never_gets_worse() -> None:
    def bowl(x: float, y: float) -> float:
        return (x - 0.3) ** 2 + 2.0 * (y + 0.2) ** 2

    (x, y), value = polish(bowl, (0.0, 0.0))
    assert abs(x - 0.3) <= 0.11
    assert abs(y + 0.2) <= 0.11
    assert value == bowl(x, y) < bowl(0.0, 0.0)
    assert polish(bowl, (0.3, -0.2)) == ((0.3, -0.2), 0.0)
