"""`shiftdp train --private-score`: held out by nobody's values, paid for by those held out."""

from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.privacy import Ledger
from shiftdp.privacy.selection.score_certificate import ScoreCertificate
from shiftdp.training.model_file import read_model
from shiftdp.ui.refusals import Refused
from shiftdp.ui.training.scoring import Holdout
from tests.ui.shell import PEOPLE, people, prose, refused, said, table

OPTIONS: dict[str, Any] = {
    "private_score": 1.0, "holdout": None, "dry_run": False, "model": "logistic",
    "score_range": None, "random_state": None,
}  # fmt: skip
CONTEXT = click.Context(click.Command("train"))
NUMBERS = ("data.csv", "--target", "y", "--classes", "0,1", "--feature-bound", "1")
RAW = ("people.csv", "--schema", "people.toml", "--classes", "no,yes")
COST = (
    "--epsilon",
    "1",
    "--epochs",
    "5",
    "--algorithm",
    "gd",
    "--private-score",
    "0.5",
    "--anyway",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(table())
    (tmp_path / "people.csv").write_text(people())
    (tmp_path / "people.toml").write_text(PEOPLE)
    return tmp_path


def test_every_record_is_in_one_part() -> None:
    holdout = Holdout(CONTEXT, OPTIONS)
    X = np.arange(50.0)[:, None]
    kept, labels = holdout.split(X, np.arange(50))
    assert holdout.held is not None
    assert (kept[:, 0] == labels).all()
    assert (holdout.held[0][:, 0] == holdout.held[1]).all()
    assert sorted([*labels, *holdout.held[1]]) == list(range(50))
    assert len(holdout.held[1]) == 10


def test_the_split_looks_at_no_values() -> None:
    """With the generator fixed, other values and labels are split in the same places."""
    parts = []
    for scale in (1.0, -7.0):
        holdout = Holdout(CONTEXT, {**OPTIONS, "random_state": 3, "holdout": 0.4})
        holdout.split(scale * np.arange(20.0)[:, None] ** 2, np.arange(20))
        assert holdout.held is not None
        parts.append(holdout.held[1].tolist())
    assert parts[0] == parts[1]


@pytest.mark.parametrize("kind", [NUMBERS, RAW])
def test_a_score_is_a_release_of_its_own(folder: Path, kind: tuple[str, ...]) -> None:
    ledger = Ledger.create(folder / "study", epsilon=5.0, delta=1e-5)
    output = ("--ledger", str(ledger.path), "-o", "m.shiftdp", "--json")
    document = said("train", *kind, *COST, *output)
    model, score = ledger.entries()
    assert isinstance(score.certificate, ScoreCertificate)
    assert model.completed
    assert score.completed
    assert document["score"]["epsilon"] == score.f.epsilon(1e-5) <= 0.5
    assert document["epsilon"] == model.f.epsilon(1e-5) <= 1.0
    assert document["epsilon_of_a_person"] == max(document["epsilon"], document["score"]["epsilon"])
    n = read_model("m.shiftdp").planned.plan.run.n
    assert document["score"]["n"] + n == (200 if kind is NUMBERS else 300)
    assert 0.0 <= document["score"]["scores"]["accuracy"]["value"] <= 1.0


def test_words_say_who_pays_for_what(folder: Path) -> None:
    words = " ".join(prose("train", *NUMBERS, *COST, "-o", "m.shiftdp").split())
    assert "Measured on 40 records" in words
    assert "nobody for both" in words
    assert "The ledger" not in words


def test_a_search_is_scored_too(folder: Path) -> None:
    document = said("train", *NUMBERS, *COST, "--tune", "-o", "m.shiftdp", "--json")
    assert document["epsilon_of_a_person"] == document["epsilon"] <= 1.0
    assert document["n"] == 160


def test_what_is_refused(folder: Path) -> None:
    rest = ("train", *NUMBERS, "--epsilon", "1", "-o", "m.shiftdp")
    assert "--holdout: is for --private-score" in refused(*rest, "--holdout", "0.2")
    assert "is no epsilon" in refused(*rest, "--private-score", "0")
    assert "is no part" in refused(*rest, "--private-score", "1", "--holdout", "1.5")
    assert "--dry-run" in refused(*rest, "--private-score", "1", "--dry-run")
    with pytest.raises(Refused, match="score-range"):
        Holdout(CONTEXT, {**OPTIONS, "model": "huber"})
    with pytest.raises(InvalidInput, match="empty"):
        Holdout(CONTEXT, {**OPTIONS, "holdout": 0.01}).split(np.zeros((3, 1)), np.zeros(3))
