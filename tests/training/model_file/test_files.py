"""Models come back from files as they were; what cannot be held, or was changed, is refused."""

import json
import os
import re
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    StandardScaler,
)

from shiftdp import InvalidInput
from shiftdp.sklearn import (
    PrivateLogisticRegression,
    load_model,
    save_model,
)
from shiftdp.training.model_file.archive import pack, unpack
from tests.training.model_file.examples import KINDS, Example, X, Y, example
from tests.training.model_file.rewriting import reload, rewritten

# what is asked here is what files say; tests/training/estimators/test_surroundings.py asks of fits
pytestmark = pytest.mark.filterwarnings(
    "ignore:the certificate does not cover:shiftdp.sklearn.PrivacyLeakWarning"
)

UNCOVERED = pytest.mark.filterwarnings("ignore::shiftdp.sklearn.PrivacyLeakWarning")


def answers(model: Any, data: Any) -> list[Any]:
    names = ("predict", "decision_function", "predict_proba", "predict_log_proba")
    return [getattr(model, name)(data) for name in names if hasattr(model, name)]


@UNCOVERED
@pytest.mark.parametrize("kind", KINDS)
def test_models_come_back(kind: str, tmp_path: Path) -> None:
    model, data = example(kind)
    copy = reload(model, tmp_path)
    for one, other in zip(answers(model, data), answers(copy, data), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    last, again = Example(model, data).last, Example(copy, data).last
    assert again.certificate_.to_json() == last.certificate_.to_json()
    assert again.statement() == last.statement()
    assert str(again.plan_) == str(last.plan_)
    assert again.plan_ == last.plan_
    told = [re.sub(r" at 0x\w+", "", repr(one.get_params())) for one in (copy, model)]
    assert told[0] == told[1]
    refitted = clone(copy).fit(data, model.predict(data))
    assert refitted.predict(data).shape == (200,)


@UNCOVERED
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_model_is_the_same_file(kind: str, tmp_path: Path) -> None:
    model = example(kind).model
    save_model(model, tmp_path / "one")
    save_model(load_model(tmp_path / "one"), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_any_program_can_open_the_file(tmp_path: Path) -> None:
    model = example("logistic").model
    save_model(model, tmp_path / "model.zip")
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        assert archive.testzip() is None
        document = json.loads(archive.read("model.json"))
        assert document["format"] == "shiftdp-model/1"
        assert archive.read("certificate.json").decode() == model.certificate_.to_json() + "\n"
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        arrays = [np.load(archive.open(name), allow_pickle=False) for name in names]
    assert any(np.array_equal(array, model.coef_) for array in arrays)


# --- what the file does not hold ---


class Custom(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """A transformer that nobody knows."""

    def fit(self, X: Any, y: Any = None) -> "Custom":
        self.fitted_ = True
        return self

    def transform(self, X: Any) -> Any:
        return X


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([FunctionTransformer(np.abs)], ("['functiontransformer']", "func", "numpy")),
        ([FunctionTransformer(abs)], ("FunctionTransformer", "abs")),
        ([Custom()], ("Custom",)),
        ([StandardScaler(), Custom()], ("Custom",)),
        ([KNNImputer()], ("KNNImputer",)),
    ],
    ids=["ufunc", "function", "custom", "second", "records"],
)
def test_what_cannot_be_held_is_refused_by_name(
    steps: list[Any], words: tuple[str, ...], tmp_path: Path
) -> None:
    last = PrivateLogisticRegression(classes=[0, 1], epochs=2)
    model = make_pipeline(*steps, last).fit(X, Y)
    with pytest.raises(InvalidInput) as refusal:
        save_model(model, tmp_path / "model.shiftdp")
    for word in words:
        assert word in str(refusal.value)
    assert "docs/training.md" in str(refusal.value)
    assert not list(tmp_path.iterdir())


def test_models_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    ours = PrivateLogisticRegression(classes=[0, 1], epochs=2)
    search = GridSearchCV(ours, {"epochs": [2]}, cv=2).fit(X, Y)
    for model in (search, LogisticRegression().fit(X, Y), make_pipeline(StandardScaler()), None):
        with pytest.raises(InvalidInput, match="neither a private model nor a pipeline"):
            save_model(model, path)
    for model in (ours, make_pipeline(FunctionTransformer(), ours)):
        with pytest.raises(InvalidInput, match="is not fitted"):
            save_model(model, path)
    fitted = clone(ours).set_params(random_state=np.random.RandomState(1)).fit(X, Y)
    with pytest.raises(InvalidInput, match=r"model\.random_state=.*RandomState.*random_state=None"):
        save_model(fitted, path)
    noted = clone(ours).fit(X, Y)
    noted.note = "mine"
    with pytest.raises(InvalidInput, match=r"del model\.note"):
        save_model(noted, path)
    changed = clone(ours).fit(X, Y)
    changed.coef_ = np.zeros((1, 7))
    with pytest.raises(InvalidInput, match="not those of its plan"):
        save_model(changed, path)
    assert not path.exists()
    save_model(search.best_estimator_, path)


# --- what was changed ---


def test_a_file_that_names_a_function_of_the_system_is_not_followed(tmp_path: Path) -> None:
    """The format of skops let a file reach `os.system` through a module that imports `os`."""
    place = {"__class__": "os", "__module__": "shiftdp.training.model_file"}
    content = {"obj": {**place, "__loader__": "TypeNode", "__id__": 2}, "func": "system"}
    schema = {**place, "__loader__": "MethodNode", "content": content, "__id__": 1}
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps({**schema, "protocol": 2}))
    with pytest.raises(InvalidInput, match=r"format of skops.*fit the model again"):
        load_model(path)


