"""Confidence bounds from counts: their coverage is summed up exactly, not sampled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import beta, binom

from shiftdp import ApproxDPTradeoff, GaussianTradeoff, InvalidInput
from shiftdp.trials.confidence import Rates, binomial_low, contradicts, lower_epsilon, lower_mu

N = 25
ALL = np.arange(N + 1)


def chances(p: float) -> np.ndarray:
    return np.asarray(binom.pmf(ALL, N, p))


@pytest.mark.parametrize("risk", [0.005, 0.1])
def test_the_lower_bound_fails_no_more_often_than_its_risk(risk: float) -> None:
    low = binomial_low(ALL, N, risk)
    for p in np.linspace(0.001, 0.999, 400):
        assert float(np.sum(chances(p)[low > p])) <= risk


@given(st.integers(1, 200), st.integers(0, 200), st.floats(1e-6, 0.4))
def test_it_is_the_bound_of_clopper_and_pearson(n: int, k: int, risk: float) -> None:
    k = min(k, n)
    expected = float(beta.ppf(risk, k, n - k + 1)) if k else 0.0
    assert float(binomial_low(np.array(k), n, risk)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_bounds_on_epsilon_and_mu_hold_together_as_often_as_they_say(confidence: float) -> None:
    """Every pair of counts, for a test of two Gaussians one deviation apart."""
    mu, delta = 1.0, 1e-3
    p, q = float(ndtr(0.5)), float(ndtr(-0.5))
    true = GaussianTradeoff(mu)
    wrong = 0.0
    for hits, with_record in zip(ALL.tolist(), chances(p), strict=True):
        for alarms, without in zip(ALL.tolist(), chances(q), strict=True):
            rates = Rates(hits, N, alarms, N)
            failed = (
                lower_mu(rates, confidence=confidence) > mu
                or lower_epsilon(rates, delta=delta, confidence=confidence) > true.epsilon(delta)
                or contradicts(true, rates, confidence=confidence)
            )
            wrong += float(with_record * without) * failed
    assert wrong <= 1.0 - confidence


@given(st.integers(0, 100), st.integers(0, 100), st.floats(0.1, 4.0))
def test_a_gaussian_certificate_is_ruled_out_by_a_larger_mu(
    hits: int, alarms: int, mu: float
) -> None:
    rates = Rates(hits, 100, alarms, 100)
    found = lower_mu(rates, confidence=0.95)
    if abs(found - mu) > 1e-6:
        assert contradicts(GaussianTradeoff(mu), rates, confidence=0.95) == (found > mu)


@given(st.integers(0, 100), st.integers(0, 100), st.floats(0.1, 4.0))
def test_an_approximate_certificate_is_ruled_out_by_a_larger_epsilon(
    hits: int, alarms: int, epsilon: float
) -> None:
    rates = Rates(hits, 100, alarms, 100)
    found = lower_epsilon(rates, delta=0.01, confidence=0.95)
    if abs(found - epsilon) > 1e-6:
        ruled_out = contradicts(ApproxDPTradeoff(epsilon, 0.01), rates, confidence=0.95)
        assert ruled_out == (found > epsilon)


def test_nothing_seen_proves_nothing() -> None:
    rates = Rates(0, 50, 50, 50)
    assert lower_mu(rates, confidence=0.9) == lower_epsilon(rates, delta=0.0, confidence=0.9) == 0.0


def test_everything_seen_is_no_proof_of_infinity() -> None:
    rates = Rates(50, 50, 0, 50)
    assert 2.0 < lower_epsilon(rates, delta=1e-5, confidence=0.99) < 4.0
    assert math.isfinite(lower_mu(rates, confidence=0.99))


def test_counts_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidInput, match="hits=11 exceeds tried=10"):
        Rates(11, 10, 0, 10)
