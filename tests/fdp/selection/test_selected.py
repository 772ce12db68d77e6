"""Theorem S3 against exact laws of selections among few outputs, and how close it comes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from shiftdp import InvalidInput
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    PiecewiseLinear,
    TradeoffFunction,
    WithFailure,
    renyi_epsilon,
)
from shiftdp.fdp.selection.selected import Selected
from shiftdp.fdp.selection.trials import Trials

LAWS = [
    Trials("negative_binomial", 0.2, 1.0),
    Trials("negative_binomial", 0.1, 0.0),
    Trials("negative_binomial", 0.1, -0.5),
    Trials("negative_binomial", 0.3, 3.0),
    Trials("poisson", 3.0),
]


def best_of(f: TradeoffFunction, trials: Trials) -> Selected:
    return Selected(f, trials.law, trials.rate, trials.shape)


def generating(trials: Trials, z: np.ndarray) -> np.ndarray:
    """phi(z), in closed form: not what the code under test uses."""
    if trials.shape is None:
        return np.asarray(np.expm1(trials.rate * z) / math.expm1(trials.rate))
    g, eta = trials.rate, trials.shape
    if eta == 0.0:
        return np.asarray(np.log1p(-(1 - g) * z) / math.log(g))
    return np.asarray(((1 - (1 - g) * z) ** -eta - 1) / (g**-eta - 1))


def released(p: np.ndarray, order: tuple[int, ...], trials: Trials) -> np.ndarray:
    """The exact law of the best output, `order` being from the worst to the best."""
    below = np.concatenate([[0.0], np.cumsum(p[list(order)])])
    steps = np.diff(generating(trials, np.minimum(below, 1.0)))
    out = np.empty(len(p))
    out[list(order)] = steps
    return out


def profile(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def tradeoff_of(p: np.ndarray, q: np.ndarray) -> TradeoffFunction:
    """A symmetric tradeoff function below T(P, Q) and T(Q, P), from their exact profiles."""
    grid = np.unique(np.concatenate([np.abs(np.log(p / q)), [0.0]]))
    delta = [max(profile(p, q, e), profile(q, p, e)) for e in grid]
    return PiecewiseLinear.from_guarantees(grid, np.array(delta) + 1e-15).worse_direction()


masses = st.lists(st.floats(0.02, 1.0), min_size=3, max_size=4)


@settings(max_examples=25, deadline=None)
@given(one=masses, other=masses, law=st.sampled_from(LAWS))
def test_no_selection_among_few_outputs_leaks_more(
    one: list[float], other: list[float], law: Trials
) -> None:
    size = min(len(one), len(other))
    p, q = (np.array(side[:size]) / sum(side[:size]) for side in (one, other))
    certified = best_of(tradeoff_of(p, q), law)
    for order in itertools.permutations(range(size)):
        a, b = released(p, order, law), released(q, order, law)
        assert a.sum() == pytest.approx(1.0)
        for epsilon in (0.0, 0.3, 1.0, 2.0, 4.0):
            exact = max(profile(a, b, epsilon), profile(b, a, epsilon))
            assert exact <= certified.delta(epsilon) + 1e-12


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_randomised_response_is_enclosed(law: Trials) -> None:
    """Three outputs: the worst order leaks close to what is certified, and no order leaks more."""
    p = np.array([0.02, 0.5, 0.48])
    q = np.array([0.01, 0.4, 0.59])
    certified = best_of(tradeoff_of(p, q), law)
    delta = 1e-3
    worst = 0.0
    for order in itertools.permutations(range(3)):
        a, b = released(p, order, law), released(q, order, law)
        grid = np.linspace(0.0, 6.0, 2001)
        for one, two in ((a, b), (b, a)):
            enough = [profile(one, two, e) <= delta for e in grid]
            worst = max(worst, float(grid[int(np.argmax(enough))]))
    assert 0.8 * certified.epsilon(delta) < worst <= certified.epsilon(delta) + 0.003


@pytest.mark.parametrize("law", LAWS[:2], ids=str)
@pytest.mark.parametrize("mu", [0.3, 1.0])
def test_some_selection_comes_close(law: Trials, mu: float) -> None:
    """Outputs of N(mu, 1) or N(0, 1): those in a band are the worst, those above it next."""
    delta, f = 1e-5, best_of(GaussianTradeoff(mu), law)
    epsilon = 0.98 * f.epsilon(delta)
    most = 0.0
    for low in np.linspace(-2.0, 5.0, 60):
        high = np.linspace(low, 8.0, 150)
        a, b = norm.sf(low - mu), norm.sf(low)
        below_a, below_b = a - norm.sf(high - mu), b - norm.sf(high)
        gain = generating(law, np.full(150, a)) - generating(law, below_a)
        loss = generating(law, np.full(150, b)) - generating(law, below_b)
        most = max(most, float((gain - math.exp(epsilon) * loss).max()))
    assert most > delta  # at an epsilon 2% below what is certified


@settings(max_examples=15, deadline=None)
@given(mu=st.floats(0.05, 2.0), law=st.sampled_from(LAWS), delta=st.sampled_from([1e-3, 1e-6]))
def test_the_best_costs_more_than_a_trial_and_less_than_all_of_them(
    mu: float, law: Trials, delta: float
) -> None:
    f = best_of(GaussianTradeoff(mu), law)
    assert f.epsilon(delta) > GaussianTradeoff(mu).epsilon(delta)
    assert best_of(GaussianTradeoff(1.1 * mu), law).epsilon(delta) > f.epsilon(delta)
    assert f.delta(f.epsilon(delta)) <= delta


def papernot_steinke(mu: float, law: Trials, delta: float) -> float:
    """[Papernot & Steinke 2022, Thm 2] for G(mu), at the best second order, then to epsilon."""
    assert law.shape is not None
    eta, log_rate, orders = law.shape, -math.log(law.rate), np.geomspace(1.001, 400.0, 200)

    def curve(order: float) -> float:
        second = 0.5 * mu**2 * (orders - 1.0) + log_rate / orders
        extra = (1.0 + eta) * float(second.min()) + math.log(law.mean) / (order - 1.0)
        return 0.5 * mu**2 * order + extra

    return renyi_epsilon(curve, delta=delta).epsilon


@pytest.mark.parametrize("law", LAWS[:4], ids=str)
@pytest.mark.parametrize("mu", [0.1, 0.3, 1.0])
def test_it_is_never_above_the_renyi_theorem(law: Trials, mu: float) -> None:
    assert best_of(GaussianTradeoff(mu), law).epsilon(1e-5) < papernot_steinke(mu, law, 1e-5)


def test_pure_privacy_costs_at_most_what_is_known() -> None:
    """(2 + eta) eps for a trial that is eps-DP [Papernot & Steinke 2022, Cor 3]."""
    f = best_of(ApproxDPTradeoff(0.5), LAWS[0])
    assert f.epsilon(1e-12) <= 3 * 0.5 + 1e-2
    assert f.delta(1.52) == 0.0


def test_what_may_fail_may_fail_in_every_trial() -> None:
    law = LAWS[0]
    f = best_of(WithFailure(GaussianTradeoff(0.2), 1e-7), law)
    assert f.epsilon(1e-7) == math.inf
    assert f.delta(50.0) == pytest.approx(law.mean * 1e-7, rel=1e-2)
    assert f.renyi(2.0) == math.inf


def test_nothing_costs_next_to_nothing() -> None:
    assert best_of(Identity(), LAWS[0]).epsilon(1e-5) < 0.01


def test_the_divergence_bounds_the_profile() -> None:
    f = best_of(GaussianTradeoff(0.3), LAWS[0])
    by_orders = min(
        f.renyi(order) + math.log((order - 1) / order) - math.log(1e-5 * order) / (order - 1)
        for order in np.geomspace(2.0, 100.0, 60).tolist()
    )
    assert f.epsilon(1e-5) < by_orders < 1.25 * f.epsilon(1e-5)


def test_it_is_a_tradeoff_function() -> None:
    f = best_of(GaussianTradeoff(0.4), LAWS[1])
    alpha = np.linspace(0.0, 1.0, 201)
    beta = np.asarray(f(alpha))
    assert beta[0] == pytest.approx(1.0, abs=1e-9)
    assert beta[-1] == 0.0
    assert (np.diff(beta) <= 1e-12).all()
    assert (np.diff(beta, 2) >= -1e-9).all()
    assert (beta <= 1.0 - alpha).all()
    assert f.inverse() is f
    assert f.delta(-1.0) == pytest.approx(1.0 - math.exp(-1.0) * (1.0 - f.delta(1.0)))
    assert TradeoffFunction.from_dict(f.to_dict()) == f
    together = f.compose(GaussianTradeoff(0.3))
    assert (
        f.epsilon(1e-5)
        < together.epsilon(1e-5)
        < f.epsilon(5e-6) + GaussianTradeoff(0.3).epsilon(5e-6)
    )


def test_one_direction_is_not_enough() -> None:
    with pytest.raises(InvalidInput, match="one direction"):
        best_of(PiecewiseLinear([0.0, 0.1, 1.0], [1.0, 0.2, 0.0]), LAWS[0])


def test_memory_is_bounded_where_profiles_are_asked_in_bulk() -> None:
    """Of a selection of a selection it would be gigabytes."""
    inner = Selected(GaussianTradeoff(0.3), "negative_binomial", 0.1, 1.0)
    asked: list[int] = []

    class Counted(GaussianTradeoff):
        def _delta(self, epsilon: Any) -> Any:
            asked.append(epsilon.size)
            return super()._delta(epsilon)

    outer = Selected(Counted(0.3), "negative_binomial", 0.1, 1.0)
    points = np.linspace(0.0, 5.0, 3_000)
    np.testing.assert_array_equal(outer.delta(points), inner.delta(points))
    assert max(asked) <= 20_000 < sum(asked)
