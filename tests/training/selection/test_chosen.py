"""A search that is done answers as the model that it chose does."""

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from shiftdp.sklearn import PrivateLinearSVC, PrivateLogisticRegression, PrivateSearchCV

X = np.random.default_rng(0).normal(size=(200, 2))
Y = (X[:, 0] > 0).astype(int)


def search(kind: Any) -> PrivateSearchCV:
    model = kind(classes=[0, 1], algorithm="gd", epochs=3)
    return PrivateSearchCV(model, {"feature_bound": [1.0, 2.0]}, n_iter=2.0)


def test_it_predicts_what_the_chosen_model_does() -> None:
    made = search(PrivateLogisticRegression).fit(X, Y)
    best = made.best_estimator_
    for name in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(made, name)(X), getattr(best, name)(X))
    assert made.score(X, Y) == best.score(X, Y)
    assert made.plan_ is best.plan_


def test_it_has_the_methods_of_its_model_and_no_others() -> None:
    assert hasattr(search(PrivateLogisticRegression), "predict_proba")
    assert not hasattr(search(PrivateLinearSVC), "predict_proba")


@pytest.mark.parametrize("name", ["statement", "statement_html"])
def test_before_a_fit_there_is_nothing_to_state(name: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(search(PrivateLogisticRegression), name)()
