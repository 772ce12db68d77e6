"""What holds of every tradeoff function in the catalogue.

`exact` is an independent implementation in 45-digit arithmetic. Values must lie on the private side
of it (f below, delta and epsilon above), and close to it.
"""

from __future__ import annotations

import json
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp import NoClosedForm
from shiftdp.fdp import (
    GaussianTradeoff,
    Maximum,
    Subsampled,
    TradeoffFunction,
    WithFailure,
)
from tests.fdp import exact
from tests.fdp.catalogue import CATALOGUE, log_uniform

every_kind = pytest.mark.parametrize("kind", CATALOGUE)
examples = settings(max_examples=8)
few_examples = settings(max_examples=4)

ALPHAS = np.unique(
    np.concatenate([[0.0, 1.0], np.geomspace(1e-12, 0.5, 60), 1 - np.geomspace(1e-12, 0.5, 60)])
)
EPSILONS = np.unique(np.concatenate([np.linspace(-12, 12, 97), [-1e-3, -1e-9, 1e-9, 1e-3]]))
alphas = st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0.0, 1.0) | log_uniform(1e-300, 1.0)
alphas |= log_uniform(1e-15, 1.0).map(lambda a: 1.0 - a)
epsilons = st.just(0.0) | st.floats(-15.0, 15.0) | log_uniform(1e-12, 40.0)
deltas = log_uniform(1e-25, 1.0) | st.floats(0.0, 1.0)


def drawn(data: st.DataObject, kind: str) -> TradeoffFunction:
    return data.draw(CATALOGUE[kind], label="f")


def slack(f: TradeoffFunction) -> float:
    """What delta may be off by; that of a maximum is found by a search."""
    return 2e-11 if isinstance(f, Maximum) else 4e-15


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


# --- how it is called ------------------------------------------------------------------------


