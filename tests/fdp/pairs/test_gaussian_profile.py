"""eps(delta), delta(eps) and mu(eps, delta) of G(mu) against 45-digit arithmetic."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp import GaussianTradeoff
from shiftdp.fdp.pairs.gaussian_arrays import gaussian_epsilon_array
from shiftdp.fdp.pairs.gaussian_profile import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_log_delta,
    gaussian_mu,
)
from tests.fdp import exact
from tests.fdp.catalogue import log_uniform

MUS = [1e-6, 1e-4, 1e-2, 0.0999, 0.1001, 0.5, 1.0, 3.0, 10.0, 100.0, 1e3]
DELTAS = [1e-300, 1e-100, 1e-30, 1e-12, 1e-5, 1e-2, 0.3, 0.5]
CASES = list(itertools.product(MUS, DELTAS))

mus, deltas = log_uniform(1e-6, 1e3), log_uniform(1e-300, 0.5)
# a relative distance from delta(0), on both sides
offsets = st.builds(lambda r, sign: sign * r, log_uniform(1e-15, 0.1), st.sampled_from([-1, 1]))


def assert_epsilon(value: float, mu: float, delta: float, below: float, above: float) -> None:
    """value lies between 1 - below and 1 + above times eps(delta), as its profile shows."""
    if exact.gaussian_delta(mu, 0) <= mpf(delta):
        assert value == 0.0
        return
    assert 0.0 < value < math.inf
    assert exact.gaussian_delta(mu, mpf(value) / (1 - mpf(below))) <= mpf(delta)
    assert exact.gaussian_delta(mu, mpf(value) / (1 + mpf(above))) >= mpf(delta)


def check_epsilon(mu: float, delta: float) -> None:
    f = GaussianTradeoff(mu)
    vector = gaussian_epsilon_array(np.full(100, mu), np.array([delta]))  # as many are solved
    assert_epsilon(gaussian_epsilon(mu, delta), mu, delta, 3.9e-13, 3.9e-13)
    assert_epsilon(float(vector[0]), mu, delta, 3.9e-13, 3.9e-13)
    assert_epsilon(f.epsilon(delta), mu, delta, 0.0, 1e-12)
    assert_epsilon(float(np.asarray(f.epsilon([delta, delta]))[0]), mu, delta, 0.0, 1e-12)


def assert_mu(value: float, epsilon: float, delta: float, below: float, above: float) -> None:
    """value lies between 1 - below and 1 + above times mu(eps, delta)."""
    assert exact.gaussian_delta(mpf(value) / (1 - mpf(below)), epsilon) >= mpf(delta)
    assert exact.gaussian_delta(mpf(value) / (1 + mpf(above)), epsilon) <= mpf(delta)


def test_there_are_88_cases() -> None:
    assert len(CASES) == 88


@pytest.mark.parametrize(("mu", "delta"), CASES)
def test_epsilon_on_the_grid(mu: float, delta: float) -> None:
    check_epsilon(mu, delta)


@settings(max_examples=300)
@given(mus, deltas)
@example(0.1, 1e-300)
@example(math.nextafter(0.1, 0), 1e-300)
@example(1e-6, 3.9e-7)
def test_epsilon_anywhere(mu: float, delta: float) -> None:
    check_epsilon(mu, delta)


@settings(max_examples=300)
@given(log_uniform(1e-6, 1.36), offsets)
def test_epsilon_close_to_total_variation(mu: float, offset: float) -> None:
    delta = math.erf(mu / math.sqrt(8.0)) * (1.0 - offset)
    check_epsilon(mu, min(delta, 0.5))


@given(log_uniform(1.0, 30.0), log_uniform(1e-15, 0.9), st.sampled_from([-1.0, 1.0]))
def test_epsilon_for_delta_above_one_half(mu: float, offset: float, sign: float) -> None:
    rest = math.erfc(mu / math.sqrt(8.0))
    delta = 1.0 - rest * (1.0 + sign * offset)
    if not 0.0 < delta < 1.0:
        return
    assert_epsilon(GaussianTradeoff(mu).epsilon(delta), mu, delta, 0.0, 1e-11)


@settings(max_examples=100)
@given(log_uniform(1e-12, 1e6), log_uniform(1e-320, 1.0))
def test_epsilon_is_a_bound_beyond_the_promised_range(mu: float, delta: float) -> None:
    if not 0.0 < delta < 1.0:
        return
    assert_epsilon(GaussianTradeoff(mu).epsilon(delta), mu, delta, 0.0, 1e-11)


@settings(max_examples=1000)
@given(mus, st.floats(-39.0, 39.0), log_uniform(1e-6, 1.0))
def test_delta_is_an_upper_bound_and_accurate(mu: float, x: float, scale: float) -> None:
    epsilon = mu * (x * scale + mu / 2.0)
    true = exact.gaussian_delta(mu, epsilon)
    f = GaussianTradeoff(mu)
    for value in (f.delta(epsilon), float(np.asarray(f.delta([epsilon, 1.0]))[0])):
        assert mpf(value) >= true
        # x^2/2 is as exact as x is, and x carries the rounding of eps/mu
        condition = 1.0 + (1.0 + abs(x)) * (abs(epsilon) / mu + mu)
        assert value <= float(true) * (1.0 + 1e-12 + 8e-15 * condition) + 1e-320


@settings(max_examples=300)
@given(mus, st.floats(0.0, 38.0))
def test_delta_right_of_zero(mu: float, u: float) -> None:
    """u = eps/mu itself from 0 on, where small mu cancel."""
    epsilon = mu * u
    true = exact.gaussian_delta(mu, epsilon)
    f = GaussianTradeoff(mu)
    for value in (f.delta(epsilon), float(np.asarray(f.delta([epsilon, 1.0]))[0])):
        assert mpf(value) >= true
        assert value <= float(true) * (1.0 + 1e-11) + 1e-320
    if true > 1e-300:
        assert gaussian_delta(mu, epsilon) == pytest.approx(float(true), rel=1e-11)


@given(mus, log_uniform(1e-12, 30.0))
def test_delta_at_negative_epsilon(mu: float, epsilon: float) -> None:
    true = exact.gaussian_delta(mu, -mpf(epsilon))
    f = GaussianTradeoff(mu)
    for value in (f.delta(-epsilon), float(np.asarray(f.delta([-epsilon, 1.0]))[0])):
        assert mpf(value) >= true
        assert value == pytest.approx(float(true), rel=1e-12)


@pytest.mark.parametrize(("mu", "epsilon"), [(1.0, 50.0), (1e-6, 1.0), (3.0, 700.0), (0.5, 1e300)])
def test_a_delta_that_underflows_is_not_zero(mu: float, epsilon: float) -> None:
    assert 0.0 < GaussianTradeoff(mu).delta(epsilon) < 1e-300
    assert 0.0 < np.asarray(GaussianTradeoff(mu).delta([epsilon, epsilon]))[0] < 1e-300
    assert 0.0 < GaussianTradeoff(mu).subsample(1e-3).delta(epsilon) < 1e-300


@settings(max_examples=700)
@given(
    log_uniform(1e-6, 50.0),
    log_uniform(1e-300, 1.0) | st.floats(0.0, 1.0) | log_uniform(1e-16, 1.0).map(lambda a: 1.0 - a),
)
@example(32.0, 1.0 - 2e-9)
@example(38.0, 0.5)
@example(1.0, 1e-300)
@example(1.0, 1.0 - 2.0**-53)
def test_f_is_a_lower_bound_and_accurate(mu: float, alpha: float) -> None:
    true = exact.beta(GaussianTradeoff(mu), alpha)
    value = GaussianTradeoff(mu)(alpha)
    assert mpf(value) <= true
    assert value == pytest.approx(float(true), rel=1e-10, abs=1e-300)


@settings(max_examples=200)
@given(log_uniform(1e-4, 1e3), log_uniform(1e-300, 0.9))
def test_mu_from_a_budget(epsilon: float, delta: float) -> None:
    assert_mu(gaussian_mu(epsilon, delta), epsilon, delta, 3.9e-13, 3.9e-13)
    assert_mu(GaussianTradeoff.from_budget(epsilon, delta).mu, epsilon, delta, 1e-12, 0.0)


@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-3, 0.5, 0.999])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 10.0, 1000.0, 1e6])
def test_mu_there_and_back(epsilon: float, delta: float) -> None:
    f = GaussianTradeoff.from_budget(epsilon, delta)
    assert_mu(f.mu, epsilon, delta, 1e-12, 0.0)
    assert f.epsilon(delta) <= epsilon * (1 + 1e-12)
    # and no less, but for what a relative 1e-12 of mu is worth
    assert GaussianTradeoff(f.mu * (1 + 1e-12)).epsilon(delta) >= epsilon


def test_the_ends() -> None:
    none, perfect = GaussianTradeoff(math.inf), GaussianTradeoff(0.0)
    assert none.epsilon(0.5) == math.inf
    assert none.epsilon(1.0) == 0.0
    assert none.delta(3.0) == none.delta(-3.0) == none.delta(math.inf) == 1.0
    assert none(0.0) == none(0.5) == 0.0
    assert perfect.epsilon(0.0) == perfect.delta(0.0) == perfect.delta(1.0) == 0.0
    assert perfect(0.25) == pytest.approx(0.75, rel=1e-14)
    assert GaussianTradeoff(1.0).epsilon(0.0) == math.inf
    assert GaussianTradeoff(1.0).epsilon(1.0) == 0.0
    assert GaussianTradeoff(1.0).delta(math.inf) == 0.0
    assert GaussianTradeoff.from_budget(1.0, 0.0).mu == 0.0
    assert GaussianTradeoff.from_budget(1.0, 1.0).mu == math.inf
    assert GaussianTradeoff.from_budget(math.inf, 0.1).mu == math.inf
    for array in (none, perfect, GaussianTradeoff(1.0)):
        points = [-math.inf, -1.0, 0.0, 1.0, math.inf]
        single = [array.delta(point) for point in points]
        np.testing.assert_allclose(array.delta(points), single, rtol=1e-14)
        assert single == sorted(single, reverse=True)


@pytest.mark.parametrize("mu", [5e-324, 1e-300, 1e-9, 1.0, 2e4, 1e7, 1e200, 1.7e308])
def test_extremes_are_numbers(mu: float) -> None:
    """However large or small: no NaN, no warning, the same either way, and in order."""
    f = GaussianTradeoff(mu)
    middle = min(mu * mu / 2.0, 1e308)
    points = sorted([0.0, 1e-300, 1e-6, 1.0, 1e6, 1e100, 1e300, 1.7e308, middle, middle * 0.999])
    single = [f.delta(point) for point in points]
    assert all(0.0 < value <= 1.0 for value in single)
    assert single == sorted(single, reverse=True)
    np.testing.assert_allclose(f.delta(points), single, rtol=1e-10, atol=1e-300)
    assert all(f.epsilon(d) >= 0.0 for d in (5e-324, 1e-5, 0.5, 1.0 - 2.0**-53))


@given(mus, st.floats(0.0, 60.0))
def test_log_delta_far_out(mu: float, u: float) -> None:
    """Beyond what a float can hold: Lemma fdptoapproxdp by logarithms."""
    true = float(mpmath.log(exact.gaussian_delta(mu, mu * u)))
    assert gaussian_log_delta(mu, mu * u) == pytest.approx(true, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("mu", [5e-324, 1e-160, 1e-30, 79.0, 81.0, 1e100, 1e160, 1.7e308])
def test_no_mu_is_too_large_or_too_small_to_be_asked(mu: float) -> None:
    f = GaussianTradeoff(mu)
    alpha = np.array([0.0, 5e-324, 1e-300, 0.01, 0.5, 1.0 - 2.0**-53, 1.0])
    with np.errstate(all="raise", under="ignore"):
        beta = np.asarray(f(alpha))
        epsilon = np.asarray(f.epsilon([1e-300, 1e-5, 0.5]))
    for a, value in zip(alpha.tolist(), beta.tolist(), strict=True):
        true = exact.beta(f, a) if mu < 1e90 else mpf(a == 0.0)
        assert true * (1 - mpf("1e-10")) - mpf("1e-15") <= mpf(value) <= true
    assert np.all(epsilon[1:] <= epsilon[:-1])
    for order in (1.0 + 2.0**-50, 2.0, 1e4, 1e100):
        # D = order mu^2 / 2, which is positive however small
        assert mpf(f.renyi(order)) >= mpf(order) * mpf(mu) ** 2 / 2
    assert mpf(f.zcdp) >= mpf(mu) ** 2 / 2
    assert 0.0 <= f.bayes_risk(5e-324) < 5e-324


@pytest.mark.parametrize("mu", [1e6 + 1.0, 3.3e9, 1e15, 1.7e18, 1e150])
@pytest.mark.parametrize("x", [-3.0, 0.0, 2.0, 8.0])
def test_delta_of_a_huge_mu_is_above_the_exact_one(mu: float, x: float) -> None:
    """eps/mu - mu/2 was rounded to a multiple of 64 at mu = 1.7e18: delta was 0 instead of 0.02."""
    epsilon = mu * (0.5 * mu + x)
    with mpmath.workdps(400):
        v = mpf(epsilon) / mpf(mu) - mpf(mu) / 2
        y = v + mpf(mu)
        # R(y) is below 1/y and above 1/y - 1/y^3
        low, high = (mpmath.ncdf(-v) - mpmath.npdf(v) * r for r in (1 / y, 1 / y - 1 / y**3))
    f = GaussianTradeoff(mu)
    for delta in (float(f.delta(epsilon)), float(np.asarray(f.delta(np.array([epsilon, 1.0])))[0])):
        assert low <= mpf(delta)
        assert delta <= float(high) * (1.0 + 1e-11) + 1e-300
