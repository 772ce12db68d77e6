"""What holds of every tradeoff function in the catalogue.

`exact` is an independent implementation in 45-digit arithmetic. Values must lie on the private side
of it (f below, delta and epsilon above), and close to it.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp import Maximum
from tests.fdp import exact
from tests.fdp.every_function import (
    ALPHAS,
    EPSILONS,
    alphas,
    deltas,
    drawn,
    epsilons,
    every_kind,
    examples,
    slack,
)

# --- the shape of f --------------------------------------------------------------------------


@every_kind
@examples
@given(data=st.data())
def test_f_is_a_tradeoff_function(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    beta = np.asarray(f(ALPHAS))
    assert np.all(beta >= 0.0)
    assert np.all(beta <= 1.0 - ALPHAS)
    assert f(1.0) == 0.0
    assert np.all(np.diff(beta) <= 1e-15)
    # every point lies below the chord of its neighbours
    left, right = ALPHAS[1:-1] - ALPHAS[:-2], ALPHAS[2:] - ALPHAS[1:-1]
    chord = (beta[:-2] * right + beta[2:] * left) / (left + right)
    assert np.all(beta[1:-1] <= chord + 2e-13)


@every_kind
@examples
@given(data=st.data(), alpha=alphas)
def test_f_is_rounded_down_and_accurate(kind: str, data: st.DataObject, alpha: float) -> None:
    f = drawn(data, kind)
    true = exact.beta(f, alpha)
    value = f(alpha)
    assert mpf(value) <= true + mpf("1e-17")
    assert value == pytest.approx(float(true), rel=1e-9, abs=2e-13)


# --- the profile -----------------------------------------------------------------------------


@every_kind
@examples
@given(data=st.data())
def test_the_profile_is_decreasing_and_convex_in_gamma(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    delta = np.asarray(f.delta(EPSILONS))
    assert np.all(delta <= 1.0)
    assert np.all(delta >= -np.expm1(EPSILONS))
    assert np.all(delta >= 0.0)
    assert np.all(np.diff(delta) <= 1e-13 * delta[:-1])
    left, right = np.diff(EPSILONS)[:-1], np.diff(EPSILONS)[1:]
    before, after = -np.expm1(-left), np.expm1(right)  # of gamma, in units of the one between
    chord = (delta[:-2] * after + delta[2:] * before) / (before + after)
    assert np.all(delta[1:-1] <= chord * (1 + 1e-11) + slack(f))


@every_kind
@examples
@given(data=st.data(), epsilon=epsilons)
def test_delta_is_rounded_up_and_accurate(kind: str, data: st.DataObject, epsilon: float) -> None:
    f = drawn(data, kind)
    true = exact.delta(f, epsilon)
    value = f.delta(epsilon)
    assert mpf(value) >= min(true, 1) - mpf("1e-17") * true - mpf("1e-35")
    assert value == pytest.approx(float(true), rel=2e-11, abs=slack(f))


@every_kind
@examples
@given(data=st.data())
def test_the_profile_at_infinity(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    assert f.delta(-math.inf) == 1.0
    assert f.delta(math.inf) == pytest.approx(1.0 - f(0.0), abs=4e-15)
    assert f.delta(math.inf) <= f.delta(700.0)


@every_kind
@settings(max_examples=12)
@given(data=st.data(), delta=deltas)
def test_epsilon_is_the_least(kind: str, data: st.DataObject, delta: float) -> None:
    f = drawn(data, kind)
    epsilon = f.epsilon(delta)
    assert epsilon >= 0.0
    if math.isinf(epsilon):
        assert delta < f.delta(1e6) * (1 + 1e-14)
        return
    if delta < 1.0:
        # the peak of a maximum is itself found by a search
        found = mpf("1e-20") if isinstance(f, Maximum) else mpf("1e-35")
        assert exact.delta(f, epsilon) <= mpf(delta) * (1 + mpf("1e-17")) + found
    if epsilon > 0.0:
        less = epsilon - 1e-11 * epsilon - 4e-15
        assert less < 0.0 or f.delta(less) > delta * (1 - 1e-15)


@every_kind
@examples
@given(data=st.data())
def test_epsilon_at_the_ends(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    assert f.epsilon(1.0) == 0.0
    assert f.epsilon(min(1.0, f.delta(0.0))) <= 1e-9
    assert f.epsilon(0.0) >= f.epsilon(1e-300) >= f.epsilon(1e-3)


# --- duality ---------------------------------------------------------------------------------


@every_kind
@examples
@given(data=st.data())
def test_f_from_its_profile_by_brute_force(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    grid = np.linspace(-30.0, 30.0, 12_001)
    alpha = np.array([1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999])
    lines = 1.0 - f.delta(grid) - np.exp(grid) * alpha[:, None]
    brute = lines.max(axis=1)
    value = f(alpha)
    # f is rounded down
    assert np.all(brute <= value + 1e-12)
    # a neighbour on the grid is at most 1/200 away in eps, so 0.5% in gamma
    assert np.all(value - np.maximum(brute, 0.0) <= 0.0051 * (1.0 - alpha))


@every_kind
@examples
@given(data=st.data())
def test_the_profile_from_f_by_brute_force(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    grid = np.unique(
        np.concatenate([ALPHAS, np.linspace(0, 1, 1001), np.geomspace(1e-14, 1, 3001)])
    )
    epsilon = np.array([-3.0, -0.5, 0.0, 0.1, 1.0, 4.0])
    brute = (1.0 - f(grid) - np.exp(epsilon)[:, None] * grid).max(axis=1)
    delta = f.delta(epsilon)
    # f is rounded down, which raises the lines
    assert np.all(brute <= delta + 1e-12)
    # a neighbour on the grid is 1% away, and gamma alpha at most 1 where it matters
    assert np.all(delta - brute <= 0.011)


# --- the inverse -----------------------------------------------------------------------------


@every_kind
@examples
@given(data=st.data())
def test_the_inverse_is_an_involution(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    back = f.inverse().inverse()
    np.testing.assert_allclose(back(ALPHAS), f(ALPHAS), rtol=0, atol=2e-13)
    np.testing.assert_allclose(back.delta(EPSILONS), f.delta(EPSILONS), rtol=1e-12, atol=4e-15)


@every_kind
@examples
@given(data=st.data())
def test_the_inverse_against_its_definition(kind: str, data: st.DataObject) -> None:
    """inf {alpha : f(alpha) <= y} lies between the neighbours on a grid."""
    f = drawn(data, kind)
    tiny = np.geomspace(1e-12, 0.1, 600)
    grid = np.unique(np.concatenate([[0.0, 1.0], tiny, np.linspace(0.1, 0.9, 800), 1.0 - tiny]))
    beta, inverse = np.asarray(f(grid)), np.asarray(f.inverse()(grid))
    # for each y the first point of the grid with f <= y, f being known to 2e-13
    first = np.searchsorted(-beta, -(grid + 2e-13))
    last = np.searchsorted(-beta, -(grid - 2e-13), side="right")
    assert np.all(inverse >= grid[np.maximum(first - 1, 0)] - 2e-13)
    assert np.all(inverse <= grid[np.minimum(last, grid.size - 1)] + 2e-13)


@every_kind
@examples
@given(data=st.data(), epsilon=epsilons)
def test_the_profile_of_the_inverse(kind: str, data: st.DataObject, epsilon: float) -> None:
    """H_gamma(P || Q) = 1 - gamma + gamma H_{1/gamma}(Q || P)."""
    f = drawn(data, kind)
    gamma = mpmath.exp(epsilon)
    true = 1 - gamma + gamma * exact.delta(f, -mpf(epsilon))
    value = f.inverse().delta(epsilon)
    assert mpf(value) >= min(true, 1) - mpf("1e-17") * (1 + gamma)
    assert value == pytest.approx(float(true), rel=2e-11, abs=slack(f))


@every_kind
@examples
@given(data=st.data())
def test_symmetric_means_symmetric(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    if f.symmetric:
        gamma = np.exp(EPSILONS)
        mirrored = 1 - gamma + gamma * f.delta(-EPSILONS)
        # e^eps multiplies what either is off by
        assert np.all(np.abs(np.asarray(f.delta(EPSILONS)) - mirrored) <= 2e-11 * (1.0 + gamma))
        assert f.inverse() == f
    symmetric = f.symmetrize()
    assert symmetric.symmetric
    assert np.all(symmetric(ALPHAS) >= f(ALPHAS))
    assert np.all(symmetric(ALPHAS) >= f.inverse()(ALPHAS))
