"""Is f >= g everywhere, and if not, where?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from shiftdp import InvalidInput
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    Mixture,
    PiecewiseLinear,
    TradeoffFunction,
    WithFailure,
    dominates,
)
from tests.fdp import exact
from tests.fdp.catalogue import asymmetric, base, log_uniform

mus = log_uniform(1e-3, 12.0)


def assert_violated(f: TradeoffFunction, g: TradeoffFunction, tolerance: float = 1e-9) -> None:
    verdict = dominates(f, g, tolerance)
    assert verdict.holds is False
    assert not verdict
    assert verdict.alpha is not None
    gap = float(exact.beta(g, verdict.alpha) - exact.beta(f, verdict.alpha))
    assert gap > tolerance
    assert verdict.gap == pytest.approx(gap, rel=1e-6, abs=2e-12)


@settings(max_examples=40)
@given(mus, mus)
def test_gaussians_are_ordered_by_mu(mu: float, nu: float) -> None:
    low, high = sorted((mu, nu))
    assert dominates(GaussianTradeoff(low), GaussianTradeoff(high))
    total_variation = math.erf(high / math.sqrt(8)) - math.erf(low / math.sqrt(8))
    if total_variation > 1e-6:
        assert_violated(GaussianTradeoff(high), GaussianTradeoff(low))


@settings(max_examples=40)
@given(base)
def test_between_perfect_privacy_and_itself(f: TradeoffFunction) -> None:
    assert dominates(Identity(), f)
    assert dominates(f, f)
    assert dominates(f, GaussianTradeoff(math.inf))


@settings(max_examples=25)
@given(asymmetric)
def test_an_envelope_lies_below(f: TradeoffFunction) -> None:
    lower = PiecewiseLinear.below(f, np.linspace(-8, 8, 33))
    assert dominates(f, lower)


@pytest.mark.parametrize("excess", [1e-4, 1e-6, 1e-8])
def test_near_ties(excess: float) -> None:
    f, g = GaussianTradeoff(1.0), GaussianTradeoff(1.0 + excess)
    assert dominates(f, g, 0.0).holds is not False
    assert dominates(g, f, 0.0).holds is False
    gap = excess * math.exp(-1 / 8) / math.sqrt(2 * math.pi)
    assert dominates(g, f, 2 * gap)
    assert dominates(g, f, gap / 2).holds is False


def test_a_tie_is_not_proved_without_tolerance() -> None:
    """Equal up to rounding: neither claim can be made, and neither is."""
    f, g = GaussianTradeoff(1.0), WithFailure(GaussianTradeoff(1.0), 0.0)
    assert dominates(f, g, 0.0).holds is None
    assert dominates(g, f, 0.0).holds is None
    assert dominates(f, g)
    assert dominates(g, f)
    # found by a search, which ends below the truth by less than what counts as a violation
    searched = Mixture([GaussianTradeoff(1.0)])
    alpha = np.linspace(0.0, 1.0, 101)
    np.testing.assert_allclose(searched(alpha), f(alpha), rtol=0, atol=1e-13)
    assert dominates(searched, f, 1e-4)


def test_functions_that_cross() -> None:
    gaussian, approx = GaussianTradeoff(1.0), ApproxDPTradeoff(1.0, 1e-5)
    assert_violated(gaussian, approx)
    assert_violated(approx, gaussian)
    one = PiecewiseLinear([0, 0.1, 1], [1, 0.5, 0])
    assert not one.symmetric
    assert_violated(one, one.inverse())
    assert_violated(one.inverse(), one)


def test_a_violation_far_out() -> None:
    """The functions differ only at false positive rates below 1e-9."""
    loose, tight = ApproxDPTradeoff(1.0, 1e-6), ApproxDPTradeoff(1.0, 0.0)
    assert_violated(loose, tight)
    assert dominates(loose, tight, 1.01e-6)
    assert dominates(GaussianTradeoff(10.0), GaussianTradeoff(11.0))
    assert_violated(GaussianTradeoff(11.0), GaussianTradeoff(10.0))


def test_the_exponential_mechanism() -> None:
    """(2c, 0)-DP is the better bound, everywhere, iff c <= 0.676. [BSA24, expmechnum]"""

    def pure_is_better(c: float) -> bool:
        verdict = dominates(ApproxDPTradeoff(2 * c), GaussianTradeoff(2 * math.sqrt(c)))
        assert verdict.holds is not None
        return verdict.holds

    low, high = 0.1, 3.0
    assert pure_is_better(low)
    assert not pure_is_better(high)
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if pure_is_better(middle) else (low, middle)
    assert low == pytest.approx(0.676, abs=1e-3)
    # e^eps = Phi(mu/2) / Phi(-mu/2) there
    half = math.erfc(-math.sqrt(low / 2)) / math.erfc(math.sqrt(low / 2))
    assert math.exp(2 * low) == pytest.approx(half, rel=1e-5)
    # the other way it never is: G(mu) is infinitely steep at 0
    assert_violated(GaussianTradeoff(0.1), ApproxDPTradeoff(0.2))


@pytest.mark.parametrize("bad", [-1e-9, math.nan, 2.0, "1e-9"])
def test_a_bad_tolerance(bad: float) -> None:
    with pytest.raises(InvalidInput) as refusal:
        dominates(Identity(), Identity(), bad)
    assert refusal.value.name == "tolerance"
