"""`fit` on Dask collections is `fit` on arrays: the same model, certificate, classes, refusals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from shiftdp import InvalidInput, Ledger
from shiftdp.dask import EncryptedState, new_key
from shiftdp.sklearn import (
    PrivacyLeakWarning,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
)
from shiftdp.training import descend
from shiftdp.training.cluster.fitting import client_of, fit_collection
from tests.training.cluster.tables import BLOCKS, as_arrays, numbers

QUICK: dict[str, Any] = {"algorithm": "gd", "epochs": 5, "learning_rate": 0.5}


def frame() -> pd.DataFrame:
    X, y = numbers()
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    return table.assign(y=np.where(X[:, 1] > 0.5, "high", np.where(y == 1, "mid", "low")))


def require_same(one: Any, two: Any) -> None:
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=0.0, atol=one.plan_.plan.grid)
    assert one.certificate_.same_guarantee(two.certificate_)
    assert one.n_features_in_ == two.n_features_in_


@pytest.mark.usefixtures("client")
def test_a_classifier_of_a_data_frame_is_that_of_pandas() -> None:
    table = frame()
    columns = [name for name in table if name != "y"]
    parts = dd.from_pandas(table, npartitions=3)
    models = [PrivateLogisticRegression(random_state=1, **QUICK) for _ in range(2)]
    with pytest.warns(PrivacyLeakWarning, match="classes are read off the labels"):
        models[0].fit(table[columns], table["y"])
    with pytest.warns(PrivacyLeakWarning, match="classes are read off the labels"):
        models[1].fit(parts[columns], parts["y"])
    require_same(*models)
    for model in models:
        assert model.classes_.tolist() == ["high", "low", "mid"]
        assert model.classes_learnt_
        assert model.feature_names_in_.tolist() == columns
    assert (models[0].predict(table[columns]) == models[1].predict(table[columns])).all()


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("kind", [PrivateLinearSVC, PrivateHuberRegressor])
def test_so_are_other_models_of_arrays(kind: Any) -> None:
    X, y = numbers()
    more = {"classes": [0, 1]} if kind is PrivateLinearSVC else {}
    models = [kind(random_state=1, **QUICK, **more) for _ in range(2)]
    require_same(models[0].fit(X, y), models[1].fit(*as_arrays(X, y)))
    assert not hasattr(models[1], "feature_names_in_")


def test_labels_that_are_not_among_the_classes_are_refused_and_the_model_stays(client: Any) -> None:
    X, y = numbers()
    y[300] = 4711
    model = PrivateLogisticRegression(classes=[0, 1], **QUICK)
    before = dict(vars(model))
    with pytest.raises(InvalidInput, match="has labels that are not in classes") as caught:
        model.fit(*as_arrays(X, y))
    assert "4711" not in str(caught.value)
    assert vars(model) == before
    only = as_arrays(X, np.zeros_like(y))
    with pytest.raises(InvalidInput, match="has one class only"):
        fit_collection(PrivateLogisticRegression(**QUICK), *only, client=client)
    three = as_arrays(X, np.arange(len(X)) % 3)
    with pytest.raises(InvalidInput, match="Only binary"):
        fit_collection(PrivateLinearSVC(**QUICK), *three, client=client)


def test_what_is_not_fit_refuses_collections_and_does_not_load_them() -> None:
    X, y = numbers()

    def read(block: Any) -> Any:
        raise AssertionError("it was loaded")

    rows, labels = as_arrays(X, y)
    rows = rows.map_blocks(read, dtype=rows.dtype, meta=np.empty((0, 0)))
    model = PrivateLogisticRegression(classes=[0, 1], **QUICK).fit(X, y)
    calls: list[Callable[[], Any]] = [
        lambda: model.predict(rows),
        lambda: model.predict_proba(rows),
        lambda: model.score(rows, y),
        lambda: model.partial_fit(rows, labels),
        lambda: model.forget(rows, labels, epsilon=1.0, delta=1e-5),
        lambda: model.fit(X, labels),
        lambda: descend(model.plan_.plan, rows, y),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match="is a Dask collection"):
            call()


@pytest.mark.usefixtures("client")
def test_people_with_several_records_are_refused() -> None:
    X, y = numbers()
    with pytest.raises(InvalidInput, match="on a cluster each record"):
        PrivateLogisticRegression(records_per_person=2, classes=[0, 1]).fit(*as_arrays(X, y))
    with pytest.raises(InvalidInput, match="on a cluster each record"):
        PrivateLogisticRegression(classes=[0, 1]).fit(*as_arrays(X, y), groups=np.arange(len(y)))


@pytest.mark.usefixtures("client")
def test_what_workers_raise_is_told_by_its_type() -> None:
    X, y = numbers()
    rows, labels = as_arrays(X, y)

    def fail(block: Any) -> Any:
        raise ValueError(f"an entry: {block[0, 0]}")

    spoiled = rows.map_blocks(fail, dtype=rows.dtype, meta=np.empty((0, 0)))
    with pytest.raises(InvalidInput, match=r"by the workers \((Value|Index)Error\)") as caught:
        PrivateLogisticRegression(classes=[0, 1]).fit(spoiled, labels)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert str(X[0, 0])[:6] not in str(caught.value)


def test_rows_above_the_bound_are_scaled_or_refused_on_the_workers(client: Any) -> None:
    X, y = numbers()
    parts = as_arrays(X * 3.0, y)
    models = [PrivateLogisticRegression(classes=[0, 1], random_state=1, **QUICK) for _ in "ab"]
    require_same(models[0].fit(X * 3.0, y), fit_collection(models[1], *parts, client=client))
    with pytest.raises(InvalidInput, match="norm above feature_bound"):
        fit_collection(models[1].set_params(oversized="refuse"), *parts, client=client)


def test_a_ledger_is_charged_once_and_a_driver_that_died_can_go_on(
    client: Any, tmp_path: Path
) -> None:
    X, y = numbers()
    ledger = Ledger.create(tmp_path / "ledger", epsilon=1.5, delta=1e-5)
    model = PrivateLogisticRegression(classes=[0, 1], ledger=ledger, **QUICK)
    state = EncryptedState(tmp_path / "state", new_key(), every=2)
    fit_collection(model, *as_arrays(X, y), client=client, state=state)
    weights = model.coef_.copy()
    # in the same blocks, on however many workers
    fit_collection(model, *as_arrays(X, y, BLOCKS), client=client, state=state)
    np.testing.assert_array_equal(model.coef_, weights)
    assert [entry.completed for entry in ledger.entries()] == [True]


@pytest.mark.slow  # a cluster of its own
def test_without_a_client_there_is_a_cluster_on_this_machine() -> None:
    program = (
        "from shiftdp.training.cluster.fitting import client_of\n"
        "with client_of() as client: print(len(client.nthreads()) > 0)\n"
        "print(client.status)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.split() == ["True", "closed"], result.stderr


def test_a_client_that_is_closed_is_refused() -> None:
    class Closed:
        status = "closed"

    with pytest.raises(InvalidInput, match=r"client=.* is closed; give one"), client_of(Closed()):
        pytest.fail("it is used")
