"""Schemas in Python, TOML and JSON."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.training.preparation.columns import Boolean, Categorical, Numeric
from shiftdp.training.preparation.schema import Schema, read_schema, to_toml
from tests.training.preparation.raw_tables import DECLARED


@pytest.mark.parametrize("ending", [".toml", ".json"])
def test_a_schema_survives_its_file(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"schema{ending}"
    text = to_toml(DECLARED) if ending == ".toml" else json.dumps(DECLARED.to_dict())
    path.write_text(text, encoding="utf-8")
    assert read_schema(path) == DECLARED


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.text(max_size=5))
def test_any_name_and_any_word_survive_toml(name: str, word: str) -> None:
    if any(0xD800 <= ord(letter) < 0xE000 for letter in name + word):
        return
    schema = Schema({name: Numeric(low=-1.5, high=1e9)}, missing=(word,))
    assert Schema.from_dict(tomllib.loads(to_toml(schema))) == schema


def test_comments_stand_below_their_column() -> None:
    text = to_toml(Schema({"a": Boolean(), "b": Boolean()}), {"a": ["low = 0"]})
    assert text.index("# low = 0") < text.index('[columns."b"]')


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "has no columns"),
        ({"columns": {}}, "has no columns"),
        ({"columns": {"a": {"kind": "date"}}}, r"columns\.a\.kind='date' is no known kind"),
        ({"columns": {"a": {"kind": ["number"]}}}, "is no known kind"),
        ({"columns": {"a": 3}}, r"columns\.a=3 is no column"),
        ({"columns": {"a": {"kind": "number", "lo": 1}}}, "'lo' is nothing that a number has"),
        ({"columns": {"a": {"kind": "number", "low": 1}}}, r"columns\.a\.low, high"),
        ({"columns": {"a": {"kind": "number"}}, "more": 1}, "'more' is no part of a schema"),
        ({"columns": {"a": {"kind": "number"}}, "target": "a"}, "is a feature too"),
        ({"columns": {"a": {"kind": "number"}}, "missing": "NA"}, "is no list"),
        ({"columns": {"a": {"kind": "number"}}, "missing": [1]}, "is no list of words"),
    ],
)
def test_other_documents_are_refused(document: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Schema.from_dict(document)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.yaml", "", "is neither TOML nor JSON"),
        ("a.toml", "x = " + "[" * 5000, "nested without end"),
        ("a.json", '{"columns": {"a": {"kind": ["x"]}}}', "is no known kind"),
        ("a.toml", "target = 1979-05-27\n[columns.a]\nkind = 'number'", "^target="),
        ("a.json", '{"target": {}, "columns": {"a": {"kind": "number"}}}', "^target="),
        ("a.json", '{"classes": [[1], {}], "columns": {"a": {"kind": "number"}}}', "^classes="),
        ("a.toml", "= 3", "cannot be read"),
        ("a.json", '{"columns": {}, "columns": {}}', "cannot be read .*twice"),
    ],
)
def test_files_that_are_no_schema_are_refused(
    name: str, text: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=words):
        read_schema(tmp_path / name)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_schema(tmp_path / "none.toml")


def test_columns_have_to_be_columns() -> None:
    with pytest.raises(InvalidInput, match="is no column"):
        Schema({"a": "number"})  # type: ignore[dict-item]
    assert Schema({"a": Categorical()}).columns["a"].kind == "category"
