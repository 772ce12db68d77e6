"""Error rates of tests between mixtures with many means, and their inverses."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.fdp.pairs.mean_rates import NORMAL_RATE, MeanRate
from tests.fdp import exact
from tests.fdp.catalogue import log_uniform
from tests.fdp.hidden_laws import Law, caught, laws
from tests.fdp.pairs.test_mean_thresholds import in_digits

some = laws(log_uniform(1e-3, 20.0), log_uniform(1e-12, 1.0), 6)
chances = log_uniform(1e-250, 0.999) | log_uniform(1e-15, 0.5).map(lambda a: 1.0 - a)


def rate(law: MeanLaw, x: mpf, capped: bool) -> mpf:
    if capped:
        return 1 - caught(in_digits(law), x)
    return mpmath.fsum(w * exact.upper_tail(m - x) for w, m in in_digits(law))


@settings(max_examples=40)
@given(some, st.floats(-38.0, 60.0), st.booleans())
def test_a_rate_is_rounded_down(law: Law, x: float, capped: bool) -> None:
    means = MeanLaw.of(*law)
    with mpmath.workdps(60):
        true = rate(means, mpf(x), capped)
        value = mpf(float(MeanRate(means, capped).down(np.array([x]))[0]))
        size = 1 + means.largest if capped else true
        assert value <= max(true, 0)
        # at -38 eight roundings of the argument are 1.3e-12 of the rate, which may count as 0 where
        # it is below all normal floats
        assert value >= true - size * mpf("1.5e-12") - mpf("3e-308")


@settings(max_examples=40)
@given(some, chances, st.booleans())
def test_its_inverse_is_rounded_up(law: Law, alpha: float, capped: bool) -> None:
    means = MeanLaw.of(*law)
    with mpmath.workdps(60):
        x = mpf(float(MeanRate(means, capped).argument_up(np.array([alpha]))[0]))
        assert rate(means, x, capped) >= alpha
        less = x - (1 + abs(x)) * mpf("1e-7")
        size = 1 + means.largest if capped else mpf(alpha)
        assert rate(means, less, capped) <= alpha + size * mpf("1e-12")


@pytest.mark.parametrize("j", [1, 2])
@pytest.mark.parametrize("beside", [-1e-17, 1e-17, 1e-14, -1e-10])
def test_where_the_rate_is_all_but_constant(j: int, beside: float) -> None:
    """Between means 12 apart: alpha next to the sum of the weights of those below."""
    law = MeanLaw.of((0.0, 12.0, 24.0), (1e-9, 1e-5, 1.0 - 1e-5 - 1e-9))
    with mpmath.workdps(60):
        alpha = float(mpmath.fsum(w for w, _ in in_digits(law)[:j])) * (1.0 + 1e9 * beside)
        x = MeanRate(law).argument_up(np.array([alpha]))[0]
        true = rate(law, mpf(float(x)), False)
        assert true >= alpha
        assert rate(law, mpf(float(x)) - mpf("1e-10"), False) < alpha


def test_many_at_once_are_cut_into_blocks() -> None:
    law = MeanLaw.of(np.linspace(0.0, 5.0, 400).tolist(), [1.0 / 400] * 400)
    x = np.linspace(-5.0, 10.0, 1000)
    rates = MeanRate(law)
    assert np.all(np.diff(rates.down(x)) >= 0.0)
    back = rates.argument_up(rates.down(x)[300:600])
    np.testing.assert_allclose(back, x[300:600], rtol=1e-9, atol=1e-12)


STEPS = [
    NORMAL_RATE,
    MeanRate(MeanLaw.of((0.5, 2.0), (0.7, 0.3))),
    MeanRate(MeanLaw.of((0.0, 9.0), (1.0 - 1e-6, 1e-6))),
    MeanRate(MeanLaw.of((0.1, 0.2), (0.5, 0.5)), scale=(2.0, 5.0)),
    MeanRate(MeanLaw.of((0.25, 3.0), (0.99, 0.01)), scale=(2.0, 1.0 / 6.0)),
]
ALPHAS = np.array([1e-300, 1e-9, 0.1, 0.5, 0.9, 1.0 - 1e-9, 1.0 - 2.0**-53])


def true_rate(rate: MeanRate, x: float) -> mpf:
    digits = in_digits(rate.law)
    parts = zip(digits, rate.scale or (1.0,) * len(digits), strict=True)
    return sum(w * exact.upper_tail(m - mpf(c) * mpf(x)) for (w, m), c in parts)


@pytest.mark.parametrize("rate", STEPS)
def test_a_rate_of_one_step_is_rounded_down(rate: MeanRate) -> None:
    points = np.array([-37.0, -9.0, -1.0, 0.0, 0.7, 3.0, 12.0])
    with mpmath.workdps(60):
        for x, found in zip(points.tolist(), rate.down(points).tolist(), strict=True):
            true = true_rate(rate, x)
            assert found <= true
            assert found >= true * (1 - mpf(1e-11)) - mpf(1e-321)


@pytest.mark.parametrize("rate", STEPS)
def test_an_argument_of_one_step_is_rounded_up(rate: MeanRate) -> None:
    with mpmath.workdps(60):
        for alpha, x in zip(ALPHAS.tolist(), rate.argument_up(ALPHAS).tolist(), strict=True):
            assert true_rate(rate, x) >= mpf(alpha)
            assert true_rate(rate, x - 1e-8 * (1 + abs(x))) < mpf(alpha)
