"""PrivateSearchCV: budgets, conventions of scikit-learn, one charge, nothing else released."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from shiftdp import BudgetExceeded, InvalidInput, Ledger
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate
from shiftdp.sklearn import (
    PrivacyLeakWarning,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateSearchCV,
    PrivateTableEncoder,
    load_model,
    save_model,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = (X[:, 0] > 0).astype(int)
BOUNDS = {"feature_bound": [0.5, 2.0]}


def model(**parameters: Any) -> PrivateLogisticRegression:
    chosen = {"classes": [0, 1], "algorithm": "gd", "epochs": 5, **parameters}
    return PrivateLogisticRegression(**chosen)


def search(**parameters: Any) -> PrivateSearchCV:
    return PrivateSearchCV(
        parameters.pop("estimator", model()),
        parameters.pop("param_distributions", BOUNDS),
        **{"n_iter": 2.0, **parameters},
    )


@pytest.mark.parametrize("holdout", [0.0, 0.25])
@pytest.mark.parametrize("scoring", ["accuracy", "auc"])
def test_a_search_releases_one_model_within_its_budget(holdout: float, scoring: str) -> None:
    made = search(epsilon=2.0, holdout=holdout, scoring=scoring).fit(X, Y)
    assert 1.99 < made.certificate_.epsilon(1e-5) <= 2.0
    assert made.best_params_ in ({"feature_bound": 0.5}, {"feature_bound": 2.0})
    assert made.best_estimator_.feature_bound == made.best_params_["feature_bound"]
    assert made.score(X, Y) > 0.6
    assert made.predict_proba(X).shape == (400, 2)
    assert (made.predict(X) == made.best_estimator_.predict(X)).all()
    assert made.classes_.tolist() == [0, 1]
    assert made.certificate_.held_out == round(400 * holdout)
    made.certificate_.verify()
    assert "2 kinds of fits" in made.statement()
    assert made.best_estimator_.statement().startswith("Private search")
    assert made.plan_ is made.best_estimator_.plan_


def test_what_was_chosen_is_measured() -> None:
    report = search().fit(X, Y).private_score(X, Y, epsilon=5.0)
    assert set(report.scores) == {"accuracy", "auc"}
    assert report.calibration


def test_nothing_else_is_released() -> None:
    made = search().fit(X, Y)
    attributes = {name for name in vars(made) if name.endswith("_") and not name.startswith("_")}
    assert attributes == {
        "best_estimator_", "best_params_", "best_score_", "candidates_", "certificate_", "classes_",
        "n_features_in_", "not_covered_",
    }  # fmt: skip


def test_how_many_trials_there_are_cannot_be_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter([1, 4])
    monkeypatch.setattr(
        "shiftdp.fdp.selection.trials.Trials.number", lambda self, uniform: next(numbers)
    )
    heard = []
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search(estimator=model(classes=None)).fit(X, Y)
        heard.append([str(one.message) for one in caught])
    assert heard[0] == heard[1]
    assert len(heard[0]) == 1  # of the classes


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    epsilon=st.floats(0.2, 8.0),
    delta=st.sampled_from([1e-4, 1e-6]),
    n_iter=st.floats(1.2, 12.0),
    law=st.sampled_from(["geometric", "logarithmic", "negative_binomial"]),
    holdout=st.sampled_from([0.0, 0.3]),
    adjacency=st.sampled_from(["replace_one", "zero_out"]),
    encoder=st.booleans(),
)
def test_no_budget_is_exceeded(
    epsilon: float,
    delta: float,
    n_iter: float,
    law: Any,
    holdout: float,
    adjacency: Any,
    encoder: bool,
) -> None:
    estimator: Any = model(adjacency=adjacency)
    space: Any = {"l2": [0.01, 0.1]}
    if encoder:
        estimator = PrivatePipeline([("table", PrivateTableEncoder()), ("model", estimator)])
        space = {"share": [0.1, 0.3], "model__l2": [0.01]}
    chosen = PrivateSearchCV(
        estimator, space, epsilon, delta, n_iter=n_iter, law=law, holdout=holdout
    ).fit(X, Y)
    spent = chosen.certificate_.epsilon(delta)
    assert spent <= epsilon
    assert spent > 0.9 * epsilon
    assert chosen.certificate_.adjacency == adjacency
    again = SelectionCertificate.from_json(chosen.certificate_.to_json())
    assert again.epsilon(delta) == spent
    again.verify()


def test_a_ledger_is_charged_once_and_before_anything_is_fitted(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger", epsilon=1.0, delta=1e-5)
    search(epsilon=0.5, ledger=ledger).fit(X, Y)
    (entry,) = ledger.entries()
    assert (entry.source, entry.completed, entry.label) == ("selection", True, "PrivateSearchCV")
    empty = Ledger.create(tmp_path / "other", epsilon=0.1, delta=1e-5)
    refused = search(ledger=empty)
    with pytest.raises(BudgetExceeded):
        refused.fit(X, Y)
    assert not hasattr(refused, "best_estimator_")
    with pytest.raises(InvalidInput, match="random_state"):
        search(ledger=ledger, random_state=0).fit(X, Y)
    with pytest.raises(InvalidInput):
        search(ledger=ledger).fit(X, np.where(Y == 1, 2, 0))  # labels that are no classes
    assert len(ledger.entries()) == 1


def test_a_ledger_does_not_tell_how_long_the_trials_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(tmp_path / "ledger", epsilon=1.0, delta=1e-5)
    completed: list[bool] = []

    def no_trials(*_: Any) -> Any:
        completed.extend(entry.completed for entry in ledger.entries())
        raise KeyboardInterrupt

    monkeypatch.setattr(PrivateSearchCV, "_best", no_trials)
    with pytest.raises(KeyboardInterrupt):
        search(epsilon=0.5, ledger=ledger).fit(X, Y)
    assert completed == [True]  # nothing is written to it when they end


def test_a_seed_makes_it_reproducible_and_not_private() -> None:
    one, two = (search(random_state=7).fit(X, Y) for _ in range(2))
    assert one.best_score_ == two.best_score_
    assert (one.best_estimator_.coef_ == two.best_estimator_.coef_).all()
    assert not one.certificate_.private
    assert "NOT PRIVATE" in one.statement()


def test_a_seed_of_the_estimator_is_said_to_be_not_private() -> None:
    made = search(estimator=model(random_state=3)).fit(X, Y)
    assert not made.certificate_.private
    assert "NOT PRIVATE" in made.statement()


def test_a_candidate_that_refuses_the_records_is_found_before_the_charge(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger", epsilon=9.0, delta=1e-5)
    some = search(param_distributions={"oversized": ["scale", "refuse"]}, ledger=ledger)
    with pytest.raises(InvalidInput, match="above feature_bound"):
        some.fit(X, Y)
    assert not ledger.entries()


def test_the_best_of_many_trials_is_chosen() -> None:
    chosen = search(
        epsilon=20.0,
        n_iter=40.0,
        law="negative_binomial",
        param_distributions={"feature_bound": [1e-6, 2.0]},
    ).fit(X, Y)
    assert chosen.best_params_ == {"feature_bound": 2.0}  # the other one predicts nothing
    assert chosen.best_score_ > 0.8


def test_conventions_of_scikit_learn() -> None:
    made = search(scoring="brier")
    assert made.get_params()["estimator__epochs"] == 5
    assert clone(made.set_params(n_iter=3.0)).n_iter == 3.0
    with pytest.raises(NotFittedError):
        made.predict(X)
    assert not hasattr(search(estimator=PrivateLinearSVC()), "predict_proba")
    assert made.__sklearn_tags__().estimator_type == "classifier"


def test_distributions_are_drawn_beforehand() -> None:
    space = {"l2": loguniform(1e-3, 1e-1), "feature_bound": [1.0, 2.0]}
    made = search(param_distributions=space, n_candidates=3).fit(X, Y)
    assert len(made.candidates_) == 3
    assert made.best_params_ in made.candidates_
    assert len(made.certificate_.candidates) == 3


def test_a_regressor_is_scored_in_a_range() -> None:
    estimator = PrivateHuberRegressor(algorithm="gd", epochs=5)
    space = {"width": [0.3, 1.0]}
    made = search(estimator=estimator, param_distributions=space, targets=(-3, 3), epsilon=4.0).fit(
        X, X[:, 0]
    )
    assert made.score(X, X[:, 0]) > 0.2
    with pytest.raises(InvalidInput, match="targets"):
        search(estimator=estimator, param_distributions=space).fit(X, X[:, 0])


def test_classes_that_are_read_off_are_said_not_to_be_covered() -> None:
    with pytest.warns(PrivacyLeakWarning, match="classes"):
        made = search(estimator=model(classes=None)).fit(X, Y)
    assert "Not covered: the classes" in made.statement()


STEPS = PrivatePipeline([("m", model())])


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"param_distributions": {"epsilon": [1.0, 2.0]}}, "param_distributions"),
        ({"param_distributions": {"adjacency": ["zero_out"]}}, "param_distributions"),
        ({"param_distributions": {"unknown": [1]}}, "param_distributions"),
        ({"param_distributions": {"l2": []}}, "param_distributions"),
        ({"param_distributions": {"l2": [0.1] * 999}}, "param_distributions"),
        ({"param_distributions": 3}, "param_distributions"),
        ({"scoring": "f1"}, "scoring"),
        ({"scoring": "absolute_error"}, "scoring"),
        ({"scoring": "brier", "estimator": PrivateLinearSVC(classes=[0, 1])}, "scoring"),
        ({"n_iter": 1.0}, "n_iter"),
        ({"n_iter": 60.0, "law": "poisson"}, "n_iter"),
        ({"law": "uniform"}, "law"),
        ({"holdout": 1.0}, "holdout"),
        ({"holdout": 1e-9}, "holdout"),
        ({"score_share": 0.0}, "score_share"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"estimator": StandardScaler()}, "estimator"),
        ({"estimator": model(records_per_person=2)}, "estimator"),
        ({"estimator": model(ledger="study")}, "estimator"),
        ({"estimator": PrivatePipeline([StandardScaler(), model()])}, "estimator"),
        ({"param_distributions": {"checkpoints": [None, 3]}}, "estimator"),
        ({"param_distributions": {"average": [5]}}, "estimator"),
        ({"estimator": STEPS, "param_distributions": {"m": [model(classes=None)]}},
         "param_distributions"),
        ({"estimator": STEPS, "param_distributions": {
            "steps": [[("s", StandardScaler()), ("m", model())]]}}, "estimator"),
        ({"estimator": STEPS, "param_distributions": {"m": [model(), PrivateHuberRegressor()]}},
         "targets"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_is_refused(parameters: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        search(**parameters).fit(X, Y)
    assert caught.value.name == name


def test_records_are_not_counted_wrong() -> None:
    with pytest.raises(InvalidInput, match="400 entries"):
        search().fit(X, Y[:-1])


def test_a_chosen_model_is_saved_with_the_certificate_of_the_search(tmp_path: Path) -> None:
    made = search().fit(X, Y)
    save_model(made, tmp_path / "model")
    read = load_model(tmp_path / "model")
    assert (read.predict(X) == made.predict(X)).all()
    assert json.loads(read.selected_.to_json()) == json.loads(made.certificate_.to_json())
    with pytest.raises(InvalidInput, match="search"):
        made.best_estimator_.forget(X[:-1], Y[:-1], epsilon=1.0, delta=1e-5)
    with pytest.raises(InvalidInput, match="search"):
        made.best_estimator_.partial_fit(X, Y)
    assert not hasattr(made.best_estimator_.fit(X, Y), "selected_")
