"""Blocks are read by the declared type, each like any other; refusals tell no entry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from shiftdp.sklearn import Boolean, Categorical, Numeric
from shiftdp.training.cluster.guard import Failure, Refusal
from shiftdp.training.cluster.reading import Block, Entries, Numbers, digest_of, read_block
from shiftdp.training.preparation.layout import layout_of
from shiftdp.training.preparation.reading import raw_table

NUMBERS = Numbers("numbers", "float64", 2)


@pytest.mark.parametrize(
    "x",
    [
        np.array([[1, 2], [3, 4]]),
        np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32),
        np.array([[1, 2.0], [3, 4]], dtype=object),
        pd.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}),
        pd.DataFrame({"a": pd.array([1, 3], dtype="Int64"), "b": [2.0, 4.0]}),
        pd.DataFrame({"a": [True, True], "b": [2.0, 4.0]}).assign(a=[1, 3]),
    ],
)
def test_numbers_of_any_type_become_the_declared_one(x: Any) -> None:
    block = read_block(x, np.array([0.5, 1.0]), NUMBERS)
    assert isinstance(block, Block)
    np.testing.assert_array_equal(block.features, [[1.0, 2.0], [3.0, 4.0]])
    assert np.asarray(block.features).dtype == np.float64
    assert block.size == 2


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (pd.DataFrame({"a": ["4711", "x"], "b": [1.0, 2.0]}), [0, 1]),
        (np.array([["4711", "1"], ["2", "3"]]), [0, 1]),
        (np.array([[4711, 2, 3], [4, 5, 6]]), [0, 1]),
        (np.array([4711, 2]), [0, 1]),
        (sp.csr_array(np.array([[4711, 0], [0, 3]])), [0, 1]),
        (np.array([[1, 2], [3, 4]]), ["4711", "x"]),
        (np.array([[1, 2], [3, 4]]), [4711, np.nan]),
        (np.array([[1, 2], [3, 4]]), [4711]),
        (np.array([[1, 2], [3, 4]]), None),
        (pd.DataFrame({"a": [4711, None], "b": [1.0, 2.0]}).astype(object), [0, 1]),
    ],
)
def test_what_cannot_be_read_is_refused_without_an_entry(x: Any, y: Any) -> None:
    labels = None if y is None else np.array(y)
    found = read_block(x, labels, NUMBERS)
    if isinstance(found, Block):  # a missing number: refused where lengths are computed
        assert np.isnan(np.asarray(found.features)).any()
        return
    assert isinstance(found, (Refusal, Failure))
    assert "4711" not in repr(found)


def test_labels_are_those_of_the_estimators() -> None:
    read = Numbers("classes", "float64", 1)
    x = np.ones((2, 1))
    words = read_block(x, pd.Series(["no", "yes"]), read)
    assert isinstance(words, Block)
    assert words.labels.tolist() == ["no", "yes"]
    empty = read_block(x[:0], pd.Series([], dtype=object), read)
    assert isinstance(empty, Block)
    assert empty.size == 0
    assert isinstance(read_block(x, np.array(["a", 1], dtype=object), read), Refusal)


def test_continuous_labels_are_no_classes() -> None:
    found = read_block(np.ones((2, 1)), np.array([0.25, 0.75]), Numbers("classes", "float64", 1))
    assert isinstance(found, Failure)
    assert found.kind == "ValueError"


def test_entries_of_a_schema_are_read_by_their_columns() -> None:
    frame = pd.DataFrame({"age": [20, 60], "job": ["a", None], "ok": [True, False]})
    schema = {"job": Categorical(), "age": Numeric(low=0, high=100), "ok": Boolean()}
    known = raw_table(frame.iloc[:0])
    reading = Entries("numbers", layout_of(schema, known), known.names)
    block = read_block(frame, np.zeros(2), reading)
    assert isinstance(block, Block)
    assert [np.asarray(one).tolist() for one in block.features] == [
        ["a", None],
        [20.0, 60.0],
        [1.0, -1.0],
    ]
    other = frame.rename(columns={"age": "years"})
    assert isinstance(read_block(other, np.zeros(2), reading), Refusal)


def test_columns_in_another_order_than_declared_are_refused() -> None:
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    read = Numbers("given", "float64", 2, ("a", "b"))
    assert isinstance(read_block(frame, np.zeros(1), read), Block)
    for other in (frame[["b", "a"]], frame.rename(columns={"b": "c"}), frame.to_numpy()):
        found = read_block(other, np.zeros(1), read)
        assert isinstance(found, Refusal)
        assert "in another order" in found.problem


def test_a_hash_tells_entries_types_and_shapes_apart() -> None:
    x, words = np.arange(6.0), np.array(["a", "b", None], dtype=object)
    hashes = [
        digest_of(x),
        digest_of(x.astype(np.float32)),
        digest_of(x.reshape(2, 3)),
        digest_of(x + np.array([0, 0, 0, 0, 0, 1e-15])),
        digest_of(x, words),
        digest_of(x, words[::-1]),
        digest_of(x, np.array(["a", "b", "None"], dtype=object)),
        digest_of(x[:0]),
        digest_of(np.array(["a\0str:b", "c"], dtype=object)),
        digest_of(np.array(["a", "b\0str:c"], dtype=object)),
    ]
    assert len({*hashes}) == len(hashes)
    assert digest_of(x) == digest_of(np.repeat(x, 2)[::2])
