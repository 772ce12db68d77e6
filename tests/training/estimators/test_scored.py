"""`private_score` is the function of that name; of a chosen model the search is what counts."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from shiftdp import Certificate, InvalidInput, Ledger
from shiftdp.privacy.statement import read_statement
from shiftdp.sklearn import (
    PrivacyLeakWarning,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateSearchCV,
    load_model,
    save_model,
)
from shiftdp.training.estimators.scored import PrivatelyScored, fit_certificate, stated_delta
from shiftdp.training.model_file import read_model
from shiftdp.training.selection.report import private_score

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = (X[:, 0] > 0).astype(int)


def model(**parameters: Any) -> PrivateLogisticRegression:
    chosen = {"classes": [0, 1], "algorithm": "gd", "epochs": 5, **parameters}
    return PrivateLogisticRegression(**chosen)


def search(estimator: Any = None, **parameters: Any) -> PrivateSearchCV:
    bounds = {"feature_bound": [0.5, 2.0]}
    return PrivateSearchCV(estimator or model(), bounds, n_iter=2.0, **parameters)


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


def test_without_a_search_the_fit_is_the_guarantee() -> None:
    made = model().fit(X, Y)
    assert fit_certificate(made) is made.certificate_
    assert stated_delta(None, 1e-6) == 1e-6
    assert "Not the guarantee" not in made.statement()


@pytest.mark.parametrize("law", ["geometric", "logarithmic", "poisson"])
@pytest.mark.parametrize("delta", [1e-5, 3e-7])
def test_it_is_stated_at_the_delta_that_was_asked_for(law: Any, delta: float) -> None:
    made = search(law=law, delta=delta).fit(X, Y)
    planned = made.best_estimator_.plan_.problem.delta
    assert planned < delta
    assert stated_delta(made.certificate_, planned) == delta


def test_the_certificate_of_a_chosen_model_is_that_of_the_search(tmp_path: Path) -> None:
    """Whatever is charged, stated or published of it, the number is that of all trials."""
    made = search().fit(X, Y)
    chosen = made.best_estimator_
    assert chosen.certificate_ is made.certificate_
    assert chosen.fit_certificate_.epsilon(1e-5) < chosen.certificate_.epsilon(1e-5)
    ledger = Ledger.create(tmp_path / "study", epsilon=5.0, delta=1e-5)
    ledger.reserve(chosen.certificate_)
    assert ledger.epsilon() == pytest.approx(made.certificate_.epsilon(1e-5))
    for page in (chosen.statement_html(), made.statement_html()):
        found = read_statement(page)
        assert found.certificate.to_json() == made.certificate_.to_json()
        assert found.delta == made.delta
    assert chosen.statement().startswith(made.statement().splitlines()[0])
    assert "Not the guarantee:" in chosen.statement()
    again = chosen.fit(X, Y)
    assert isinstance(again.certificate_, Certificate)
    assert not hasattr(again, "fit_certificate_")


def test_of_a_chosen_pipeline_the_model_inside_has_it_too(tmp_path: Path) -> None:
    pipeline = PrivatePipeline([("model", model())])
    made = PrivateSearchCV(pipeline, {"model__feature_bound": [1.0, 2.0]}, n_iter=2.0).fit(X, Y)
    chosen = made.best_estimator_
    assert chosen.certificate_ is chosen.steps[-1][1].certificate_ is made.certificate_
    stated = read_statement(chosen.statement_html())
    assert stated.certificate.to_json() == made.certificate_.to_json()
    with pytest.raises(InvalidInput, match="did not try this model"):
        save_model(chosen.steps[-1][1], tmp_path / "model")
    chosen.fit(X, Y)
    assert isinstance(chosen.steps[-1][1].certificate_, Certificate)
    assert not hasattr(chosen.steps[-1][1], "selected_")


def test_a_pipeline_around_a_chosen_model_keeps_the_certificate_of_the_search(
    tmp_path: Path,
) -> None:
    made = search().fit(X, Y)
    around = Pipeline([("same", "passthrough"), ("model", made.best_estimator_)])
    save_model(around, tmp_path / "model")
    assert read_model(tmp_path / "model").whole.to_json() == made.certificate_.to_json()


def test_classes_that_a_search_read_are_told_of_the_chosen_model(tmp_path: Path) -> None:
    with pytest.warns(PrivacyLeakWarning, match="classes"):
        made = search(estimator=model(classes=None)).fit(X, Y)
    save_model(made, tmp_path / "model")
    for one in (made, made.best_estimator_, load_model(tmp_path / "model")):
        assert "read off the labels" in one.statement()
