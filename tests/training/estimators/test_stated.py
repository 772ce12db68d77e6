"""The statement of a fitted model, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from shiftdp import Ledger, VerificationFailed
from shiftdp.privacy.statement import read_statement
from shiftdp.sklearn import PrivateLogisticRegression, PrivatePipeline, PrivateTableEncoder

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, size=(60, 2))
Y = (X[:, 0] > 0).astype(int)


def model(**options: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(1.0, 1e-6, 1.0, **{"classes": [0, 1], "epochs": 3, **options})


def test_a_page_has_the_certificate_of_the_model() -> None:
    fitted = model().fit(X, Y)
    found = read_statement(fitted.statement_html(date="2026-01-31"))
    assert found.certificate.to_json() == fitted.certificate_.to_json()
    assert found.delta == 1e-6
    assert found.model is not None
    assert found.model.estimator == "PrivateLogisticRegression"
    assert found.model.not_covered == ()
    assert any(reason == "epochs 3: given" for reason in found.model.reasons)


def test_what_is_not_covered_is_said() -> None:
    with pytest.warns(UserWarning, match="classes"):
        fitted = model(classes=None).fit(X, Y)
    assert "the classes were read off the labels" in fitted.statement_html()


def test_other_releases_and_what_the_publisher_says(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study.db", epsilon=10.0, delta=1e-6)
    fitted = model(ledger=ledger).fit(X, Y)
    text = fitted.statement_html(ledger=ledger, about={"title": "A small study"})
    assert "(this one)" in text
    assert "<h1>A small study</h1>" in text


def test_a_seeded_model_is_not_private_and_its_page_does_not_hold() -> None:
    text = model(random_state=0).fit(X, Y).statement_html()
    assert "NOT PRIVATE" in text
    with pytest.raises(VerificationFailed, match="NOT PRIVATE"):
        read_statement(text)


def test_a_stream_and_checkpoints_have_pages() -> None:
    stream = model(epochs=None, batch_size=10).partial_fit(X, Y)
    assert "for as long as records arrive" in stream.statement_html()
    shown = model(algorithm="cgd", batch_size=20, checkpoints="epochs").fit(X, Y)
    assert "3 iterates" in shown.statement_html()


def test_a_pipeline_has_one_page_for_all_of_it() -> None:
    last = PrivateLogisticRegression(classes=[0, 1], epochs=3)
    pipeline = PrivatePipeline([PrivateTableEncoder(), last], 1.0, 1e-6).fit(X, Y)
    found = read_statement(pipeline.statement_html(date="2026-01-31"))
    assert found.certificate.to_json() == pipeline.certificate_.to_json()


def test_a_model_that_is_not_fitted_has_none() -> None:
    with pytest.raises(NotFittedError):
        model().statement_html()
