"""`private_score` of an estimator is the function of the same name."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from shiftdp.sklearn import PrivateLogisticRegression
from shiftdp.training.estimators.scored import PrivatelyScored
from shiftdp.training.selection.report import private_score


def test_arguments_and_defaults_are_the_same() -> None:
    method = inspect.signature(PrivatelyScored.private_score).parameters
    function = inspect.signature(private_score).parameters
    assert list(method)[1:] == list(function)[1:]
    assert all(method[name].default == function[name].default for name in list(method)[1:])


def test_arguments_reach_the_function() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = PrivateLogisticRegression(classes=[0, 1]).fit(X, X[:, 0] > 0)
    options: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6, "level": 0.8, "random_state": 3}
    one = model.private_score(X, X[:, 0] > 0, **options)
    two = private_score(model, X, X[:, 0] > 0, **options)
    assert one == two
    assert "search" not in model.statement()
