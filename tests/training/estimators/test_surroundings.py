"""Leaks around a private fit are warned of by the real classes of scikit-learn, and stated."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    permutation_test_score,
)
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)

from shiftdp import Ledger
from shiftdp.sklearn import (
    Numeric,
    PrivacyLeakWarning,
    PrivateHuberRegressor,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateTableEncoder,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] > 0).astype(int)
WHOLE = np.abs(X.round())


def logistic(**parameters: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(
        **{"classes": [0, 1], "algorithm": "gd", "epochs": 2, **parameters}
    )


class Own(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # not typed
    """A transformer of the user's, which keeps the mean."""

    def fit(self, X: Any, y: Any = None) -> Any:
        self.mean_ = np.mean(X, axis=0)
        return self

    def transform(self, X: Any) -> Any:
        return X - self.mean_


class Named(Own):
    """A class of one's own that has the name of another."""


Named.__name__ = "Normalizer"


LEARN = [
    StandardScaler(),
    MinMaxScaler(),
    QuantileTransformer(n_quantiles=5),
    SimpleImputer(),
    OneHotEncoder(handle_unknown="ignore"),
    PCA(2),
    SelectKBest(k=2),
    VarianceThreshold(),
    Nystroem(n_components=3),
    Own(),
    FeatureUnion([("a", StandardScaler()), ("b", "passthrough")]),
    ColumnTransformer([("a", StandardScaler(), [0])], remainder="passthrough"),
    make_pipeline(Normalizer(), StandardScaler()),
    Named(),
]


def kind_of(step: Any) -> str:
    return type(step).__name__


@pytest.mark.parametrize("step", LEARN, ids=kind_of)
def test_a_step_that_learns_without_paying_is_warned_of_and_stated(step: Any) -> None:
    data = WHOLE if isinstance(step, OneHotEncoder) else X
    made = make_pipeline(step, logistic())
    inner = "StandardScaler" if isinstance(step, (FeatureUnion, Pipeline)) else kind_of(step)
    with pytest.warns(PrivacyLeakWarning, match=inner):
        made.fit(data, Y)
    assert "Not covered: the step" in made[-1].statement()
    assert inner in made[-1].statement()


class Chain(Pipeline):  # type: ignore[misc]  # not typed
    """A pipeline of one's own."""


@pytest.mark.parametrize(
    "steps",
    [
        [("a", FeatureUnion([("own", Own())]))],
        [("a", make_pipeline(Normalizer(), Own(), Normalizer()))],
        [("a", ColumnTransformer([("own", Own(), [0])], sparse_threshold=0))],
        [("a", Chain([("own", Own())]))],
    ],
    ids=["union", "pipeline", "columns", "inherited"],
)
def test_a_step_of_ones_own_is_found_inside_of_others(steps: list[Any]) -> None:
    with pytest.warns(PrivacyLeakWarning, match="Own"):
        made = Pipeline([*steps, ("model", logistic())]).fit(X, Y)
    assert "(Own)" in made[-1].statement()


def test_a_pipeline_of_ones_own_is_looked_into() -> None:
    with pytest.warns(PrivacyLeakWarning, match="StandardScaler"):
        Chain([("scaler", StandardScaler()), ("model", logistic())]).fit(X, Y)


FREE = [
    Normalizer(),
    PolynomialFeatures(2),
    FunctionTransformer(np.tanh),
    OneHotEncoder(categories=[list(range(6))] * 3, handle_unknown="ignore"),
    PrivateTableEncoder([Numeric(low=-3, high=3)] * 3),
    "passthrough",
]


@pytest.mark.parametrize("step", FREE, ids=kind_of)
def test_a_step_that_learns_nothing_is_not(step: Any) -> None:
    data = WHOLE if isinstance(step, OneHotEncoder) else X
    made = make_pipeline(step, logistic())
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        made.fit(data, Y)
    assert not hasattr(made[-1], "not_covered_")


def test_a_fit_alone_afterwards_is_covered_again() -> None:
    model = logistic()
    with pytest.warns(PrivacyLeakWarning):
        make_pipeline(StandardScaler(), model).fit(X, Y)
    assert model.not_covered_
    assert "Not covered" not in model.fit(X, Y).statement()


def test_calibration_is_warned_of_with_and_without_a_ledger(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=30.0, delta=1e-5)
    for given in (None, ledger):
        with pytest.warns(PrivacyLeakWarning, match="CalibratedClassifierCV"):
            CalibratedClassifierCV(logistic(ledger=given), cv=KFold(2)).fit(X, Y)


def searches(model: Any) -> list[Any]:
    grid = {"epochs": [1, 2]}
    return [
        GridSearchCV(model, grid, cv=KFold(2), error_score="raise"),
        RandomizedSearchCV(model, grid, n_iter=1, cv=KFold(2), error_score="raise"),
    ]


@pytest.mark.parametrize("place", [0, 1])
def test_a_search_without_a_ledger_is_warned_of(place: int, tmp_path: Path) -> None:
    search = searches(logistic())[place]
    with pytest.warns(PrivacyLeakWarning, match=kind_of(search)):
        search.fit(X, Y)
    assert "Not covered" in search.best_estimator_.statement()
    ledger = Ledger.create(tmp_path / "study", epsilon=30.0, delta=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        searches(logistic(ledger=ledger))[place].fit(X, Y)


def test_a_search_over_a_private_pipeline_is_warned_of(tmp_path: Path) -> None:
    schema = [Numeric(low=-3, high=3)] * 3
    made = PrivatePipeline([PrivateTableEncoder(schema), logistic()])
    search = GridSearchCV(made, {"epsilon": [1.0]}, cv=KFold(2), error_score="raise")
    with pytest.warns(PrivacyLeakWarning, match="GridSearchCV"):
        search.fit(X, Y)
    assert "Not covered: GridSearchCV" in search.best_estimator_.statement()
    ledger = Ledger.create(tmp_path / "study", epsilon=30.0, delta=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        search.set_params(estimator__ledger=ledger).fit(X, Y)
    assert len(ledger.entries()) == 3


def test_cross_validation_and_ensembles_are_warned_of() -> None:
    with pytest.warns(PrivacyLeakWarning, match="cross-validation"):
        cross_val_score(logistic(), X, Y, cv=KFold(2), error_score="raise")
    with pytest.warns(PrivacyLeakWarning, match="cross-validation"):
        cross_val_predict(logistic(), X, Y, cv=KFold(2))
    with pytest.warns(PrivacyLeakWarning, match="cross-validation"):
        permutation_test_score(logistic(), X, Y, cv=KFold(2), n_permutations=1)
    with pytest.warns(PrivacyLeakWarning, match="BaggingClassifier"):
        BaggingClassifier(logistic(), n_estimators=2).fit(X, Y)


def test_a_search_is_warned_of_once_and_where_it_was_asked_for() -> None:
    search = GridSearchCV(logistic(), {"l2": [0.0, 0.01]}, cv=KFold(2))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", PrivacyLeakWarning)
        search.fit(X, Y)
        assert len(said) == 1
        cross_val_score(logistic(), X, Y, cv=KFold(3), error_score="raise")
    assert [one.category for one in said] == [PrivacyLeakWarning] * 2
    assert {one.filename for one in said} == {__file__}


def test_regressors_are_looked_after_too() -> None:
    with pytest.warns(PrivacyLeakWarning, match="StandardScaler"):
        make_pipeline(StandardScaler(), PrivateHuberRegressor(epochs=2)).fit(X, X[:, 0])


def test_a_model_by_itself_is_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        logistic().fit(X, Y)
