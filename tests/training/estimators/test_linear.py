"""The estimators: certified, charged, at home in scikit-learn, and silent about records."""

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from shiftdp import InvalidInput
from shiftdp.sklearn import (
    AssumedBoundWarning,
    PrivacyLeakWarning,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    WeakSignalWarning,
)
from shiftdp.training import descend

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4)) / 2.0
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
THREE = np.digitize(X[:, 0], [-0.3, 0.3])
TWO = {"classes": [0, 1], "epochs": 20}
SECRET = 8_675_309.25  # an entry that no message may show


def logistic(**parameters: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(**{**TWO, **parameters})


def test_the_call_of_the_documentation() -> None:
    model = PrivateLogisticRegression(epsilon=1.0, delta=1e-5, feature_bound=1.0, random_state=None)
    with pytest.warns(PrivacyLeakWarning, match="classes"):
        model.fit(X, Y)
    assert model.certificate_.epsilon(1e-5) <= 1.0
    model.certificate_.verify()
    assert "read off the labels" in model.statement()
    assert model.score(X, Y) > 0.8


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("adjacency", ["zero_out", "replace_one"])
def test_the_certificate_is_that_of_the_run(epsilon: float, adjacency: Any) -> None:
    model = logistic(epsilon=epsilon, adjacency=adjacency).fit(X, Y)
    plan = model.plan_.plan
    assert model.certificate_.same_guarantee(plan.certificate)
    assert model.certificate_.run == plan.run
    assert plan.run.n == 600
    assert plan.adjacency == adjacency
    assert 0.999 * epsilon <= model.certificate_.epsilon(1e-5) <= epsilon


def test_much_budget_finds_what_a_public_model_finds() -> None:
    model = logistic(epsilon=50.0, feature_bound=2.0, epochs=200).fit(X, Y)
    public = LogisticRegression().fit(X, Y)
    assert np.mean(model.predict(X) == public.predict(X)) > 0.97


def test_a_regressor_and_a_machine() -> None:
    target = X @ [0.5, -0.5, 0.0, 0.2] + 0.1
    regressor = PrivateHuberRegressor(epsilon=10.0, feature_bound=2.0).fit(X, target)
    assert regressor.score(X, target) > 0.8
    assert regressor.coef_.shape == (4,)
    assert isinstance(regressor.intercept_, float)
    machine = PrivateLinearSVC(epsilon=4.0, classes=[0, 1], feature_bound=2.0).fit(X, Y)
    assert machine.score(X, Y) > 0.85
    with pytest.raises(InvalidInput, match="two"):
        PrivateLinearSVC(classes=[0, 1, 2]).fit(X, THREE)


@pytest.mark.filterwarnings("ignore::shiftdp.sklearn.PrivacyLeakWarning")
@pytest.mark.parametrize(
    ("kind", "classes"),
    [
        (PrivateLogisticRegression, None),
        (PrivateLinearSVC, [0, 1]),
        pytest.param(PrivateLogisticRegression, [0, 1], marks=pytest.mark.slow),
        pytest.param(PrivateLinearSVC, None, marks=pytest.mark.slow),
    ],
)
def test_parameters_that_are_set_later_do_not_change_a_fitted_model(
    kind: Any, classes: Any
) -> None:
    model = kind(classes=classes, epochs=5, feature_bound=0.5, random_state=1).fit(X, Y)

    def told() -> list[Any]:
        asked = [model.statement(), model.predict(X), model.decision_function(X)]
        return [*asked, *([model.predict_proba(X)] if hasattr(model, "predict_proba") else [])]

    before = told()
    others = {"delta": 1e-3, "feature_bound": 7.0, "oversized": "refuse", "fit_intercept": False}
    for name in model.get_params():
        own = getattr(model, name)
        for value in {None, others.get(name), (0, 1, 2)}:
            model.set_params(**{name: value})
            for one, other in zip(before, told(), strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"{name}={value}")
        model.set_params(**{name: own})


def test_tables_and_sparse_matrices() -> None:
    columns = [f"c{i}" for i in range(4)]
    plain = logistic(random_state=1, centre=False).fit(X, Y)
    frames = [pd.DataFrame(X, columns=columns), pl.DataFrame(X, schema=columns)]
    for frame in frames:
        model = logistic(random_state=1, centre=False).fit(frame, Y)
        assert model.feature_names_in_.tolist() == columns
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        np.testing.assert_array_equal(model.predict(frame), plain.predict(X))
    matrix = sparse.csr_array(X)
    model = logistic(random_state=1).fit(matrix, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=4 * plain.plan_.plan.grid)
    np.testing.assert_allclose(model.decision_function(matrix), model.decision_function(X))


def test_pipelines_and_output_settings() -> None:
    columns = [f"c{i}" for i in range(4)]
    half = FunctionTransformer(lambda table: table / 2.0)
    pipeline = make_pipeline(half, logistic(random_state=1)).set_output(transform="pandas")
    pipeline.fit(pd.DataFrame(X, columns=columns), Y)
    assert pipeline[-1].feature_names_in_.tolist() == columns
    assert pipeline.score(pd.DataFrame(X, columns=columns), Y) > 0.5


# --- the ledger ---


def spoiled(value: Any) -> Any:
    bad = X.astype(object) if isinstance(value, str) else X.copy()
    bad[3, 2] = value
    return bad


@pytest.mark.parametrize(
    ("features", "labels", "problem"),
    [
        (spoiled(np.nan), Y, "NaN"),
        (spoiled(np.inf), Y, "infinity"),
        (spoiled(f"name{SECRET}"), Y, "not numbers"),
        (X, np.where(Y, 1.0, np.nan), "NaN"),
        (X, np.zeros(600, dtype=int), "one class"),
        (X, X[:, 0] * SECRET, "continuous"),
        (X[:0], Y[:0], "0 sample"),
        (X[:, :0], Y, "0 feature"),
        (X, Y[:-1], "inconsistent"),
    ],
    ids=["nan", "infinite", "words", "nan label", "one class", "numbers", "empty", "bare", "short"],
)
def test_bad_data_is_refused_in_words_about_the_data(
    features: Any, labels: Any, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem) as refusal:
        PrivateLogisticRegression(epochs=2).fit(features, labels)
    assert str(int(SECRET)) not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_a_constant_target_is_learnt() -> None:
    model = PrivateHuberRegressor(epsilon=20.0).fit(X, np.full(600, 0.5))
    assert np.abs(model.predict(X) - 0.5).max() < 0.3


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"feature_bound": 0.0}, "feature_bound"),
        ({"feature_bound": "long"}, "feature_bound"),
        ({"batch_size": 601, "algorithm": "cgd"}, "batch_size"),
        ({"classes": [0]}, "classes"),
        ({"classes": [0, 0]}, "classes"),
        ({"adjacency": "add_remove"}, "adjacency"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        logistic(**parameters).fit(X, Y)
    assert refusal.value.name == name


def test_no_sample_weights_no_tolerance_no_early_stopping() -> None:
    names = PrivateLogisticRegression().get_params()
    assert not {"tol", "early_stopping", "max_iter", "warm_start"} & set(names)
    with pytest.raises(TypeError):
        logistic().fit(X, Y, sample_weight=np.ones(600))  # type: ignore[call-arg]


def test_the_planner_reads_digits() -> None:
    """benchmarks/utility.py has 89.9 with a standard error of 0.3 over forty splits."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[359:], order[:359]
    scores = [
        PrivateLogisticRegression(
            feature_bound=3.5, classes=range(10), adjacency="zero_out", random_state=seed
        )
        .fit(images[train] / 16.0, labels[train])
        .score(images[test] / 16.0, labels[test])
        for seed in range(3)
    ]
    assert np.mean(scores) > 0.87


LARGE = np.tile([[1e308, -1e308, 2.0, 3.0]], (40, 1))
ANY = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 3.4e38, -3.4e38, 1.7e308, -1.7e308, 5e-324, 1e154, 1e-160, 1.0]),
)
LAYOUTS: dict[str, Any] = {
    "by rows": np.ascontiguousarray,
    "by columns": np.asfortranarray,
    "csr": sparse.csr_array,
    "coo": sparse.coo_array,
}
QUICK: dict[str, Any] = {
    "algorithm": "gd",
    "epochs": 1,
    "learning_rate": 0.5,
    "noise": 10.0,
    "random_state": 3,
    "bounds": "composition",
}


def without_warnings(model: Any, X: Any, y: Any) -> None:
    """Fit, predict and score; everything is finite, and nothing warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (AssumedBoundWarning, WeakSignalWarning):
            warnings.simplefilter("ignore", kind)
        model.fit(X, y)
        assert math.isfinite(model.score(X, y))
        for way in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
            if hasattr(model, way):
                assert np.isfinite(getattr(model, way)(X)).all()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_for_any_finite_data_nothing_warns_and_everything_is_finite(
    dtype: Any, layout: Any, data: Any
) -> None:
    n, most = 6, float(np.finfo(dtype).max)
    entry = ANY.map(lambda x: float(np.clip(x, -most, most)))
    X = layout(data.draw(arrays(np.float64, (n, 3), elements=entry)).astype(dtype))
    y = data.draw(arrays(np.float64, n, elements=ANY))
    labels = np.arange(n) % 3
    without_warnings(PrivateHuberRegressor(**QUICK), X, y)
    without_warnings(PrivateLinearSVC(classes=[0, 1], **QUICK), X, labels % 2)
    without_warnings(PrivateLogisticRegression(classes=[0, 1, 2], **QUICK), X, labels)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_that_overflow_do_not_warn(dtype: Any, layout: Any) -> None:
    X = layout(np.clip(LARGE, -3e38, 3e38).astype(dtype) if dtype == np.float32 else LARGE)
    y = np.arange(40) % 2
    without_warnings(PrivateLogisticRegression(classes=[0, 1], **QUICK), X, y)
    without_warnings(PrivateHuberRegressor(**QUICK), X, (2 * y - 1) * 1e308)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.coo_array, sparse.csr_array])
