"""Fitted models of every kind, to be written to files."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    PowerTransformer,
    StandardScaler,
)

from shiftdp.sklearn import (
    Categorical,
    Numeric,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateTableEncoder,
    Schema,
)

__all__ = ["FRAME", "KINDS", "Example", "X", "example"]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)) / 2.0
Y = (X[:, 0] > 0).astype(int)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    e=pd.Series(RNG.choice(["red", "green", "blue"], 200), dtype=object)
)


class Example(NamedTuple):
    """A fitted model, and records to ask it about."""

    model: Any
    data: Any

    @property
    def last(self) -> Any:
        return self.model[-1] if isinstance(self.model, Pipeline) else self.model


# what newer releases want to be told, and older ones do not know
QUANTILES = (
    {"quantile_method": "averaged_inverted_cdf"}
    if "quantile_method" in KBinsDiscretizer().get_params()
    else {}
)


def _logistic(**parameters: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(**{"classes": [0, 1], "epochs": 3, **parameters})


def _columns() -> Pipeline:
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
            ("words", OneHotEncoder(), make_column_selector(dtype_include=object)),
            ("bins", KBinsDiscretizer(3, **QUANTILES), ["c"]),
        ],
        remainder="passthrough",
    )
    union = FeatureUnion(
        [
            ("power", PowerTransformer()),
            ("best", SelectKBest(f_classif, k=2)),
            ("directions", PCA(2, svd_solver="full")),
            ("all", "passthrough"),
            ("none", "drop"),
        ]
    )
    return Pipeline(
        [("columns", columns), ("union", union), ("off", "passthrough"), ("model", _logistic())],
        memory=None,
    )


def example(kind: str) -> Example:
    """A model of this kind, fitted; warnings about learnt classes are of no interest here."""
    words = np.where(Y, "yes", "no").astype(object)
    three = np.digitize(X[:, 0], [-0.3, 0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        match kind:
            case "logistic":
                return Example(_logistic().fit(X, Y), X)
            case "other logistic":
                return Example(_logistic(epsilon=2.0).fit(X, Y), X)
            case "same plan":
                return Example(_logistic().fit(X, 1 - Y), X)
            case "seeded":
                return Example(_logistic(random_state=7).fit(X, Y), X)
            case "learnt":
                model = PrivateLogisticRegression(epochs=3, fit_intercept=False)
                return Example(model.fit(FRAME[list("abcd")], words), FRAME[list("abcd")])
            case "softmax":
                model = _logistic(classes=range(3), order="shuffled_once", epochs=2)
                return Example(model.fit(X.astype(np.float32), three), X)
            case "full batches":
                return Example(_logistic(algorithm="gd").fit(X, Y), X)
            case "poisson":
                return Example(_logistic(algorithm="sgd", batch_size=50).fit(X, Y), X)
            case "machine":
                return Example(PrivateLinearSVC(classes=["no", "yes"], epochs=3).fit(X, words), X)
            case "huber":
                return Example(PrivateHuberRegressor(epochs=5, width=2).fit(X, X[:, 1]), X)
            case "plain pipeline":
                steps = Normalizer(), FunctionTransformer(), _logistic(epochs=2)
                return Example(make_pipeline(*steps).fit(X, Y), X)
            case "table":
                columns = {name: Numeric() for name in "abcd"} | {"e": Categorical(most=4)}
                encoder = PrivateTableEncoder(Schema(columns))
                private = PrivatePipeline([encoder, _logistic(algorithm="gd")])
                return Example(private.fit(FRAME, Y), FRAME)
            case "columns":
                return Example(_columns().fit(FRAME, Y), FRAME)
    raise AssertionError(kind)


KINDS = (
    "logistic",
    "other logistic",
    "same plan",
    "seeded",
    "learnt",
    "softmax",
    "poisson",
    "machine",
    "huber",
    "plain pipeline",
    "columns",
    "table",
)
