"""Piecewise linear functions: knots, guarantees taken together, and certified envelopes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp import InvalidInput
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Maximum,
    PiecewiseLinear,
    TradeoffFunction,
    dominates,
)
from tests.fdp import exact
from tests.fdp.catalogue import asymmetric, base, log_uniform

guarantees = st.lists(st.tuples(st.floats(0.0, 15.0), st.floats(0.0, 0.5)), min_size=1, max_size=6)
points = st.floats(0.0, 1.0) | log_uniform(1e-12, 1.0)
points |= log_uniform(1e-12, 1.0).map(lambda a: 1.0 - a)


@settings(max_examples=150)
@given(guarantees, points)
def test_guarantees_taken_together(pairs: list[tuple[float, float]], alpha: float) -> None:
    f = PiecewiseLinear.from_guarantees(*zip(*pairs, strict=True))
    together = max(exact.beta(ApproxDPTradeoff(e, d), alpha) for e, d in pairs)
    assert mpf(f(alpha)) <= together
    assert f(alpha) == pytest.approx(float(together), rel=1e-8, abs=1e-14)


@settings(max_examples=60)
@given(guarantees)
def test_guarantees_come_back(pairs: list[tuple[float, float]]) -> None:
    epsilon, delta = zip(*pairs, strict=True)
    f = PiecewiseLinear.from_guarantees(epsilon, delta)
    every = Maximum(ApproxDPTradeoff(e, d) for e, d in pairs)
    for e, d in pairs:
        assert f.delta(e) <= d + 4e-15
        assert f.delta(e) == pytest.approx(every.delta(e), rel=1e-6, abs=1e-13)
        back = f.inverse()
        assert back.delta(e) == pytest.approx(f.delta(e), rel=1e-9, abs=6e-15)


def test_a_tiny_delta_is_not_rounded_away() -> None:
    f = PiecewiseLinear.from_guarantees([1.0], [1e-20])
    assert f.delta(2.0) >= 1e-20
    assert f.epsilon(1e-30) == math.inf


@settings(max_examples=60)
@given(base, points)
def test_an_envelope_is_certified(f: TradeoffFunction, alpha: float) -> None:
    lower = PiecewiseLinear.below(f, np.linspace(-10, 10, 81))
    assert mpf(lower(alpha)) <= exact.beta(f, alpha)
    # between neighbouring slopes a supporting line is lost: gamma alpha (e^{1/4} - 1) at most
    if max(f.delta(10.0), f.inverse().delta(10.0)) < 0.01:
        assert f(alpha) - lower(alpha) <= math.expm1(0.25) + 0.01


@settings(max_examples=30)
@given(base)
def test_an_envelope_has_the_profile_at_its_slopes(f: TradeoffFunction) -> None:
    slopes = np.linspace(-5, 5, 21)
    lower = PiecewiseLinear.below(f, slopes)
    np.testing.assert_allclose(lower.delta(slopes), f.delta(slopes), rtol=1e-9, atol=1e-13)
    assert np.all(lower.delta(slopes) >= np.asarray(f.delta(slopes)) * (1 - 1e-13))


def test_a_fine_envelope_converges() -> None:
    f = GaussianTradeoff(1.0)
    gaps = []
    for count in (50, 100, 200, 400):
        lower = PiecewiseLinear.below(f, np.linspace(-8, 8, count))
        grid = np.linspace(0, 1, 2001)
        gaps.append(float(np.max(np.asarray(f(grid)) - np.asarray(lower(grid)))))
    # quadratic in the spacing
    assert all(late < early / 3.5 for early, late in pairwise(gaps))
    assert dominates(f, PiecewiseLinear.below(f, np.linspace(-8, 8, 400)))


@settings(max_examples=100)
@given(asymmetric, points)
def test_the_inverse_swaps_the_axes(f: TradeoffFunction, alpha: float) -> None:
    assert isinstance(f, PiecewiseLinear)
    inverse = f.inverse()
    assert set(zip(inverse.beta, inverse.alpha, strict=True)) >= {
        (a, b) for a, b in zip(f.alpha, f.beta, strict=True) if 0.0 < b < 1.0
    }
    y = f(alpha)
    if 0.0 < y < f(0.0):
        assert inverse(y) == pytest.approx(alpha, rel=1e-6, abs=1e-9)


def test_a_function_that_reaches_zero_early() -> None:
    f = PiecewiseLinear([0, 0.5, 1], [1, 0, 0])
    inverse = f.inverse()
    assert inverse(0.0) == pytest.approx(0.5, rel=1e-14)
    assert inverse(1.0) == 0.0
    assert inverse.inverse() == f
    assert f.delta(math.inf) == 0.0
    assert inverse.delta(math.inf) == pytest.approx(0.5, rel=1e-14)
    assert inverse.epsilon(0.1) == math.inf
    assert f.epsilon(0.0) == pytest.approx(math.log(2.0), rel=1e-14)


def test_symmetry_is_exact() -> None:
    assert PiecewiseLinear([0, 0.25, 1], [1, 0.25, 0]).symmetric
    assert PiecewiseLinear([0, 0.25, 0.5, 1], [1, 0.5, 0.25, 0]).symmetric
    assert not PiecewiseLinear([0, 0.25, 1], [1, 0.2, 0]).symmetric
    # by absolute distance these are the same; by privacy they are not
    skew = PiecewiseLinear([0, 1e-17, 0.5, 1], [1, 0.5, 1e-16, 0])
    assert not skew.symmetric
    assert skew.inverse().epsilon(0.0) != pytest.approx(skew.epsilon(0.0), abs=0.1)
    sampled = skew.subsample(0.5)
    assert sampled.delta(35.0) == pytest.approx(float(exact.delta(sampled, 35.0)), abs=1e-14)


def test_knots_that_rounding_made_concave_are_lowered() -> None:
    f = PiecewiseLinear([0, 0.3, 0.6, 1], [1, 1e-13, 1e-13, 0])
    assert f(0.6) <= 1e-13 * 4 / 7
    assert f.inverse()(1e-13) == pytest.approx(0.3, rel=1e-12)


def test_knots_are_kept_and_read_only() -> None:
    alpha, beta = np.array([0, 0.25, 1.0]), np.array([1, 0.25, 0.0])
    f = PiecewiseLinear(alpha, beta)
    alpha[1] = 0.5
    assert f.alpha.tolist() == [0, 0.25, 1]
    with pytest.raises(ValueError, match="read-only"):
        f.alpha[1] = 0.5
    with pytest.raises(AttributeError, match="immutable"):
        f.alpha = alpha
    assert f == PiecewiseLinear([0, 0.25, 1], [1, 0.25, 0])
    assert hash(f) == hash(PiecewiseLinear([0, 0.25, 1], [1, 0.25, 0]))
    assert f != GaussianTradeoff(1.0)
    assert repr(f) == "PiecewiseLinear(<3 knots>)"


def test_near_one_no_digits_are_lost() -> None:
    """f(alpha) = 1 - alpha there, to full relative precision and not above."""
    f = PiecewiseLinear([0, 1], [1, 0])
    for k in range(1, 53):
        alpha = 1.0 - 2.0**-k
        assert f(alpha) <= 2.0**-k
        assert f(alpha) == pytest.approx(2.0**-k, rel=1e-14)


@pytest.mark.parametrize(
    ("alpha", "beta", "name"),
    [
        ([0, 1], [1, 0.1], "beta"),
        ([0, 0.5, 1], [1, 0.6, 0], "beta"),
        ([0, 0.2, 0.5, 1], [1, 0.7, 0.45, 0], "beta"),
        ([0, 0.5, 1], [0.5, 0.6, 0], "beta"),
        ([0.1, 1], [0.9, 0], "alpha"),
        ([0, 0.9], [1, 0], "alpha"),
        ([0, 0.5, 0.5, 1], [1, 0.5, 0.4, 0], "alpha"),
        ([0, 1], [1, 0, 0], "alpha, beta"),
        ([0], [1], "alpha, beta"),
        ([[0, 1]], [[1, 0]], "alpha, beta"),
        ([0, math.nan, 1], [1, 0.2, 0], "alpha"),
        ([], [], "alpha"),
    ],
)
def test_knots_that_are_no_tradeoff_function(
    alpha: list[float], beta: list[float], name: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        PiecewiseLinear(alpha, beta)
    assert refusal.value.name == name


def test_guarantees_that_do_not_pair_up() -> None:
    with pytest.raises(InvalidInput, match="length"):
        PiecewiseLinear.from_guarantees([1.0, 2.0], [0.1])
    with pytest.raises(InvalidInput, match="epsilon"):
        PiecewiseLinear.from_guarantees([-1.0], [0.1])


def test_knots_that_are_hardly_apart_have_a_slope() -> None:
    """Found by fuzzing: the slope overflowed, with a warning of NumPy's."""
    f = PiecewiseLinear([0.0, 5e-324, 1.0], [1.0, 0.25, 0.0])
    assert f.delta(700.0) == pytest.approx(0.75)
    assert f.inverse()(0.5) == 0.0
    assert f.epsilon(0.5) == math.inf