def test_numbers_beyond_double_precision_are_refused_without_a_warning(wrap: Any) -> None:
    if np.finfo(np.longdouble).max <= np.finfo(np.float64).max:
        pytest.skip("no longer type of numbers here")
    long = X.astype(np.longdouble)
    long[5, 1] = np.longdouble("1e400")
    model = PrivateHuberRegressor(**QUICK)
    plan = model.fit(X, Y).plan_.plan
    far = np.where(np.arange(len(X)) == 5, np.longdouble("1e400"), np.longdouble(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (AssumedBoundWarning, WeakSignalWarning):
            warnings.simplefilter("ignore", kind)
        for action in (
            lambda: model.fit(wrap(long), Y),
            lambda: model.predict(wrap(long)),
            lambda: model.fit(X, far),
            lambda: model.score(X, far),
            lambda: descend(plan, wrap(long), Y),
            lambda: descend(plan, X, far),
        ):
            with pytest.raises(InvalidInput):
                action()


def test_entries_given_twice_are_added_in_double_precision_as_the_loop_does() -> None:
    data = np.full(2 * len(X), 3e38, dtype=np.float32)
    rows = np.repeat(np.arange(len(X)), 2)
    twice = sparse.coo_array((data, (rows, np.zeros_like(rows))), shape=(len(X), 2))
    once = sparse.csr_array(np.array([[6e38, 0.0]] * len(X)))
    one, two = (PrivateLogisticRegression(classes=[0, 1], **QUICK).fit(M, Y) for M in (twice, once))
    assert (one.coef_ == two.coef_).all()
    assert (one.predict(twice) == two.predict(once)).all()
