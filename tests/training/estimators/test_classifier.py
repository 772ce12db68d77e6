"""Classes: given or learnt, two or more, and what is said of labels that are none of them."""

import inspect
import warnings

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.sklearn import PrivacyLeakWarning
from shiftdp.training import Logistic, Softmax
from tests.training.estimators.test_linear import THREE, X, Y, logistic


def test_labels_outside_the_classes_are_not_named() -> None:
    labels = np.where(Y, "yes", "no").astype(object)
    labels[5] = "secret"
    with pytest.raises(InvalidInput, match="not in classes") as refusal:
        logistic(classes=["no", "yes"]).fit(X, labels)
    assert "secret" not in str(refusal.value)
    with pytest.raises(InvalidInput, match="not in classes"):
        logistic(classes=[0, 1]).fit(X, np.where(Y, "yes", "no"))


def test_one_class_of_two_that_are_given_is_no_error() -> None:
    model = logistic().fit(X, np.ones(600, dtype=int))
    assert model.classes_.tolist() == [0, 1]


def test_given_classes_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logistic(feature_bound=1.0).fit(X, Y)


def test_two_classes_are_logistic_and_more_are_softmax() -> None:
    two = logistic().fit(X, Y)
    assert isinstance(two.plan_.plan.loss, Logistic)
    assert two.coef_.shape == (1, 4)
    assert two.predict_proba(X).shape == (600, 2)
    three = logistic(classes=[0, 1, 2], epsilon=4.0).fit(X, THREE)
    assert three.plan_.plan.loss == Softmax(classes=3)
    assert three.coef_.shape == (3, 4)
    for model in (two, three):
        P = model.predict_proba(X)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
        # this way round: the logarithm of a P next to 1 has lost its digits
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), P, rtol=1e-12)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    assert three.score(X, THREE) > 0.6


def test_a_class_that_nobody_has_is_kept() -> None:
    model = logistic(classes=["a", "b", "z"]).fit(X, np.where(Y, "a", "b"))
    assert model.classes_.tolist() == ["a", "b", "z"]
    assert model.coef_.shape[0] == 3


def test_classes_that_are_read_off_the_labels_are_warned_of_where_fit_is_called() -> None:
    with pytest.warns(PrivacyLeakWarning, match="Give classes") as caught:
        model = logistic(classes=None, feature_bound=1.0).fit(X, Y)
    assert [warning.filename for warning in caught] == [__file__]
    assert model.classes_learnt_
    assert "read off the labels" in model.statement()


def test_partial_fit_of_classifiers_is_described() -> None:
    assert "all labels that there will ever be" in (inspect.getdoc(logistic().partial_fit) or "")
