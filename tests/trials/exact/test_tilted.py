"""Tilted densities: closed forms for linear F, Gaussians for sets without end."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp import ExponentialMechanism, GaussianTradeoff, Geometry, certify
from shiftdp.trials.exact.tilted import tilted_epsilon


def test_at_a_small_delta_it_comes_near_to_pure_dp() -> None:
    losses = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=1.0, diameter=2.0)
    found = tilted_epsilon(losses, 1e-12)
    assert found is not None
    assert 1.8 < found < 2.0


def test_it_is_the_closed_form_of_exponential_densities() -> None:
    """P(x > u) of a density e^{-ax} on [0, D] is (e^{-au} - e^{-aD}) / (1 - e^{-aD})."""
    L, D, delta = 3.0, 0.7, 1e-5
    u = np.linspace(0.0, D, 4001)[:-1]
    best = 0.0
    for a in np.linspace(0.01, 40.0 * L, 1500):
        with_record, without = (
            np.expm1(-rate * (D - u)) * np.exp(-rate * u) / math.expm1(-rate * D)
            for rate in (a - L, a)
            if rate != 0.0
        )
        useful = with_record > delta
        best = max(
            best, float(np.max(np.log(with_record[useful] - delta) - np.log(without[useful])))
        )
    losses = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=L, diameter=D)
    found = tilted_epsilon(losses, delta)
    assert found is not None
    assert 0.97 * best < found < best * 1.001


def test_in_a_wide_set_it_is_gaussian() -> None:
    losses = Geometry(strong_convexity=4.0, smoothness=8.0, sensitivity=2.0, diameter=40.0)
    found = tilted_epsilon(losses, 1e-5)
    assert found == pytest.approx(GaussianTradeoff(1.0).epsilon(1e-5), rel=1e-3)
    assert found is not None
    assert found <= certify(ExponentialMechanism(), losses).epsilon(1e-5)


def test_none_without_a_bounded_set() -> None:
    assert tilted_epsilon(Geometry(strong_convexity=1, smoothness=1, sensitivity=1), 1e-5) is None
