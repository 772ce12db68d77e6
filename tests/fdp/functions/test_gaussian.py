"""Gaussian differential privacy."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp import GaussianTradeoff
from tests.fdp.catalogue import log_uniform


def exact_delta(mu: mpf, epsilon: mpf) -> mpf:
    """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu). [BSA24, Lemma gdptodp]"""
    above, below = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return mpmath.ncdf(above) - mpmath.exp(epsilon) * mpmath.ncdf(below)


@settings(max_examples=50)
@given(log_uniform(1e-2, 20.0), log_uniform(1e-12, 0.3))
def test_a_budget_is_met_and_a_little_more_is_too_much(epsilon: float, delta: float) -> None:
    mu = GaussianTradeoff.from_budget(epsilon, delta).mu
    with mpmath.workdps(60):
        assert exact_delta(mpf(mu), mpf(epsilon)) <= mpf(delta)
        assert exact_delta(mpf(mu) * (1 + mpf("1e-9")), mpf(epsilon)) > mpf(delta)


@pytest.mark.parametrize(
    ("mu", "delta", "epsilon"),
    # [Dong, Roth and Su 2022] for mu = 1; the table of the MNIST experiment for composition
    [(1.0, 0.126937, 1.0), (4.714045207910317, 1e-5, 30.51), (9.428090415820634, 1e-5, 83.83)],
)
def test_known_guarantees(mu: float, delta: float, epsilon: float) -> None:
    assert GaussianTradeoff(mu).epsilon(delta) == pytest.approx(epsilon, rel=2e-4)


@given(st.floats(1e-150, 1e150))
def test_concentrated_privacy_is_rounded_up(mu: float) -> None:
    rho = Fraction(GaussianTradeoff(mu).zcdp)
    exact = Fraction(mu) ** 2 / 2
    assert exact <= rho <= exact * (1 + Fraction(1, 2**50))


def test_squares_add_up_in_products() -> None:
    assert GaussianTradeoff(3.0).compose(GaussianTradeoff(4.0)) == GaussianTradeoff(5.0)
    assert GaussianTradeoff(0.5).power(16) == GaussianTradeoff(2.0)
