"""Log-likelihood ratios of mixtures: right in 60 digits, and inverted."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from shiftdp.fdp.pairs.likelihood_ratio import OneSidedRatio, TwoSidedRatio
from tests.fdp.mixtures import Mixture, log_ratio

CASES = [(0.5, 0.0, 1.0), (0.01, 0.3, 2.0), (1e-4, 0.02, 0.05), (0.9, 1.0, 6.0)]
POINTS = np.array([-9.0, -1.0, -0.1, 0.0, 0.3, 1.0, 4.0, 30.0])

Ratio = OneSidedRatio | TwoSidedRatio


def ratio_and_laws(two_sided: bool, p: float, a: float, s: float) -> tuple[Ratio, Mixture, Mixture]:
    q, above = 1 - mpf(p), [(1 - mpf(p), mpf(a)), (mpf(p), mpf(a + s))]
    if two_sided:
        return TwoSidedRatio(p, a, s), above, [(q, mpf(0)), (mpf(p), -mpf(s))]
    return OneSidedRatio(p, a, a + s), above, [(mpf(1), mpf(0))]


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize(("p", "a", "s"), CASES)
def test_it_is_the_logarithm_of_the_quotient(two_sided: bool, p: float, a: float, s: float) -> None:
    ratio, above, below = ratio_and_laws(two_sided, p, a, s)
    with mpmath.workdps(60):
        true = [float(log_ratio(above, below, mpf(x))) for x in POINTS.tolist()]
    np.testing.assert_allclose(ratio(POINTS), true, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize(("p", "a", "s"), CASES)
def test_its_slope_is_its_derivative(two_sided: bool, p: float, a: float, s: float) -> None:
    ratio, above, below = ratio_and_laws(two_sided, p, a, s)
    with mpmath.workdps(60):
        true = [
            float(mpmath.diff(lambda x: log_ratio(above, below, x), x)) for x in POINTS.tolist()
        ]
    np.testing.assert_allclose(ratio.slope(POINTS), true, rtol=1e-11)
    np.testing.assert_allclose(np.exp(ratio.log_slope(POINTS)), true, rtol=1e-11)


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize(("p", "a", "s"), CASES)
def test_a_loss_leads_back_to_its_point(two_sided: bool, p: float, a: float, s: float) -> None:
    ratio, _, _ = ratio_and_laws(two_sided, p, a, s)
    losses = ratio(POINTS)
    again = ratio(ratio.at(losses))
    # right to units in the last place of z, or of the loss
    np.testing.assert_allclose(again, losses, rtol=1e-13, atol=1e-14 * (a + s) * 30)


@pytest.mark.parametrize(("p", "a", "s"), CASES)
def test_the_zero_is_where_both_laws_are_equally_likely(p: float, a: float, s: float) -> None:
    ratio = OneSidedRatio(p, a, a + s)
    assert abs(float(ratio(ratio.at(np.zeros(1)))[0])) <= 1e-15


def test_losses_below_the_least_one_are_nowhere() -> None:
    ratio = OneSidedRatio(0.25, 0.0, 1.0)
    assert ratio.at(np.array([np.log(0.75) - 1e-9]))[0] == -np.inf
    assert np.isfinite(ratio.at(np.array([np.log(0.75) + 1e-9]))[0])


def test_a_point_above_is_above_by_a_factor_of_two_at_most() -> None:
    ratio, losses = OneSidedRatio(0.1, 0.5, 1.5), np.linspace(-20.0, 50.0, 200)
    reached = ratio(ratio.above(losses))
    assert (reached >= losses - 1e-12).all()
    assert (reached <= losses + np.log(2.0) + 1e-12).all()
