"""C_p(f) against its definition: the convex hull of min{f_p, f_p^-1}, by brute force."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf
from scipy.special import ndtr

from shiftdp import InvalidInput
from shiftdp._checks import Array
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    LaplaceTradeoff,
    TradeoffFunction,
    WithFailure,
    dominates,
)
from tests.fdp import exact
from tests.fdp.catalogue import approx_dp, asymmetric, gaussian, laplace, log_uniform

GRID = np.unique(
    np.concatenate(
        [np.linspace(0, 1, 2001), np.geomspace(1e-9, 0.1, 500), 1 - np.geomspace(1e-9, 0.1, 500)]
    )
)
SPACING = 1.0 / 2000


def brute_force_cp(f: TradeoffFunction, p: float) -> Array:
    """min{f_p, f_p^-1}** on the grid: invert by interpolation, take the minimum, then its hull."""
    mixed = p * np.asarray(f(GRID)) + (1.0 - p) * (1.0 - GRID)
    falling = np.maximum.accumulate(mixed[::-1])[::-1]
    inverse = np.interp(GRID, falling[::-1], GRID[::-1])
    inverse[mixed[0] < GRID] = 0.0
    return lower_hull(GRID, np.minimum(mixed, inverse))


def lower_hull(x: Array, y: Array) -> Array:
    kept: list[int] = []
    for i in range(x.size):
        while len(kept) > 1:
            j, k = kept[-2], kept[-1]
            if (y[k] - y[j]) * (x[i] - x[j]) < (y[i] - y[j]) * (x[k] - x[j]):
                break
            kept.pop()
        kept.append(i)
    return np.interp(x, x[kept], y[kept])


@settings(max_examples=40)
@given(gaussian | laplace | approx_dp | asymmetric, log_uniform(1e-3, 1.0))
def test_cp_is_the_hull_of_its_definition(f: TradeoffFunction, p: float) -> None:
    sampled = f.subsample(p)
    brute = brute_force_cp(f, p)
    value = np.asarray(sampled(GRID))
    # between grid points the interpolated inverse is too high, never too low
    assert np.all(value <= brute + 1e-12)
    # and by no more than a quarter of the spacing, which is 4% of alpha close to the ends
    assert np.all(brute - value <= 0.012)
    assert np.mean(brute - value) <= 0.3 * SPACING


@pytest.mark.parametrize(
    "f",
    [GaussianTradeoff(1.0), LaplaceTradeoff(2.0), ApproxDPTradeoff(1.0, 1e-3)],
    ids=lambda f: type(f).__name__,
)
@pytest.mark.parametrize("p", [0.01, 0.3, 0.9])
def test_the_three_pieces(f: TradeoffFunction, p: float) -> None:
    """For symmetric f: f_p up to the fixed point of f, then slope -1, then f_p^-1."""
    sampled = f.subsample(p)
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > middle else (low, middle)
    fixed = low
    top = p * f(fixed) + (1 - p) * (1 - fixed)
    for alpha in np.linspace(0.0, fixed, 9)[:-1]:
        mixed = p * f(float(alpha)) + (1 - p) * (1 - alpha)
        assert sampled(float(alpha)) == pytest.approx(mixed, rel=1e-13)
        assert sampled(mixed) == pytest.approx(alpha, abs=1e-12)
    for alpha in np.linspace(fixed, top, 7):
        assert sampled(float(alpha)) == pytest.approx(fixed + top - alpha, rel=1e-12)


@settings(max_examples=50)
@given(log_uniform(0.05, 5.0), log_uniform(1e-6, 0.999), st.floats(-8.0, 8.0))
def test_the_law_of_prop_subgdpcdf(mu: float, p: float, t: float) -> None:
    """F_Y of the privacy loss, whose profile is delta(eps) = E (1 - e^{eps - Y})_+."""

    def cdf(at: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.log1p(np.expm1(np.abs(at)) / p)
        positive = p * ndtr(inner / mu - mu / 2) + (1 - p) * ndtr(inner / mu + mu / 2)
        law: Array = np.where(at > 0, positive, ndtr(-inner / mu - mu / 2))
        return law

    sampled = GaussianTradeoff(mu).subsample(p)
    # E (1 - e^{t - Y})_+ = int_t^inf e^{t - y} (1 - F(y)) dy
    steps = np.geomspace(1e-13, 45.0, 20_000)
    y = np.unique(np.concatenate([[t, 0.0], t + steps, steps, -steps]))
    y = y[y >= t]
    upper = 1.0 - cdf(y)
    integral = float(np.trapezoid(np.exp(t - y) * upper, y))
    assert sampled.delta(t) == pytest.approx(integral, rel=1e-5, abs=1e-9)


@settings(max_examples=15)
@given(gaussian | laplace | approx_dp | asymmetric)
def test_nothing_and_everything(f: TradeoffFunction) -> None:
    assert f.subsample(0.0) == Identity()
    everything = f.subsample(1.0)
    assert everything.symmetric
    if f.symmetric:
        assert everything == f
    else:
        smaller = np.minimum(f(GRID), f.inverse()(GRID))
        value = np.asarray(everything(GRID))
        assert np.all(value <= smaller + 1e-12)
        # the points of the grid that are small are 4% apart
        assert np.all(lower_hull(GRID, smaller) - value <= 0.012)
        assert np.mean(lower_hull(GRID, smaller) - value) <= SPACING


@given(
    st.lists(log_uniform(0.2, 3.0), min_size=1, max_size=1), st.sampled_from([1e-6, 1e-9, 1e-12])
)
def test_tiny_rates(mus: list[float], p: float) -> None:
    """delta is p times the total variation of f at eps = 0, and eps about p (e^inner - 1)."""
    f = GaussianTradeoff(mus[0])
    sampled = f.subsample(p)
    assert sampled.advantage() == pytest.approx(p * f.advantage(), rel=1e-13)
    delta = p * 1e-3
    epsilon = sampled.epsilon(delta)
    assert epsilon == pytest.approx(math.log1p(p * math.expm1(f.epsilon(1e-3))), rel=1e-12)
    assert sampled.delta(epsilon) <= delta * (1 + 1e-12)
    assert sampled.epsilon(sampled.advantage()) == 0.0
    assert 0.95 - sampled(0.05) == pytest.approx(p * (0.95 - f(0.05)), abs=3e-15)


@settings(max_examples=15)
@given(log_uniform(0.05, 4.0), log_uniform(0.05, 4.0), log_uniform(1e-3, 1.0))
def test_a_smaller_mu_stays_more_private(mu: float, nu: float, p: float) -> None:
    low, high = sorted((mu, nu))
    f, g = GaussianTradeoff(low).subsample(p), GaussianTradeoff(high).subsample(p)
    assert dominates(f, g, 1e-6)


@pytest.mark.parametrize("epsilon", [20.0, 30.0, 36.0, 60.0])
def test_a_corner_close_to_the_axes_is_not_overstated(epsilon: float) -> None:
    """Where x = f(x) is tiny, 1 - 2x has lost it: f must still be rounded down."""
    sampled = ApproxDPTradeoff(epsilon).subsample(0.5)
    # the line of slope -1 through (x, f_p(x)), x = 1/(1 + e^eps): 1 - p (1 - 2x) - alpha
    x = 1.0 / (1.0 + math.exp(epsilon))
    assert sampled(0.25) <= 0.25 + x
    assert sampled(0.25) == pytest.approx(0.25 + x, rel=1e-14)


@given(asymmetric, log_uniform(1e-3, 1.0), st.floats(5.0, 60.0))
def test_large_epsilon_of_an_asymmetric_function(
    f: TradeoffFunction, p: float, epsilon: float
) -> None:
    """No digits are lost to e^eps: with all likelihood ratios below 1e8, delta is exactly 0."""
    sampled = f.subsample(p)
    if epsilon > max(f.epsilon(0.0), f.inverse().epsilon(0.0)) + 1e-9:
        assert sampled.delta(epsilon) == 0.0


@given(log_uniform(1e-9, 0.5), log_uniform(1e-6, 1.0))
def test_a_failure_is_sampled_too(q: float, p: float) -> None:
    sampled = WithFailure(GaussianTradeoff(1.0), q).subsample(p)
    assert sampled.delta(math.inf) == pytest.approx(p * q, rel=1e-14)
    assert sampled.epsilon(p * q * 0.999) == math.inf


@pytest.mark.parametrize("p", [1e-300, 1e-177, 1e-92, 1e-16, 0.3])
@pytest.mark.parametrize("mu", [1e-6, 0.5, 8.0, 30.0])
def test_deltas_down_to_the_least_are_upper_bounds_to_ten_digits(mu: float, p: float) -> None:
    f = GaussianTradeoff(mu).subsample(p)
    for goal in (1e-300, 1e-250, 1e-120, 1e-91, 1e-40, 1e-17):
        epsilon = f.epsilon(goal)
        if not 0.0 < epsilon < math.inf:
            continue
        with mpmath.workdps(60):
            inner = mpmath.log1p(mpmath.expm1(mpf(epsilon)) / mpf(p))
            true = mpf(p) * exact.gaussian_delta(mu, inner)
            assert true <= mpf(goal)
            assert true <= mpf(f.delta(epsilon)) <= true * (1 + mpf("1e-10")) + mpf("1e-322")


def test_a_share_that_cannot_be_divided_by_is_refused() -> None:
    for p in (5e-324, 1e-301):
        with pytest.raises(InvalidInput, match=r"p=.* give 0, or 1e-300 to 1"):
            GaussianTradeoff(1.0).subsample(p)
    assert GaussianTradeoff(1.0).subsample(0.0).delta(0.0) == 0.0


@pytest.mark.parametrize(
    ("mu", "p", "delta"),
    [
        (1.2840254166877414, 3.3546262790251185e-4, 7.582560427911907e-10),
        (8.0, 1e-5, 1e-11),
        (0.3, 0.9, 0.01),
    ],
)
def test_the_lower_end_of_epsilon_is_below_the_exact_one(mu: float, p: float, delta: float) -> None:
    f = GaussianTradeoff(mu).subsample(p)
    low = f.epsilon_below(delta)
    assert low > 0.0
    assert exact.delta(f, low) >= mpf(delta)
    assert exact.delta(f, f.epsilon(delta)) <= mpf(delta)
