"""Models come back from files as they were; what cannot be held, or was changed, is refused."""

import json
import os
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import PolynomialCountSketch, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.random_projection import SparseRandomProjection

from shiftdp import InvalidInput
from shiftdp.privacy import Ledger
from shiftdp.sklearn import (
    PrivacyLeakWarning,
    PrivateLogisticRegression,
    load_model,
    save_model,
)
from shiftdp.training.model_file import read_model
from shiftdp.training.model_file.archive import digest_of, pack, unpack
from shiftdp.training.model_file.transformers import TRANSFORMERS
from tests.training.model_file.examples import FRAME, KINDS, QUANTILES, Example, X, Y, example

UNCOVERED = pytest.mark.filterwarnings("ignore::shiftdp.sklearn.PrivacyLeakWarning")


def answers(model: Any, data: Any) -> list[Any]:
    names = ("predict", "decision_function", "predict_proba", "predict_log_proba")
    return [getattr(model, name)(data) for name in names if hasattr(model, name)]


def reload(model: Any, folder: Path) -> Any:
    save_model(model, folder / "model.shiftdp")
    return load_model(folder / "model.shiftdp")


def rewritten(path: Path, **changes: Any) -> None:
    """The file with other members, and the digest that goes with them."""
    members = unpack(path.read_bytes())
    del members["digest.txt"]
    for name, content in changes.items():
        members[f"{name}.json"] = content(members[f"{name}.json"])
    members["digest.txt"] = f"{digest_of(members)}\n".encode()
    path.write_bytes(pack(members))


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


