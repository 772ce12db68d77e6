"""A folder of Parquet is trained on by one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from shiftdp import InvalidInput
from shiftdp.dask import EncryptedState, descend, fit, fit_folder, new_key, read_folder
from shiftdp.sklearn import PrivateLogisticRegression, PrivatePipeline
from tests.training.cluster.tables import as_arrays, numbers
from tests.training.cluster.test_source import plan_of, require_equal

QUICK: dict[str, Any] = {"algorithm": "gd", "epochs": 5, "learning_rate": 0.5}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    X, y = numbers()
    table = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    dd.from_pandas(table, npartitions=3).to_parquet(tmp_path / "parts")
    return tmp_path / "parts"


def test_a_folder_gives_the_model_of_its_table(client: Any, folder: Path) -> None:
    table = pd.read_parquet(folder)
    one, two = (PrivateLogisticRegression(classes=[0, 1], random_state=1, **QUICK) for _ in "ab")
    one.fit(table[["a", "c"]], table["y"])
    found = fit_folder(two, folder, target="y", columns=["a", "c"], client=client)
    assert found is two
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=0.0, atol=one.plan_.plan.grid)
    assert two.feature_names_in_.tolist() == ["a", "c"]


def test_columns_are_all_but_the_target_unless_named(folder: Path) -> None:
    X, y = read_folder(folder, target="y")
    assert list(X.columns) == list("abcde")
    assert y.name == "y"
    assert X.npartitions == y.npartitions == 3
    with pytest.raises(InvalidInput, match="target='z' is no column"):
        read_folder(folder, target="z")
    with pytest.raises(InvalidInput, match="columns='z' is no column"):
        read_folder(folder, target="y", columns=["a", "z"])
    with pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        read_folder(folder / "nowhere", target="y")


def test_descend_is_that_of_one_machine(client: Any) -> None:
    from shiftdp import training

    X, y = numbers()
    plan = plan_of("fixed")
    shown: list[int] = []
    found = descend(
        plan,
        *as_arrays(X, y),
        client=client,
        progress=lambda done, total: shown.append(done),
    )
    require_equal(plan, found, training.descend(plan, X, y))
    assert shown == list(range(1, plan.run.steps + 1))


def test_what_is_no_private_estimator_is_refused(client: Any, tmp_path: Path) -> None:
    parts = as_arrays(*numbers())
    with pytest.raises(InvalidInput, match="is no private estimator"):
        fit(LogisticRegression(), *parts, client=client)
    state = EncryptedState(tmp_path / "state", new_key())
    with pytest.raises(InvalidInput, match="a pipeline learns before them"):
        fit(PrivatePipeline([PrivateLogisticRegression()]), *parts, client=client, state=state)
