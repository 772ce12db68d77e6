"""Encoders and private pipelines in files: they come back as they were, and forgeries do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from shiftdp import InvalidInput, Ledger
from shiftdp.sklearn import (
    Categorical,
    PrivacyLeakWarning,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateTableEncoder,
    Schema,
    load_model,
    save_model,
)
from shiftdp.training.model_file import read_model
from shiftdp.training.model_file.archive import unpack
from tests.training.model_file.rewriting import reload, rewritten
from tests.training.preparation.raw_tables import DECLARED, raw_frame

FRAME, LABELS = raw_frame(400, 0)


def logistic() -> PrivateLogisticRegression:
    return PrivateLogisticRegression(classes=["no", "yes"], algorithm="gd", epochs=3)


def fitted(schema: Any = None, **parameters: Any) -> PrivatePipeline:
    steps = [PrivateTableEncoder(schema), logistic()]
    return PrivatePipeline(steps, **parameters).fit(FRAME, LABELS)


@pytest.mark.parametrize("schema", [None, DECLARED], ids=["learnt", "declared"])
def test_a_pipeline_comes_back_as_it_was(schema: Any, tmp_path: Path) -> None:
    model = fitted(schema, epsilon=2.0)
    again = reload(model, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))
    assert again.statement() == model.statement()
    assert again[0].codes_ == model[0].codes_
    assert again.get_params(deep=False)["epsilon"] == 2.0
    again.certificate_.verify()
    found = read_model(tmp_path / "model.shiftdp")
    assert found.pipeline is not None
    assert found.pipeline.epsilon(1e-5) == model.certificate_.epsilon(1e-5)


def test_files_say_how_many_columns_other_categories_share_and_older_ones_have_one(
    tmp_path: Path,
) -> None:
    schema = Schema({**DECLARED.columns, "city": Categorical(most=3, others=1)})
    model, path = fitted(schema, epsilon=2.0), tmp_path / "model.shiftdp"
    save_model(model, path)

    def older(content: bytes) -> bytes:
        assert content.count(b'"others": 1') == 1
        return content.replace(b', "others": 1', b"")

    rewritten(path, model=older)
    again = load_model(path)
    assert again[0].layout_.width == model[0].layout_.width
    np.testing.assert_array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))
    save_model(fitted(), path)  # where nobody chose a number, the default is written down
    assert b'"city": {"kind": "category", "others": 16}' in unpack(path.read_bytes())["model.json"]


def test_tables_without_names_and_other_steps_come_back_too(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    y = (X[:, 0] > 0).astype(int)
    steps = [Normalizer(), PrivateTableEncoder(), PrivateLogisticRegression(classes=[0, 1])]
    for model in (
        PrivatePipeline(steps),
        make_pipeline(PrivateTableEncoder(epsilon=1.0), steps[-1]),
    ):
        again = reload(model.fit(X, y), tmp_path)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_leaks_are_in_the_file_and_warned_of(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    y = (X[:, 0] > 0).astype(int)
    for kind in (PrivatePipeline, make_pipeline):
        steps = [StandardScaler(), PrivateLogisticRegression(classes=[0, 1], epochs=2)]
        model: Any = PrivatePipeline(steps) if kind is PrivatePipeline else make_pipeline(*steps)
        with pytest.warns(PrivacyLeakWarning, match="StandardScaler"):
            model.fit(X, y)
        with pytest.warns(PrivacyLeakWarning, match="standardscaler"):
            save_model(model, tmp_path / "model.shiftdp")
        again = load_model(tmp_path / "model.shiftdp")
        said = again if kind is PrivatePipeline else again[-1]
        assert "Not covered: the step standardscaler" in said.statement()
        assert read_model(tmp_path / "model.shiftdp").learnt


def test_of_a_ledger_only_the_name_is_kept(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study.db", epsilon=3.0, delta=1e-5)
    again = reload(fitted(DECLARED, ledger=ledger), tmp_path)
    assert again.ledger == "study.db"


def test_a_pipeline_inside_of_another_is_refused(tmp_path: Path) -> None:
    model = make_pipeline(Normalizer(), logistic())
    model.steps[-1] = ("inner", fitted(DECLARED))
    with pytest.raises(InvalidInput, match="inside of another pipeline"):
        save_model(model, tmp_path / "model.shiftdp")


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def rewrite(text: bytes) -> bytes:
        document = json.loads(text)
        change(document["model"]["pipeline"])
        return (json.dumps(document) + "\n").encode()

    return rewrite


def encoder_in(pipeline: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pipeline["steps"][0]["tuple"][1]["encoder"]
    return found


FORGERIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "noise": lambda p: encoder_in(p)["certificate"]["sums"][0].update(noise=-1.0),
    "no sums": lambda p: encoder_in(p)["certificate"].update(sums=[]),
    "one sum less": lambda p: encoder_in(p)["certificate"]["sums"].pop(),
    "other n": lambda p: encoder_in(p)["certificate"].update(n=10**6),
    "other neighbours": lambda p: encoder_in(p)["certificate"].update(adjacency="zero_out"),
    "a range upside down": lambda p: encoder_in(p)["codes"][0].update(low=1e9),
    "no deviation": lambda p: encoder_in(p)["codes"][0].update(deviation=0.0),
    "a code of another kind": lambda p: encoder_in(p)["codes"][0].update(kind="category"),
    "text for a number": lambda p: encoder_in(p)["codes"][0].update(low="0"),
    "too many categories": lambda p: encoder_in(p)["codes"][5].update(
        categories=[str(i) for i in range(99)]
    ),
    "a category twice": lambda p: encoder_in(p)["codes"][5].update(categories=["a", "a"]),
    "a place outside": lambda p: encoder_in(p)["places"].__setitem__(0, 99),
    "a place twice": lambda p: encoder_in(p)["places"].__setitem__(0, 1),
    "another schema": lambda p: encoder_in(p)["schema"]["columns"].pop("age"),
    "a wider column": lambda p: encoder_in(p)["schema"]["columns"]["city"].update(most=50),
    "an unknown field": lambda p: encoder_in(p).update(more=1),
    "a path": lambda p: p["parameters"].update(ledger="/etc/passwd"),
    "no steps": lambda p: p.update(steps=[]),
    "an encoder in the place of the model": lambda p: p["steps"].pop(),
    "names of other columns": lambda p: encoder_in(p)["names"].__setitem__(0, "other"),
    "no names": lambda p: encoder_in(p).update(names=None),
    "a range without width": lambda p: encoder_in(p)["codes"][0].update(low=0.0, high=5e-324),
    "a step that is none": lambda p: p["steps"][0]["tuple"].__setitem__(1, 3.5),
    "leaks that are no text": lambda p: p.update(not_covered=[1]),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "model.shiftdp"
    save_model(fitted(), path)
    return path.read_bytes()


@pytest.mark.parametrize("forgery", list(FORGERIES))
def test_a_forged_file_is_refused(forgery: str, written: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    path.write_bytes(written)
    rewritten(path, model=edited(FORGERIES[forgery]))
    with pytest.raises(InvalidInput, match=r"^path="):
        load_model(path)


def test_more_noise_than_was_drawn_is_not_noticed_but_less_cost_is_not_hidden(
    written: bytes, tmp_path: Path
) -> None:
    """The cost follows from the noise that the file states: both change together, or neither."""
    path = tmp_path / "model.shiftdp"
    path.write_bytes(written)
    before = load_model(path).certificate_.epsilon(1e-5)
    rewritten(
        path,
        model=edited(lambda p: encoder_in(p)["certificate"]["sums"][0].update(noise=0.01)),
    )
    assert load_model(path).certificate_.epsilon(1e-5) > 100 * before


def test_an_encoder_that_paid_by_itself_is_counted_with_the_model(tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    for schema, paid in ((None, True), (DECLARED, False)):
        encoder = PrivateTableEncoder(schema, epsilon=0.5)
        save_model(make_pipeline(encoder, logistic()).fit(FRAME, LABELS), path)
        found = read_model(path)
        assert found.learnt == ()
        assert (found.whole.epsilon(1e-5) > found.certificate.epsilon(1e-5)) == paid
        assert (found.pipeline is not None) == paid