def test_every_transformer_on_the_list_comes_back(tmp_path: Path) -> None:
    from importlib import import_module

    composed = {"Pipeline", "FeatureUnion", "ColumnTransformer"}
    given: dict[str, dict[str, Any]] = {
        "FactorAnalysis": {"n_components": 2},
        "GaussianRandomProjection": {"n_components": 2, "random_state": 1},
        "KBinsDiscretizer": {"n_bins": 3, **QUANTILES},
        "MissingIndicator": {"features": "all"},
        "OrdinalEncoder": {"handle_unknown": "use_encoded_value", "unknown_value": np.nan},
        "OneHotEncoder": {"handle_unknown": "ignore", "dtype": np.float32},
        "PolynomialCountSketch": {"n_components": 8},
        "QuantileTransformer": {"n_quantiles": 20},
        "RBFSampler": {"n_components": 8, "random_state": 1},
        "SelectKBest": {"k": 2},
        "SimpleImputer": {"add_indicator": True},
        "SparseRandomProjection": {"n_components": 2, "random_state": 1},
    }
    holes = {"SimpleImputer", "MissingIndicator"}
    for name in sorted(set(TRANSFORMERS) - composed):
        kind = getattr(import_module(TRANSFORMERS[name]), name)
        data = np.abs(X.copy())
        if name in holes:
            data[::7, 1] = np.nan
        steps = [("step", kind(**given.get(name, {})))]
        model = Pipeline([*steps, ("model", PrivateLogisticRegression(classes=[0, 1], epochs=2))])
        model.fit(data, Y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            copy = reload(model, tmp_path)
        np.testing.assert_array_equal(
            copy.decision_function(data), model.decision_function(data), err_msg=name
        )


def test_layouts_and_sparse_matrices_come_back(tmp_path: Path) -> None:
    step = SparseRandomProjection(2, density=0.5, random_state=0)
    model = make_pipeline(step, PrivateLogisticRegression(classes=[0, 1], epochs=2)).fit(X, Y)
    copy = reload(model, tmp_path)
    for one, other in ((step, copy[0]), (model[0], copy[0])):
        assert type(other.components_) is type(one.components_)
        assert (other.components_ != one.components_).nnz == 0
    data = sparse.csr_array(X)
    np.testing.assert_array_equal(copy.predict(data), model.predict(data))


# --- what the file does not hold ---


@pytest.mark.parametrize("as_object", [True, False])
def test_no_path_is_in_the_file(tmp_path: Path, as_object: bool) -> None:
    ledger = Ledger.create(tmp_path / "study.db", epsilon=5.0, delta=1e-5)
    given: Any = ledger if as_object else str(ledger.path)
    model = make_pipeline(
        FunctionTransformer(),
        PrivateLogisticRegression(classes=[0, 1], epochs=2, ledger=given),
        memory=str(tmp_path / "cache"),
    ).fit(X, Y)
    save_model(model, tmp_path / "model.shiftdp")
    assert str(tmp_path).encode() not in (tmp_path / "model.shiftdp").read_bytes()
    copy = load_model(tmp_path / "model.shiftdp")
    assert copy[-1].ledger == "study.db"
    assert copy.memory is None


def test_a_loaded_model_is_charged_where_its_ledger_is_and_refused_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(tmp_path / "study.db", epsilon=5.0, delta=1e-5)
    model = PrivateLogisticRegression(classes=[0, 1], epochs=2, ledger=ledger).fit(X, Y)
    copy = reload(model, tmp_path)
    monkeypatch.chdir(tmp_path)
    copy.fit(X, Y)
    assert len(ledger.entries()) == 2
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(InvalidInput, match="is no file"):
        copy.fit(X, Y)


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


def test_steps_that_learnt_are_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    last = PrivateLogisticRegression(classes=[0, 1], epochs=2)
    with pytest.warns(PrivacyLeakWarning, match=r"minmaxscaler \(MinMaxScaler\)"):
        save_model(make_pipeline(MinMaxScaler(), last).fit(X, Y), path)
    assert read_model(path).learnt == ("minmaxscaler (MinMaxScaler)",)
    words = [["blue", "green", "red"]]
    for encoder in (OneHotEncoder(categories=words), OrdinalEncoder(categories=words)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            save_model(make_pipeline(encoder, clone(last)).fit(FRAME[["e"]], Y), path)
        assert read_model(path).learnt == ()


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


@pytest.mark.parametrize(
    "value",
    [
        {"type": "os.system"},
        {"type": "system"},
        {"score": "system"},
        {"score": "SelectKBest"},
        {"function": "os.system"},
        {"transformer": {"class": "os", "parameters": {}, "attributes": {}}},
        {"transformer": {"class": "os.system", "parameters": {}, "attributes": {}}},
        {"transformer": {"class": "KNNImputer", "parameters": {}, "attributes": {}}},
        {"transformer": {"class": "Binarizer", "parameters": {}, "attributes": {"fit": 1}}},
        {"transformer": {"class": "Binarizer", "parameters": {}, "attributes": {"__class__": 1}}},
        {"transformer": {"class": "Binarizer", "parameters": {"func": 1}, "attributes": {}}},
        {"dtype": "|O8"},
        {"dtype": "system"},
        {"array": "../../secret.npy"},
        {"array": 0},
        {"sparse": ["os", [1, 1], 0, 0, 0]},
        {"float": "1"},
        {"__reduce__": ["os.system", ["true"]]},
        {"dict": [["a", 1], ["a", 2]]},
        {"dict": 1, "tuple": []},
        {},
    ],
    ids=json.dumps,
)
def test_values_of_no_known_kind_are_refused(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    save_model(example("logistic").model, path)

    def changed(text: bytes) -> bytes:
        assert text.count(b'"classes": [0, 1]') == 1
        return text.replace(b'"classes": [0, 1]', f'"classes": {json.dumps(value)}'.encode())

    rewritten(path, model=changed)
    with pytest.raises(InvalidInput):
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


def test_the_certificate_of_another_model_is_refused(tmp_path: Path) -> None:
    """Also when the digest is made anew."""
    path, other = tmp_path / "one", tmp_path / "two"
    save_model(example("logistic").model, path)
    save_model(example("other logistic").model, other)
    foreign = unpack(other.read_bytes())["certificate.json"]
    rewritten(path, certificate=lambda own: foreign)
    with pytest.raises(InvalidInput, match="certificate of another run"):
        load_model(path)


@pytest.mark.parametrize("version", ["0.1.0", "0.0.1"], ids=["this version", "another version"])
def test_an_altered_certificate_is_refused(tmp_path: Path, version: str) -> None:
    path = tmp_path / "model.shiftdp"
    model = example("logistic").model
    save_model(model, path)
    mu = model.certificate_.mu

    def lowered(text: bytes) -> bytes:
        assert repr(mu).encode() in text
        return text.replace(repr(mu).encode(), repr(mu / 2).encode())

    def versioned(text: bytes) -> bytes:
        return re.sub(rb'"shiftdp": "[^"]*"', f'"shiftdp": "{version}"'.encode(), text)

    rewritten(path, model=versioned)
    assert load_model(path).certificate_.mu == mu
    rewritten(path, certificate=lowered)
    with pytest.raises(InvalidInput, match="certificate that"):
        load_model(path)


def test_the_stamp_of_a_seeded_run_is_in_plan_and_certificate_alike(tmp_path: Path) -> None:
    """Whoever edits both and makes the digest anew is not found out: that takes a signature."""
    path = tmp_path / "model.shiftdp"
    save_model(example("seeded").model, path)

    def unstamped(text: bytes) -> bytes:
        document = json.loads(text)
        del document["assumptions"][0]
        return f"{json.dumps(document)}\n".encode()

    def system(text: bytes) -> bytes:
        return re.sub(rb'\{"class": "Seeded", "seed": [0-9]+\}', b'{"class": "System"}', text)

    original = path.read_bytes()
    for changes in ({"certificate": unstamped}, {"model": system}):
        path.write_bytes(original)
        rewritten(path, **changes)
        with pytest.raises(InvalidInput, match="whether the run is private"):
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


# --- what steps learnt ---

HOLES = np.where(np.arange(800).reshape(200, 4) % 7 == 0, np.nan, np.abs(X))
WORDS = [["blue", "green", "red"]]


@pytest.mark.parametrize(
    ("step", "data", "learns"),
    [
        (RBFSampler(gamma="scale", n_components=4), X, True),
        (RBFSampler(gamma=0.5, n_components=4), X, False),
        (SimpleImputer(strategy="constant", fill_value=0.0), HOLES, True),
        (
            SimpleImputer(
                strategy="constant", fill_value=0.0, keep_empty_features=True, add_indicator=True
            ),
            HOLES,
            True,
        ),
        (
            SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
            HOLES,
            False,
        ),
        (MissingIndicator(features="missing-only"), HOLES, True),
        (MissingIndicator(features="all"), HOLES, False),
        (OneHotEncoder(categories=WORDS, min_frequency=45), FRAME[["e"]], True),
        (OneHotEncoder(categories=WORDS, max_categories=2), FRAME[["e"]], True),
        (OrdinalEncoder(categories=WORDS, min_frequency=45), FRAME[["e"]], True),
        (OneHotEncoder(categories=WORDS), FRAME[["e"]], False),
        (ColumnTransformer([("a", Normalizer(), [0, 1])]), X, True),
        (ColumnTransformer([("a", Normalizer(), [0, 1])], sparse_threshold=0), X, False),
        (StandardScaler(with_mean=False, with_std=False), X, True),
        (KBinsDiscretizer(2, strategy="uniform"), X, True),
        (PolynomialCountSketch(n_components=4), X, False),
        (SparseRandomProjection(2), X, False),
    ],
    ids=repr,
)
def test_whatever_may_hold_values_of_the_data_is_warned_of(
    step: Any, data: Any, learns: bool, tmp_path: Path
) -> None:
    path = tmp_path / "model.shiftdp"
    last = PrivateLogisticRegression(classes=[0, 1], epochs=2)
    model = make_pipeline(clone(step), last).fit(data, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save_model(model, path)
    assert [item.category for item in caught] == [PrivacyLeakWarning] * learns
    assert [type(step).__name__ in name for name in read_model(path).learnt] == [True] * learns


def test_steps_that_were_given_fitted_are_warned_of(tmp_path: Path) -> None:
    """A column transformer fits copies and holds what it was given beside them."""
    columns = ColumnTransformer(
        [("all", Normalizer(), [0, 1, 2, 3])],
        remainder=StandardScaler().fit(X),
        sparse_threshold=0,
    )
    last = PrivateLogisticRegression(classes=[0, 1], epochs=2)
    with pytest.warns(PrivacyLeakWarning, match=r"remainder \(StandardScaler\)"):
        save_model(make_pipeline(columns, last).fit(X, Y), tmp_path / "model.shiftdp")


# --- what a file may not ask of later calls ---


def forged_step(path: Path, step: Any, change: dict[str, Any]) -> None:
    """A file whose first step has other parameters or attributes than were saved."""
    last = PrivateLogisticRegression(classes=[0, 1], epochs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save_model(make_pipeline(clone(step), last).fit(np.abs(X), Y), path)

    def changed(text: bytes) -> bytes:
        document = json.loads(text)
        pipeline = document["model"]["transformer"]["parameters"]
        first = pipeline["steps"][0]["tuple"][1]["transformer"]
        for part, values in change.items():
            first[part].update(values)
        return f"{json.dumps(document)}\n".encode()

    rewritten(path, model=changed)


@pytest.mark.parametrize(
    ("step", "change"),
    [
        (make_pipeline(Normalizer()), {"parameters": {"memory": "cache"}}),
        (make_pipeline(Normalizer()), {"parameters": {"verbose": 2}}),
        (FeatureUnion([("a", Normalizer())]), {"parameters": {"n_jobs": 10**6}}),
        (FeatureUnion([("a", Normalizer())]), {"parameters": {"verbose": "yes"}}),
        (
            ColumnTransformer([("a", Normalizer(), [0])]),
            {"parameters": {"verbose_feature_names_out": "{feature_name:>999999999}"}},
        ),
        (
            ColumnTransformer([("a", Normalizer(), [0])]),
            {"parameters": {"verbose_feature_names_out": "{feature_name.__class__}"}},
        ),
        (FunctionTransformer(), {"parameters": {"func": {"score": "chi2"}}}),
        (FunctionTransformer(), {"parameters": {"inverse_func": {"score": "chi2"}}}),
        (FunctionTransformer(), {"parameters": {"feature_names_out": {"score": "chi2"}}}),
        (FunctionTransformer(), {"parameters": {"kw_args": {"dict": [["a", {"score": "chi2"}]]}}}),
        (OneHotEncoder(), {"parameters": {"feature_name_combiner": {"score": "chi2"}}}),
        (KBinsDiscretizer(2), {"parameters": {"encode": {"range": [0, 10**12, 1]}}}),
        (KBinsDiscretizer(2), {"parameters": {"encode": "other"}}),
        (PolynomialFeatures(), {"parameters": {"degree": {"range": [0, 10**7, 1]}}}),
        (Normalizer(), {"attributes": {"x": 1}}),
        (Normalizer(), {"attributes": {"scale_": 1}}),
    ],
    ids=str,
)
def test_parameters_that_reach_outside_and_attributes_of_no_class_are_refused(
    step: Any, change: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "model.shiftdp"
    forged_step(path, step, {})
    load_model(path)
    forged_step(path, step, change)
    with pytest.raises(InvalidInput):
        load_model(path)


def test_attributes_of_ones_own_on_a_step_are_refused_by_name(tmp_path: Path) -> None:
    step = Normalizer()
    step.note = "mine"
    last = PrivateLogisticRegression(classes=[0, 1], epochs=2)
    with pytest.raises(InvalidInput, match=r"normalizer.*\.note"):
        save_model(Pipeline([("normalizer", step), ("last", last)]).fit(X, Y), tmp_path / "model")


def test_the_outer_pipeline_has_no_memory_either(tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    save_model(example("plain pipeline").model, path)
    rewritten(path, model=lambda text: text.replace(b'"memory": null', b'"memory": "cache"'))
    with pytest.raises(InvalidInput, match="parameter that files cannot have"):
        load_model(path)


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


def test_no_certificate_is_derived_when_a_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forged plan of random batches could take gigabytes: the proof in the file is checked."""
    for kind in ("poisson", "softmax", "logistic", "seeded"):
        save_model(example(kind).model, tmp_path / kind)

    def derived(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("a certificate was derived")

    monkeypatch.setattr("shiftdp.training.plan.certify", derived)
    for kind in ("poisson", "softmax", "logistic", "seeded"):
        load_model(tmp_path / kind)
    path = tmp_path / "poisson"

    def costly(text: bytes) -> bytes:
        return re.sub(rb'"noise": [0-9.e-]+', b'"noise": 1e-05', text)

    rewritten(path, model=costly, certificate=costly)
    with pytest.raises(InvalidInput, match="certificate that does not hold"):
        load_model(path)


# --- what is bound to the plan, and what is not ---


def test_parameters_are_free_and_the_statement_is_of_plan_and_certificate(tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    model = example("logistic").model
    told = model.statement()
    save_model(model.set_params(epsilon=100.0, delta=0.5, random_state=0, feature_bound=9.0), path)
    copy = load_model(path)
    assert (copy.epsilon, copy.random_state) == (100.0, 0)
    assert copy.statement() == told
    assert "100" not in str(copy.plan_)


@pytest.mark.parametrize("delta", ["0.0", "1.0", "-1e-05", "2", "1e-310", '{"float": "inf"}'])
def test_the_delta_of_the_statement_is_one(delta: str, tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    save_model(example("logistic").model, path)

    def changed(text: bytes) -> bytes:
        before, problem, after = text.partition(b'"class": "Problem"')
        assert problem
        return before + problem + after.replace(b'"delta": 1e-05', f'"delta": {delta}'.encode(), 1)

    rewritten(path, model=changed)
    with pytest.raises(InvalidInput):
        load_model(path)