@every_kind
@examples
@given(data=st.data())
def test_scalars_and_arrays_agree(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    alpha, epsilon, delta = ALPHAS[::20], EPSILONS[::12], np.array([0.0, 1e-9, 1e-3, 0.4, 1.0])
    for method, points, slightly in (
        (f.__call__, alpha, 1e-14),
        (f.delta, epsilon, 1e-300),
        (f.epsilon, delta, 1e-300),
    ):
        array = method(points)
        assert isinstance(array, np.ndarray)
        assert array.dtype == np.float64
        single = [method(float(point)) for point in points]
        assert all(type(value) is float for value in single)
        np.testing.assert_allclose(array, single, rtol=1e-11, atol=slightly)
        np.testing.assert_array_equal(method(points.tolist()), array)
        table = method(points[:4].reshape(2, 2))
        np.testing.assert_allclose(table, array[:4].reshape(2, 2), rtol=1e-11, atol=slightly)


@every_kind
@examples
@given(data=st.data())
def test_values_are_immutable_and_comparable(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    other: object = "f"
    assert hash(f) == hash(f.inverse().inverse()) or f != f.inverse().inverse()
    assert f != other
    assert type(f).__name__ in repr(f)
    for name in (*vars(f), "mu"):
        with pytest.raises(AttributeError):
            setattr(f, name, 0.5)


# --- what follows ----------------------------------------------------------------------------


@every_kind
@examples
@given(data=st.data(), fpr=alphas)
def test_attacks(kind: str, data: st.DataObject, fpr: float) -> None:
    f = drawn(data, kind)
    assert mpf(f.tpr(fpr)) >= 1 - mpf(f(fpr))
    assert f.tpr(fpr) == pytest.approx(1.0 - f(fpr), abs=3e-16)
    assert f.tpr(fpr) <= 1.0
    assert f.advantage() == f.delta(0.0)
    assert f.advantage() >= f.tpr(fpr) - fpr - 2e-13


@every_kind
@examples
@given(data=st.data(), prior=st.floats(0.0, 1.0) | log_uniform(1e-9, 1.0))
def test_bayes_risk(kind: str, data: st.DataObject, prior: float) -> None:
    f = drawn(data, kind)
    risk = f.bayes_risk(prior)
    brute = ((1.0 - prior) * ALPHAS + prior * f(ALPHAS)).min()
    assert 0.0 <= risk <= brute + 2e-13
    if 0.0 < prior < 1.0:
        odds = (1 - mpf(prior)) / mpf(prior)
        true = mpf(prior) * (1 - exact.delta(f, mpmath.log(odds)))
        assert mpf(risk) <= true + mpf("1e-17")
        assert risk == pytest.approx(float(true), rel=1e-9, abs=1e-14)


@every_kind
@few_examples
@given(data=st.data(), order=st.floats(1.01, 12.0))
def test_renyi_against_quadrature_of_the_profile(
    kind: str, data: st.DataObject, order: float
) -> None:
    """E r^a = 1 + a (a - 1) int gamma^{a-2} (H_gamma - (1 - gamma)_+) d gamma."""
    f = drawn(data, kind)
    try:
        value = f.renyi(order)
    except NoClosedForm:
        return
    if math.isinf(value):
        assert f.delta(math.inf) > 0.0
        return
    if (order - 1.0) * value > 600.0:  # its exponential is no float
        return
    # in eps: gamma^{a-1} (H - (1 - gamma)_+) d eps; the left tail by H's mirror image
    reach = [g.epsilon(d) for g in (f, f.inverse()) for d in (1e-13, 1e-250)]
    # close together near 0, where a sampled step has all of its losses
    eps = max(1e-9, *(e for e in reach if e < math.inf)) * np.linspace(0.0, 1.0, 60_001) ** 3
    log_weight = (order - 1.0) * eps
    # below, a delta that is rounded up may be all rounding
    delta, back = (np.where(g.delta(eps) > 1e-250, g.delta(eps), 0.0) for g in (f, f.inverse()))
    with np.errstate(divide="ignore"):
        right = np.exp(np.log(delta) + log_weight)
        left = np.exp(np.log(back) - order * eps)
    excess = order * (order - 1.0) * np.trapezoid(right + left, eps)
    divergence = math.log1p(excess) / (order - 1.0)
    # of a maximum, a minimum, and sampling what is not symmetric, only a bound is claimed
    assert value >= divergence * (1 - 2e-4) - 1e-12
    bounded = isinstance(f, Subsampled) and not f.base.symmetric
    if not bounded and not any(word in type(f).__name__ for word in ("Maximum", "Minimum")):
        assert value == pytest.approx(divergence, rel=2e-3, abs=1e-9)


@every_kind
@examples
@given(data=st.data(), p=log_uniform(1e-3, 1.0), q=log_uniform(1e-3, 1.0))
def test_less_is_more_private(kind: str, data: st.DataObject, p: float, q: float) -> None:
    """Sampling less, failing less: post-processing can only raise f."""
    f = drawn(data, kind)
    low, high = sorted((p, q))
    alpha = np.array([1e-6, 0.01, 0.3, 0.5, 0.9, 1 - 1e-6])
    epsilon = np.array([-1.0, 0.0, 1e-3, 0.5, 3.0])
    rare, often = f.subsample(low), f.subsample(high)
    assert np.all(rare.delta(epsilon) <= often.delta(epsilon) * (1 + 1e-11) + 4e-15)
    sound, frail = WithFailure(f, low), WithFailure(f, high)
    assert np.all(sound(alpha) >= frail(alpha))
    assert np.all(sound.delta(epsilon) <= frail.delta(epsilon) * (1 + 1e-14))


# --- what the rest of the library asks ----------------------------------------------------------


@every_kind
@examples
@given(data=st.data())
def test_a_gaussian_parameter_is_that_of_the_same_function(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    if f.gdp_mu is not None:
        g = GaussianTradeoff(f.gdp_mu)
        np.testing.assert_allclose(f.delta(EPSILONS), g.delta(EPSILONS), rtol=1e-11, atol=4e-15)


@every_kind
@examples
@given(data=st.data())
def test_the_implied_gaussian_is_less_private(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    mu = f.implied_mu()
    if mu == math.inf:
        assert max(f.delta(math.inf), f.inverse().delta(math.inf)) > 0.0
    else:
        below = GaussianTradeoff(mu)
        assert np.all(np.asarray(below(ALPHAS)) <= np.asarray(f(ALPHAS)) + 1e-12)


@every_kind
@examples
@given(data=st.data())
def test_a_failure_that_is_split_off_can_be_put_back(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    base, failure = f.split_failure()
    assert (base if failure == 0.0 else WithFailure(base, failure)) in (f, base)
    again = WithFailure(base, failure)
    np.testing.assert_allclose(again.delta(EPSILONS), f.delta(EPSILONS), rtol=1e-13, atol=1e-300)


@every_kind
@examples
@given(data=st.data())
def test_the_worse_direction_is_symmetric_and_below_both(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    worse = f.worse_direction()
    assert worse.symmetric
    profiles = np.asarray(f.delta(EPSILONS)), np.asarray(f.inverse().delta(EPSILONS))
    np.testing.assert_array_equal(worse.delta(EPSILONS), np.maximum(*profiles))


@every_kind
@examples
@given(data=st.data())
def test_the_directions_are_each_others_inverse(kind: str, data: st.DataObject) -> None:
    """Where they are told apart; then the function is the worse of them."""
    worse = drawn(data, kind).worse_direction()
    without, there = worse.directions
    assert without.inverse() == there
    both = np.maximum(without.delta(EPSILONS), there.delta(EPSILONS))
    np.testing.assert_allclose(worse.delta(EPSILONS), both, rtol=1e-14)
    assert (without == there) == (not kind.endswith("ZeroOut") or worse.gdp_mu is not None)


@every_kind
@examples
@given(data=st.data(), delta=log_uniform(1e-12, 0.9))
def test_exact_epsilon_lies_in_its_interval(kind: str, data: st.DataObject, delta: float) -> None:
    f = drawn(data, kind)
    low, high = f.epsilon_below(delta), f.epsilon(delta)
    assert low <= high
    assert f.epsilon_below(delta, 1e-6) <= low
    if 0.0 < low < math.inf:
        # the profile of a maximum is itself found by a search
        found = slack(f) if isinstance(f, Maximum) else 0.0
        assert exact.delta(f, low) >= mpf(delta) * (1 - mpf("1e-12")) - found
    if f.split_failure()[1] == 0.0 and high < math.inf:
        assert low >= high * (1.0 - 1e-11) - 1e-14


@every_kind
@examples
@given(data=st.data())
def test_a_function_is_read_back_as_it_was_written(kind: str, data: st.DataObject) -> None:
    f = drawn(data, kind)
    written = json.loads(json.dumps(f.to_dict()))
    assert written["type"] == f.type_name
    again = TradeoffFunction.from_dict(written)
    assert again == f
    assert json.dumps(again.to_dict()) == json.dumps(f.to_dict())
