"""What every tradeoff function in the catalogue answers: attacks, risks, moments, directions."""

from __future__ import annotations

import json
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp import NoClosedForm
from shiftdp.fdp import GaussianTradeoff, Maximum, Subsampled, TradeoffFunction, WithFailure
from tests.fdp import exact
from tests.fdp.catalogue import log_uniform
from tests.fdp.every_function import (
    ALPHAS,
    EPSILONS,
    alphas,
    drawn,
    every_kind,
    examples,
    few_examples,
    slack,
)

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
    base, p = (f.base, f.p) if isinstance(f, Subsampled) else (f, 1.0)
    if base.split_failure()[1] == 0.0 and high < math.inf:
        # for small p, the error of what is subsampled counts for a larger part
        inner = base.epsilon(min(1.0, delta / p))
        assert low >= high * (1.0 - 1e-11 * (max(1.0, inner) if p < 1.0 else 1.0)) - 1e-14


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