def test_what_was_changed_without_its_digest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    save_model(example("logistic").model, path)
    members = unpack(path.read_bytes())
    weights = bytearray(members["arrays/0000.npy"])
    weights[-1] ^= 1
    path.write_bytes(pack({**members, "arrays/0000.npy": bytes(weights)}))
    with pytest.raises(InvalidInput, match="its digest is another"):
        load_model(path)


def test_a_newer_format_and_other_versions_of_scikit_learn(tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    save_model(example("plain pipeline").model, path)

    def newer(text: bytes) -> bytes:
        return text.replace(b"shiftdp-model/1", b"shiftdp-model/2")

    def older(text: bytes) -> bytes:
        return re.sub(rb'"scikit-learn": "[^"]*"', b'"scikit-learn": "1.2.0"', text)

    original = path.read_bytes()
    rewritten(path, model=older)
    with pytest.warns(InconsistentVersionWarning, match=r"1\.2\.0"):
        load_model(path)
    path.write_bytes(original)
    rewritten(path, model=newer)
    with pytest.raises(InvalidInput, match=r"shiftdp-model/2.*pip install --upgrade"):
        load_model(path)


@pytest.mark.parametrize("content", [b"", b"PK", b"nothing", b"PK\3\4" + bytes(100)])
def test_no_model_files(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    path.write_bytes(content)
    with pytest.raises(InvalidInput):
        load_model(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_model(tmp_path / "nothing")
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_model(tmp_path)
    assert os.path.exists(path)


# --- the work of reading ---


def test_texts_of_many_values_are_refused_before_they_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.shiftdp"
    save_model(example("logistic").model, path)
    many = b"[" + b"[]," * 10**6 + b"[]]"
    original = path.read_bytes()
    for name in ("model", "certificate"):
        path.write_bytes(original)
        rewritten(path, **{name: lambda text: text.replace(b"null", many, 1)})
        with monkeypatch.context() as patched:
            if name == "model":
                patched.setattr(json, "loads", None)
            with pytest.raises(InvalidInput, match="more values"):
                load_model(path)


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    """Found by fuzzing: the size of the largest file was reserved for every one."""
    for content in (b"", b"PK", b"x" * 1000):
        (tmp_path / "model").write_bytes(content)

        def refused() -> None:
            with pytest.raises(InvalidInput):
                load_model(tmp_path / "model")

        tracemalloc.start()
        refused()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1e6
