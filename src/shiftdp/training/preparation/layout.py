"""The public side of a prepared table: columns, widths, bounds, and the noise of what is learnt.

All of it follows from names, types, the schema and the budget, before any record is read.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp._rounding import AMPLE
from shiftdp.fdp import GaussianTradeoff
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.privacy.noisy_sums import NoisySum, SumKind, noise_for, threshold_for
from shiftdp.training.preparation.columns import Column, Numeric
from shiftdp.training.preparation.reading import RawTable, column_by_type
from shiftdp.training.preparation.schema import Schema, read_schema

FAILURES = 0.1
"""The part of delta that names of categories may fail with, if any are learnt."""


@dataclass(frozen=True)
class Share:
    """What a preparation may cost: G(mu), and a probability of failure."""

    mu: float
    failure: float

    @classmethod
    def of_budget(cls, epsilon: float, delta: float, *, names: bool, part: float = 1.0) -> Share:
        """A part of mu^2 of a budget; and a tenth of its delta, if names of categories are learnt.

        >>> round(Share.of_budget(1.0, 1e-5, names=False, part=0.25).mu, 4)
        0.134
        """
        failure = FAILURES * delta if names else 0.0
        left = (delta - failure) / (1.0 - failure)
        whole = GaussianTradeoff.from_budget(epsilon, left).mu
        return cls(math.sqrt(part) * whole * (1.0 - AMPLE), failure)


@dataclass(frozen=True)
class Layout:
    """The columns that are encoded, in order.

    Args:
        names: of the columns of the table that are used.
        places: where they stand in it.
        columns: what is public about each.
        missing: words for missing entries.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    columns: tuple[Column, ...]
    missing: tuple[str, ...]

    @property
    def parts(self) -> list[tuple[str, SumKind]]:
        """What has to be learnt: the column and the kind of the sum."""
        pairs = zip(self.names, self.columns, strict=True)
        return [(name, kind) for name, column in pairs for kind in column.sums]

    @property
    def learns_names(self) -> bool:
        return any(kind == "categories" for _, kind in self.parts)

    @property
    def width(self) -> int:
        """How many columns there are after encoding."""
        return sum(column.width for column in self.columns)

    @property
    def bound(self) -> float:
        """No encoded row is longer, whatever the records are; rounded up."""
        total = math.fsum(column.squared_bound for column in self.columns)
        return math.sqrt(total) * (1.0 + AMPLE)

    @property
    def standardised(self) -> Layout:
        """The same, but that declared ranges whose scale is left open are standardised."""
        columns = tuple(
            replace(one, scale="moments") if isinstance(one, Numeric) and one.open_scale else one
            for one in self.columns
        )
        return replace(self, columns=columns)

    def sums(self, share: Share, n: int, adjacency: Adjacency) -> tuple[NoisySum, ...]:
        """The sums to be learnt, each with an equal part of mu^2 and of the failures."""
        parts = self.parts
        if not parts:
            return ()
        mu = share.mu / math.sqrt(len(parts))
        names = sum(kind == "categories" for _, kind in parts)
        found = []
        for column, kind in parts:
            noise = noise_for(kind, n, adjacency, mu)
            named = kind == "categories"
            threshold = threshold_for(noise, share.failure / names) if named else None
            found.append(NoisySum(kind=kind, column=column, noise=noise, threshold=threshold))
        return tuple(found)


def layout_of(schema: Any, table: RawTable) -> Layout:
    """The columns of a table by a schema, or by their types where there is none.

    Args:
        schema: a `Schema`, a mapping of names to columns, a list of columns for a table without
            names, the path of a file, or None.
        table: of which names and types are looked at.
    """
    names = table.names or tuple(f"x{i}" for i in range(len(table.columns)))
    if len(set(names)) < len(names):
        raise InvalidInput("X", f"<{len(names)} columns>", "has a name twice", "rename columns")
    if schema is None:
        by_type = tuple(map(column_by_type, table.columns, names))
        return Layout(names, tuple(range(len(names))), by_type, ())
    known = _schema(schema, names)
    absent = [name for name in known.columns if name not in names]
    if absent:
        raise InvalidInput(
            "schema",
            absent[0],
            "is no column of the table",
            "name columns as the table does, or mend the schema",
        )
    places = tuple(names.index(name) for name in known.columns)
    return Layout(tuple(known.columns), places, tuple(known.columns.values()), known.missing)


def _schema(schema: Any, names: Sequence[str]) -> Schema:
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        return Schema(schema)
    if isinstance(schema, (str, os.PathLike)):
        return read_schema(schema)
    if isinstance(schema, Sequence) and all(isinstance(one, Column) for one in schema):
        if len(schema) == len(names):
            return Schema(dict(zip(names, schema, strict=True)))
        raise InvalidInput(
            "schema", f"<{len(schema)} columns>", f"is for another table than one of {len(names)}",
            "give one column each",
        )  # fmt: skip
    raise InvalidInput(
        "schema", f"<{type(schema).__name__}>", "is no schema",
        "give a Schema, columns by name, or the path of a TOML or JSON file",
    )  # fmt: skip
