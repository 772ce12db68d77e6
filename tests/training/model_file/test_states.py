"""Checkpoints and streams in model files: what comes back, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.sklearn import (
    PrivateHuberRegressor,
    PrivateLogisticRegression,
    load_model,
    save_model,
)
from shiftdp.training.model_file.archive import Damaged
from shiftdp.training.model_file.states import read_releases, read_stream, write_stream

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)) / 2
Y = (X[:, 0] > 0).astype(int)
SHAPE: dict[str, Any] = {
    "epsilon": 2.0, "classes": [0, 1], "algorithm": "cgd", "epochs": 6, "l2": 0.05,
}  # fmt: skip


def test_checkpoints_come_back(tmp_path: Path) -> None:
    model = PrivateLogisticRegression(**SHAPE, checkpoints=3).fit(X, Y)
    save_model(model, tmp_path / "m.shiftdp")
    read = load_model(tmp_path / "m.shiftdp")
    assert [one.step for one in read.releases_] == [one.step for one in model.releases_]
    for one, other in zip(read.releases_, model.releases_, strict=True):
        assert np.array_equal(one.coef, other.coef)
        assert np.array_equal(one.intercept, other.intercept)
    found = tuple(tuple(one) for one in model.releases_)
    for wrong in (found[:-1], ((1, *found[0][1:]), *found[1:]), ((found[0][0], 0.0, 0.0),), 3):
        with pytest.raises(Damaged):
            read_releases(wrong, model)
    with pytest.raises(Damaged):
        read_releases(found, PrivateLogisticRegression(**SHAPE).fit(X, Y))


def test_a_stream_goes_on_from_a_file_under_the_same_certificate(tmp_path: Path) -> None:
    model = PrivateLogisticRegression(epsilon=1.0, classes=[0, 1])
    model.partial_fit(X[:200], Y[:200]).partial_fit(X[200:], Y[200:])
    save_model(model, tmp_path / "m.shiftdp")
    read = load_model(tmp_path / "m.shiftdp")
    assert read.stream_ == model.stream_
    assert np.array_equal(read.coef_, model.coef_)
    read.partial_fit(X + 0.01, Y)  # more records than the first call had
    assert read.stream_.windows == 3
    assert read.certificate_.f == model.certificate_.f
    save_model(read, tmp_path / "m.shiftdp")
    again = load_model(tmp_path / "m.shiftdp")
    assert again.stream_.windows == 3
    with pytest.raises(InvalidInput, match="epsilon=2"):
        again.set_params(epsilon=2.0).partial_fit(X, Y)


def test_a_stream_after_fit_keeps_the_certificate_before_it(tmp_path: Path) -> None:
    model = PrivateHuberRegressor(epsilon=3.0, algorithm="cgd").fit(X, X[:, 0])
    model.partial_fit(X[:200], X[:200, 0])
    save_model(model, tmp_path / "m.shiftdp")
    read = load_model(tmp_path / "m.shiftdp")
    assert model.stream_.before is not None
    assert read.stream_.before.f == model.stream_.before.f


def test_the_stream_of_another_model_is_refused() -> None:
    one = PrivateLogisticRegression(epsilon=1.0, classes=[0, 1]).partial_fit(X, Y)
    other = PrivateLogisticRegression(epsilon=2.0, classes=[0, 1]).partial_fit(X, Y)
    document = write_stream(one.stream_)
    assert read_stream(document, one.plan_) == one.stream_
    with pytest.raises(Damaged):
        read_stream(document, other.plan_)
    for name, wrong in (("windows", 0), ("charged", 1), ("before", "{}"), ("chosen", None)):
        with pytest.raises(Damaged):
            read_stream({**document, name: wrong}, one.plan_)
