"""Thresholds: the ratio is what was asked for, or misses it by what is said."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from shiftdp._rounding import FAR_TAIL
from shiftdp.fdp.pairs.thresholds import Threshold, solve_down, solve_up
from tests.fdp.mixtures import Mixture, log_ratio

CASES = [(0.5, 0.0, 1.0), (0.01, 0.3, 2.3), (1e-4, 0.02, 0.07), (0.9, 1.0, 7.0)]
LOSSES = np.array([0.0, 1e-6, 0.1, 1.0, 8.0])


def miss(at: Threshold, i: int) -> mpf:
    """The ratio at x over e^e, less 1, in 60 digits."""
    p, q = mpf(at.p), 1 - mpf(at.p)
    above: Mixture = [(q, mpf(at.a)), (p, mpf(at.d))]
    below: Mixture = [(q, mpf(0)), (p, -mpf(at.s))] if at.s else [(mpf(1), mpf(0))]
    return mpmath.expm1(log_ratio(above, below, mpf(float(at.x[i]))) - mpf(float(at.e[i])))


@pytest.mark.parametrize(("p", "a", "d"), CASES)
@pytest.mark.parametrize("two_sided", [False, True])
def test_what_is_missed_is_said(p: float, a: float, d: float, two_sided: bool) -> None:
    at = solve_up(p, a, d, LOSSES, d - a if two_sided else 0.0)
    with mpmath.workdps(60):
        for i in range(LOSSES.size):
            assert abs(miss(at, i) - mpf(float(at.z[i]))) <= mpf(float(at.error[i]))
            assert abs(miss(at, i)) < 1e-6 or abs(at.x[i]) >= FAR_TAIL  # where no mass is left


@pytest.mark.parametrize(("p", "a", "d"), CASES)
def test_negative_losses_are_found_from_the_right(p: float, a: float, d: float) -> None:
    least = 0.0 if a > 0.0 else float(np.log1p(-p))
    losses = -LOSSES[:4] if a > 0.0 else 0.9 * least * np.array([0.0, 0.1, 0.5, 1.0])
    at = solve_down(p, a, d, losses)
    assert (at.x <= 0.5 * d).all()
    with mpmath.workdps(60):
        for i in range(losses.size):
            assert abs(miss(at, i) - mpf(float(at.z[i]))) <= mpf(float(at.error[i]))
            assert abs(miss(at, i)) < 1e-6 or abs(at.x[i]) >= FAR_TAIL  # where no mass is left


def test_a_point_of_ones_own_is_judged_too() -> None:
    at = Threshold(0.1, 0.2, 1.2, np.array([0.5, 0.5])).at(np.array([-3.0, 3.0]))
    with mpmath.workdps(60):
        for i in range(2):
            assert abs(miss(at, i) - mpf(float(at.z[i]))) <= mpf(float(at.error[i]))
    assert at.z[0] < 0.0 < at.z[1]
