"""Group privacy: 1 - (1 - f)^{o k}, against closed forms and against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    GroupTradeoff,
    HiddenZeroOut,
    Identity,
    LaplaceTradeoff,
    Mixture,
    PiecewiseLinear,
    TradeoffFunction,
    WithFailure,
)

ALPHAS = np.concatenate([np.geomspace(1e-12, 0.5, 40), 1 - np.geomspace(1e-12, 0.4, 20)])
FUNCTIONS: list[TradeoffFunction] = [
    Mixture([GaussianTradeoff(0.3), GaussianTradeoff(1.2)], [0.8, 0.2]),
    ApproxDPTradeoff(0.7, 1e-6),
    LaplaceTradeoff(0.8),
    HiddenZeroOut(mu=(0.0, 1.0), weight=(0.95, 0.05)).worse_direction(),
    PiecewiseLinear([0, 0.1, 0.4, 1], [0.9, 0.5, 0.2, 0]),
    WithFailure(GaussianTradeoff(0.5), 1e-4),
]


def almost(mu: float) -> Mixture:
    """G(mu) as a function that has no closed form for groups."""
    return Mixture([GaussianTradeoff(mu), GaussianTradeoff(mu * (1 + 1e-9))])


def test_gaussians_add_up() -> None:
    assert GaussianTradeoff(0.25).group(4) == GaussianTradeoff(1.0)
    assert Identity().group(9).delta(0.0) == 0.0
    tenth = GroupTradeoff(GaussianTradeoff(0.1), 3).gdp_mu
    assert tenth is not None
    assert 0.3 <= tenth <= 0.3 * (1 + 1e-15)


def test_one_record_is_the_function_itself() -> None:
    for f in FUNCTIONS:
        assert f.group(1) is f


@pytest.mark.parametrize("k", [2, 5, 20])
def test_it_is_above_the_closed_form_and_close(k: int) -> None:
    mine, exact = GroupTradeoff(almost(0.4), k), GaussianTradeoff(0.4 * k)
    for delta in (1e-2, 1e-5, 1e-10, 1e-20):
        assert exact.epsilon(delta) <= mine.epsilon(delta) <= exact.epsilon(delta) * 1.0005
    for epsilon in (-2.0, 0.0, 0.5, 3.0):
        assert exact.delta(epsilon) <= mine.delta(epsilon) <= exact.delta(epsilon) * 1.005
    assert np.all(np.asarray(mine(ALPHAS)) <= np.asarray(exact(ALPHAS)) + 4e-15)
    assert np.allclose(mine(ALPHAS), exact(ALPHAS), rtol=2e-3, atol=1e-5)


def test_pure_guarantees_add_up_and_approximate_ones_as_is_known() -> None:
    assert GroupTradeoff(LaplaceTradeoff(0.5), 3).epsilon(0.0) == pytest.approx(1.5, rel=1e-12)
    delta = GroupTradeoff(ApproxDPTradeoff(1.0, 1e-6), 3).delta(3.0)
    assert delta == pytest.approx(1e-6 * (1 + math.e + math.e**2), rel=1e-6)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("k", [2, 3])
def test_it_is_never_above_its_definition(f: TradeoffFunction, k: int) -> None:
    """f rounds down, so that iterating it gives a level of power that is not too small."""
    level = ALPHAS
    for _ in range(k):
        level = 1.0 - np.asarray(f(level))
    mine = np.asarray(GroupTradeoff(f, k)(ALPHAS))
    assert np.all(mine <= 1.0 - level + 1e-9)
    assert np.all(mine >= (1.0 - level) * (1 - 5e-3) - 2e-3)


@settings(max_examples=15, deadline=None)
@given(k=st.integers(2, 6), f=st.sampled_from(FUNCTIONS), split=st.lists(st.floats(0.0, 2.0)))
def test_every_split_of_epsilon_is_a_bound_that_it_does_not_exceed(
    k: int, f: TradeoffFunction, split: list[float]
) -> None:
    """delta_k(sum of eps_i) <= sum_i delta(eps_i) exp(sum of the later ones), for any eps_i."""
    parts = [*split, *([0.3] * k)][:k]
    bound = sum(f.delta(e) * math.exp(sum(parts[i + 1 :])) for i, e in enumerate(parts))
    assert GroupTradeoff(f, k).delta(sum(parts)) <= min(1.0, bound) * (1 + 5e-3) + 1e-12


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: type(f).__name__)
def test_it_is_convex_falls_and_is_read_back(f: TradeoffFunction) -> None:
    mine = GroupTradeoff(f, 3)
    gamma = np.linspace(0.05, 20.0, 200)
    profile = np.asarray(mine.delta(np.log(gamma)))
    assert np.all(np.diff(profile) <= 1e-12)
    assert np.all(np.diff(profile, 2) >= -1e-9)
    assert TradeoffFunction.from_dict(mine.to_dict()) == mine
    assert mine.inverse().inverse() == mine
    assert mine.epsilon_below(1e-3) <= mine.epsilon(1e-3)


def test_more_people_leak_more_and_it_composes() -> None:
    f = FUNCTIONS[0]
    costs = [f.group(k).epsilon(1e-5) for k in (1, 2, 3, 5)]
    assert costs == sorted(costs)
    pair = f.group(2).compose(GaussianTradeoff(0.5))
    assert pair.epsilon(1e-5) > f.group(2).epsilon(1e-5)


def test_more_records_than_anybody_has_end_all_the_same() -> None:
    """Found by fuzzing: 2^53 records were followed one by one."""
    mixture = Mixture([GaussianTradeoff(0.5), GaussianTradeoff(1.0)], [0.5, 0.5])
    assert mixture.group(2**53).delta(1.0) == 1.0  # after some dozens nothing is left
    faint = ApproxDPTradeoff(1e-9, 1e-12).group(2**53)
    with pytest.raises(InvalidInput, match="size=9007199254740992 is more records than"):
        faint.delta(1.0)
