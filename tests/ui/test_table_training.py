"""`train --schema`, `predict` and `inspect`: from a raw table to predictions."""

from __future__ import annotations

import csv
import json
import sys
import warnings
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from shiftdp.privacy import Ledger
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.sklearn import (
    PrivacyLeakWarning,
    PrivateLogisticRegression,
    PrivateTableEncoder,
    load_model,
    save_model,
)
from shiftdp.training.preparation.schema import Schema, read_schema, to_toml
from tests.training.preparation.raw_tables import DECLARED, raw_frame
from tests.ui.shell import PEOPLE, people, prose, refused, said, shiftdp, table

TRAIN = (
    *("--schema", "people.toml", "--classes", "no,yes", "--epsilon", "1"),
    *("--epochs", "5", "--algorithm", "gd"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(people())
    Path("people.toml").write_text(PEOPLE)
    return tmp_path


def test_records_that_are_held_out_do_not_help_to_learn_ranges(folder: Path) -> None:
    Path("learnt.toml").write_text(PEOPLE.replace("low = 18\nhigh = 100\n", ""))
    words = ("train", "people.csv", "--schema", "learnt.toml", "--classes", "no,yes")
    asked = (*words, "--epsilon", "0.65", "-o", "m.shiftdp", "--algorithm", "gd")
    assert "of 180 records" in refused(*asked, "--private-score", "1", "--holdout", "0.4")
    prose(*asked)


def test_training_by_a_schema_states_the_cost_of_everything(folder: Path) -> None:
    document = said("train", "people.csv", *TRAIN, "-o", "m.shiftdp", "--save", "c.json", "--json")
    model = load_model("m.shiftdp")
    assert document["epsilon"] == model.certificate_.epsilon(1e-5) <= 1.0
    assert [one["column"] for one in document["preparation"]["sums"]] == ["city"]
    assert document["model"]["epsilon"] < document["epsilon"]
    saved = PipelineCertificate.from_json(Path("c.json").read_text())
    saved.verify()
    assert saved.epsilon(1e-5) == document["epsilon"]
    assert model.feature_names_in_.tolist() == ["age", "city", "member"]
    text = prose("train", "people.csv", *TRAIN, "-o", "other.shiftdp")
    assert "The whole pipeline costs epsilon = 1.0000" in text
    assert "categories of city, with noise" in text


def test_declared_ranges_that_are_standardised_are_told_with_the_way_to_avoid_it(
    folder: Path,
) -> None:
    words = ("train", "people.csv", *TRAIN, "--dry-run")
    dear = ("--epsilon", "3")
    text = prose(*words, *dear)
    assert "for what is learnt:" in text
    assert "moments of age in its declared range, with noise" in text
    assert 'standardised by these means and deviations; scale = "range"' in text
    ranged = PEOPLE.replace("high = 100", 'high = 100\nscale = "range"')
    Path("people.toml").write_text(ranged)
    text = prose(*words, *dear)
    assert "for what the schema leaves to be learnt:" in text
    assert "declared range" not in text


def test_what_is_advised_with_a_schema_can_be_followed(folder: Path) -> None:
    words = ("train", "people.csv", *TRAIN, "--epsilon", "0.001", "-o", "m.shiftdp")
    Path("people.toml").write_text(PEOPLE.replace('[columns.city]\nkind = "category"\n', ""))
    line = refused(*words)
    assert "or fewer columns in the schema, or" in line
    assert "feature-bound" not in line
    Path("people.toml").write_text(PEOPLE[: PEOPLE.index("[columns.city]")])
    assert "fewer" not in refused(*words)


def test_target_and_classes_may_stand_in_the_schema(folder: Path) -> None:
    declared = Schema(
        {"age": read_schema("people.toml").columns["age"]}, target="bought", classes=("no", "yes")
    )
    Path("s.toml").write_text(to_toml(declared))
    text = prose("train", "people.csv", "--schema", "s.toml", "--epsilon", "1", "-o", "m.shiftdp")
    assert "costs nothing" in text
    assert load_model("m.shiftdp").classes_.tolist() == ["no", "yes"]


def test_parquet_gives_the_same_model(folder: Path) -> None:
    pd.read_csv("people.csv").to_parquet("people.parquet")
    for name in ("csv", "parquet"):
        seed = ("--random-state", "1", "-o", f"{name}.shiftdp")
        assert "NOT PRIVATE" in prose("train", f"people.{name}", *TRAIN, *seed)
    models = [load_model(f"{name}.shiftdp") for name in ("csv", "parquet")]
    np.testing.assert_array_equal(models[0][-1].coef_, models[1][-1].coef_)


def test_a_dry_run_reads_names_and_lines(folder: Path) -> None:
    before = said("train", "people.csv", *TRAIN, "--dry-run", "--json")
    lines = Path("people.csv").read_text().splitlines()
    Path("people.csv").write_text("\n".join([lines[0], *["x,y,z,w"] * (len(lines) - 1)]) + "\n")
    assert said("train", "people.csv", *TRAIN, "--dry-run", "--json") == before
    assert before["epsilon"] <= 1.0


def test_the_ledger_is_charged_once(folder: Path) -> None:
    ledger = Ledger.create("study.db", epsilon=1.2, delta=1e-5)
    prose("train", "people.csv", *TRAIN, "--ledger", "study.db", "-o", "m.shiftdp")
    (entry,) = ledger.entries()
    assert (entry.source, entry.completed) == ("pipeline", True)
    again = shiftdp("train", "people.csv", *TRAIN, "--ledger", "study.db", "-o", "n.shiftdp")
    assert again.exit_code == 1
    assert len(ledger.entries()) == 1
    assert load_model("m.shiftdp").ledger == "study.db"


def test_classes_that_are_learnt_are_warned_of(folder: Path) -> None:
    words = ("--schema", "people.toml", "--epsilon", "1", "--epochs", "5", "-o", "m.shiftdp")
    result = shiftdp("train", "people.csv", *words)
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: classes are read off")
    assert "not covered: the classes" in result.stdout


def test_predictions_are_those_of_the_model_whatever_the_order_of_columns(folder: Path) -> None:
    prose("train", "people.csv", *TRAIN, "-o", "m.shiftdp")
    frame = pd.read_csv("people.csv", dtype=str, keep_default_na=False)
    frame[["member", "bought", "city", "age"]].to_csv("other.csv", index=False)
    assert "300 records" in prose("predict", "m.shiftdp", "other.csv", "-o", "out.csv")
    with open("out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    model = load_model("m.shiftdp")
    features = frame[["age", "city", "member"]]
    assert [row["prediction"] for row in rows] == model.predict(features).tolist()
    shares = [float(row["p(yes)"]) for row in rows]
    np.testing.assert_array_equal(shares, model.predict_proba(features)[:, 1])
    said_of = said("predict", "m.shiftdp", "other.csv", "-o", "out.csv", "--json")
    assert said_of["columns"] == ["prediction", "p(no)", "p(yes)"]


def test_models_of_numbers_keep_names_and_predict_too(folder: Path) -> None:
    Path("data.csv").write_text(table())
    words = ("--target", "y", "--classes", "0,1", "--epsilon", "1", "--feature-bound", "1")
    prose("train", "data.csv", *words, "--epochs", "5", "-o", "m.shiftdp")
    assert load_model("m.shiftdp").feature_names_in_.tolist() == ["height", "weight"]
    prose("predict", "m.shiftdp", "data.csv", "-o", "out.csv")
    document = said("inspect", "m.shiftdp", "--json")
    assert set(document["coefficients"]["to 1"]) == {"height", "weight"}
    assert document["noise"] > 0.0


def test_a_model_without_names_cannot_predict_from_a_file(folder: Path) -> None:
    Path("data.csv").write_text(table().replace("height,weight,y", "1,2,y", 1))
    words = ("--target", "y", "--classes", "0,1", "--epsilon", "1", "--feature-bound", "1")
    prose("train", "data.csv", *words, "--epochs", "5", "-o", "m.shiftdp")
    assert not hasattr(load_model("m.shiftdp"), "feature_names_in_")
    assert "without names" in refused("predict", "m.shiftdp", "data.csv", "-o", "out.csv")


def test_inspect_shows_names_noise_plan_and_statement(folder: Path) -> None:
    prose("train", "people.csv", *TRAIN, "-o", "m.shiftdp")
    text = prose("inspect", "m.shiftdp")
    for word in ("age=(missing)", "to yes", "noise in each", "algorithm", "Pipeline: (1, 1e-05)"):
        assert word in text
    assert "unused" not in text
    document = said("inspect", "m.shiftdp", "--json")
    model = load_model("m.shiftdp")
    assert document["epsilon"] == model.certificate_.epsilon(1e-5)
    assert document["columns"]["age"]["high"] == 100.0
    assert list(document["coefficients"]["to yes"].values()) == model[-1].coef_[0].tolist()


@pytest.mark.parametrize("file", ["m.shiftdp", "c.json"])
def test_every_command_accounts_for_the_preparation_too(folder: Path, file: str) -> None:
    prose("train", "people.csv", *TRAIN, "-o", "m.shiftdp", "--save", "c.json")
    whole = load_model("m.shiftdp").certificate_
    epsilon, model = whole.epsilon(1e-5), whole.model.epsilon(1e-5)
    assert model < 0.95 < epsilon
    for words in (("verify", file), ("account", "--certificate", file)):
        document = said(*words, "--json")
        assert (document["epsilon"], document["model"]["epsilon"]) == (epsilon, model)
        assert document["advantage"] == whole.f.advantage()
        text = prose(*words)
        assert text.startswith("Pipeline: ")
        assert "epsilon      1.0000" in text
        assert text.index("1.0000") < text.index("epsilon 0.")
    found = said("risk", "--certificate", file, "--json")
    assert found["advantage"] == whole.f.advantage()
    assert found["adjacency"] == "replace_one"
    Ledger.create("study.db", epsilon=2.0, delta=1e-5)
    charge = ("ledger", "charge", "study.db", "--certificate", file, "--json")
    assert said(*charge, "--dry-run")["total"] == pytest.approx(epsilon, rel=1e-9)
    prose(*charge)
    (entry,) = Ledger("study.db").entries()
    assert entry.source == "pipeline"
    assert Ledger("study.db").epsilon() == pytest.approx(epsilon, rel=1e-9)
    assert "is of a pipeline" in refused("account", "--certificate", file, "--explain")
    assert "is of a pipeline" in refused("account", "--certificate", file, "--plot", "p.png")
    prose("account", "--certificate", file, "--save", "again.json")
    assert Path("again.json").read_text() == Path("c.json").read_text()


def test_a_forged_certificate_of_a_pipeline_is_refused(folder: Path) -> None:
    prose("train", "people.csv", *TRAIN, "-o", "m.shiftdp", "--save", "c.json")
    document = json.loads(Path("c.json").read_text())
    document["n"] += 1
    Path("c.json").write_text(json.dumps(document))
    for words in (("verify",), ("account", "--certificate"), ("risk", "--certificate")):
        assert shiftdp(*words, "c.json").exit_code == 1
    Path("c.json").write_text('{"format": "shiftdp-pipeline/1"}')
    assert "give a certificate that --save wrote" in refused("account", "--certificate", "c.json")


def test_an_encoder_in_a_pipeline_of_scikit_learn_is_accounted_for(folder: Path) -> None:
    frame = pd.read_csv("people.csv")
    encoder = PrivateTableEncoder(read_schema("people.toml"), epsilon=0.5, delta=1e-5)
    bound = encoder.fit(frame).feature_bound_
    last = PrivateLogisticRegression(
        epsilon=0.5, classes=["no", "yes"], feature_bound=bound, epochs=5, algorithm="gd"
    )
    plain = make_pipeline(encoder, last).fit(frame, frame["bought"])
    save_model(plain, "m.shiftdp")
    document = said("verify", "m.shiftdp", "--json")
    assert document["not_covered"] == []
    assert document["model"]["epsilon"] == last.certificate_.epsilon(1e-5)
    assert document["epsilon"] > document["model"]["epsilon"] + 0.1
    assert said("inspect", "m.shiftdp", "--json")["epsilon"] == document["epsilon"]
    assert "Pipeline: (" in prose("inspect", "m.shiftdp")
    # neighbours of two kinds do not compose
    plain[-1].set_params(adjacency="zero_out")
    with pytest.warns(PrivacyLeakWarning, match="PrivateTableEncoder"):
        save_model(plain.fit(frame, frame["bought"]), "m.shiftdp")
    result = shiftdp("risk", "--certificate", "m.shiftdp")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: not covered: what the step privatetableencoder")


def test_the_certificate_of_an_encoder_alone_is_checked_and_accounted(folder: Path) -> None:
    encoder = PrivateTableEncoder(read_schema("people.toml"), epsilon=0.5, delta=1e-5)
    made = encoder.fit(pd.read_csv("people.csv")).certificate_
    Path("e.json").write_text(made.to_json())
    for words in (("verify",), ("account", "--certificate")):
        document = said(*words, "e.json", "--json")
        assert (document["epsilon"], document["model"]) == (made.epsilon(1e-5), None)
        assert "provided that" not in prose(*words, "e.json")
    assert said("risk", "--certificate", "e.json", "--json")["advantage"] == made.f.advantage()


class WithoutPandas(MetaPathFinder):
    """Where it is not installed: None in its place would be met by scikit-learn, too."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")


def test_predictions_without_pandas_miss_no_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("data.csv").write_text(table())
    words = ("--target", "y", "--classes", "0,1", "--epsilon", "1", "--feature-bound", "1")
    prose("train", "data.csv", *words, "--epochs", "5", "-o", "m.shiftdp")
    prose("predict", "m.shiftdp", "data.csv", "-o", "with.csv")
    monkeypatch.delitem(sys.modules, "pandas")
    monkeypatch.setattr(sys, "meta_path", [WithoutPandas(), *sys.meta_path])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prose("predict", "m.shiftdp", "data.csv", "-o", "without.csv")
    assert Path("with.csv").read_text() == Path("without.csv").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("learnt", [True, False])
@pytest.mark.parametrize(("n", "loss"), [(5_000, 0.05), (50_000, 0.02)])
def test_one_command_makes_a_model_that_is_worth_having(
    folder: Path, learnt: bool, n: int, loss: float
) -> None:
    schema = DECLARED
    if learnt:
        kinds = {name: type(column)() for name, column in DECLARED.columns.items()}
        schema = Schema(kinds, target="bought", classes=("no", "yes"))
    Path("raw.toml").write_text(to_toml(schema))
    others, labels = raw_frame(20_000, 77)
    others.to_csv("others.csv", index=False)
    gaps = []
    for seed in range(4):
        X, y = raw_frame(n, seed)
        X.assign(bought=y).to_csv("raw.csv", index=False)
        prose("train", "raw.csv", "--schema", "raw.toml", "--epsilon", "1", "-o", "m.shiftdp")
        prose("predict", "m.shiftdp", "others.csv", "-o", "out.csv")
        private = roc_auc_score(labels, pd.read_csv("out.csv")["p(yes)"])
        encoder = PrivateTableEncoder(schema, epsilon=1e5, delta=0.1).fit(X)
        plain = LogisticRegression(C=1e6, max_iter=2_000).fit(encoder.transform(X), y)
        gaps.append(
            roc_auc_score(labels, plain.decision_function(encoder.transform(others))) - private
        )
    assert np.mean(gaps) < loss, json.dumps(gaps)
