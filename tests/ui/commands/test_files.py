"""Commands about files: statements, predictions, and what a model holds."""

import json
from pathlib import Path
from typing import Any

import pytest

import shiftdp as sdp
from tests.ui.shell import MNIST, prose, put_files, refused, said, shiftdp

GEOMETRY = sdp.Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
RUN = sdp.NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)


# --- statement ---


@pytest.fixture
def page(tmp_path: Path) -> Path:
    prose(f"account {MNIST} --save {tmp_path / 'run.json'}")
    (tmp_path / "about.toml").write_text('title = "Digits"\npublication_date = 2026-01-31\n')
    words = ("--date", "2026-02-01", "--about", str(tmp_path / "about.toml"))
    prose("statement", str(tmp_path / "run.json"), *words, "-o", str(tmp_path / "s.html"))
    return tmp_path / "s.html"


def test_a_statement_is_written_and_verified(page: Path) -> None:
    found = said(f"verify {page} --json")
    assert found["verified"] is True
    assert found["epsilon"] == sdp.certify(RUN, GEOMETRY).epsilon(1e-5)
    assert found["declared"] == ["title", "publication_date"]
    text = prose(f"verify {page}")
    assert "and the page says what it proves" in text
    assert "declared, not checked: title, publication_date" in text


def test_an_edited_statement_is_refused(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace(">4.3392<", ">1.3392<"), encoding="utf-8")
    result = shiftdp(f"verify {page}")
    assert result.exit_code == 1
    assert "'1.3392' is printed, and the certificate gives 4.3392" in result.stderr


def test_what_is_no_certificate_is_told_what_is(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    assert refused(f"verify {tmp_path / 'data.csv'}").endswith(
        "give a certificate that --save wrote, or a model that `shiftdp train` wrote, or a page of "
        "`shiftdp statement`"
    )


def test_a_statement_is_written_anew(page: Path, tmp_path: Path) -> None:
    text = prose(f"statement {page} --delta 1e-6 -o {tmp_path / 'new.html'}")
    assert text == f"The statement is in {tmp_path / 'new.html'}.\n"
    found = said(f"verify {tmp_path / 'new.html'} --json")
    assert found["delta"] == 1e-6
    assert found["declared"] == ["title", "publication_date"]


def test_other_forms_go_to_standard_output(page: Path, tmp_path: Path) -> None:
    entry = json.loads(prose(f"statement {tmp_path / 'run.json'} --format registry"))
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 4.3392
    assert prose(f"statement {page} --format model_card").startswith("---\nlibrary_name")
    document = said(f"statement {page} --json")
    assert document["registry"]["deployment"]["basic"]["name"] == "Digits"


def test_what_a_statement_refuses(tmp_path: Path, page: Path) -> None:
    run = tmp_path / "run.json"
    (tmp_path / "bad.toml").write_text("title = ")
    (tmp_path / "odd.toml").write_text('colour = "red"')
    assert "is not TOML" in refused(f"statement {run} --about {tmp_path / 'bad.toml'}")
    assert "colour: is not one of the fields" in refused(
        f"statement {run} --about {tmp_path / 'odd.toml'}"
    )
    assert "--date tomorrow: is no day" in refused(f"statement {run} --date tomorrow")
    (tmp_path / "page.html").write_text("<!doctype html><p>")
    assert "is no statement" in refused(f"verify {tmp_path / 'page.html'}")


# --- models ---


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    put_files(folder)
    return folder


@pytest.mark.parametrize("name", ["model.shiftdp", "people.shiftdp"])
def test_a_model_has_a_statement(files: Path, tmp_path: Path, name: str) -> None:
    words = ("--ledger", str(files / "study.db"), "-o", str(tmp_path / "s.html"))
    prose("statement", str(files / name), *words)
    found = said(f"verify {tmp_path / 's.html'} --json")
    model = said(f"verify {files / name} --json")
    assert found["epsilon"] == model["epsilon"]
    assert found["digest"] == model["digest"]
    assert found["declared"] == ["the model and its file", "other releases"]
    text = (tmp_path / "s.html").read_text(encoding="utf-8")
    assert "This release is not among the entries" in text
    assert "PrivateLogisticRegression" in text


def test_predictions_go_to_standard_output_without_a_file(files: Path, tmp_path: Path) -> None:
    model, data = str(files / "people.shiftdp"), str(files / "people.csv")
    shown = prose("predict", model, data)
    prose("predict", model, data, "-o", str(tmp_path / "p.csv"))
    assert shown == (tmp_path / "p.csv").read_text()
    document = said("predict", model, data, "--json")
    assert len(document["predictions"]["prediction"]) == document["records"] == 300
    assert document["output"] is None


@pytest.mark.parametrize(
    ("model", "text", "column"),
    [
        ("model", "height,weight\n0.1,0.2\n0.3,0.1\n0.3,SECRET\n0.1,SECRET\n", "weight"),
        ("model", "height,weight\n0.1,0.2\n0.3,0.1\n,0.2\n", "height"),
        ("people", "age,city,member\n20,Delhi,True\n,Delhi,True\n30,Delhi,SECRET\n", "member"),
    ],
)
def test_an_entry_that_cannot_be_read_is_told_by_its_place(
    files: Path, tmp_path: Path, model: str, text: str, column: str
) -> None:
    (tmp_path / "new.csv").write_text(text)
    line = refused("predict", str(files / f"{model}.shiftdp"), str(tmp_path / "new.csv"))
    assert f"column '{column}' has" in line
    assert "first in record 3; mend it" in line
    assert "SECRET" not in line


def test_means_are_told_in_the_units_of_their_columns(files: Path) -> None:
    age = said(f"inspect {files / 'people.shiftdp'} --json")["columns"]["age"]
    assert (age["low"], age["high"]) == (18.0, 100.0)
    assert age["mean"] == 59.0 + 41.0 * age["scaled_mean"]
    assert age["deviation"] == 41.0 * age["scaled_deviation"]


def test_an_averaged_model_says_that_it_is_one(tmp_path: Path) -> None:
    import numpy as np

    from shiftdp.sklearn import PrivateLogisticRegression, save_model

    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    shape: dict[str, Any] = {"algorithm": "cgd", "batch_size": 20, "epochs": 4, "classes": [0, 1]}
    plain = PrivateLogisticRegression(1.0, 1e-5, 1.0, **shape).fit(X, y)
    averaged = PrivateLogisticRegression(1.0, 1e-5, 1.0, average=2, **shape).fit(X, y)
    for model, name in ((plain, "plain"), (averaged, "averaged")):
        save_model(model, tmp_path / f"{name}.shiftdp")
    text = prose(f"inspect {tmp_path / 'averaged.shiftdp'}")
    assert "mean of the models at the ends of the last 2 epochs" in text
    assert said(f"inspect {tmp_path / 'averaged.shiftdp'} --json")["average"] == 2
    assert "mean of the models" not in prose(f"inspect {tmp_path / 'plain.shiftdp'}")
    assert said(f"inspect {tmp_path / 'plain.shiftdp'} --json")["average"] is None
