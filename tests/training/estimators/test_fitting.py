"""`fit`: what is checked before a charge, what is released, and what a refusal leaves."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from shiftdp import InvalidInput
from shiftdp.privacy import Ledger
from shiftdp.sklearn import PrivateHuberRegressor, PrivateLogisticRegression, save_model
from tests.training.estimators.test_forgetting import CYCLIC
from tests.training.estimators.test_linear import QUICK, X, Y, logistic
from tests.training.estimators.test_streams import records


def test_data_are_checked_before_anything_is_charged(tmp_path: Path) -> None:
    """Rows above the bound, entries and labels that are refused: nothing was spent."""
    ledger = Ledger.create(tmp_path / "study", epsilon=20.0, delta=1e-5)
    long, other = X.copy(), Y.copy()
    long[7] *= 1e6
    other[3] = 5
    refused: list[tuple[Any, Any, dict[str, Any]]] = [
        (long, Y, {"oversized": "refuse", "feature_bound": 10.0}),
        (X, other, {}),
    ]
    for features, labels, options in refused:
        with pytest.raises(InvalidInput):
            logistic(epsilon=0.5, ledger=ledger, **options).fit(features, labels)
    assert not ledger.entries()


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateHuberRegressor])
def test_a_fit_that_is_refused_leaves_the_model_as_it_was(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame(X).rename(columns="column {}".format)
    choices = {"classes": [0, 1]} if kind is PrivateLogisticRegression else {}
    model = kind(**choices, **QUICK).fit(frame, Y)
    before, predicted = dict(vars(model)), model.predict(frame)
    wide = np.ones((len(X), X.shape[1] + 2))

    def refused(action: Any, error: type[BaseException]) -> None:
        now = dict(vars(model))
        with pytest.raises(error):
            action()
        assert vars(model).keys() == now.keys()
        assert all(vars(model)[name] is now[name] for name in now)

    refused(lambda: model.fit(wide, np.full(len(X), np.nan)), InvalidInput)
    refused(lambda: model.fit(wide[:5], Y), ValueError)
    model.set_params(noise=-1.0)
    refused(lambda: model.fit(wide, Y), InvalidInput)
    model.set_params(noise=10.0, ledger=tmp_path / "ledger")
    refused(lambda: model.fit(wide, Y), InvalidInput)
    model.set_params(ledger=None)

    def interrupted(*given: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("shiftdp.training.estimators.fitting.descend_on", interrupted)
    refused(lambda: model.fit(wide, Y), KeyboardInterrupt)
    assert vars(model).keys() == before.keys()
    assert (model.predict(frame) == predicted).all()
    fresh = clone(model)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(frame, Y)
    assert not hasattr(fresh, "n_features_in_")


def test_released_models_are_kept_and_the_last_is_the_model() -> None:
    X, y = records(0)
    model = PrivateLogisticRegression(epsilon=1.0, classes=[0, 1], checkpoints=4).fit(X, y)
    steps = [each.step for each in model.releases_]
    assert steps == [model.plan_.run.steps * i // 4 for i in range(1, 5)]
    assert np.array_equal(model.releases_[-1].coef, model.coef_)
    assert np.array_equal(model.releases_[-1].intercept, model.intercept_)
    assert model.certificate_.epsilon(1e-5) <= 1.0
    model.certificate_.verify()
    model.certificate_.after(2).verify()
    plain = model.set_params(checkpoints=None).fit(X, y)
    assert not hasattr(plain, "releases_")


def test_an_average_is_the_mean_of_what_was_released(tmp_path: Path) -> None:
    X, y = records(0)
    model = PrivateHuberRegressor(epsilon=1.0, average=3, algorithm="cgd", epochs=8).fit(X, y)
    coefs = [each.coef for each in model.releases_]
    assert len(coefs) == 3
    assert np.allclose(model.coef_, np.mean(coefs, axis=0))
    assert "3 released iterates" in model.certificate_.statement()
    save_model(model, tmp_path / "model.shiftdp")


@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
def test_penalties_leave_zeros(penalty: Any) -> None:
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(600, 20)) / 6])
    shape: dict[str, Any] = {**CYCLIC, "epochs": 20, "noise": None, "alpha": 0.1, "l1_ratio": 0.8}
    model = PrivateLogisticRegression(**shape, penalty=penalty).fit(wide, Y)
    assert np.count_nonzero(model.coef_ == 0.0) >= 5
    model.certificate_.verify()
    assert model.certificate_.epsilon(1e-5) <= 5.0
    unknown: Any = "l0"
    with pytest.raises(InvalidInput, match="penalty"):
        PrivateLogisticRegression(**shape, penalty=unknown).fit(wide, Y)


def test_a_checkpoint_is_picked_by_public_records_under_the_same_certificate() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(600, 3)) / 2
    y = (X[:, 0] > 0).astype(int)
    shape: dict[str, Any] = {
        "epsilon": 1.0, "classes": [0, 1], "algorithm": "cgd", "epochs": 6, "l2": 0.05,
    }  # fmt: skip
    model = PrivateLogisticRegression(**shape, checkpoints="epochs").fit(X, y)
    certificate = model.certificate_
    public = rng.normal(size=(300, 3)) / 2
    labels = (public[:, 0] > 0).astype(int)
    model.pick(public, labels)
    best = model.score(public, labels)
    assert any(np.array_equal(one.coef, model.coef_) for one in model.releases_)
    assert model.certificate_ is certificate
    for one in model.releases_:
        model.coef_, model.intercept_ = one.coef, one.intercept
        assert model.score(public, labels) <= best
    with pytest.raises(InvalidInput, match="nothing to choose from"):
        PrivateLogisticRegression(**shape).fit(X, y).pick(public, labels)
