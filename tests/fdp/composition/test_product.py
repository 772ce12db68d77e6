"""Lemma "various", the failures h_delta of Lemma "complim", and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    LaplaceTradeoff,
    TradeoffFunction,
    WithFailure,
    dominates,
)
from shiftdp.fdp.composition.composite import Composite
from tests.fdp.catalogue import CATALOGUE, asymmetric, log_uniform

mus = log_uniform(1e-6, 1e3)
failures = log_uniform(1e-15, 0.9)
ALPHAS = np.linspace(0.0, 1.0, 41)
EPSILONS = np.linspace(-3.0, 6.0, 37)


def h(delta: float) -> TradeoffFunction:
    return ApproxDPTradeoff(0.0, delta)


def assert_same(f: TradeoffFunction, g: TradeoffFunction) -> None:
    np.testing.assert_allclose(f(ALPHAS), g(ALPHAS), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(f.delta(EPSILONS), g.delta(EPSILONS), rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("kind", CATALOGUE)
@settings(max_examples=10)
@given(data=st.data())
def test_identity_is_the_unit(kind: str, data: st.DataObject) -> None:
    """Lemma various (b)."""
    f = data.draw(CATALOGUE[kind])
    assert f.compose(Identity()) == f
    assert Identity().compose(f) == f
    assert f.power(1) == f
    assert f.power(0) == Identity()


@given(st.lists(mus, min_size=1, max_size=6))
def test_gaussians_add_in_squares(values: list[float]) -> None:
    """Lemma various (c), with the least float that is not below the true parameter."""
    first, *others = (GaussianTradeoff(mu) for mu in values)
    product = first.compose(*others)
    assert isinstance(product, GaussianTradeoff)
    square = sum(Fraction(mu) ** 2 for mu in values)
    assert Fraction(product.mu) ** 2 >= square
    assert Fraction(math.nextafter(product.mu, 0.0)) ** 2 < square


@given(mus, st.integers(1, 10**12))
def test_powers_of_a_gaussian(mu: float, k: int) -> None:
    product = GaussianTradeoff(mu).power(k)
    assert isinstance(product, GaussianTradeoff)
    assert Fraction(product.mu) ** 2 >= k * Fraction(mu) ** 2
    assert product.mu == pytest.approx(mu * math.sqrt(k), rel=1e-15)


@pytest.mark.parametrize("mu", [1e-200, 1e200, 5e-324, 1.7e308])
def test_squares_that_overflow_or_underflow(mu: float) -> None:
    product = GaussianTradeoff(mu).compose(GaussianTradeoff(mu))
    assert isinstance(product, GaussianTradeoff)
    assert product.mu >= mu * math.sqrt(2.0) * (1 - 1e-15)
    assert product.mu <= mu * 1.4143 or mu < 1e-320 or mu > 1e308


def test_no_privacy_stays_none() -> None:
    assert GaussianTradeoff(1.0).compose(GaussianTradeoff(math.inf)) == GaussianTradeoff(math.inf)
    assert WithFailure(GaussianTradeoff(1.0), 1.0).power(2)(0.0) == 0.0


@given(mus, mus, mus)
def test_composition_commutes_and_associates(a: float, b: float, c: float) -> None:
    f, g, k = GaussianTradeoff(a), GaussianTradeoff(b), GaussianTradeoff(c)
    assert f.compose(g) == g.compose(f)
    left, right = f.compose(g).compose(k), f.compose(g.compose(k))
    assert isinstance(left, GaussianTradeoff)
    assert isinstance(right, GaussianTradeoff)
    assert left.mu == pytest.approx(right.mu, rel=1e-15)
    assert f.compose(g, k).epsilon(1e-5) == pytest.approx(left.epsilon(1e-5), rel=1e-14)


@given(log_uniform(0.01, 5.0), failures)
def test_failures_by_their_formula(mu: float, q: float) -> None:
    """f (x) h_q is (1 - q) f(alpha/(1 - q)) up to 1 - q, and 0 beyond. [Lemma complim]"""
    f = GaussianTradeoff(mu)
    product = f.compose(h(q))
    inside = (1 - q) * (1 - 1e-12) > ALPHAS
    expected = (1 - q) * np.asarray(f(np.minimum(ALPHAS[inside] / (1 - q), 1.0)))
    np.testing.assert_allclose(
        np.asarray(product(ALPHAS))[inside], expected, rtol=1e-11, atol=1e-15
    )
    np.testing.assert_allclose(np.asarray(product(ALPHAS))[1 - q < ALPHAS], 0.0, rtol=0, atol=0)
    mixed = q + (1 - q) * np.asarray(f.delta(EPSILONS))
    np.testing.assert_allclose(product.delta(EPSILONS), mixed, rtol=1e-14)
    assert product.epsilon(q * 0.999) == math.inf


@given(failures, failures)
def test_failures_compose_to_a_failure(q: float, r: float) -> None:
    product = h(q).compose(h(r))
    either = Fraction(q) + Fraction(r) - Fraction(q) * Fraction(r)
    total = product.delta(1.0)
    assert Fraction(total) >= either
    assert total == pytest.approx(float(either), rel=1e-14)
    assert_same(product, h(min(1.0, float(either))))


@given(failures, st.integers(2, 10**6))
def test_powers_of_a_failure(q: float, k: int) -> None:
    total = h(q).power(k).delta(5.0)
    assert total == pytest.approx(-math.expm1(k * math.log1p(-q)), rel=1e-13)
    assert total <= 1.0


@given(log_uniform(0.01, 5.0), failures, failures, log_uniform(0.01, 5.0))
def test_failures_gather(mu: float, q: float, r: float, nu: float) -> None:
    """(f (x) h_q) (x) (g (x) h_r) = (f (x) g) (x) h_q (x) h_r, in any order."""
    f, g = GaussianTradeoff(mu), GaussianTradeoff(nu)
    one = f.compose(h(q)).compose(g.compose(h(r)))
    other = h(r).compose(g, h(q), f)
    assert_same(one, other)
    assert_same(one, WithFailure(f.compose(g), min(1.0, q + r - q * r)))


@given(log_uniform(0.01, 5.0), failures)
def test_an_approximate_guarantee_is_pure_with_a_failure(epsilon: float, delta: float) -> None:
    assert_same(
        ApproxDPTradeoff(epsilon).compose(h(delta)),
        ApproxDPTradeoff(epsilon, delta),
    )


@given(asymmetric, failures)
def test_one_odd_factor_with_failures(f: TradeoffFunction, q: float) -> None:
    assert_same(f.compose(h(q), Identity()), WithFailure(f, q))


@given(st.integers(2, 40), log_uniform(1e-3, 2.0), log_uniform(1e-9, 1e-2))
def test_a_power_is_repeated_composition(k: int, mu: float, q: float) -> None:
    f = WithFailure(GaussianTradeoff(mu), q)
    assert_same(f.power(k), f.compose(*[f] * (k - 1)))


@settings(max_examples=20)
@given(log_uniform(0.05, 3.0), log_uniform(0.05, 3.0), log_uniform(0.05, 3.0))
def test_composition_is_monotone(mu: float, nu: float, more: float) -> None:
    """Lemma various (a)."""
    low, high = sorted((nu, more))
    f = GaussianTradeoff(mu)
    assert dominates(f.compose(GaussianTradeoff(low)), f.compose(GaussianTradeoff(high)), 1e-6)
    assert f.compose(GaussianTradeoff(high)).epsilon(1e-6) >= f.epsilon(1e-6)


laplace, pure = LaplaceTradeoff(1.0), ApproxDPTradeoff(0.5)
sampled = GaussianTradeoff(1.0).subsample(0.1)


@pytest.mark.parametrize(
    ("factors", "normal_form"),
    [
        ((laplace, laplace), {laplace: 2}),
        ((laplace, GaussianTradeoff(2.0)), {laplace: 1, GaussianTradeoff(2.0): 1}),
        (
            (GaussianTradeoff(3.0), sampled, sampled, GaussianTradeoff(4.0), sampled),
            {sampled: 3, GaussianTradeoff(5.0): 1},
        ),
        ((pure, Identity(), laplace), {pure: 1, laplace: 1}),
    ],
)
def test_what_has_no_closed_form_is_left_to_the_engine(
    factors: tuple[TradeoffFunction, ...], normal_form: dict[TradeoffFunction, int]
) -> None:
    product = factors[0].compose(*factors[1:])
    assert isinstance(product, Composite)
    assert dict(product.factors) == normal_form


def test_failures_stay_outside_of_the_engine() -> None:
    product = WithFailure(laplace, 0.1).power(3)
    assert isinstance(product, WithFailure)
    assert product.failure == pytest.approx(1 - 0.9**3, rel=1e-14)
    assert isinstance(product.base, Composite)
    assert dict(product.base.factors) == {laplace: 3}
