"""Plans, estimators and functions become trainers; each run is a fresh one."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shiftdp import GaussianTradeoff, InvalidInput, NoisyCGD, NoisyGD, certify
from shiftdp.training import Huber, Logistic, Plan, Seeded, Softmax, descend_stacked
from shiftdp.trials.trainers import trainer_of

CGD: dict[str, Any] = {"n": 8, "batch_size": 4, "epochs": 2, "learning_rate": 0.5, "noise": 0.2}


def plan_of(run: Any, **choices: Any) -> Plan:
    given: dict[str, Any] = {"loss": Huber(), "feature_bound": 1.0, "intercept": False}
    return Plan(run=run, **{**given, **choices})


def trainer(train: Any, guarantee: Any = None, data: Any = None, **shape: Any) -> Any:
    named = {"features": None, "feature_bound": None, "targets": None, **shape}
    return trainer_of(train, guarantee, data, lambda more: None, **named)


@pytest.mark.parametrize("order", ["fixed", "reshuffled"])
def test_all_released_iterates_of_a_plan_are_seen(order: Any) -> None:
    plan = plan_of(NoisyCGD(**CGD, order=order, releases="epochs"))
    made = trainer(plan)
    rows = made.outputs(made.records.background(), 5)
    assert rows.shape == (5, 4)
    assert len(np.unique(rows[:, 0])) == len(np.unique(rows[:, 2])) == 5


def test_the_loop_of_a_plan_is_the_real_one() -> None:
    """Its mean and spread are those of `descend_stacked`, on the same data."""
    plan = plan_of(NoisyGD(n=8, steps=3, learning_rate=0.5, noise=0.2))
    X, y = np.eye(8)[:, :2], np.arange(8.0)
    rows = trainer(plan).outputs((X, y), 4000)
    seeded = replace(plan, entropy=Seeded(1))
    other = descend_stacked(seeded, X, y, 4000)
    assert np.allclose(rows.mean(axis=0), other.mean(axis=0), atol=0.02)
    assert np.allclose(rows.std(axis=0), other.std(axis=0), rtol=0.1)


def test_runs_of_a_plan_are_never_repeated() -> None:
    plan = plan_of(NoisyGD(n=8, steps=1, learning_rate=0.5, noise=0.2), entropy=Seeded(3))
    made = trainer(plan)
    data = made.records.background()
    assert not np.array_equal(made.outputs(data, 4), made.outputs(data, 4))


def test_weights_are_found_in_what_a_plan_returns() -> None:
    plan = plan_of(NoisyGD(n=8, steps=1, learning_rate=0.5, noise=0.2), loss=Softmax(classes=3))
    numbers = np.arange(6.0)  # three scores of two features
    assert trainer(plan).weights(numbers, 2).tolist() == [2.0, 2.0]
    one = plan_of(plan.run, loss=Logistic(), intercept=True)
    assert trainer(one).weights(numbers[:3], 2).tolist() == [0.0, 1.0]


def test_an_estimator_is_cloned_and_fitted_through_its_public_door() -> None:
    pytest.importorskip("sklearn")
    from shiftdp.sklearn import PrivateLogisticRegression

    model = PrivateLogisticRegression(
        epsilon=5.0, delta=1e-5, classes=["no", "yes"], random_state=4, epochs=2, algorithm="gd"
    )
    made = trainer(model)
    assert made.records.labels == ("no", "yes")
    assert made.guarantee.training.estimator == "PrivateLogisticRegression"
    assert made.guarantee.training.private
    with warnings.catch_warnings():  # advice about the model is not repeated in each training
        warnings.simplefilter("error")
        rows = made.outputs(made.records.background(), 3)
    assert rows.shape == (3, 3)
    assert len(np.unique(rows[:, 0])) == 3  # not by the seed of the model that was given
    assert not hasattr(model, "coef_")


def test_an_estimator_is_planned_once_for_all_of_its_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    from shiftdp.sklearn import PrivateLogisticRegression

    planned: list[int] = []

    def counting(self: Any, n: int, *given: Any, **named: Any) -> Any:
        planned.append(n)
        return plan(self, n, *given, **named)

    plan = PrivateLogisticRegression.plan
    monkeypatch.setattr(PrivateLogisticRegression, "plan", counting)
    model = PrivateLogisticRegression(epsilon=1.0, epochs=3, classes=[0, 1], random_state=0)
    made = trainer(model)
    X, y = made.records.background()
    assert len(np.unique(made.outputs((X, y), 5)[:, 0])) == 5, "noise is drawn anew"
    assert planned == [50]
    made.outputs((X[:-1], y[:-1]), 2)
    assert planned == [50, 49]


def test_checkpoints_of_an_estimator_are_seen() -> None:
    pytest.importorskip("sklearn")
    from shiftdp.sklearn import PrivateHuberRegressor

    model = PrivateHuberRegressor(
        epsilon=5.0, delta=1e-5, algorithm="cgd", epochs=4, checkpoints=[2], fit_intercept=False
    )
    made = trainer(model)
    assert made.records.targets == "numbers"
    assert made.outputs(made.records.background(), 2).shape == (2, 6)


def test_an_estimator_with_an_intercept_has_no_record_of_nothing() -> None:
    pytest.importorskip("sklearn")
    from shiftdp.sklearn import PrivateHuberRegressor

    model = PrivateHuberRegressor(epsilon=1.0, delta=1e-5, adjacency="zero_out")
    with pytest.raises(InvalidInput, match="fit_intercept=True"):
        trainer(model)


def test_a_function_takes_its_records_from_the_certificate() -> None:
    plan = plan_of(NoisyGD(n=8, steps=1, learning_rate=0.5, noise=0.2), features=5)
    made = trainer(lambda X, y: X[0], plan.certificate)
    assert (made.records.n, made.records.features, made.records.targets) == (8, 5, "numbers")
    bare = trainer(lambda X, y: X[0], certify(plan.run, plan.geometry), features=3)
    assert (bare.records.n, bare.records.features, bare.records.targets) == (8, 3, "labels")


def test_a_function_is_not_shown_records_that_its_certificate_does_not_speak_of() -> None:
    run = NoisyGD(n=8, steps=1, learning_rate=0.5, noise=0.2)
    refusing = plan_of(run, oversized="refuse").certificate
    assert not trainer(lambda X, y: X[0], refusing).records.oversized
    assert trainer(lambda X, y: X[0], plan_of(run).certificate).records.oversized
    left_out = plan_of(run, intercept=True, adjacency="zero_out").certificate
    with pytest.raises(InvalidInput, match="intercept=True"):
        trainer(lambda X, y: X[0], left_out)


def test_a_function_without_a_certificate_is_refused() -> None:
    with pytest.raises(InvalidInput, match="certificate=None is missing"):
        trainer(lambda X, y: X[0])


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cannot be called"):
        trainer(3, GaussianTradeoff(1.0))
