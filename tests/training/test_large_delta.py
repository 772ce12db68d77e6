"""A delta of 1/n or more promises nothing: whoever trains with it is told once, with the cure."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.sklearn import (
    LargeDeltaWarning,
    Numeric,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateSearchCV,
    PrivateTableEncoder,
    Schema,
)
from shiftdp.training.large_delta import complaint_of_delta

X = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 2))
Y = (X[:, 0] > 0).astype(int)
RUN: dict[str, Any] = {"algorithm": "gd", "epochs": 2, "classes": [0, 1], "feature_bound": 1.0}


def told(make: Any) -> list[tuple[str, str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", LargeDeltaWarning)
        make()
    found = [one for one in said if one.category is LargeDeltaWarning]
    return [(one.filename, str(one.message)) for one in found]


def pipeline(delta: float) -> PrivatePipeline:
    schema = Schema({name: Numeric(low=-1, high=1) for name in ("a", "b")})
    model = PrivateLogisticRegression(algorithm="gd", epochs=2, classes=[0, 1])
    return PrivatePipeline([PrivateTableEncoder(schema), model], 1.0, delta)


@given(st.integers(1, 10**12), st.floats(1e-14, 0.999))
def test_the_cure_is_one(n: int, delta: float) -> None:
    text = complaint_of_delta(delta, n)
    assert (text is None) == (delta * n < 1.0)
    if text is not None:
        advised = float(text.rpartition("delta=")[2])
        assert advised <= 0.1 / n * (1 + 1e-9)
        assert complaint_of_delta(advised, n) is None


def test_a_fit_says_it_where_it_is_called() -> None:
    model = PrivateLogisticRegression(1.0, 0.02, **RUN)
    ((file, text),) = told(lambda: model.fit(X, Y))
    assert file == __file__
    assert text.startswith("delta=0.02 is not below 1/n for 60 records")
    assert not told(lambda: model.set_params(delta=0.016).fit(X, Y))


def test_a_pipeline_and_a_search_say_it_once() -> None:
    ((file, _),) = told(lambda: pipeline(0.02).fit(pd.DataFrame(X, columns=["a", "b"]), Y))
    assert file == __file__
    assert not told(lambda: pipeline(0.01).fit(pd.DataFrame(X, columns=["a", "b"]), Y))
    search = PrivateSearchCV(
        PrivateLogisticRegression(**RUN), {"clip": [0.2, 0.4]}, epsilon=5.0, delta=0.05
    )
    ((file, _),) = told(lambda: search.fit(X, Y))
    assert file == __file__


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
@pytest.mark.filterwarnings("ignore::shiftdp.sklearn.PrivacyLeakWarning")
def test_the_command_line_names_the_option(tmp_path: Any, dry: tuple[str, ...]) -> None:
    from tests.ui.shell import shiftdp, table

    (tmp_path / "data.csv").write_text(table(200))
    words = ("--target", "y", "--classes", "0,1", "--epsilon", "1", "--feature-bound", "1")
    result = shiftdp(
        "train", str(tmp_path / "data.csv"), *words, "--delta", "0.01", "--epochs", "2",
        "-o", str(tmp_path / "m.shiftdp"), *dry,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: --delta 0.01 is not below 1/n for 200 records")
    assert line.endswith("such as --delta 0.0001")
