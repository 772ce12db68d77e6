"""JSON that is not trusted: one reading of each text, and one schema that it must meet.

`parse` refuses what Python's own reader lets through: a key twice, NaN and Infinity, numbers that
no float holds, whole numbers without end, nesting without end. `mismatch` is a validator for the
part of JSON Schema 2020-12 that the schemas of this package are written in, so that what is
published and what is read are the same document.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

_DEPTH = 64  # levels: far more than any file here has, far fewer than Python can recurse
_LONGEST_INTEGER = 20  # characters; every count here is at most 2^53

Schema = Mapping[str, Any]


class Malformed(ValueError):
    """A text that is not the JSON that was asked for; says where and why, never quotes much."""


def parse(text: object) -> Any:
    """The value in a JSON text, which can be read in one way only.

    >>> parse('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    shiftdp._strict_json.Malformed: has the key 'a' twice
    """
    if not isinstance(text, str):
        raise Malformed("is not text")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except json.JSONDecodeError as error:
        raise Malformed(f"is not JSON ({error})") from error
    except RecursionError as error:
        raise Malformed("is nested without end") from error
    if _deeper(value, _DEPTH):
        raise Malformed(f"is nested more than {_DEPTH} deep")
    return value


def mismatch(value: Any, schema: Schema, root: Schema, where: str = "") -> str | None:
    """Where and why a value does not meet a schema, or None if it does.

    Known keywords: $ref (within `root`), oneOf, const, enum, type, minimum, maximum,
    exclusiveMinimum, required, properties, additionalProperties, items, prefixItems, minItems,
    maxItems, maxLength.
    """
    if "$ref" in schema:
        return mismatch(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, where)
    if "oneOf" in schema:
        return _one_of(value, schema["oneOf"], root, where)
    here = where or "the document"
    if "const" in schema and not _same(value, schema["const"]):
        return f"{here} is not {schema['const']!r}"
    if "enum" in schema and not any(_same(value, known) for known in schema["enum"]):
        return f"{here} is not one of {', '.join(map(str, schema['enum']))}"
    if "type" in schema and not _TYPES[schema["type"]](value):
        return f"{here} is not of type {schema['type']}"
    if isinstance(value, dict):
        return _object_mismatch(value, schema, root, where)
    if isinstance(value, list):
        return _array_mismatch(value, schema, root, where)
    if isinstance(value, str):
        return f"{here} is too long" if len(value) > schema.get("maxLength", math.inf) else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        outside = (
            value < schema.get("minimum", -math.inf)
            or value > schema.get("maximum", math.inf)
            or value <= schema.get("exclusiveMinimum", -math.inf)
        )
        return f"{here} is out of range" if outside else None
    return None


def _object_mismatch(value: dict[str, Any], schema: Schema, root: Schema, where: str) -> str | None:
    for name in schema.get("required", ()):
        if name not in value:
            return f"{where or 'the document'} lacks {name!r}"
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for name, item in value.items():
        inside = known.get(name, others)
        place = f"{where}.{name}" if where else str(name)
        if inside is False:
            return f"{where or 'the document'} has the unknown field {name[:40]!r}"
        if inside is not True:
            problem = mismatch(item, inside, root, place)
            if problem is not None:
                return problem
    return None


def _array_mismatch(value: list[Any], schema: Schema, root: Schema, where: str) -> str | None:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
        return f"{where} has {len(value)} entries"
    first = schema.get("prefixItems", ())
    for i, item in enumerate(value):
        inside = first[i] if i < len(first) else schema.get("items", True)
        if inside is not True:
            problem = mismatch(item, inside, root, f"{where}[{i}]")
            if problem is not None:
                return problem
    return None


def _one_of(value: Any, choices: list[Schema], root: Schema, where: str) -> str | None:
    problems = [mismatch(value, choice, root, where) for choice in choices]
    if problems.count(None) == 1:
        return None
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        for choice, problem in zip(choices, problems, strict=True):
            tag = choice.get("properties", {}).get("type", {}).get("const")
            if tag == value["type"] and problem is not None:
                return problem
    return f"{where or 'the document'} is none of what it may be"


def _same(value: Any, known: Any) -> bool:
    """Equality of JSON, where true is not 1."""
    return isinstance(value, bool) == isinstance(known, bool) and bool(value == known)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TYPES: dict[str, Any] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": _is_number,
    # 3.0 is a whole number in JSON Schema
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise Malformed(f"has the key {key[:40]!r} twice")
        found[key] = value
    return found


def _constant(word: str) -> NoReturn:
    raise Malformed(f"has {word}, which is not JSON")


def _float(text: str) -> float:
    value = float(text)
    lost = value == 0.0 and any(digit in "123456789" for digit in text.lower().partition("e")[0])
    if math.isinf(value) or lost:
        raise Malformed("has a number beyond the range of floats")
    return value


def _int(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise Malformed("has a whole number that is beyond counting")
    return int(text)


def _deeper(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most):
        if not level:
            return False
        level = [
            inner
            for item in level
            if isinstance(item, (dict, list))
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return bool(level)
