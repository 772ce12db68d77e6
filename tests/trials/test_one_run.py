"""The bound of Steinke, Nasr and Jagielski: published figures, and simulations that try it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from shiftdp import ApproxDPTradeoff, GaussianTradeoff, InvalidInput
from shiftdp.trials.one_run import (
    chance_of_guesses,
    chance_under,
    epsilon_from_guesses,
    mu_from_guesses,
)


def test_the_published_example() -> None:
    """75 of 100 right under randomised response of log 3: about .55."""
    found = chance_of_guesses(100, 100, 75, epsilon=math.log(3.0), delta=0.0)
    assert found == pytest.approx(0.5535, abs=1e-4)


@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 60), st.floats(0.0, 5.0))
def test_it_is_the_formula_summed_term_by_term(m: int, r: int, v: int, epsilon: float) -> None:
    r = min(r, m)
    v, delta = min(v, r), 1e-3
    law = binom.pmf(np.arange(r + 1), r, 1.0 / (1.0 + math.exp(-epsilon)))
    alpha = max((math.fsum(law[v - i : v]) / i for i in range(1, v + 1)), default=0.0)
    expected = min(1.0, math.fsum(law[v:]) + 2.0 * m * delta * alpha)
    found = chance_of_guesses(m, r, v, epsilon=epsilon, delta=delta)
    assert found == pytest.approx(expected if v else 1.0, rel=1e-6, abs=1e-12)


def survives(hits: np.ndarray, m: int, r: int, **claim: float) -> None:
    """However many hits are asked for, no more audits reach them than the bound says."""
    for v in range(r + 1):
        bound = chance_of_guesses(m, r, v, epsilon=claim["epsilon"], delta=claim["delta"])
        seen = float(np.mean(hits >= v))
        assert seen <= bound + 4.0 * math.sqrt(max(bound * (1.0 - bound), 1e-4) / hits.size)


def test_simulated_randomised_response_keeps_to_it() -> None:
    rng = np.random.default_rng(0)
    m, epsilon = 30, 1.0
    right = rng.random((20_000, m)) < 1.0 / (1.0 + math.exp(-epsilon))
    survives(right.sum(axis=1), m, m, epsilon=epsilon, delta=0.0)


def test_a_mechanism_that_fails_with_probability_delta_keeps_to_it() -> None:
    """With probability m delta it gives all coins away, else it says nothing: (0, m delta)-DP."""
    rng = np.random.default_rng(1)
    m, delta = 20, 0.05
    fails = rng.random(20_000) < delta
    hits = np.where(fails, m, rng.binomial(m, 0.5, fails.size))
    survives(hits, m, m, epsilon=0.0, delta=delta)


def test_gaussian_sums_keep_to_the_bound_for_gdp_as_often_as_stated() -> None:
    """m coins, each in a coordinate of its own: G(mu) each; the auditor guesses the clearest."""
    rng = np.random.default_rng(2)
    m, r, mu, trials = 60, 15, 1.0, 400
    coins = rng.random((trials, m)) < 0.5
    seen = mu * (coins - 0.5) + rng.standard_normal((trials, m))
    clearest = np.argsort(-np.abs(seen), axis=1)[:, :r]
    right = np.take_along_axis((seen > 0.0) == coins, clearest, axis=1).sum(axis=1)
    rejected = {
        int(hits): chance_under(GaussianTradeoff(mu), m, r, int(hits)) <= 0.1
        for hits in np.unique(right)
    }
    assert np.mean([rejected[int(hits)] for hits in right]) <= 0.1
    weaker = chance_under(GaussianTradeoff(0.05), m, r, r)
    assert weaker < 0.1  # and it can reject


@pytest.mark.parametrize("hits", [60, 80, 100])
def test_what_is_rejected_is_rejected(hits: int) -> None:
    epsilon = epsilon_from_guesses(1000, 100, hits, delta=1e-5, confidence=0.95)
    mu = mu_from_guesses(1000, 100, hits, confidence=0.95)
    assert chance_of_guesses(1000, 100, hits, epsilon=epsilon, delta=1e-5) <= 0.05
    assert chance_under(GaussianTradeoff(mu), 1000, 100, hits) <= 0.05
    above = ApproxDPTradeoff(epsilon + 0.05, 1e-5)
    assert chance_under(above, 1000, 100, hits) > 0.02


def test_half_of_the_guesses_right_prove_nothing() -> None:
    assert epsilon_from_guesses(100, 100, 50, delta=0.0, confidence=0.9) == 0.0
    assert mu_from_guesses(100, 100, 50, confidence=0.9) == 0.0


def test_more_hits_than_guesses_are_refused() -> None:
    with pytest.raises(InvalidInput, match="hits=5"):
        chance_of_guesses(10, 4, 5, epsilon=1.0, delta=0.0)
