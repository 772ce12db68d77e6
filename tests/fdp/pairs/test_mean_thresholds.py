"""Thresholds of mixtures with many means: found, and what is missed is known."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp._rounding import FAR_TAIL
from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.fdp.pairs.mean_thresholds import (
    missed,
    missed_two_sided,
    polished,
    solve,
    solve_two_sided,
)
from tests.fdp.catalogue import log_uniform
from tests.fdp.hidden_laws import Law, capped_integrand, laws

some = laws(log_uniform(1e-3, 20.0), log_uniform(1e-9, 1.0), 6)


def in_digits(law: MeanLaw) -> list[tuple[mpf, mpf]]:
    """(weight, mean), the first weight being what the others leave."""
    pairs = zip(law.weight.ravel().tolist(), law.mean.ravel().tolist(), strict=True)
    digits = [(mpf(w), mpf(m)) for w, m in pairs]
    return [(1 - sum(w for w, _ in digits[1:]), digits[0][1]), *digits[1:]]


def ratio(law: MeanLaw, x: float) -> mpf:
    return mpmath.fsum(w * mpmath.exp(m * (mpf(x) - m / 2)) for w, m in in_digits(law))


@settings(max_examples=40)
@given(some, st.floats(0.0, 300.0) | log_uniform(1e-12, 1.0))
def test_the_ratio_misses_by_what_is_said(law: Law, epsilon: float) -> None:
    means = MeanLaw.of(*law)
    if means.largest == 0.0:
        return
    e = np.array([epsilon])
    with mpmath.workdps(60):
        x = polished(missed(means, np.maximum(solve(means, e), 0.0), e), 0.0)
        at = missed(means, x, e)
        exact = ratio(means, x[0]) / mpmath.exp(mpf(epsilon)) - 1
        assert abs(exact - mpf(at.z[0])) <= mpf(at.error[0])
        if x[0] < means.largest + FAR_TAIL:
            assert abs(at.z[0]) <= 1e-7
            assert at.error[0] <= 1e-12
        y = polished(missed(means, solve(means, e, capped=True), e, capped=True), 0.0)
        at = missed(means, y, e, capped=True)
        exact = capped_integrand(in_digits(means), mpf(y[0])) / mpmath.exp(mpf(epsilon)) - 1
        assert abs(exact - mpf(at.z[0])) <= mpf(at.error[0])
        assert abs(at.z[0]) <= 1e-7 or y[0] >= means.largest + FAR_TAIL


@settings(max_examples=40)
@given(some, st.floats(0.0, 300.0) | log_uniform(1e-12, 1.0))
def test_the_two_sided_ratio_misses_by_what_is_said(law: Law, epsilon: float) -> None:
    means = MeanLaw.of(*law)
    if means.largest == 0.0:
        return
    e = np.array([epsilon])
    with mpmath.workdps(60):
        x = polished(missed_two_sided(means, solve_two_sided(means, e), e)[0], 0.0)
        at, shares = missed_two_sided(means, x, e)
        below = ratio(means, -x[0])
        exact = ratio(means, x[0]) / below / mpmath.exp(mpf(epsilon)) - 1
        assert abs(exact - mpf(at.z[0])) <= mpf(at.error[0])
        assert abs(at.z[0]) <= 1e-7 or x[0] >= means.largest + FAR_TAIL
        assert shares.sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(
    ("p", "a", "d"), [(0.5, 0.0, 1.0), (0.01, 0.3, 2.3), (1e-4, 0.02, 0.07), (0.9, 1.0, 7.0)]
)
def test_negative_losses_are_missed_by_what_is_said(p: float, a: float, d: float) -> None:
    law = MeanLaw.of((a, d), (1.0 - p, p))
    least = 1.0 if a > 0.0 else -0.9 * math.log1p(-p)
    e = -least * np.array([0.0, 1e-6, 0.1, 0.5, 1.0])
    at = missed(law, polished(missed(law, solve(law, e), e)), e)
    assert (at.x <= 0.5 * d).all()
    with mpmath.workdps(60):
        for x, loss, z, error in zip(*(v.tolist() for v in (at.x, e, at.z, at.error)), strict=True):
            exact = ratio(law, x) / mpmath.exp(mpf(loss)) - 1
            assert abs(exact - mpf(z)) <= mpf(error)
            assert abs(z) < 1e-6 or abs(x) >= FAR_TAIL  # where no mass is left


def test_the_slope_is_that_of_the_logarithm() -> None:
    law = MeanLaw.of((0.0, 1.0, 3.0), (0.5, 0.3, 0.2))
    x, h = np.array([0.7, 2.5, 6.0]), 1e-6
    for capped in (False, True):
        at = missed(law, x, np.zeros(3), capped)
        ends = [np.log1p(missed(law, x + sign * h, np.zeros(3), capped).z) for sign in (1, -1)]
        np.testing.assert_allclose(at.slope, (ends[0] - ends[1]) / (2 * h), rtol=1e-8)
        assert np.all(at.slope <= (ends[0] - ends[1]) / (2 * h) * (1 + 1e-8))


def test_a_ratio_that_is_nowhere_so_small() -> None:
    """A mean of 0 with weight 1/2: no x has a ratio of 1/4."""
    law = MeanLaw.of((0.0, 1.0), (0.5, 0.5))
    assert solve(law, np.array([-math.log(4.0), -math.log(2.0)])).tolist() == [-FAR_TAIL, -FAR_TAIL]
    assert solve(law, np.array([-math.log(1.9)]))[0] > -FAR_TAIL


def test_exponents_that_lost_all_digits_are_said_to_be_unknown() -> None:
    law = MeanLaw.of((0.0, 1e10), (0.5, 0.5))
    at = missed(law, np.array([1e10]), np.array([1e13]))
    assert at.error[0] == math.inf
