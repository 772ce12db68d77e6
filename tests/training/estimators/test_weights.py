"""`class_weight` of the classifiers."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.sklearn import PrivateLinearSVC, PrivateLogisticRegression, load_model, save_model
from shiftdp.training.estimators.weights import relative_weights
from shiftdp.training.losses.softmax import Softmax
from shiftdp.training.losses.weighted import Weighted

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4_000, 3)) / 3
RARE = np.where(RNG.random(4_000) < 1 / (1 + np.exp(3.5 - 4 * X[:, 0])), "yes", "no")


@given(st.dictionaries(st.integers(0, 50), st.floats(1e-6, 1e6), min_size=2, max_size=6))
def test_the_largest_weight_is_one_and_ratios_are_kept(given_weights: dict[int, float]) -> None:
    classes = list(given_weights)
    found = relative_weights(given_weights, classes)
    assert max(found) == 1.0
    largest = max(given_weights.values())
    assert found == tuple(given_weights[label] / largest for label in sorted(classes))


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearSVC])
def test_a_rare_class_is_predicted_at_the_same_cost(kind: Any) -> None:
    fields: dict[str, Any] = {"epsilon": 3.0, "classes": ["no", "yes"], "random_state": 0}
    plain = kind(**fields).fit(X, RARE)
    weighted = kind(**fields, class_weight={"yes": 16, "no": 1}).fit(X, RARE)
    rare = RARE == "yes"
    found, missed = ((one.predict(X) == "yes")[rare].mean() for one in (weighted, plain))
    assert found > missed + 0.3
    assert weighted.plan_.plan.loss.weights == (1 / 16, 1.0)
    assert weighted.certificate_.epsilon(delta=1e-5) == plain.certificate_.epsilon(delta=1e-5)
    assert "weight_0=0.0625" in weighted.statement()


def test_three_classes() -> None:
    y = np.arange(4_000) % 3
    weights = {0: 2.0, 1: 1.0, 2: 4.0}
    model = PrivateLogisticRegression(classes=[0, 1, 2], class_weight=weights).fit(X, y)
    assert model.plan_.plan.loss == Weighted(Softmax(classes=3), (0.5, 0.25, 1.0))


def test_a_model_file_keeps_the_weights(tmp_path: pathlib.Path) -> None:
    weights = {"no": 1.0, "yes": 3.0}
    model = PrivateLogisticRegression(classes=["no", "yes"], class_weight=weights).fit(X, RARE)
    save_model(model, tmp_path / "m.shiftdp")
    again = load_model(tmp_path / "m.shiftdp")
    assert again.class_weight == weights
    assert isinstance(again.plan_.plan.loss, Weighted)
    assert (again.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("balanced", "would be read off the labels"),
        ([1, 2], "is no dictionary"),
        ({"no": 1}, "does not have exactly the classes"),
        ({"no": 1, "yes": 1, "other": 1}, "does not have exactly the classes"),
        ({"no": 1, "yes": 0}, "class_weight=0"),
        ({"no": 1, "yes": float("inf")}, "class_weight=inf"),
        ({"no": 1, "yes": "2"}, "class_weight='2'"),
        ({"no": 1, "yes": 1e-300}, "weights=1e-300"),
    ],
)
def test_what_is_refused(weights: Any, words: str) -> None:
    model = PrivateLogisticRegression(classes=["no", "yes"], class_weight=weights)
    with pytest.raises(InvalidInput, match=words):
        model.fit(X, RARE)


def test_a_plan_without_classes_asks_for_them() -> None:
    model = PrivateLogisticRegression(class_weight={0: 1, 1: 2})
    with pytest.raises(InvalidInput, match=r"give classes=\.\.\. too"):
        model.plan(100, 3)
