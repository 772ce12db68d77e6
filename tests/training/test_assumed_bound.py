"""Whoever gives no bound is told which one is assumed, whatever the data are."""

import warnings
from typing import Any

import numpy as np
import pytest

from shiftdp.sklearn import (
    AssumedBoundWarning,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateSearchCV,
    PrivateTableEncoder,
)

X = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 2))
Y = (X[:, 0] > 0).astype(int)
RUN: dict[str, Any] = {"algorithm": "gd", "epochs": 2}
CLASSES: dict[str, Any] = {**RUN, "classes": [0, 1]}


def told(make: Any) -> list[str]:
    """What is said of the bound, and where."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", AssumedBoundWarning)
        make()
    return [one.filename for one in said if one.category is AssumedBoundWarning]


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_it_is_said_once_a_fit_and_does_not_depend_on_the_data(size: float) -> None:
    for model in (PrivateLogisticRegression(**CLASSES), PrivateLinearSVC(**CLASSES)):
        assert told(lambda model=model: model.fit(size * X, Y)) == [__file__]
    assert told(lambda: PrivateHuberRegressor(**RUN).fit(size * X, Y)) == [__file__]


def test_one_is_what_is_assumed() -> None:
    assumed = PrivateLogisticRegression(**CLASSES, random_state=1).fit(X, Y)
    given = PrivateLogisticRegression(feature_bound=1.0, **CLASSES, random_state=1).fit(X, Y)
    np.testing.assert_array_equal(assumed.coef_, given.coef_)
    assert assumed.feature_bound is None
    assert assumed.plan_.plan.feature_bound == 1.0


def test_who_gives_a_bound_or_an_encoder_is_told_nothing() -> None:
    bounded = PrivateLogisticRegression(feature_bound=1.0, **CLASSES)
    assert told(lambda: bounded.fit(X, Y)) == []
    pipeline = PrivatePipeline([PrivateTableEncoder(), PrivateLogisticRegression(**CLASSES)])
    assert told(lambda: pipeline.fit(X, Y)) == []
    search = PrivateSearchCV(
        PrivateLogisticRegression(**CLASSES), {"feature_bound": [1.0, 2.0]}, n_iter=1.5
    )
    assert told(lambda: search.fit(X, Y)) == []


def test_streams_and_searches_say_it_too() -> None:
    stream = PrivateLogisticRegression(classes=[0, 1])
    assert told(lambda: stream.partial_fit(X, Y)) == [__file__]
    assert told(lambda: stream.partial_fit(X, Y)) == []
    search = PrivateSearchCV(PrivateLogisticRegression(**CLASSES), {"l2": [0.1, 0.2]}, n_iter=1.5)
    assert told(lambda: search.fit(X, Y)) == [__file__]


def test_a_head_says_it_too() -> None:
    torch = pytest.importorskip("torch")
    from shiftdp.torch import PrivateHead

    features, labels = torch.from_numpy(X), torch.from_numpy(Y)
    assert told(lambda: PrivateHead(classes=2, **RUN).fit(features, labels)) == [__file__]
    assert told(lambda: PrivateHead(1.0, 1e-5, 1.0, classes=2, **RUN).fit(features, labels)) == []
