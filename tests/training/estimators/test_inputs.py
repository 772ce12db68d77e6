"""Entries are read by themselves, and no message, warning or traceback shows one.

A canary is planted as an entry, a norm, or the length of a text, in all sorts of bad input, through
every way in. Whatever comes back must not sing.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from shiftdp import InvalidInput, NoisyGD
from shiftdp.sklearn import (
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
)
from shiftdp.training import Huber, Logistic, Plan, Softmax, descend
from shiftdp.training.losses.base import described
from tests.ui.shell import shiftdp

N = 40
NUMBER = 7391.25
WORD = "canary"
LONG = WORD + "y" * 31  # 37 letters
X = np.random.default_rng(0).normal(size=(N, 3)) / 4.0
Y = np.arange(N) % 2


def planted(value: Any, dtype: Any = object) -> Any:
    """The features with one entry replaced."""
    table = X.astype(dtype)
    table[5, 1] = value
    return table


def listed(value: Any) -> list[list[Any]]:
    rows: list[list[Any]] = X.tolist()
    rows[5][1] = value
    return rows


def labelled(value: Any, dtype: Any = object) -> Any:
    names = Y.astype(dtype)
    names[5] = value
    return names


def long_entries() -> Any:
    return np.where(X > 9, LONG, "1")


FEATURES: dict[str, Any] = {
    "complex": X + 1j * NUMBER,
    "complex entry": planted(NUMBER * 1j),
    "complex sparse": sparse.csr_array(X + 1j * NUMBER),
    "text": long_entries(),
    "text entry": planted(LONG),
    "text list": listed(LONG),
    "number as text": listed(str(NUMBER)),
    "bytes": planted(LONG.encode()),
    "missing": listed(None),
    "nan beside": np.where(X > 0.5, np.nan, NUMBER),
    "infinite": np.where(X > 0.5, np.inf, NUMBER),
    "too large": listed(10**400 + 7391),
    "vector": np.full(N, NUMBER),
    "number": NUMBER,
    "cube": np.full((N, 2, 2), NUMBER),
    "ragged": [[NUMBER] * (1 + i % 2) for i in range(N)],
    "dictionary entry": planted({WORD: NUMBER}),
    "list entry": planted([NUMBER]),
    "set of rows": [{NUMBER, WORD}] * N,
    "dates": np.full((N, 3), np.datetime64("7391-02-05")),
    "records": np.zeros(N, dtype=[(WORD, float)]),
    "decimal": planted(Decimal("NaN")),
    "frame of text": pd.DataFrame(long_entries()).rename(columns=str),
    "frame of objects": pd.DataFrame(planted(LONG)).rename(columns=str),
    "frame of categories": pd.DataFrame({"a": pd.Categorical([LONG] * N), "b": NUMBER}),
    "frame of dates": pd.DataFrame({"a": pd.to_datetime(["2191-07-03"] * N), "b": NUMBER}),
    "frame with nulls": pd.DataFrame({"a": pd.array([None] * N, dtype="Int64"), "b": NUMBER}),
    "polars text": pl.DataFrame({"a": [LONG] * N, "b": [NUMBER] * N}),
    "polars enum": pl.DataFrame({"a": pl.Series([LONG] * N, dtype=pl.Enum([LONG]))}),
    "polars nulls": pl.DataFrame({"a": [None] * N, "b": [NUMBER] * N}),
    "too few": np.full((N - 1, 3), NUMBER),
    "none": None,
    "word": LONG,
}
LABELS: dict[str, Any] = {
    "one of text": labelled(LONG),
    "text": np.array([LONG, "b"] * (N // 2)),
    "one long": np.array([LONG, *["b"] * (N - 1)]),
    "list": [*Y[:-1].tolist(), LONG],
    "number": labelled(NUMBER, float),
    "many numbers": X[:, 0] * NUMBER,
    "list of numbers": [*Y[:-1].tolist(), NUMBER],
    "complex": Y + 1j * NUMBER,
    "complex entry": labelled(NUMBER * 1j),
    "nan": np.where(Y > 0, np.nan, NUMBER),
    "infinite": np.where(Y > 0, np.inf, NUMBER),
    "missing": labelled(None),
    "bytes": np.array([LONG.encode()] * N),
    "matrix": np.full((N, 2), NUMBER),
    "column": np.full((N, 1), NUMBER),
    "scalar": NUMBER,
    "word": LONG,
    "ragged": [[NUMBER] * (1 + i % 2) for i in range(N)],
    "dictionary": [{WORD: NUMBER}] * N,
    "dates": np.full(N, np.datetime64("7391-02-05")),
    "categories": pd.Series(pd.Categorical([LONG, "b"] * (N // 2))),
    "polars": pl.Series([LONG, "b"] * (N // 2), dtype=pl.Enum([LONG, "b"])),
    "nullable": pd.Series([None, *[1] * (N - 1)], dtype="Int64"),
    "huge": [10**400 + 7391] * N,
    "short": np.full(N - 1, NUMBER),
    "none": None,
}
# without a bound a fit warns, and a refusal could not be told from it
BOUND: dict[str, Any] = {"feature_bound": 1.0}
MODELS: dict[str, Callable[[], Any]] = {
    "classes": lambda: PrivateLogisticRegression(
        classes=[0, 1], epochs=2, oversized="refuse", **BOUND
    ),
    "words": lambda: PrivateLogisticRegression(classes=["a", "b"], epochs=2, **BOUND),
    "learnt": lambda: PrivateLogisticRegression(epochs=2, **BOUND),
    "machine": lambda: PrivateLinearSVC(epochs=2, **BOUND),
    "numbers": lambda: PrivateHuberRegressor(epochs=2, **BOUND),
}


def shown(action: Callable[[], Any]) -> tuple[str, list[str]]:
    """All that an action shows, and the messages alone."""
    messages: list[str] = []
    text = ""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            action()
        except Exception as error:
            text = "".join(traceback.format_exception(error))
            chain: BaseException | None = error
            while chain is not None:
                messages += [str(chain), repr(chain)]
                chain = chain.__cause__ or chain.__context__
    messages += [str(one.message) for one in heard]
    return text + "\n".join(messages), messages


def silent(action: Callable[[], Any]) -> bool:
    """True where something was said at all."""
    text, messages = shown(action)
    for secret in ("7391", "7,391", "7.39", WORD, "2191"):
        assert secret not in text
    for message in messages:
        assert "37" not in message, "the length of a text"
    return bool(messages)


@pytest.mark.parametrize("kind", FEATURES)
@pytest.mark.parametrize("model", MODELS)
def test_bad_features_are_not_shown(model: str, kind: str) -> None:
    names: Any = np.where(Y, "a", "b") if model == "words" else Y
    assert silent(lambda: MODELS[model]().fit(FEATURES[kind], names))


class Unreadable:
    """An object that tells what it holds when it is asked for an array."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(f"{WORD} {NUMBER}")


