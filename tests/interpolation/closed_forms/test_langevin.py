"""Langevin Monte Carlo and the exponential mechanism against exact laws."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from shiftdp._errors import UnmetHypothesis
from shiftdp.interpolation.closed_forms.gradient_descent import gd_proj, gd_sc
from shiftdp.interpolation.closed_forms.langevin import (
    exponential_mechanism_convex,
    exponential_mechanism_pure_epsilon,
    exponential_mechanism_sc,
    lmc,
    lmc_stationary_convex,
    lmc_stationary_convex_best,
    lmc_uniform,
    pure_threshold,
)
from tests.interpolation.brute_force import quotient


@pytest.mark.parametrize("t", [1, 2, 30])
@pytest.mark.parametrize("eta", [1e-3, 0.1, 2 / 11])
def test_lmc_is_attained_by_the_quadratics(t: int, eta: float) -> None:
    ones = np.ones(t)
    exact = quotient((1 - eta) * ones, 0.7 * eta * ones, math.sqrt(2 * eta) * ones)
    assert lmc(1.0, 10.0, 0.7, eta, t) == pytest.approx(exact, rel=1e-12)
    assert lmc(1.0, 10.0, 0.7, eta, t) < lmc_uniform(1.0, 10.0, 0.7, eta)


def test_lmc_takes_any_contractive_step() -> None:
    expected = gd_sc(0.9, 0.19 * 0.7, math.sqrt(0.38), 8)
    assert lmc(1.0, 10.0, 0.7, 0.19, 8) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(UnmetHypothesis, match=r"learning_rate=0\.2 is not below 2/smoothness=0\.2"):
        lmc(1.0, 10.0, 0.7, 0.2, 8)
    with pytest.raises(UnmetHypothesis, match=r"exceeds 2/\(smoothness \+ strong_convexity\)"):
        lmc_uniform(1.0, 10.0, 0.7, 0.19)
    with pytest.raises(UnmetHypothesis, match=r"strong_convexity=0\.0 is 0"):
        lmc(0.0, 10.0, 0.7, 0.1, 8)
    with pytest.raises(UnmetHypothesis, match=r"smoothness=0\.5 is below strong_convexity=1"):
        lmc(1.0, 0.5, 0.7, 0.1, 8)


def test_small_steps_keep_their_digits() -> None:
    """1 - c = 1e-13 would lose three digits through c; t eta is one unit of time."""
    eta = mpmath.mpf(1e-13)
    with mpmath.workdps(50):
        power = (1 - eta) ** (10**13)
        exact = mpmath.sqrt(eta / 2 * (1 - power) / (1 + power) * (2 - eta) / eta)
    assert lmc(1.0, 10.0, 1.0, 1e-13, 10**13) == pytest.approx(float(exact), rel=2e-14)


def test_the_limits_are_the_stationary_laws() -> None:
    assert lmc(2.0, 10.0, 0.7, 0.1, math.inf) == pytest.approx(lmc_uniform(2.0, 10.0, 0.7, 0.1))
    assert lmc_uniform(2.0, 10.0, 0.7, 1e-12) == pytest.approx(exponential_mechanism_sc(2.0, 0.7))
    small = lmc_stationary_convex(0.7, 3.0, 10.0, 1e-12)
    assert small == pytest.approx(exponential_mechanism_convex(0.7, 3.0))


@pytest.mark.parametrize("eta", [0.2, 0.07, 1e-4])
def test_the_convex_stationary_law_comes_from_gd_proj(eta: float) -> None:
    """n = 1, gradient sensitivity 2L: the corollary only drops the ceiling."""
    closed = gd_proj(2 * 0.7 * eta, math.sqrt(2 * eta), 3.0, math.inf)
    best = lmc_stationary_convex_best(0.7, 3.0, 10.0, eta)
    assert best <= closed * (1 + 1e-14)
    assert closed <= lmc_stationary_convex(0.7, 3.0, 10.0, eta)
    assert best >= exponential_mechanism_convex(0.7, 3.0) * (1 - 1e-13)
    with pytest.raises(UnmetHypothesis, match="exceeds 2/smoothness"):
        lmc_stationary_convex(0.7, 3.0, 10.0, 0.21)


def test_the_threshold_is_where_the_two_curves_touch() -> None:
    with mpmath.workdps(30):
        exact = mpmath.findroot(
            lambda x: (
                2 * x - mpmath.log(mpmath.ncdf(mpmath.sqrt(x)) / mpmath.ncdf(-mpmath.sqrt(x)))
            ),
            0.7,
        )
    assert pure_threshold() == pytest.approx(float(exact), abs=1e-14)
    assert round(pure_threshold(), 3) == 0.676
    assert exponential_mechanism_pure_epsilon(0.7, 3.0) == pytest.approx(4.2)
