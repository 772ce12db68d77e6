"""`forget` and `groups` on the estimators: what is certified is what was run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput, Ledger, Unlearning
from shiftdp._printed import up
from shiftdp.sklearn import (
    PrivateHuberRegressor,
    PrivateLogisticRegression,
    load_model,
    save_model,
)
from shiftdp.training.estimators import forgetting

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
    assert not hasattr(model.fit(X, Y), "further_certificate_")


def test_more_may_be_forgotten_later_and_one_certificate_is_about_all_of_it() -> None:
    model = fitted()
    first = model.forget(X[:-1], Y[:-1], epsilon=0.5, delta=1e-5).run
    released = model.coef_.copy()
    certificate = model.forget(X[:-3], Y[:-3], epsilon=0.5, delta=1e-5)
    certificate.verify()
    run: Any = certificate.run
    assert certificate.epsilon(1e-5) <= 0.5
    assert run.records == 1
    assert run.later_requests == ((first.further_steps, 2),)  # type: ignore[union-attr]
    assert not np.array_equal(model.coef_, released)
    assert [each.steps for each in model.deletions_] == [
        first.further_steps, run.further_steps - first.further_steps,  # type: ignore[union-attr]
    ]  # fmt: skip
    assert model.deletions_[1].certificate is certificate
    assert model.further_certificate_.run.n == 597  # type: ignore[union-attr]
    assert f"the {model.plan_.plan.run.steps} of training anew" in model.deletions_[1].summary()
    with pytest.raises(InvalidInput, match="the 597 of the last call"):
        model.forget(X[:-3], Y[:-3], epsilon=0.5, delta=1e-5)
    third = model.forget(X[:-4], Y[:-4], epsilon=0.5, delta=1e-5)
    assert third.run.later_requests[-1] == (run.further_steps, 1)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "chosen",
    [{"order": "reshuffled"}, {"algorithm": "sgd", "order": None, "sampling": "poisson"}],
    ids=["reshuffled", "poisson"],
)
def test_random_batches_are_forgotten_too_and_twice(chosen: dict[str, Any]) -> None:
    losses = {"adjacency": "zero_out"} if "sampling" in chosen else {}
    model = fitted(**chosen, **losses)
    once = model.forget(X[:-1], Y[:-1], epsilon=0.3, delta=1e-5)
    again = model.forget(X[:-2], Y[:-2], epsilon=0.3, delta=1e-5)
    for certificate in (once, again):
        certificate.verify()
        assert certificate.epsilon(1e-5) <= 0.3 < model.certificate_.epsilon(1e-5)
        assert certificate.run.further_steps > 0  # type: ignore[union-attr]


def test_long_steps_under_composition_are_forgotten_by_shorter_ones() -> None:
    # curvature 2/4 + .05: at a learning rate of 5 steps expand
    model = fitted(bounds="composition", noise=None, learning_rate=5.0)
    assert model.plan_.plan.geometry.contraction(5.0) > 1.0
    certificate = model.forget(X[:-1], Y[:-1], epsilon=0.5, delta=1e-5)
    certificate.verify()
    assert certificate.bound == "Theorem V3 (distance)"
    assert certificate.epsilon(1e-5) <= 0.5
    further: Any = model.further_certificate_.run
    deletion: Any = certificate.run
    assert further.learning_rate == deletion.learning_rate < 5.0
    assert model.plan_.plan.geometry.contraction(further.learning_rate) < 1.0


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
    three = np.arange(600) % 3
    clipped = PrivateLogisticRegression(
        **{**CYCLIC, "classes": [0, 1, 2], "bounds": "composition", "noise": None, "clip": 0.5}
    ).fit(X, three)
    plan = replace(clipped.plan_.plan, clipping="plain")
    clipped.plan_ = replace(clipped.plan_, plan=plan)
    with pytest.raises(InvalidInput, match=r"composition alone.*fit with l2=.*trained anew"):
        clipped.forget(X[:-1], three[:-1], epsilon=0.5, delta=1e-5)


def test_what_was_centred_cannot_be_forgotten() -> None:
    model = PrivateLogisticRegression(epsilon=1.0, classes=[0, 1], centre=True).fit(X, Y)
    with pytest.raises(InvalidInput, match=r"centred rows.*train anew, with a ridge"):
        model.forget(X[:-3], Y[:-3], epsilon=0.5, delta=1e-5)


@pytest.mark.parametrize("chosen", [{}, {"algorithm": "cgd"}, {"l2": 0.001, "algorithm": "gd"}])
def test_a_model_that_cannot_forget_says_in_a_sentence_what_to_fit_instead(
    chosen: dict[str, Any],
) -> None:
    with pytest.raises(InvalidInput, match=r"^epsilon=0\.5 is not reached") as caught:
        PrivateLogisticRegression(epsilon=1.0, classes=[0, 1], centre=False, **chosen).fit(
            X, Y
        ).forget(X[:-3], Y[:-3], epsilon=0.5, delta=1e-5)
    assert len(str(caught.value)) < 400
    assert "nearest possible" not in str(caught.value)
    advised = re.search(r"l2=([0-9.]+) and learning_rate=([0-9.]+),", caught.value.remedy)
    assert advised is not None
    choices = {**chosen, "l2": float(advised[1]), "learning_rate": float(advised[2])}
    model = PrivateLogisticRegression(epsilon=1.0, classes=[0, 1], **choices).fit(X, Y)
    model.forget(X[:-3], Y[:-3], epsilon=0.5, delta=1e-5).verify()


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


def test_a_model_that_was_read_from_a_file_forgets_as_well(tmp_path: Path) -> None:
    save_model(fitted(), tmp_path / "m.shiftdp")
    model = load_model(tmp_path / "m.shiftdp")
    certificate = model.forget(X[:-1], Y[:-1], epsilon=0.5, delta=1e-5)
    assert certificate.epsilon(1e-5) <= 0.5
    old = load_model(tmp_path / "m.shiftdp")
    del old._cap  # which files of earlier versions do not have
    with pytest.raises(InvalidInput, match=r"file of an earlier version.*fit anew"):
        old.forget(X[:-1], Y[:-1], epsilon=0.5, delta=1e-5)


def test_a_parameter_that_is_set_later_does_not_change_the_shape() -> None:
    model = fitted()
    model.set_params(fit_intercept=False).forget(X[:-1], Y[:-1], epsilon=0.5, delta=1e-5)
    assert model.coef_.shape == (1, 3)
    assert model.intercept_ != 0.0


def test_a_statement_after_forget_is_about_all_that_those_who_stay_paid() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 3)) / 2
    y = (X[:, 0] > 0).astype(int)
    model = PrivateLogisticRegression(
        2.0, classes=[0, 1], algorithm="cgd", order="fixed", batch_size=200, epochs=5, l2=0.01
    ).fit(X, y)
    before = model.statement()
    model.forget(X[:-1], y[:-1], epsilon=0.5, delta=1e-5)
    both = model.certificate_.f.compose(model.further_certificate_.f).epsilon(1e-5)
    assert both > 2.5
    first = model.statement().splitlines()[0]
    assert f"together cost epsilon = {up(both)} at delta = 1e-05" in first
    assert model.statement().endswith(before)
    with pytest.raises(InvalidInput, match="has forgotten records"):
        model.statement_html()


def test_a_deletion_of_millions_of_steps_is_refused_before_any_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Found by fuzzing: 7 million steps were taken for a model of 35 records without a ridge."""
    model = fitted()
    released = model.coef_.copy()
    monkeypatch.setattr(forgetting, "MOST_STEPS", 3)
    with pytest.raises(InvalidInput, match=r"epsilon=0\.3 needs \d+ further steps, more than 3; "):
        model.forget(X[:-1], Y[:-1], epsilon=0.3, delta=1e-5)
    assert np.array_equal(model.coef_, released)
