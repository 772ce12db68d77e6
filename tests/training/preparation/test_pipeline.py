"""One budget, one certificate, one charge; and what is not covered is said."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from shiftdp import BudgetExceeded, InvalidInput, Ledger
from shiftdp.sklearn import (
    Boolean,
    Categorical,
    Numeric,
    PrivacyLeakWarning,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateTableEncoder,
    WeakSignalWarning,
)
from tests.training.preparation.raw_tables import DECLARED, raw_frame

FRAME, LABELS = raw_frame(600, 0)


def logistic(**parameters: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(
        **{"classes": ["no", "yes"], "algorithm": "gd", "epochs": 5, **parameters}
    )


def pipeline(schema: Any = None, **parameters: Any) -> PrivatePipeline:
    return PrivatePipeline([PrivateTableEncoder(schema), logistic()], **parameters)


def test_a_pipeline_is_a_pipeline() -> None:
    made = pipeline().fit(FRAME, LABELS)
    assert isinstance(made, Pipeline)
    assert list(made.named_steps) == ["privatetableencoder", "privatelogisticregression"]
    assert made.predict(FRAME).shape == (600,)
    assert made.predict_proba(FRAME).shape == (600, 2)
    assert made.classes_.tolist() == ["no", "yes"]
    assert made.feature_names_in_.tolist() == list(FRAME.columns)
    assert made.get_params()["privatelogisticregression__epochs"] == 5
    again = clone(made)
    assert again.get_params(deep=False)["epsilon"] == 1.0
    assert not hasattr(again, "certificate_")
    rows = made[:-1].transform(FRAME)
    np.testing.assert_array_equal(made[-1].predict(rows), made.predict(FRAME))


def test_parameters_of_the_steps_stay_as_they_were_given() -> None:
    made = pipeline(epsilon=2.0).fit(FRAME, LABELS)
    model = made[-1]
    assert (model.epsilon, model.feature_bound, model.ledger) == (1.0, None, None)
    assert model.plan_.plan.feature_bound == made[0].feature_bound_
    assert made[0].epsilon is None


def test_a_public_preparation_leaves_the_whole_budget_to_the_model() -> None:
    made = pipeline(DECLARED).fit(FRAME, LABELS)
    assert made.certificate_.sums == ()
    assert made.certificate_.epsilon(1e-5) == made[-1].certificate_.epsilon(1e-5)
    assert made.certificate_.epsilon(1e-5) > 0.999
    assert "costs nothing" in made.statement()


def test_the_certificate_is_the_product_of_the_steps() -> None:
    made = pipeline().fit(FRAME, LABELS)
    product = made[0].certificate_.f.compose(made[-1].certificate_.f)
    assert made.certificate_.epsilon(1e-5) == product.epsilon(1e-5)
    assert 0.999 < made.certificate_.epsilon(1e-5) <= 1.0
    made.certificate_.verify()


COLUMNS = st.fixed_dictionaries(
    {},
    optional={
        "age": st.sampled_from([Numeric(), Numeric(low=18, high=95), Numeric(within=(0, 200))]),
        "balance": st.sampled_from([Numeric(scale="range"), Numeric(missing="fill")]),
        "city": st.sampled_from(
            [Categorical(), Categorical(most=3), Categorical(categories=("a",))]
        ),
        "married": st.just(Boolean()),
    },
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    COLUMNS.filter(bool),
    st.floats(0.1, 6.0),
    st.sampled_from([1e-8, 1e-5, 1e-3]),
    st.floats(0.02, 0.9),
    st.sampled_from(["replace_one", "zero_out"]),
    st.sampled_from(["gd", "cgd", "sgd"]),
    st.sampled_from([None, 0.05]),
)
def test_no_pipeline_exceeds_its_budget(
    schema: dict[str, Any], epsilon: float, delta: float, share: float,
    adjacency: Any, algorithm: Any, own: float | None,
) -> None:  # fmt: skip
    small, labels = FRAME[:60], LABELS[:60]
    batch = {} if algorithm == "gd" else {"batch_size": 20}
    made = PrivatePipeline(
        [
            PrivateTableEncoder(schema, epsilon=own),
            logistic(adjacency=adjacency, algorithm=algorithm, epochs=2, **batch),
        ],
        epsilon,
        delta,
        share=share,
    ).fit(small, labels)
    assert made.certificate_.epsilon(delta) <= epsilon
    assert made.certificate_.adjacency == adjacency
    made.certificate_.verify()


def test_the_ledger_is_charged_once_for_everything(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=1.2, delta=1e-5)
    made = pipeline(ledger=ledger).fit(FRAME, LABELS)
    (entry,) = ledger.entries()
    assert entry.completed
    assert ledger.epsilon() == pytest.approx(made.certificate_.epsilon(1e-5), rel=1e-9)
    ledger.verify()
    before = made.predict_proba(FRAME)
    with pytest.raises(BudgetExceeded):
        made.fit(FRAME, LABELS)
    np.testing.assert_array_equal(made.predict_proba(FRAME), before)
    with pytest.raises(InvalidInput, match="random_state"):
        PrivatePipeline([PrivateTableEncoder(random_state=0), logistic()], 0.1, ledger=ledger).fit(
            FRAME, LABELS
        )
    assert len(ledger.entries()) == 1


def test_a_refused_table_is_not_charged(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=1.5, delta=1e-5)
    made = pipeline(DECLARED, ledger=ledger)
    for X, y in (
        (FRAME.assign(married="perhaps"), LABELS),
        (FRAME, LABELS[:-1]),
        (FRAME, np.where(LABELS == "yes", "maybe", "no")),
    ):
        with pytest.raises(InvalidInput):
            made.fit(X, y)
    assert ledger.entries() == ()


def test_what_only_the_model_refuses_is_not_charged_either(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=1.5, delta=1e-5)
    X = np.full((40, 2), 0.1)
    numbers, labels = np.full(40, 0.5), np.array(["no", "yes"] * 20)
    spoilt = X.copy(), numbers.copy()
    spoilt[0][3, 0], spoilt[1][3] = np.nan, np.inf
    huber, three = PrivateHuberRegressor(epochs=2), PrivateLinearSVC(classes=["a", "no", "yes"])
    strict = logistic(oversized="refuse")
    for steps, table, y in (
        ([logistic()], spoilt[0], labels),
        ([strict], 10 * X, labels),
        ([PrivateTableEncoder(), huber], X, spoilt[1]),
        ([PrivateTableEncoder(), three], X, labels),
    ):
        with pytest.raises(InvalidInput):
            PrivatePipeline(steps, 1.0, ledger=ledger).fit(table, y)
    assert ledger.entries() == ()
    PrivatePipeline([PrivateTableEncoder(), huber], 1.0, ledger=ledger).fit(X, numbers)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize(("name", "value"), [("delta", "x"), ("adjacency", "other")])
def test_nonsense_of_the_encoder_is_refused(name: str, value: str) -> None:
    encoder = PrivateTableEncoder(epsilon=0.1).set_params(**{name: value})
    with pytest.raises(InvalidInput, match=f"^{name}="):
        PrivatePipeline([encoder, logistic()]).fit(FRAME, LABELS)


def test_other_private_models_work_too() -> None:
    svc = PrivatePipeline([PrivateTableEncoder(), PrivateLinearSVC(classes=["no", "yes"])])
    assert svc.fit(FRAME, LABELS).certificate_.epsilon(1e-5) <= 1.0
    huber = PrivatePipeline([PrivateTableEncoder(), PrivateHuberRegressor(epochs=5)])
    assert huber.fit(FRAME, (LABELS == "yes") * 1.0).predict(FRAME).shape == (600,)


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", 0.0), ("delta", 0.0), ("share", 0.0), ("share", 1.0)]
)
def test_budgets_that_are_none_are_refused(name: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=name):
        pipeline(**{name: value}).fit(FRAME, LABELS)


def test_a_scaler_in_front_is_warned_of_and_named_in_the_statement() -> None:
    numbers = FRAME[["age", "balance"]]
    made = PrivatePipeline([StandardScaler(), logistic(feature_bound=2.0)])
    with pytest.warns(PrivacyLeakWarning, match="StandardScaler"):
        made.fit(numbers, LABELS)
    assert "Not covered: the step standardscaler (StandardScaler)" in made.statement()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        free = PrivatePipeline([Normalizer(), logistic()]).fit(numbers, LABELS)
    assert "Not covered" not in free.statement()


def test_seeded_steps_are_stamped() -> None:
    steps = [PrivateTableEncoder(random_state=1), logistic(random_state=1)]
    made = [PrivatePipeline(clone(Pipeline(_named(steps))).steps).fit(FRAME, LABELS) for _ in "ab"]
    np.testing.assert_array_equal(made[0].predict_proba(FRAME), made[1].predict_proba(FRAME))
    assert made[0].statement().count("NOT PRIVATE") >= 2
    with pytest.raises(Exception, match="NOT PRIVATE"):
        made[0].certificate_.verify()


def _named(steps: list[Any]) -> list[tuple[str, Any]]:
    return [(f"s{i}", step) for i, step in enumerate(steps)]


def test_who_gives_a_weak_pipeline_the_advised_epsilon_is_not_advised_again() -> None:
    X, y = raw_frame(100, 0)
    with pytest.warns(WeakSignalWarning, match="epsilon=0.03 leaves a model of 100 rec") as said:
        pipeline(epsilon=0.03).fit(X, y)
    (one,) = said
    assert one.filename == __file__
    advised = re.search(r"give epsilon=([0-9.]+)", str(one.message))
    assert advised is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakSignalWarning)
        pipeline(epsilon=float(advised[1])).fit(X, y)
