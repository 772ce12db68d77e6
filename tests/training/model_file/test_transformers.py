"""Steps of pipelines: those on the list come back, and what they learnt is warned of."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import PolynomialCountSketch, RBFSampler
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.random_projection import SparseRandomProjection

from shiftdp import InvalidInput
from shiftdp.sklearn import PrivacyLeakWarning, PrivateLogisticRegression, load_model, save_model
from shiftdp.training.model_file import read_model
from shiftdp.training.model_file.transformers import TRANSFORMERS
from tests.training.model_file.examples import FRAME, QUANTILES, X, Y, example
from tests.training.model_file.rewriting import reload, rewritten

# what is asked here is what files say; tests/training/estimators/test_surroundings.py asks of fits
pytestmark = pytest.mark.filterwarnings(
    "ignore:the certificate does not cover:shiftdp.sklearn.PrivacyLeakWarning"
)


def test_every_transformer_on_the_list_comes_back(tmp_path: Path) -> None:
    from importlib import import_module

    composed = {"Pipeline", "FeatureUnion", "ColumnTransformer"}
    given: dict[str, dict[str, Any]] = {
        "FactorAnalysis": {"n_components": 2},
        "GaussianRandomProjection": {"n_components": 2, "random_state": 1},
        "KBinsDiscretizer": {"n_bins": 3, **QUANTILES},
        "MissingIndicator": {"features": "all"},
        "OrdinalEncoder": {"handle_unknown": "use_encoded_value", "unknown_value": np.nan},
        "OneHotEncoder": {"handle_unknown": "ignore", "dtype": np.float32},
        "PolynomialCountSketch": {"n_components": 8},
        "QuantileTransformer": {"n_quantiles": 20},
        "RBFSampler": {"n_components": 8, "random_state": 1},
        "SelectKBest": {"k": 2},
        "SimpleImputer": {"add_indicator": True},
        "SparseRandomProjection": {"n_components": 2, "random_state": 1},
    }
    holes = {"SimpleImputer", "MissingIndicator"}
    for name in sorted(set(TRANSFORMERS) - composed):
        kind = getattr(import_module(TRANSFORMERS[name]), name)
        data = np.abs(X.copy())
        if name in holes:
            data[::7, 1] = np.nan
        steps = [("step", kind(**given.get(name, {})))]
        model = Pipeline([*steps, ("model", PrivateLogisticRegression(classes=[0, 1], epochs=2))])
        model.fit(data, Y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            copy = reload(model, tmp_path)
        np.testing.assert_array_equal(
            copy.decision_function(data), model.decision_function(data), err_msg=name
        )


def test_steps_that_learnt_are_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    last = PrivateLogisticRegression(feature_bound=1.0, classes=[0, 1], epochs=2)
    with pytest.warns(PrivacyLeakWarning, match=r"minmaxscaler \(MinMaxScaler\)"):
        save_model(make_pipeline(MinMaxScaler(), last).fit(X, Y), path)
    assert read_model(path).learnt == ("minmaxscaler (MinMaxScaler)",)
    words = [["blue", "green", "red"]]
    for encoder in (OneHotEncoder(categories=words), OrdinalEncoder(categories=words)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            save_model(make_pipeline(encoder, clone(last)).fit(FRAME[["e"]], Y), path)
        assert read_model(path).learnt == ()


HOLES = np.where(np.arange(800).reshape(200, 4) % 7 == 0, np.nan, np.abs(X))


WORDS = [["blue", "green", "red"]]


@pytest.mark.parametrize(
    ("step", "data", "learns"),
    [
        (RBFSampler(gamma="scale", n_components=4), X, True),
        (RBFSampler(gamma=0.5, n_components=4), X, False),
        (SimpleImputer(strategy="constant", fill_value=0.0), HOLES, True),
        (
            SimpleImputer(
                strategy="constant", fill_value=0.0, keep_empty_features=True, add_indicator=True
            ),
            HOLES,
            True,
        ),
        (
            SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
            HOLES,
            False,
        ),
        (MissingIndicator(features="missing-only"), HOLES, True),
        (MissingIndicator(features="all"), HOLES, False),
        (OneHotEncoder(categories=WORDS, min_frequency=45), FRAME[["e"]], True),
        (OneHotEncoder(categories=WORDS, max_categories=2), FRAME[["e"]], True),
        (OrdinalEncoder(categories=WORDS, min_frequency=45), FRAME[["e"]], True),
        (OneHotEncoder(categories=WORDS), FRAME[["e"]], False),
        (ColumnTransformer([("a", Normalizer(), [0, 1])]), X, True),
        (ColumnTransformer([("a", Normalizer(), [0, 1])], sparse_threshold=0), X, False),
        (StandardScaler(with_mean=False, with_std=False), X, True),
        (KBinsDiscretizer(2, strategy="uniform"), X, True),
        (PolynomialCountSketch(n_components=4), X, False),
        (SparseRandomProjection(2), X, False),
    ],
    ids=repr,
)
def test_whatever_may_hold_values_of_the_data_is_warned_of(
    step: Any, data: Any, learns: bool, tmp_path: Path
) -> None:
    path = tmp_path / "model.shiftdp"
    last = PrivateLogisticRegression(classes=[0, 1], epochs=2)
    model = make_pipeline(clone(step), last).fit(data, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save_model(model, path)
    assert [item.category for item in caught] == [PrivacyLeakWarning] * learns
    assert [type(step).__name__ in name for name in read_model(path).learnt] == [True] * learns


def test_steps_that_were_given_fitted_are_warned_of(tmp_path: Path) -> None:
    """A column transformer fits copies and holds what it was given beside them."""
    columns = ColumnTransformer(
        [("all", Normalizer(), [0, 1, 2, 3])],
        remainder=StandardScaler().fit(X),
        sparse_threshold=0,
    )
    last = PrivateLogisticRegression(classes=[0, 1], epochs=2)
    with pytest.warns(PrivacyLeakWarning, match=r"remainder \(StandardScaler\)"):
        save_model(make_pipeline(columns, last).fit(X, Y), tmp_path / "model.shiftdp")


def forged_step(path: Path, step: Any, change: dict[str, Any]) -> None:
    """A file whose first step has other parameters or attributes than were saved."""
    last = PrivateLogisticRegression(classes=[0, 1], epochs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save_model(make_pipeline(clone(step), last).fit(np.abs(X), Y), path)

    def changed(text: bytes) -> bytes:
        document = json.loads(text)
        pipeline = document["model"]["transformer"]["parameters"]
        first = pipeline["steps"][0]["tuple"][1]["transformer"]
        for part, values in change.items():
            first[part].update(values)
        return f"{json.dumps(document)}\n".encode()

    rewritten(path, model=changed)


@pytest.mark.parametrize(
    ("step", "change"),
    [
        (make_pipeline(Normalizer()), {"parameters": {"memory": "cache"}}),
        (make_pipeline(Normalizer()), {"parameters": {"verbose": 2}}),
        (FeatureUnion([("a", Normalizer())]), {"parameters": {"n_jobs": 10**6}}),
        (FeatureUnion([("a", Normalizer())]), {"parameters": {"verbose": "yes"}}),
        (
            ColumnTransformer([("a", Normalizer(), [0])]),
            {"parameters": {"verbose_feature_names_out": "{feature_name:>999999999}"}},
        ),
        (
            ColumnTransformer([("a", Normalizer(), [0])]),
            {"parameters": {"verbose_feature_names_out": "{feature_name.__class__}"}},
        ),
        (FunctionTransformer(), {"parameters": {"func": {"score": "chi2"}}}),
        (FunctionTransformer(), {"parameters": {"inverse_func": {"score": "chi2"}}}),
        (FunctionTransformer(), {"parameters": {"feature_names_out": {"score": "chi2"}}}),
        (FunctionTransformer(), {"parameters": {"kw_args": {"dict": [["a", {"score": "chi2"}]]}}}),
        (OneHotEncoder(), {"parameters": {"feature_name_combiner": {"score": "chi2"}}}),
        (KBinsDiscretizer(2), {"parameters": {"encode": {"range": [0, 10**12, 1]}}}),
        (KBinsDiscretizer(2), {"parameters": {"encode": "other"}}),
        (PolynomialFeatures(), {"parameters": {"degree": {"range": [0, 10**7, 1]}}}),
        (Normalizer(), {"attributes": {"x": 1}}),
        (Normalizer(), {"attributes": {"scale_": 1}}),
    ],
    ids=str,
)
def test_parameters_that_reach_outside_and_attributes_of_no_class_are_refused(
    step: Any, change: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "model.shiftdp"
    forged_step(path, step, {})
    load_model(path)
    forged_step(path, step, change)
    with pytest.raises(InvalidInput):
        load_model(path)


def test_attributes_of_ones_own_on_a_step_are_refused_by_name(tmp_path: Path) -> None:
    step = Normalizer()
    step.note = "mine"
    last = PrivateLogisticRegression(classes=[0, 1], epochs=2)
    with pytest.raises(InvalidInput, match=r"normalizer.*\.note"):
        save_model(Pipeline([("normalizer", step), ("last", last)]).fit(X, Y), tmp_path / "model")


def test_the_outer_pipeline_has_no_memory_either(tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    save_model(example("plain pipeline").model, path)
    rewritten(path, model=lambda text: text.replace(b'"memory": null', b'"memory": "cache"'))
    with pytest.raises(InvalidInput, match="parameter that files cannot have"):
        load_model(path)
