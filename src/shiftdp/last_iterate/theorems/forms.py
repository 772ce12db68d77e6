"""The JSON forms that certificates are made of, as a JSON schema has them, and values read by them.

A proof says its form once, and is published, checked and read by it; so is the rest of a
certificate (`certificate_schema`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftdp._checks import LEAST_ACCURACY, count
from shiftdp._rounding import LARGEST_WHOLE

Schema = dict[str, Any]

# counts are at most 2^53, up to which every whole number is a float
COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": LARGEST_WHOLE}
INDEX: Schema = {"type": "integer", "minimum": 0, "maximum": LARGEST_WHOLE}
NUMBER: Schema = {"type": "number"}
POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
NOT_NEGATIVE: Schema = {"type": "number", "minimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
ACCURACY: Schema = {"type": "number", "minimum": LEAST_ACCURACY, "maximum": 1}
BOOLEAN: Schema = {"type": "boolean"}
INFINITE: Schema = {"const": "inf"}
NULL: Schema = {"type": "null"}
# far longer than what is written here, so that a file cannot be filled with text
WORD: Schema = {"type": "string", "maxLength": 200}
TEXT: Schema = {"type": "string", "maxLength": 2000}  # a few sentences
PROOF: Schema = {"$ref": "#/$defs/proof"}


def either(*choices: Schema) -> Schema:
    return {"oneOf": list(choices)}


def listed(items: Schema, least: int = 0) -> Schema:
    return {"type": "array", "items": items, "minItems": least}


def pair(first: Schema, second: Schema) -> Schema:
    return {
        "type": "array",
        "prefixItems": [first, second],
        "items": False,
        "minItems": 2,
        "maxItems": 2,
    }


def fields_of(fields: Schema, kind: str | None = None, optional: tuple[str, ...] = ()) -> Schema:
    """An object with these fields and no others, all of them needed but the optional ones."""
    tagged = fields if kind is None else {"type": {"const": kind}, **fields}
    return {
        "type": "object",
        "properties": tagged,
        "required": [name for name in tagged if name not in optional],
        "additionalProperties": False,
    }


MU = either(NOT_NEGATIVE, INFINITE)


def fits(data: Mapping[str, Any], form: Schema) -> bool:
    """Whether an object has the fields of a form, whatever is in them."""
    return {*form["required"]} <= {*data} <= {*form["properties"]}


def typed(data: Any, form: Schema, name: str = "") -> Any:
    """What JSON says, of the types that a form names: whole numbers, floats, tuples.

    >>> typed({"n": 3.0, "mu": [1, 2]}, fields_of({"n": COUNT, "mu": listed(POSITIVE)}))
    {'n': 3, 'mu': (1.0, 2.0)}
    """
    if "oneOf" in form:
        from shiftdp._strict_json import mismatch

        form = next(choice for choice in form["oneOf"] if mismatch(data, choice, choice) is None)
    kind = form.get("type")
    if kind == "object":
        return {key: typed(item, form["properties"][key], key) for key, item in data.items()}
    if kind == "array":
        inside = form.get("prefixItems") or [form["items"]] * len(data)
        return tuple(typed(item, each, name) for item, each in zip(data, inside, strict=True))
    if kind == "integer":
        return count(name, data)
    return float(data) if kind == "number" else data
