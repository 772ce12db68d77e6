"""`shiftdp train --tune`: what is stated everywhere is what the whole search cost."""

import json
from pathlib import Path

import numpy as np
import pytest

from shiftdp.privacy import Ledger
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate
from shiftdp.sklearn import load_model
from shiftdp.training.model_file import read_model
from tests.ui.shell import PEOPLE, people, prose, refused, said, shiftdp, table

COMMON = ("--epsilon", "2", "--epochs", "5", "--algorithm", "gd")
NUMBERS = ("data.csv", *COMMON, "--target", "y", "--classes", "0,1", "--feature-bound", "10")
RAW = ("people.csv", *COMMON, "--schema", "people.toml", "--classes", "no,yes")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tuned")
    (made / "data.csv").write_text(table())
    (made / "people.csv").write_text(people())
    (made / "people.toml").write_text(PEOPLE)
    return made


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def model(folder: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        prose("train", *NUMBERS, "--tune", "--anyway", "-o", "chosen.shiftdp")
    return "chosen.shiftdp"


@pytest.mark.parametrize("table", [NUMBERS, RAW])
def test_the_search_is_what_is_charged_and_printed(table: tuple[str, ...], tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=5.0, delta=1e-5)
    where = ("--tune", "--anyway", "--ledger", str(ledger.path), "-o", str(tmp_path / "m.shiftdp"))
    saved = tmp_path / "search.json"
    document = said("train", *table, *where, "--save", str(saved), "--json")
    (entry,) = ledger.entries()
    assert entry.completed
    assert isinstance(entry.certificate, SelectionCertificate)
    assert document["epsilon"] == entry.f.epsilon(1e-5) <= 2.0
    assert document["chosen"] in document["candidates"]
    assert SelectionCertificate.from_json(saved.read_text()) == entry.certificate
    found = read_model(tmp_path / "m.shiftdp")
    assert found.whole == entry.certificate
    assert found.model.certificate_ == entry.certificate


def test_words_name_the_choice_and_the_search(tmp_path: Path) -> None:
    words = prose("train", *NUMBERS, "--tune", "--anyway", "-o", str(tmp_path / "m.shiftdp"))
    assert "of 4 candidates" in words
    assert "feature_bound" in words
    assert "Private search among" in words


def test_commands_on_the_file_state_the_search(model: str) -> None:
    whole = read_model(model).whole
    epsilon = whole.epsilon(1e-5)
    assert read_model(model).certificate.epsilon(1e-5) < epsilon
    verified = said("verify", model, "--json")
    assert verified["verified"]
    assert verified["epsilon"] == epsilon
    assert said("account", "--certificate", model, "--json")["epsilon"] == epsilon
    inspected = said("inspect", model, "--json")
    assert (inspected["epsilon"], inspected["delta"]) == (epsilon, 1e-5)
    assert inspected["statement"].startswith("Private search among")
    assert "Private search among" in prose("inspect", model)


def test_its_statement_is_verified(model: str, tmp_path: Path) -> None:
    page = str(tmp_path / "s.html")
    prose("statement", model, "-o", page)
    verified = said("verify", page, "--json")
    assert verified["epsilon"] == said("verify", model, "--json")["epsilon"]
    entry = json.loads(prose("statement", model, "--format", "registry"))["deployment"]
    assert entry["privacy_loss"]["privacy_parameters"]["epsilon"] >= verified["epsilon"]
    tuned = entry["implementation"]["preprocessing_and_hyperparameter_tuning"]
    assert "private search" in tuned


def test_it_predicts(model: str, tmp_path: Path) -> None:
    prose("predict", model, "data.csv", "-o", str(tmp_path / "out.csv"))
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 201
    assert load_model(model).feature_names_in_.tolist() == ["height", "weight"]


def test_what_a_search_has_no_use_for_is_refused() -> None:
    assert "--dry-run" in refused("train", *NUMBERS, "--tune", "--dry-run")
    assert "--clip" in refused("train", *RAW, "--tune", "--clip", "1", "-o", "m.shiftdp")
    huber = ("--model", "huber", "--tune", "-o", "m.shiftdp")
    assert "--score-range" in refused("train", *NUMBERS, *huber)


def test_a_plan_without_hope_is_refused_before_it_is_charged(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=5.0, delta=1e-5)
    output = tmp_path / "m.shiftdp"
    for kind in (NUMBERS, RAW):
        where = ("--epsilon", "0.01", "--ledger", str(ledger.path), "-o", str(output))
        words = refused("train", *kind, *where)
        assert "no better than a constant" in words
        assert "--anyway" in words
    assert not ledger.entries()
    assert not output.exists()
    result = shiftdp("train", *NUMBERS, "--epsilon", "0.01", "--anyway", "-o", str(output))
    assert result.exit_code == 0
    assert "warning: --epsilon 0.01" in result.stderr
    dry = shiftdp("train", *NUMBERS, "--epsilon", "0.01", "--dry-run")
    assert dry.exit_code == 0
    assert "no better than a constant" in dry.stderr


def test_a_regressor_is_searched_with_a_public_range(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (500, 2))
    np.savez(tmp_path / "r.npz", X=X, y=X[:, 0])
    words = ("--target", "y", "--model", "huber", "--feature-bound", "1", "--score-range", "-1,1")
    output = ("--tune", "--anyway", "-o", str(tmp_path / "m.shiftdp"))
    document = said("train", str(tmp_path / "r.npz"), *COMMON, *words, *output, "--json")
    assert document["epsilon"] <= 2.0
