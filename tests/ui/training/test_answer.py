"""What `shiftdp train` says at its end."""

import json
from typing import Any

import pytest

from shiftdp.sklearn import PrivateLogisticRegression
from shiftdp.ui.training.answer import ending_of, not_covered_by, print_model

OPTIONS: dict[str, Any] = {
    "model": "logistic", "classes": None, "dry_run": False, "output": "m.shiftdp", "delta": 1e-5,
    "json": False, "save": None,
}  # fmt: skip


def test_classes_that_were_learnt_are_not_covered() -> None:
    assert not_covered_by(OPTIONS)
    assert not not_covered_by({**OPTIONS, "classes": "0,1"})
    assert not not_covered_by({**OPTIONS, "dry_run": True})
    assert not not_covered_by({**OPTIONS, "model": "huber"})


def test_the_end_says_what_has_become_of_the_model() -> None:
    assert ending_of(OPTIONS) == "The model is in m.shiftdp."
    assert ending_of({**OPTIONS, "dry_run": True}).startswith("Nothing was trained")
    assert ending_of({**OPTIONS, "save": "c.json"}).endswith("The certificate is in c.json.")


def test_words_and_json_tell_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    planned = PrivateLogisticRegression(epochs=2, random_state=1).plan(500, 3)
    print_model(planned, OPTIONS)
    words = capsys.readouterr().out
    assert "NOT PRIVATE" in words
    assert words.rstrip().endswith("The model is in m.shiftdp.")
    print_model(planned, {**OPTIONS, "json": True})
    document = json.loads(capsys.readouterr().out)
    assert not document["private"]
    assert document["not_covered"] == not_covered_by(OPTIONS)
    assert document["epsilon"] <= 1.0
