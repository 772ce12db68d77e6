"""Epsilon of many mixtures of Gaussians: each as by itself, and on the private side."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.fdp import GaussianTradeoff, LaplaceTradeoff, Mixture
from shiftdp.fdp.functions.many_mixtures import is_gaussian_mixture, mixture_epsilons
from tests.fdp.catalogue import log_uniform

parts = st.lists(log_uniform(1e-3, 20.0), min_size=1, max_size=5)


@settings(max_examples=15)
@given(st.lists(parts, min_size=1, max_size=4), st.sampled_from([0.3, 1e-5, 1e-12, 1e-200]))
def test_each_as_by_itself(mus: list[list[float]], delta: float) -> None:
    mixtures = [
        Mixture([GaussianTradeoff(mu) for mu in row], range(1, len(row) + 1)) for row in mus
    ]
    found = mixture_epsilons(mixtures, delta)
    for f, epsilon in zip(mixtures, found.tolist(), strict=True):
        assert f.delta(epsilon) <= delta
        assert epsilon == pytest.approx(f.epsilon(delta), rel=2e-12, abs=1e-300)


def test_what_leaks_nothing_and_what_is_hidden_by_the_others() -> None:
    still = Mixture([GaussianTradeoff(0.0), GaussianTradeoff(0.0)])
    rare = Mixture([GaussianTradeoff(0.0), GaussianTradeoff(30.0)], [1.0, 1e-7])
    found = mixture_epsilons([still, rare, rare], 1e-6)
    assert found.tolist() == [0.0, 0.0, 0.0]
    assert mixture_epsilons([rare], 1e-8)[0] == pytest.approx(rare.epsilon(1e-8), rel=2e-12)


def test_what_is_such_a_mixture() -> None:
    plain = GaussianTradeoff(1.0)
    assert is_gaussian_mixture(Mixture([plain, GaussianTradeoff(0.0)]))
    assert not is_gaussian_mixture(plain)
    assert not is_gaussian_mixture(Mixture([plain, LaplaceTradeoff(1.0)]))
    assert not is_gaussian_mixture(Mixture([plain, GaussianTradeoff(math.inf)]))
    assert np.isfinite(mixture_epsilons([Mixture([plain])], 1e-5)).all()
