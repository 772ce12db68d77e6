"""Whether a model can be better than a constant: refusals, warnings, and the cure."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.sklearn import PrivateLogisticRegression, WeakSignalWarning
from shiftdp.training import Huber, Logistic, Softmax
from shiftdp.training.planning import (
    Overrides,
    Problem,
    outlook_of,
    plan_for,
    require_worthwhile,
)
from shiftdp.training.planning.utility import Reference

FULL = Overrides(algorithm="gd")

GERMAN = Problem(
    n=800,
    features=61,
    loss=Logistic(),
    feature_bound=4.0,
    epsilon=1.0,
    delta=1e-5,
    adjacency="zero_out",
)


@pytest.mark.parametrize(("epsilon", "worthwhile"), [(0.003, False), (0.01, False), (0.1, True)])
def test_german_is_hopeless_at_a_hundredth_and_not_at_a_tenth(
    epsilon: float, worthwhile: bool
) -> None:
    # measured: 15 and 8 points below the largest class, and as good as it
    assert outlook_of(plan_for(replace(GERMAN, epsilon=epsilon))).worthwhile is worthwhile


@pytest.mark.parametrize(
    ("n", "features", "bound", "loss", "epsilon"),
    [
        (456, 30, 3.5, Logistic(), 0.03),  # cancer: 6 points above the largest class
        (281, 33, 4.0, Logistic(), 0.1),  # ionosphere: 6
        (143, 13, 2.5, Softmax(classes=3), 0.1),  # wine: 15
        (1_438, 64, 3.5, Softmax(classes=10), 0.03),  # digits: 5
    ],
)
def test_models_that_were_better_than_a_constant_are_not_refused(
    n: int, features: int, bound: float, loss: Any, epsilon: float
) -> None:
    problem = replace(
        GERMAN, n=n, features=features, feature_bound=bound, loss=loss, epsilon=epsilon
    )
    require_worthwhile(plan_for(problem, FULL))


def test_the_cure_is_enough_and_not_far_too_much() -> None:
    hopeless = replace(GERMAN, epsilon=0.01)
    found = outlook_of(plan_for(hopeless, FULL))
    assert found.records is not None
    assert found.epsilon is not None

    def error(**changed: Any) -> float:
        return plan_for(replace(hopeless, **changed), FULL).prediction.total

    for n, epsilon in [(found.records, 0.01), (800, found.epsilon)]:
        assert error(n=n, epsilon=epsilon) < found.limit + 1e-3
        assert error(n=round(0.8 * n), epsilon=epsilon) > found.limit
    assert error(epsilon=0.8 * found.epsilon) > found.limit


@pytest.mark.parametrize(
    ("changed", "chosen"),
    [
        ({"n": 10, "features": 2, "feature_bound": 10.0, "epsilon": 0.01, "delta": 1e-8}, {}),
        ({"n": 30, "features": 8, "epsilon": 0.03}, {"order": "shuffled_once"}),
        ({"n": 30, "loss": Softmax(classes=10), "epsilon": 0.03}, {"algorithm": "cgd"}),
    ],
)
def test_who_follows_the_advice_is_not_advised_again(
    changed: dict[str, Any], chosen: dict[str, Any]
) -> None:
    weak, overrides = replace(GERMAN, **changed), Overrides(**chosen)
    found = outlook_of(plan_for(weak, overrides), overrides)
    assert not found.worthwhile
    assert found.records is not None
    assert found.epsilon is not None
    for cure in ({"n": found.records}, {"epsilon": found.epsilon}):
        assert outlook_of(plan_for(replace(weak, **cure), overrides), overrides).worthwhile


def test_no_number_is_advised_that_does_not_help() -> None:
    # more records leave less time for each, and in the end fewer passes than are needed
    weak = replace(GERMAN, n=30, features=100, feature_bound=1.0, epsilon=0.03, compute=1e6)
    chosen = Overrides(clip=0.3)
    found = outlook_of(plan_for(weak, chosen), chosen)
    for advised, name in ((found.records, "n"), (found.epsilon, "epsilon")):
        if advised is not None:
            changed: dict[str, Any] = {name: advised}
            assert outlook_of(plan_for(replace(weak, **changed), chosen), chosen).worthwhile


def test_a_refusal_names_the_budget_and_the_cure() -> None:
    planned = plan_for(replace(GERMAN, epsilon=0.01), FULL)
    found = outlook_of(planned)
    with pytest.raises(InvalidInput, match=r"epsilon=0\.01 .* no better than a constant") as caught:
        require_worthwhile(planned)
    assert f"epsilon={found.epsilon:g}, or {found.records} records" in caught.value.remedy
    assert found.cure in str(found)


def test_no_epsilon_without_protection_is_advised_and_no_fewer_than_one_feature() -> None:
    public: dict[str, Any] = {"loss": Logistic(), "feature_bound": 1.0, "delta": 1e-5}
    found = outlook_of(plan_for(Problem(n=1, features=1, epsilon=1.0, **public)))
    assert found.epsilon is not None
    assert found.epsilon > 10.0
    assert found.cure == f"give {found.records} records"


def test_what_is_worthwhile_needs_no_cure() -> None:
    found = outlook_of(plan_for(GERMAN))
    assert (found.epsilon, found.records) == (1.0, 800)
    assert "a constant leaves" in str(found)


def test_a_noise_that_is_chosen_far_too_large_has_no_cure_but_is_seen() -> None:
    chosen = Overrides(algorithm="gd", noise=1e6, epochs=10)
    found = outlook_of(plan_for(GERMAN, chosen), chosen)
    assert not found.worthwhile
    assert found.records is None
    assert found.epsilon is None
    assert found.cure == "leave the noise to the planner"


def test_a_ridge_that_leaves_nothing_to_learn_is_what_has_to_go() -> None:
    chosen = Overrides(algorithm="gd", l2=0.1)
    weak = replace(GERMAN, n=400, features=4, feature_bound=1.0, adjacency="replace_one")
    found = outlook_of(plan_for(weak, chosen), chosen)
    assert (found.epsilon, found.records) == (None, None)
    assert found.cure.startswith("leave algorithm and l2 to the planner, or give fewer features")


def test_few_numbers_of_a_regression_are_hopeless_and_more_are_not() -> None:
    huber = replace(GERMAN, features=5, feature_bound=2.0, loss=Huber(width=1.0), n=100)
    assert not outlook_of(plan_for(replace(huber, epsilon=0.1, adjacency="replace_one"))).worthwhile
    assert outlook_of(plan_for(huber)).worthwhile


@given(st.floats(0.01, 10.0), st.floats(0.01, 10.0), st.integers(1, 1_000))
def test_a_constant_is_between_nothing_and_all(slope: float, reach: float, directions: int) -> None:
    reference = Reference(
        directions=directions, norm_bound=1.0, slope=slope, curvature=1.0, reach=reach
    )
    assert 0.0 < reference.of_a_constant <= 1.0


@settings(max_examples=5)
@given(st.floats(0.001, 0.01), st.floats(1.5, 4.0))
def test_more_budget_never_makes_it_worse(epsilon: float, more: float) -> None:
    few, some = (
        outlook_of(plan_for(replace(GERMAN, epsilon=e), FULL)) for e in (epsilon, more * epsilon)
    )
    assert some.error <= few.error
    assert few.worthwhile <= some.worthwhile


def _table(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 8)) / 4.0, np.arange(n) % 2


def test_fit_warns_of_a_model_that_is_no_better_than_a_constant() -> None:
    model = PrivateLogisticRegression(epsilon=0.05, classes=[0, 1], random_state=0)
    with pytest.warns(WeakSignalWarning, match="no better than a constant.*; give eps") as said:
        model.fit(*_table(60))
    assert said[0].filename == __file__


def test_fit_says_nothing_of_a_model_with_enough_records() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateLogisticRegression(1.0, 1e-5, 1.0, classes=[0, 1], random_state=0).fit(*_table(600))
