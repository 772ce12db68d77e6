"""`forget` and `groups` on the estimators: what is certified is what was run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput, Ledger, Unlearning
from shiftdp.sklearn import (
    PrivateHuberRegressor,
    PrivateLogisticRegression,
    load_model,
    save_model,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3)) / 2
Y = (X[:, 0] + 0.3 * RNG.normal(size=600) > 0).astype(int)
CYCLIC: dict[str, Any] = {
    "algorithm": "cgd", "batch_size": 60, "epochs": 4, "order": "fixed", "classes": [0, 1],
    "learning_rate": 1.0, "l2": 0.05, "noise": 0.05, "epsilon": 5.0,
}  # fmt: skip


def fitted(**more: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(**{**CYCLIC, **more}).fit(X, Y)


def test_what_is_forgotten_is_certified_and_verified() -> None:
    model = fitted()
    before, released = model.certificate_, model.coef_.copy()
    certificate = model.forget(X[:-1], Y[:-1], epsilon=0.5, delta=1e-5)
    certificate.verify()
    assert certificate.epsilon(1e-5) <= 0.5 < before.epsilon(1e-5)
    run = certificate.run
    assert isinstance(run, Unlearning)
    assert run.training == model.plan_.plan.run
    assert run.further_steps > 0
    assert run.grid == model.plan_.plan.grid
    assert run.dimension == 4
    assert not np.array_equal(model.coef_, released)
    # those who stay pay for one release more
    model.further_certificate_.verify()
    assert model.further_certificate_.run.n == 599  # type: ignore[union-attr]
    with pytest.raises(InvalidInput, match="second time"):
        model.forget(X[:-2], Y[:-2], epsilon=0.5, delta=1e-5)
    assert not hasattr(model.fit(X, Y), "further_certificate_")


def test_several_records_take_longer() -> None:
    steps = []
    for gone in (1, 3):
        certificate = fitted().forget(X[:-gone], Y[:-gone], epsilon=0.5, delta=1e-5)
        assert certificate.run.records == gone  # type: ignore[union-attr]
        steps.append(certificate.run.further_steps)  # type: ignore[union-attr]
    assert steps[0] < steps[1]


def test_a_budget_that_is_met_moves_nothing() -> None:
    model = fitted()
    released = model.coef_.copy()
    certificate = model.forget(X[:-1], Y[:-1], epsilon=50.0, delta=1e-5)
    assert certificate.run.further_steps == 0  # type: ignore[union-attr]
    assert np.array_equal(model.coef_, released)


def test_a_regressor_forgets_too() -> None:
    shape = {name: value for name, value in CYCLIC.items() if name != "classes"}
    model = PrivateHuberRegressor(**{**shape, "epsilon": 20.0, "learning_rate": 0.5}).fit(
        X, X[:, 0]
    )
    model.forget(X[1:], X[1:, 0], epsilon=0.5, delta=1e-5).verify()
    assert model.coef_.shape == (3,)


def test_what_cannot_be_forgotten_is_refused_and_leaves_the_model_as_it_was() -> None:
    model = fitted()
    released = model.coef_.copy()
    with pytest.raises(InvalidInput, match="are not fewer"):
        model.forget(X, Y, epsilon=0.5, delta=1e-5)
    with pytest.raises(InvalidInput, match="classes"):
        model.forget(X[:-1], Y[:-1] + 7, epsilon=0.5, delta=1e-5)
    assert np.array_equal(model.coef_, released)
    composed = fitted(bounds="composition", noise=None)
    with pytest.raises(InvalidInput, match="bounds='composition'"):
        composed.forget(X[:-1], Y[:-1], epsilon=0.5, delta=1e-5)


def test_a_seeded_model_says_that_its_deletion_is_not_private() -> None:
    model = fitted(random_state=3)
    certificate = model.forget(X[:-1], Y[:-1], epsilon=0.5, delta=1e-5)
    assert "not private" in certificate.assumptions[0].name


def test_a_deletion_is_an_entry_of_its_own(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study.db", epsilon=50.0, delta=1e-5)
    model = fitted(ledger=ledger)
    model.forget(X[:-1], Y[:-1], epsilon=0.5, delta=1e-5)
    labels = [entry.label for entry in ledger.entries()]
    assert labels == ["PrivateLogisticRegression", "PrivateLogisticRegression.forget"]


def test_a_model_that_was_read_from_a_file_forgets_nobody(tmp_path: Path) -> None:
    save_model(fitted(), tmp_path / "m.shiftdp")
    model = load_model(tmp_path / "m.shiftdp")
    with pytest.raises(InvalidInput, match="was read from a file"):
        model.forget(X[:-1], Y[:-1], epsilon=0.5, delta=1e-5)


def test_a_parameter_that_is_set_later_does_not_change_the_shape() -> None:
    model = fitted()
    model.set_params(fit_intercept=False).forget(X[:-1], Y[:-1], epsilon=0.5, delta=1e-5)
    assert model.coef_.shape == (1, 3)
    assert model.intercept_ != 0.0
