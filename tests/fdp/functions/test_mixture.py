"""Mechanisms drawn at random, and revealed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.fdp import GaussianTradeoff, LaplaceTradeoff, Mixture
from shiftdp.fdp.functions import subsampling as sampling
from shiftdp.fdp.functions.mixture import is_gaussian_mixture, mixture_epsilons
from tests.fdp.catalogue import log_uniform


def test_the_ends_of_f_need_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a search")

    monkeypatch.setattr(sampling, "most", refuse)
    monkeypatch.setattr(Mixture, "_beta", refuse)
    mixed = Mixture([GaussianTradeoff(0.0), GaussianTradeoff(0.29)], [0.0, 1.0])
    for f in (mixed, mixed.subsample(7.5e-197)):
        assert f(1.0) == 0.0
        assert f(0.0) == 1.0


@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.floats(-3.0, 6.0))
def test_the_profile_is_the_average_of_the_profiles(counts: list[int], epsilon: float) -> None:
    parts = (GaussianTradeoff(0.5), LaplaceTradeoff(1.0), GaussianTradeoff(2.0))
    weights = np.array(counts) / sum(counts)
    average = float(weights @ [f.delta(epsilon) for f in parts])
    assert Mixture(parts, weights).delta(epsilon) == pytest.approx(average, rel=1e-12)


def test_one_component_is_itself_to_a_test() -> None:
    f, alpha = GaussianTradeoff(1.3), np.linspace(0.0, 1.0, 41)
    np.testing.assert_allclose(Mixture([f])(alpha), f(alpha), rtol=0, atol=1e-12)


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


@pytest.mark.parametrize("weights", [0.5, [0.5, [0.5]], ["a", "b"], np.array(0.5), None.__class__])
def test_weights_that_are_no_list_of_numbers_are_refused(weights: object) -> None:
    """Found by fuzzing: NumPy's own errors came through."""
    with pytest.raises(InvalidInput, match="weights="):
        Mixture([GaussianTradeoff(0.5), GaussianTradeoff(1.0)], weights)  # type: ignore[arg-type]


def test_weights_may_come_from_a_generator() -> None:
    f = [GaussianTradeoff(0.5), GaussianTradeoff(1.0)]
    assert Mixture(f, (w for w in (0.25, 0.75))) == Mixture(f, [0.25, 0.75])
