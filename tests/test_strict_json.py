"""JSON that can be read in one way only, and schemas that are held to."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp._strict_json import Malformed, mismatch, parse

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_what_json_writes_is_read_as_it_was(value: Any) -> None:
    assert parse(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1, "a": 1}', "has the key 'a' twice"),
        ('[{"b": {"a": 1, "a": 2}}]', "has the key 'a' twice"),
        ("NaN", "has NaN, which is not JSON"),
        ("[-Infinity]", "has -Infinity, which is not JSON"),
        ("1e999", "beyond the range of floats"),
        ("1e-999", "beyond the range of floats"),
        ("1" + "0" * 4000, "beyond counting"),
        ("[" * 100_000 + "]" * 100_000, "is nested"),
        ("1 2", "is not JSON"),
        ("", "is not JSON"),
    ],
    ids=lambda text: text[:20],
)
def test_what_could_be_read_in_two_ways_is_refused(text: str, problem: str) -> None:
    with pytest.raises(Malformed, match=problem) as refusal:
        parse(text)
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize("value", [None, b"{}", 3])
def test_only_text_is_parsed(value: object) -> None:
    with pytest.raises(Malformed, match="is not text"):
        parse(value)


def test_a_zero_is_a_number_however_it_is_written() -> None:
    assert parse("[0e-999, -0.0, 0]") == [0.0, 0.0, 0]


SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["n"],
    "additionalProperties": False,
    "properties": {
        "n": {"type": "integer", "minimum": 1, "maximum": 10},
        "noise": {"type": "number", "exclusiveMinimum": 0},
        "order": {"enum": ["fixed", "shuffled"]},
        "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}, "maxItems": 2},
        "label": {"type": "string", "maxLength": 3},
    },
    "$defs": {"step": {"oneOf": [{"type": "number"}, {"const": "inf"}]}},
}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"n": 3, "noise": 0.1, "order": "fixed", "steps": [1, "inf"], "label": "abc"}, None),
        ({"n": 3.0}, None),
        ({}, "the document lacks 'n'"),
        ({"n": True}, "n is not of type integer"),
        ({"n": 1.5}, "n is not of type integer"),
        ({"n": 11}, "n is out of range"),
        ({"n": 1, "noise": 0}, "noise is out of range"),
        ({"n": 1, "order": "random"}, "order is not one of fixed, shuffled"),
        ({"n": 1, "steps": [1, 2, 3]}, "steps has 3 entries"),
        ({"n": 1, "steps": [1, "infinite"]}, "steps[1] is none of what it may be"),
        ({"n": 1, "label": "abcd"}, "label is too long"),
        ({"n": 1, "seed": 2}, "the document has the unknown field 'seed'"),
        ([], "the document is not of type object"),
    ],
    ids=str,
)
def test_where_and_why_a_value_does_not_meet_a_schema(value: Any, problem: str | None) -> None:
    assert mismatch(value, SCHEMA, SCHEMA) == problem
