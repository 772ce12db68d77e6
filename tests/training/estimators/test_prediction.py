"""Scores of rows, probabilities, and R^2 for any finite numbers."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score

from shiftdp import InvalidInput
from shiftdp.sklearn import PrivateHuberRegressor
from shiftdp.training.estimators.prediction import log_probabilities, probabilities, scores_of
from tests.training.estimators.test_linear import QUICK, X, Y, logistic


def test_rows_above_the_bound_are_scaled_in_both() -> None:
    long = X * 100.0
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    first = logistic(random_state=1).fit(long, Y)
    second = logistic(random_state=1).fit(unit, Y)
    # scaled by factors that differ by roundings
    np.testing.assert_allclose(first.coef_, second.coef_, atol=4 * first.plan_.plan.grid)
    np.testing.assert_allclose(
        first.decision_function(long), first.decision_function(unit), rtol=1e-6, atol=1e-9
    )
    with pytest.raises(InvalidInput, match="feature_bound"):
        logistic(oversized="refuse").fit(long, Y)


def test_the_score_of_numbers_is_that_of_scikit_learn() -> None:
    y = X[:, 0] * 3.0 + 1.0
    model = PrivateHuberRegressor(**QUICK).fit(X, y)
    weights = 1.0 + Y
    assert model.score(X, y) == r2_score(y, model.predict(X))
    assert model.score(X, y, weights) == r2_score(y, model.predict(X), sample_weight=weights)
    # beyond all predictions it is that of a prediction of 0
    assert model.score(X, y * 2e307) == pytest.approx(r2_score(y, np.zeros(len(y))))
    assert model.score(X, np.where(Y, 1e-160, 0.0)) == -np.finfo(np.float64).max


def test_probabilities_add_up_for_any_scores() -> None:
    for scores in (np.array([[-800.0], [0.3], [800.0]]), np.array([[-800.0, 0.3, 800.0]])):
        P, log_P = probabilities(scores), log_probabilities(scores)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(np.exp(log_P), P, rtol=1e-12, atol=1e-320)
        assert np.isfinite(log_P).all()


def test_a_model_that_is_not_fitted_has_no_scores() -> None:
    with pytest.raises(NotFittedError):
        scores_of(logistic(), X)
