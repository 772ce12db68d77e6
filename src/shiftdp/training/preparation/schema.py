"""A schema: what is public about the columns of a table, in a TOML or JSON file or in Python.

    target = "bad"                  # the column to predict, not a feature
    missing = ["NA", "?"]           # words for missing entries, beside empty ones

    [columns.age]
    kind = "number"
    low = 18
    high = 100

    [columns.city]
    kind = "category"               # without categories: learnt, and paid for

Columns that are not named are left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp._strict_json import parse
from shiftdp.training.preparation.columns import Boolean, Categorical, Column, Numeric

KINDS: Mapping[str, type[Column]] = MappingProxyType(
    {kind.kind: kind for kind in (Numeric, Categorical, Boolean)}
)
"""The kinds of columns by the names that they have in files."""

_FIELDS = ("target", "classes", "missing", "columns")


@dataclass(frozen=True)
class Schema:
    """The columns of a table by name, in the order in which they are encoded.

    Args:
        columns: what is public about each. Columns of the table that are not here are left out.
        missing: words for a missing entry, beside an empty one and the missing values of pandas,
            polars and NumPy.
        target: the column to predict, for the command line.
        classes: all labels of it, if they are public, for the command line.

    >>> schema = Schema({"age": Numeric(low=18, high=100), "member": Boolean()})
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    columns: Mapping[str, Column]
    missing: tuple[str, ...] = ()
    target: str | None = None
    classes: tuple[Any, ...] | None = field(default=None)

    def __post_init__(self) -> None:
        columns: Any = self.columns
        if not isinstance(columns, Mapping) or not columns:
            raise InvalidInput("columns", columns, "has no columns", "name one or more")
        for name, column in columns.items():
            if not isinstance(name, str) or not isinstance(column, Column):
                raise InvalidInput(
                    "columns", name, "is no column", "give Numeric, Categorical or Boolean by name"
                )
        if self.target is not None and not isinstance(self.target, str):
            raise InvalidInput("target", "<target>", "is no name", "name a column")
        if self.target is not None and self.target in self.columns:
            raise InvalidInput(
                "target", self.target, "is a feature too", "take it out of the columns"
            )
        words: Any = self.missing
        if isinstance(words, str) or not all(isinstance(word, str) for word in words):
            raise InvalidInput("missing", words, "is no list of words", 'give a list like ["NA"]')
        object.__setattr__(self, "missing", tuple(words))
        object.__setattr__(self, "columns", dict(self.columns))
        if self.classes is not None:
            if not all(isinstance(one, (str, int, float)) for one in self.classes):
                raise InvalidInput(
                    "classes", "<classes>", "are not words, numbers or truth values", "give these"
                )
            object.__setattr__(self, "classes", tuple(self.classes))

    def to_dict(self) -> dict[str, Any]:
        """The schema in plain data."""
        found: dict[str, Any] = {}
        if self.target is not None:
            found["target"] = self.target
        if self.classes is not None:
            found["classes"] = list(self.classes)
        if self.missing:
            found["missing"] = list(self.missing)
        found["columns"] = {name: column.to_dict() for name, column in self.columns.items()}
        return found

    @classmethod
    def from_dict(cls, document: Any) -> Schema:
        """The schema in plain data, as files have it."""
        if not isinstance(document, Mapping) or not isinstance(document.get("columns"), Mapping):
            raise InvalidInput("schema", "<document>", "has no columns", "see docs/tables.md")
        strange = sorted(set(map(str, document)) - set(_FIELDS))
        if strange:
            raise InvalidInput(
                "schema", strange[0], "is no part of a schema", f"there are {', '.join(_FIELDS)}"
            )
        columns = {name: _column(name, one) for name, one in document["columns"].items()}
        for name in ("missing", "classes"):
            if not isinstance(document.get(name, []), (list, tuple)):
                raise InvalidInput(name, document[name], "is no list", "give one")
        classes = document.get("classes")
        return cls(
            columns,
            missing=tuple(document.get("missing", ())),
            target=document.get("target"),
            classes=None if classes is None else tuple(classes),
        )


def _column(name: str, document: Any) -> Column:
    if not isinstance(document, Mapping):
        raise InvalidInput(f"columns.{name}", document, "is no column", "give it a kind")
    if document.get("kind") not in (*KINDS,):
        raise InvalidInput(
            f"columns.{name}.kind", document.get("kind"), "is no known kind",
            f"give one of {', '.join(KINDS)}",
        )  # fmt: skip
    kind: Any = KINDS[document["kind"]]
    known = [one.name for one in fields(kind)]
    strange = sorted(set(map(str, document)) - {"kind", *known})
    if strange:
        raise InvalidInput(
            f"columns.{name}", strange[0], f"is nothing that a {kind.kind} has",
            f"there are {', '.join(known)}",
        )  # fmt: skip
    values = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in document.items()
        if key != "kind"
    }
    try:
        made: Column = kind(**values)
    except InvalidInput as error:
        where = f"columns.{name}.{error.name}"
        raise InvalidInput(where, error.value, error.problem, error.remedy) from None
    return made


def read_schema(path: str | os.PathLike[str]) -> Schema:
    """The schema in a file that ends in .toml or .json."""
    name = os.fspath(path)
    ending = os.path.splitext(name)[1].lower()
    if ending not in (".toml", ".json"):
        raise InvalidInput("schema", name, "is neither TOML nor JSON", "give .toml or .json")
    try:
        with open(name, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InvalidInput(
            "schema", name, f"cannot be read ({reason})", "shiftdp schema writes one"
        ) from error
    try:
        if ending == ".json":
            document = parse(text)
        else:
            import tomllib

            document = tomllib.loads(text)
    except RecursionError as error:
        raise InvalidInput("schema", name, "is nested without end", "mend it") from error
    except ValueError as error:
        raise InvalidInput("schema", name, f"cannot be read ({error})", "mend it") from error
    return Schema.from_dict(document)


def to_toml(schema: Schema, comments: Mapping[str, Sequence[str]] | None = None) -> str:
    """The schema as TOML.

    Args:
        comments: lines to stand below the fields of a column, by its name, to be filled in.
    """
    document = schema.to_dict()
    columns = document.pop("columns")
    lines = [f"{key} = {_toml(value)}" for key, value in document.items()]
    for name, one in columns.items():
        lines += ["", f"[columns.{_toml(name)}]"]
        lines += [f"{key} = {_toml(value)}" for key, value in one.items()]
        lines += [f"# {line}" for line in (comments or {}).get(name, ())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _toml(value: Any) -> str:
    """A value of a schema: JSON's text, numbers, truth values and lists are TOML's too."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    # the one character that JSON leaves as it is and TOML does not
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
