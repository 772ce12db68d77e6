"""Pipelines on a cluster: tables are encoded on the workers, by the sums of the whole table."""

from __future__ import annotations

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from shiftdp import InvalidInput, Ledger
from shiftdp.sklearn import (
    Boolean,
    Categorical,
    Numeric,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateTableEncoder,
)

QUICK: dict[str, Any] = {"algorithm": "gd", "epochs": 5, "learning_rate": 0.2}
SCHEMA = {
    "age": Numeric(low=0, high=100),
    "job": Categorical(categories=("a", "b")),
    "ok": Boolean(),
}


def raw(n: int = 900) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    age = rng.normal(50.0, 10.0, n)
    age[::50] = np.nan
    table = pd.DataFrame(
        {"age": age, "job": rng.choice(["a", "b", "c"], n), "ok": rng.random(n) > 0.5}
    )
    return table, pd.Series(np.where(rng.normal(50.0, 3.0, n) < age, "old", "young"), name="y")


def pipeline(schema: Any, **more: Any) -> PrivatePipeline:
    steps = [
        PrivateTableEncoder(schema, random_state=1),
        PrivateLogisticRegression(classes=["old", "young"], random_state=2, **QUICK),
    ]
    return PrivatePipeline(steps, epsilon=4.0, **more)


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["declared", "learnt"])
def test_a_pipeline_is_that_of_the_table_in_memory(schema: Any) -> None:
    table, y = raw()
    parts = dd.from_pandas(table.assign(y=y), npartitions=4)
    alone = pipeline(schema).fit(table, y)
    found = pipeline(schema).fit(parts[["age", "job", "ok"]], parts["y"])
    assert found.steps[0][1].codes_ == alone.steps[0][1].codes_
    model, other = found.steps[-1][1], alone.steps[-1][1]
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=0.0, atol=other.plan_.plan.grid)
    assert found.certificate_.epsilon(1e-5) == alone.certificate_.epsilon(1e-5) <= 4.0
    assert found.certificate_.sums == alone.certificate_.sums
    assert (found.predict(table) == alone.predict(table)).all()


@pytest.mark.usefixtures("client")
def test_arrays_have_columns_without_names() -> None:
    X = np.random.default_rng(0).normal(size=(600, 2))
    y = np.where(X[:, 0] > 0, "old", "young")
    parts = da.from_array(X, chunks=(200, 2)), da.from_array(y, chunks=200)
    schema = [Numeric(low=-3, high=3)] * 2
    alone, found = pipeline(schema).fit(X, y), pipeline(schema).fit(*parts)
    np.testing.assert_allclose(
        found.steps[-1][1].coef_, alone.steps[-1][1].coef_, rtol=0.0, atol=1e-2
    )
    assert found.steps[0][1].codes_ == alone.steps[0][1].codes_


@pytest.mark.usefixtures("client")
def test_a_pipeline_charges_its_ledger_once_and_not_if_labels_are_refused(tmp_path: Any) -> None:
    table, y = raw(400)
    parts = dd.from_pandas(table.assign(y=y), npartitions=2)
    ledger = Ledger.create(tmp_path / "ledger", epsilon=8.0, delta=1e-4)
    steps = [
        PrivateTableEncoder(SCHEMA),
        PrivateLogisticRegression(classes=["old", "young"], **QUICK),
    ]
    whole = PrivatePipeline(steps, epsilon=4.0, ledger=ledger)
    X = parts[["age", "job", "ok"]]
    with pytest.raises(InvalidInput, match="labels that are not in classes"):
        whole.fit(X, parts["job"])
    assert not ledger.entries()
    whole.fit(X, parts["y"])
    assert [entry.completed for entry in ledger.entries()] == [True]


@pytest.mark.usefixtures("client")
def test_other_steps_and_missing_entries_are_refused() -> None:
    table, y = raw(400)
    parts = dd.from_pandas(table.assign(y=y), npartitions=2)
    steps = [StandardScaler(), PrivateLogisticRegression(classes=["old", "young"])]
    with pytest.raises(InvalidInput, match="not fitted on a cluster"):
        PrivatePipeline(steps).fit(parts[["age"]], parts["y"])
    strict = {"age": Numeric(low=0, high=100, missing="refuse")}
    with pytest.raises(InvalidInput, match="has missing entries"):
        pipeline(strict).fit(parts[["age"]], parts["y"])
