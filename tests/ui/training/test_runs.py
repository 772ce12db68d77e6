"""The run of `shiftdp train`: the ledger is charged first, and completed when the model is kept."""

from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.privacy import Ledger
from shiftdp.sklearn import PrivateLogisticRegression, load_model
from shiftdp.ui.training.runs import fit, write

X = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 2))
Y = (X[:, 0] > 0).astype(int)
CONTEXT = click.Context(click.Command("train"))


def model(**more: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(**{"epochs": 2, "classes": [0, 1], **more})


def test_an_entry_is_completed_when_the_model_is_written(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=5.0, delta=1e-5)
    output = str(tmp_path / "model.shiftdp")
    options = {"ledger": str(ledger.path), "data": "data.csv", "output": output}
    trained = model(ledger=options["ledger"])
    account = fit(CONTEXT, trained, lambda: (X, Y), options)
    assert trained.ledger == options["ledger"]
    assert [entry.completed for entry in ledger.entries()] == [False]
    write(CONTEXT, trained, options, account)
    assert [entry.completed for entry in ledger.entries()] == [True]
    np.testing.assert_array_equal(load_model(tmp_path / "model.shiftdp").coef_, trained.coef_)


def test_a_model_that_is_lost_keeps_its_charge(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=5.0, delta=1e-5)
    nowhere = str(tmp_path / "nowhere" / "model.shiftdp")
    options = {"ledger": str(ledger.path), "data": "data.csv", "output": nowhere}
    trained = model(ledger=options["ledger"])
    account = fit(CONTEXT, trained, lambda: (X, Y), options)
    with pytest.raises(click.ClickException, match="keeps the charge"):
        write(CONTEXT, trained, options, account)
    assert [entry.completed for entry in ledger.entries()] == [False]


def test_leaks_are_told_in_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    fit(CONTEXT, model(classes=None), lambda: (X, Y), {"ledger": None, "data": "data.csv"})
    assert "read off the labels" in capsys.readouterr().err


def test_what_scikit_learn_refuses_is_said_of_the_file() -> None:
    with pytest.raises(InvalidInput, match=r"data\.csv.*cannot be used"):
        fit(CONTEXT, model(), lambda: (X, Y[:-1]), {"ledger": None, "data": "data.csv"})


def test_a_model_that_is_written_over_is_warned_of_when_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"ledger": None, "data": "data.csv", "output": str(tmp_path / "model.shiftdp")}
    trained = model()
    fit(CONTEXT, trained, lambda: (X, Y), options)
    write(CONTEXT, trained, options, None)
    assert capsys.readouterr().err == ""
    fit(CONTEXT, trained, lambda: (X, Y), options)
    assert capsys.readouterr().err == ""
    write(CONTEXT, trained, options, None)
    assert "was written over" in capsys.readouterr().err
