"""The closed forms of NoisyGD against mpmath, the isotonic fit and their own lemmas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp.interpolation.closed_forms.gradient_descent import (
    gd,
    gd_proj,
    gd_proj_best,
    gd_proj_shifts,
    gd_proj_window,
    gd_sc,
    gd_sc_shifts,
)
from tests.interpolation.brute_force import isotonic_mu, precise_gd_sc, replay


@pytest.mark.parametrize("c", [1e-300, 1e-3, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 2**-53])
@pytest.mark.parametrize("t", [1, 2, 17, 1000, 10**7, 10**15])
def test_gd_sc_is_accurate_and_above_the_true_value(c: float, t: int) -> None:
    exact = precise_gd_sc(c, t)
    assert exact <= gd_sc(c, 1.0, 1.0, t) <= exact * (1 + 2e-14)


def test_gd_sc_has_the_right_ends() -> None:
    assert gd_sc(1.0, 0.3, 2.0, 50) == gd(0.3, 2.0, 50)
    assert gd_sc(0.0, 0.3, 2.0, 50) == pytest.approx(0.15, rel=1e-13)
    assert gd_sc(0.9, 1.0, 1.0, math.inf) == pytest.approx(math.sqrt(19), rel=1e-13)
    assert gd_sc(1.0, 1.0, 1.0, math.inf) == math.inf
    assert gd_sc(1.0, 0.0, 1.0, math.inf) == 0.0


@pytest.mark.parametrize(("c", "t"), [(0.3, 5), (0.9, 30), (0.999, 200), (1.0, 40)])
def test_gd_sc_is_the_isotonic_fit(c: float, t: int) -> None:
    ones = np.ones(t)
    found = isotonic_mu(c * ones, 0.7 * ones, 1.3 * ones)
    assert gd_sc(c, 0.7, 1.3, t) == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("c", [0.0, 0.01, 0.5, 0.95, 1 - 1e-10, 1.0])
@pytest.mark.parametrize("t", [1, 2, 9, 300])
def test_the_shifts_of_gd_sc_prove_it(c: float, t: int) -> None:
    shifts = gd_sc_shifts(c, 0.7, t)
    replay(shifts, c, np.full(t, 0.7), 0.0)
    assert math.sqrt(shifts.energy()) / 1.3 == pytest.approx(gd_sc(c, 0.7, 1.3, t), rel=1e-12)
    if 0 < c < 1:
        k = np.arange(1, t + 1)
        printed = c ** (t - k) * (1 - c**2) / (1 - c ** (t - k + 2) - c**k + c**t)
        if c < 0.99:  # the printed quotient cancels near 1
            np.testing.assert_allclose(shifts.lam, printed, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("diameter", "steps"), [(2.1, 100), (0.3, 4), (7.0, 3), (1e-3, 1)])
def test_the_best_window_is_the_best(diameter: float, steps: int) -> None:
    windows = [gd_proj_window(0.5, 1.5, diameter, k) for k in range(1, steps + 1)]
    assert gd_proj_best(0.5, 1.5, diameter, steps) == pytest.approx(min(windows), rel=1e-14)


def test_the_ceiling_costs_a_tenth() -> None:
    closed, best = gd_proj(1.0, 1.0, 2.1, 100), gd_proj_best(1.0, 1.0, 2.1, 100)
    assert closed**2 / best**2 == pytest.approx(9.3 / (2 * (1 + 2.1 / 2) ** 2), rel=1e-12)
    assert closed**2 / best**2 > 1.10
    assert gd_proj(1.0, 1.0, 3.0, 100) == pytest.approx(gd_proj_best(1.0, 1.0, 3.0, 100), rel=1e-13)


def test_a_whole_quotient_survives_rounding() -> None:
    s = 0.1 * 3  # above 0.3 by rounding, so D/s falls on either side of a whole number
    for k in range(1, 200):
        assert gd_proj(s, 1.0, s * k, k) == pytest.approx(2 * s * math.sqrt(k), rel=1e-13)


@pytest.mark.parametrize(("t", "window"), [(10, 10), (10, 3), (1, 1)])
def test_the_shifts_of_gd_proj_prove_it(t: int, window: int) -> None:
    shifts = gd_proj_shifts(0.5, 2.0, t, window)
    replay(shifts, 1.0, np.full(t, 0.5), 2.0)
    expected = gd_proj_window(0.5, 1.5, 2.0, window)
    assert math.sqrt(shifts.energy()) / 1.5 == pytest.approx(expected, rel=1e-12)


def test_gd_proj_is_the_isotonic_fit_of_its_window() -> None:
    ones = np.ones(6)
    s = 0.5 * ones
    s[0] += 2.0  # c z_tau, with z_tau = D
    assert gd_proj_window(0.5, 1.5, 2.0, 6) == pytest.approx(isotonic_mu(ones, s, 1.5 * ones))


def test_unmet_hypotheses_are_named() -> None:
    with pytest.raises(UnmetHypothesis, match=r"contraction=1\.01 exceeds 1"):
        gd_sc(1.01, 1.0, 1.0, 5)
    with pytest.raises(UnmetHypothesis, match=r"steps=4 is below ceil\(D/s\) = 5"):
        gd_proj(1.0, 1.0, 4.5, 4)
    with pytest.raises(UnmetHypothesis, match=r"diameter=inf is infinite"):
        gd_proj(1.0, 1.0, math.inf, 4)
    with pytest.raises(UnmetHypothesis, match=r"window=5 exceeds the 4 steps"):
        gd_proj_shifts(1.0, 1.0, 4, 5)
    with pytest.raises(InvalidInput, match="noise"):
        gd(1.0, 0.0, 4)
    with pytest.raises(InvalidInput, match="steps"):
        gd_sc(0.5, 1.0, 1.0, 0)