@pytest.mark.parametrize("kind", [*FEATURES, "unreadable"])
@pytest.mark.parametrize("model", ["classes", "numbers"])
def test_bad_features_are_refused_alike_beside_labels_in_a_file(
    model: str, kind: str, tmp_path: Path
) -> None:
    labels = np.memmap(tmp_path / "y", dtype=np.float64, mode="w+", shape=(N,))
    labels[:] = Y
    given = FEATURES.get(kind, Unreadable())
    assert silent(lambda: MODELS[model]().fit(given, labels))
    with pytest.raises((InvalidInput, TypeError, ValueError)):
        MODELS[model]().fit(given, labels)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("model", MODELS)
def test_bad_labels_are_not_shown(model: str, kind: str) -> None:
    silent(lambda: MODELS[model]().fit(X / 9, LABELS[kind]))


@pytest.mark.parametrize("kind", FEATURES)
@pytest.mark.parametrize("way", ["predict", "predict_proba", "decision_function", "score"])
def test_what_is_predicted_is_not_shown(way: str, kind: str) -> None:
    model = PrivateLogisticRegression(classes=[0, 1], epochs=2).fit(X, Y)
    more = (Y,) if way == "score" else ()
    silent(lambda: getattr(model, way)(FEATURES[kind], *more))


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("model", ["classes", "numbers"])
def test_what_is_scored_is_not_shown(model: str, kind: str) -> None:
    fitted = MODELS[model]().fit(X / 9, Y)
    silent(lambda: fitted.score(X / 9, LABELS[kind]))


