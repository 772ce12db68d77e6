"""Error rates of threshold tests are rounded to one side, in value and in argument."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from shiftdp.fdp.pairs.error_rates import Rate, between, upper_point
from tests.fdp import exact

RATES = [
    Rate(0.0, (0.0, 0.0)),
    Rate(0.3, (0.5, 2.0)),
    Rate(1e-6, (0.0, 9.0)),
    Rate(0.5, (0.1, 0.2), (2.0, 5.0)),
]
ALPHAS = np.array([1e-300, 1e-9, 0.1, 0.5, 0.9, 1.0 - 1e-9, 1.0 - 2.0**-53])


def true_rate(rate: Rate, x: float) -> mpf:
    parts = zip((1 - mpf(rate.p), mpf(rate.p)), rate.scales, rate.means, strict=True)
    return sum(w * exact.upper_tail(mpf(m) - mpf(c) * mpf(x)) for w, c, m in parts)


@pytest.mark.parametrize("rate", RATES)
def test_a_rate_is_rounded_down(rate: Rate) -> None:
    points = np.array([-37.0, -9.0, -1.0, 0.0, 0.7, 3.0, 12.0])
    with mpmath.workdps(60):
        for x, found in zip(points.tolist(), rate.down(points).tolist(), strict=True):
            true = true_rate(rate, x)
            assert found <= true
            assert found >= true * (1 - mpf(1e-11)) - mpf(1e-322)


@pytest.mark.parametrize("rate", RATES)
def test_an_argument_is_rounded_up(rate: Rate) -> None:
    with mpmath.workdps(60):
        for alpha, x in zip(ALPHAS.tolist(), rate.argument_up(ALPHAS).tolist(), strict=True):
            assert true_rate(rate, x) >= mpf(alpha)
            assert true_rate(rate, x - 1e-8 * (1 + abs(x))) < mpf(alpha)


def test_an_upper_point_is_rounded_down() -> None:
    with mpmath.workdps(60):
        for alpha, x in zip(ALPHAS.tolist(), upper_point(ALPHAS).tolist(), strict=True):
            assert exact.upper_tail(mpf(x)) >= mpf(alpha)
            assert exact.upper_tail(mpf(x) + 1e-12 * (1 + abs(mpf(x)))) < mpf(alpha)


def test_the_ends_of_a_curve_need_no_formula() -> None:
    def curve(alpha: np.ndarray) -> np.ndarray:
        assert ((alpha > 0.0) & (alpha < 1.0)).all()
        return 1.0 - alpha

    assert between(curve, np.array([0.0, 0.25, 1.0])).tolist() == [1.0, 0.75, 0.0]
