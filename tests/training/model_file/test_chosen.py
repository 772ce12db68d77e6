"""The certificate of a search in a model file: written, read, bound to the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp.sklearn import (
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateSearchCV,
    PrivateTableEncoder,
    save_model,
)
from shiftdp.training.model_file.archive import Damaged
from shiftdp.training.model_file.chosen import CHOSEN, read_selection, selection_of
from shiftdp.training.model_file.files import read_model

X = np.random.default_rng(0).normal(size=(200, 2))
Y = (X[:, 0] > 0).astype(int)
MODEL = PrivateLogisticRegression(classes=[0, 1], algorithm="gd", epochs=4)


def chosen(estimator: Any, space: dict[str, Any], **more: Any) -> PrivateSearchCV:
    return PrivateSearchCV(estimator, space, n_iter=2.0, **more).fit(X, Y)


@pytest.mark.parametrize("seed", [None, 1])
def test_the_whole_of_a_file_is_the_search(tmp_path: Path, seed: int | None) -> None:
    pipeline = PrivatePipeline([PrivateTableEncoder(), MODEL])
    for made in (
        chosen(MODEL, {"l2": [0.1, 0.2]}, random_state=seed),
        chosen(pipeline, {"share": [0.1, 0.2]}, random_state=seed),
    ):
        save_model(made, tmp_path / "model")
        found = read_model(tmp_path / "model")
        assert found.whole is found.selection
        assert found.whole.epsilon(1e-5) == made.certificate_.epsilon(1e-5)
        assert found.certificate.epsilon(1e-5) < found.whole.epsilon(1e-5)
        save_model(found.model, tmp_path / "again")
        assert read_model(tmp_path / "again").selection is not None


def test_a_model_that_was_not_searched_for_has_none(tmp_path: Path) -> None:
    made = chosen(MODEL, {"l2": [0.1]}).best_estimator_.fit(X, Y)
    assert selection_of(made) == {}
    save_model(made, tmp_path / "model")
    assert read_model(tmp_path / "model").selection is None


def test_forgeries_are_refused() -> None:
    made = chosen(MODEL, {"l2": [0.1]})
    document = selection_of(made.best_estimator_)
    assert read_selection(json.loads(json.dumps(document)), made.best_estimator_) is not None
    other = PrivateLogisticRegression(classes=[0, 1], algorithm="gd", epochs=7).fit(X, Y)
    with pytest.raises(Damaged, match="did not try"):
        read_selection(document, other)
    changes: list[dict[str, Any]] = [
        {"format": "x"}, {"n": -1}, {"candidates": []}, {"trials": None},
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(Damaged):
            read_selection({CHOSEN: {**document[CHOSEN], **change}}, made.best_estimator_)
    with pytest.raises(Damaged):
        read_selection({CHOSEN: 3}, made.best_estimator_)