LOSSES = [Logistic(), Softmax(classes=2), Huber(width=1.0)]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_loop_does_not_show_data(loss: Any) -> None:
    run = NoisyGD(n=N, steps=2, learning_rate=0.1, noise=1.0)
    plan = Plan(run=run, loss=loss, feature_bound=1.0, l2=0.01, oversized="refuse")
    for features in FEATURES.values():
        silent(lambda table=features: descend(plan, table, Y))  # type: ignore[misc]
    for names in LABELS.values():
        silent(lambda labels=names: descend(plan, X / 9, labels))  # type: ignore[misc]


def test_a_norm_is_not_shown() -> None:
    long = X.copy()
    long[3] = [NUMBER, 0.0, 0.0]
    model = PrivateLogisticRegression(classes=[0, 1], epochs=2, oversized="refuse")
    with pytest.raises(InvalidInput, match="above feature_bound=1"):
        model.fit(long, Y)
    assert silent(lambda: model.fit(long, Y))


@pytest.mark.parametrize(
    ("ending", "lines"),
    [
        ("csv", ["a,b,y", "1,2,0", f"{NUMBER},{LONG},1"]),
        ("csv", ["a,b,y", "1,2,0", f"1,2,{LONG}"]),
        ("csv", ["a,b,y", "1,2,0", f'1,2,"{LONG}']),
        ("csv", ["a,b,y", "1,2,0", f"{NUMBER},1"]),
        ("csv", [f"{LONG},{NUMBER},1", "1,2,0"]),
        ("csv", [f"y,{LONG},{NUMBER}", "1,x,0", "0,1,1"]),
        ("csv", ["a,b,y", "1,2,0", f"{NUMBER},2,1"]),
        ("svm", ["1 1:2", f"0 1:{LONG}"]),
        ("svm", ["1 1:2", "0 7391:1"]),
        ("svm", ["1 1:2", f"{LONG} 1:1"]),
        ("svm", ["1 1:2", f"0 1:{NUMBER}"]),
        ("svm", ["1 1:2", f"{NUMBER} 1:1"]),
        ("npz", [f"{NUMBER} {LONG}"]),
        ("parquet", [f"{NUMBER} {LONG}"]),
    ],
)
def test_a_bad_file_is_not_shown(tmp_path: Path, ending: str, lines: list[str]) -> None:
    path = tmp_path / f"data.{ending}"
    path.write_text("\n".join(lines) + "\n")
    common = ["--epsilon", "1", "--feature-bound", "1", "--oversized", "refuse", "--target", "y"]
    for more in (["--classes", "0,1"], [], ["--model", "huber"]):
        words = ["train", str(path), *common, *more, "--features", "2", "--epochs", "2"]
        result = shiftdp(*words, "-o", str(tmp_path / "m.skops"))
        said = result.output.replace(str(tmp_path), "")
        if result.exception is not None:
            said += "".join(traceback.format_exception(result.exception)).replace(str(path), "")
        for secret in ("7391", WORD, "U37"):
            assert secret not in said


