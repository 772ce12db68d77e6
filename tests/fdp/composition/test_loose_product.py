"""Bounds on products that need no grid."""

from __future__ import annotations

import numpy as np
import pytest

from shiftdp.fdp import ApproxDPTradeoff, GaussianTradeoff, LaplaceTradeoff, Mixture
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.composition.loose_product import LooseProduct


def test_the_bounds_without_a_grid_are_above_the_exact_numbers() -> None:
    parts = ((GaussianTradeoff(0.4).subsample(0.02), 40),)
    loose, fine = LooseProduct(parts), Composite(parts)
    deltas = np.array([1e-9, 1e-5, 0.01])
    exact = [fine.epsilon_interval(d)[0] for d in deltas.tolist()]
    assert np.all(loose.epsilon(deltas) >= exact)
    assert np.all(loose.epsilon(deltas) <= np.array(exact) * 2.0 + 0.1)
    eps = np.array([-0.1, 0.0, 0.1, 1.0, 5.0])
    assert np.all(loose.delta(eps) >= np.asarray(fine.delta(eps)) * (1.0 - 1e-2))
    gaussian = LooseProduct(((GaussianTradeoff(12.0), 9), (GaussianTradeoff(27.0), 1)))
    assert gaussian.epsilon(deltas) == pytest.approx(GaussianTradeoff(45.0).epsilon(deltas))


def test_many_pure_mechanisms_with_a_small_epsilon_are_nearly_gaussian() -> None:
    """mu is eps sqrt(pi/2) sqrt(k), and the moments, which need no such bound, are no better."""
    k, epsilon = 10_000, 1e-5
    loose = LooseProduct(((ApproxDPTradeoff(epsilon), k),))
    mu = epsilon * np.sqrt(0.5 * np.pi * k)
    assert loose.gaussian.implied_mu() == pytest.approx(mu, rel=1e-6)
    exact = Composite(((ApproxDPTradeoff(epsilon), k),), 1e-5).epsilon_between(1e-9)
    assert (
        exact[0] <= loose.epsilon(np.array([1e-9]))[0] <= GaussianTradeoff(mu * 1.01).epsilon(1e-9)
    )


def test_failures_of_the_factors_add_up() -> None:
    loose = LooseProduct(((ApproxDPTradeoff(1.0, 1e-6), 3), (GaussianTradeoff(0.5), 1)))
    assert loose.gaussian.split_failure()[1] == pytest.approx(3e-6, rel=1e-12)
    assert loose.epsilon(np.array([2e-6]))[0] == np.inf
    assert loose.epsilon(np.array([4e-6]))[0] < np.inf


def test_the_other_direction_is_that_of_the_inverses() -> None:
    factors = ((Mixture([LaplaceTradeoff(1.0), GaussianTradeoff(0.5)]), 4),)
    at = np.array([1e-5])
    assert LooseProduct(factors).inverse().epsilon(at) == LooseProduct(factors).epsilon(at)


def test_one_delta_asks_for_some_of_the_moments_and_has_the_least_bound_of_all() -> None:
    asked: list[float] = []

    class Counted(GaussianTradeoff):
        def _log_moment(self, order: float) -> float:
            asked.append(order)
            return super()._log_moment(order)

        def _gaussian_below(self) -> tuple[float, float]:
            return 1e3, 0.0  # so that moments are what counts

    for delta in (1e-12, 1e-5, 0.3):
        one, all_orders = (LooseProduct(((Counted(0.7), 5),)) for _ in range(2))
        asked.clear()
        found = one.epsilon(np.array([delta]))[0]
        assert len(asked) < 30
        assert found == all_orders.epsilon(np.array([delta, 0.5]))[0]
        assert len(asked) > 60
