"""`shiftdp audit`: what the library found, as a table or as JSON, and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftdp.trials import report
from shiftdp.trials.exact.table import exact_audit
from tests.ui.shell import prose, refused, said, shiftdp, table


def test_exact_has_the_rows_of_the_library() -> None:
    found = said("audit", "exact", "--theorem", "Theorem B1", "--delta", "1e-6", "--json")
    assert found == exact_audit(theorems=["Theorem B1"], delta=1e-6).to_dict()


def test_exact_prints_a_table() -> None:
    lines = prose("audit", "exact", "--theorem", "Thm mgd-sc").splitlines()
    assert lines[1].split()[:2] == ["theorem", "run"]
    assert "1.000  nothing is left: the bound is exact" in lines[-1]


def test_an_unknown_theorem_is_named() -> None:
    assert "Theorem Z9" in refused("audit", "exact", "--theorem", "Theorem Z9")


def test_trainer_has_a_verdict_for_each() -> None:
    words = ("--only", "full batches", "--runs", "400")
    (found,) = said("audit", "trainer", *words, "--json")["trainers"]
    assert found["trainer"] == "full batches"
    assert found["verdict"] == "consistent"
    assert 0.0 < found["mu"] <= found["certified_mu"]
    assert "consistent" in prose("audit", "trainer", *words).splitlines()[-1]


def test_a_violation_ends_with_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report.AuditReport, "violated", property(lambda self: True))
    result = shiftdp("audit", "trainer", "--only", "full batches", "--runs", "40")
    assert result.exit_code == 1
    assert result.stderr == ""


@pytest.mark.parametrize(
    "words", [["--runs", "10"], ["--runs", "100"], ["--only", "lbfgs"], ["--confidence", "2"]]
)
def test_bad_input_is_one_line(words: list[str]) -> None:
    assert words[1] in refused("audit", "trainer", *words)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sklearn")
    folder = tmp_path_factory.mktemp("model")
    (folder / "data.csv").write_text(table())
    words = ("--target", "y", "--classes", "0,1", "--epsilon", "1", "--feature-bound", "1")
    output = folder / "model.shiftdp"
    prose("train", str(folder / "data.csv"), *words, "--epochs", "5", "-o", str(output))
    return output


def test_a_model_is_trained_once_more_with_canaries(model: Path) -> None:
    found = said("audit", "model", str(model), "--canaries", "40", "--json")
    assert found["method"] == "one run"
    assert found["runs"] == 1
    assert found["certified_epsilon"] <= 1.0
    assert found["verdict"] == "consistent"


def test_a_model_is_audited_on_data_of_ones_own(model: Path) -> None:
    data = ("--data", str(model.parent / "data.csv"), "--target", "y")
    assert said("audit", "model", str(model), *data, "--json")["verdict"] == "consistent"


def test_labels_that_the_model_does_not_know_are_refused(model: Path) -> None:
    other = model.parent / "other.csv"
    other.write_text(table().replace(",1\n", ",maybe\n"))
    words = ("--data", str(other), "--target", "y")
    assert "no classes of the model" in refused("audit", "model", str(model), *words)


def test_a_models_plan_with_the_same_noise_twice(model: Path) -> None:
    text = prose("audit", "model", str(model), "--method", "shared_noise")
    assert text.startswith("consistent: runs with the same noise")