def test_types_of_text_do_not_tell_lengths() -> None:
    assert described(np.array([LONG])) == "<shape (1,), text>"
    assert described(np.array([LONG.encode()])) == "<shape (1,), bytes>"
    assert described(np.zeros(2, dtype=[(LONG, float)])) == "<shape (2,), records>"
    assert LONG not in described(pl.Series([LONG], dtype=pl.Enum([LONG])))
    assert LONG not in described(pd.Series(pd.Categorical([LONG])))
    assert described(X) == "<shape (40, 3), float64>"


# --- one record does not change how another is read ---

SINGLE = np.float32(0.1)
ENTRIES: list[Any] = [
    "x", "1", "", None, np.nan, np.inf, True, 2**53 + 1, 2**63, 10**400, 1.5, -0.0, SINGLE, 7,
    Decimal("0.1"), 1j, b"1", [1.0], {}, np.datetime64("2020-01-01"), np.float64(0.1), np.int8(3),
    float(2**53),
]  # fmt: skip


def as_list(rows: list[list[Any]]) -> Any:
    return rows


def as_object(rows: list[list[Any]]) -> Any:
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            table[i, j] = entry
    return table


def as_frame(rows: list[list[Any]]) -> Any:
    return pd.DataFrame({str(j): as_series([row[j] for row in rows]) for j in range(len(rows[0]))})


def as_series(entries: list[Any]) -> Any:
    try:
        return pd.Series(entries)
    except OverflowError:  # what older releases make of a number that is no float
        return pd.Series(entries, dtype=object)


def read(X: Any, y: Any, model: Any) -> tuple[Any, Any] | None:
    """What an estimator makes of features and labels, or None if it refuses them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found: tuple[Any, Any] = model._checked(X, y)
            return found
    except (TypeError, ValueError, OverflowError):
        return None


@pytest.mark.parametrize("shape", [as_list, as_object, as_frame])
def test_one_entry_does_not_change_another(shape: Callable[[list[list[Any]]], Any]) -> None:
    model = PrivateLogisticRegression(classes=[0, 1])
    for usual in (0.1, SINGLE, 3, 2**53 + 1, True):
        rows: list[list[Any]] = [[usual, 0.3] for _ in range(6)]
        plain = read(shape(rows), [0, 1] * 3, model)
        assert plain is not None
        for entry in ENTRIES:
            other = read(shape([*rows[:2], [entry, 0.3], *rows[3:]]), [0, 1] * 3, model)
            if other is not None:
                keep = [0, 1, 3, 4, 5]
                assert other[0].dtype == plain[0].dtype
                assert other[0][keep].tobytes() == plain[0][keep].tobytes()


@pytest.mark.parametrize("wrap", [list, as_object, as_series])
def test_one_label_does_not_change_another(wrap: Any) -> None:
    features = np.zeros((6, 2))
    cases: list[tuple[list[Any], list[Any]]] = [
        ([0, 1] * 3, [0, 1]),
        ([0.0, 1.5] * 3, [0.0, 1.5]),
        (["no", "1"] * 3, ["no", "1"]),
        ([2**53, 2**53 + 1] * 3, [2**53, 2**53 + 1]),
        ([False, True] * 3, [False, True]),
    ]
    from shiftdp.training.estimators.inputs import given_classes

    def places(names: list[Any], classes: list[Any]) -> Any:
        given = names if wrap is list else as_series(names) if wrap is as_series else None
        if given is None:
            given = np.empty(len(names), dtype=object)
            given[:] = names
        found = read(features, given, PrivateLogisticRegression(classes=classes))
        if found is None:
            return None
        try:
            return given_classes([*classes], found[1])[1]
        except (TypeError, ValueError):
            return None

    for names, classes in cases:
        plain = places(names, classes)
        assert plain is not None
        for entry in ENTRIES:
            if isinstance(entry, (list, dict)):
                continue
            other = places([*names[:2], entry, *names[3:]], classes)
            if other is not None:
                kept = [0, 1, 3, 4, 5]
                assert other[kept].tolist() == plain[kept].tolist(), (names, entry)
