"""The public verbs under attack: many trainings on two neighbouring data sets, by `shiftdp.audit`.

The loop itself is attacked by thousands of stacked runs in `tests/training/test_audit*.py`. Here it
is `fit` with checkpoints, `partial_fit`, `forget` and `groups` as users call them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp.sklearn import PrivateHuberRegressor

N = 20
PERSON = np.concatenate([np.arange(N - 2), np.full(2, N - 2)])  # the last two are one person's
SHAPE: dict[str, Any] = {
    "epsilon": 4.0, "feature_bound": 1.0, "fit_intercept": False, "algorithm": "cgd",
    "order": "fixed", "batch_size": 5, "l2": 0.1, "learning_rate": 0.5, "clip": 0.5, "epochs": 3,
    "bounds": "best",
}  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::shiftdp.sklearn.WeakSignalWarning"),
]


def data(sign: float, changed: int) -> tuple[np.ndarray, np.ndarray]:
    """Targets so far away that every residual is clipped, of the last records on either side."""
    X, y = np.zeros((N, 2)), np.full(N, 1e3)
    X[:, 0] = 1.0
    y[N - changed :] = sign * 1e3
    return X, y


def releases(X: Any, y: Any) -> tuple[Any, Any]:
    model = PrivateHuberRegressor(**SHAPE, checkpoints=[1, 2]).fit(X, y)
    return np.concatenate([one.coef for one in model.releases_]), model.certificate_


def windows(X: Any, y: Any) -> tuple[Any, Any]:
    """The changed record is in the second of three windows; all three models are seen."""
    shape = {name: one for name, one in SHAPE.items() if name != "epochs"}
    model = PrivateHuberRegressor(**shape)
    shown = []
    for first in (5, 15, 0):
        part = slice(first, first + 5)
        shown.append(model.partial_fit(X[part], y[part]).coef_.copy())
    return np.concatenate(shown), model.certificate_


def forgotten(X: Any, y: Any) -> tuple[Any, Any]:
    model = PrivateHuberRegressor(**SHAPE).fit(X, y)
    certificate = model.forget(X[:-1], y[:-1], epsilon=3.0, delta=1e-5)
    return model.coef_, certificate


def people(X: Any, y: Any) -> tuple[Any, Any]:
    model = PrivateHuberRegressor(**SHAPE, records_per_person=2).fit(X, y, groups=PERSON)
    return model.coef_, model.certificate_


VERBS: dict[str, tuple[Callable[[Any, Any], tuple[Any, Any]], int]] = {
    "checkpoints": (releases, 1),
    "partial_fit": (windows, 1),
    "forget": (forgotten, 1),
    "groups": (people, 2),
}


@pytest.mark.parametrize("verb", VERBS)
def test_no_attack_beats_the_certificate_of_a_verb(verb: str) -> None:
    train, changed = VERBS[verb]
    one, other = data(1.0, changed), data(-1.0, changed)
    certificate = train(*one)[1]
    report = sdp.audit(
        lambda X, y: train(X, y)[0], certificate, data=one, neighbour=other, runs=400
    )
    assert report.verdict == "consistent"
