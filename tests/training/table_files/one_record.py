"""Files of which one record is replaced by something nasty, and all others compared bit by bit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.training.table_files.labels import label
from shiftdp.training.table_files.reading import read
from shiftdp.training.table_files.rules import Rules, Table

many = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
HEAD = [("0.1", "3", "0"), ("-2.5e-3", "9007199254740993", "1")]
TAIL = [("1", "0.30000000000000004", "01"), (" 7 ", "-0", "0.0"), ("5e-324", "2", "1")]
CELLS = [
    "", " ", "x", "nan", "NaN", "inf", "-Infinity", "NA", "null", "None", "?", "1,5", '"1,5"',
    "1_000", "1.0", "01", "+1", "1e400", "-0.0", "0x10", "True", "2020-01-01", "1e2", "1.5",
    "9007199254740993", '"', '""', '"a', 'a"', "'", "#", ";", "\t1", "\ufeff1", "\uff11",
    "1\u00a0", "1 2", "\x00", "\u00e9", "yes",
]  # fmt: skip
RULES = {
    "classes": Rules("y", classes=[0, 1]),
    "words": Rules("y", classes=["0", "1", "yes"]),
    "fractions": Rules("y", classes=[0.0, 1.0, 1.5]),
    "learnt": Rules("y"),
    "numbers": Rules("y", numbers=True),
}
every_rule = pytest.mark.parametrize("rules", RULES)
cells = st.sampled_from(CELLS) | st.text(max_size=6)
records = st.tuples(cells, cells, cells)


def same(first: Any, second: Any) -> bool:
    """Features equal in every bit, and labels that are the same whatever they are called."""
    X, Z = (
        np.asarray(one.todense() if hasattr(one, "todense") else one) for one, _ in (first, second)
    )
    if X.dtype != Z.dtype or X.tobytes() != Z.tobytes():
        return False
    return [label(one) for one in first[1]] == [label(one) for one in second[1]]


def unchanged(plain: Table, other: Table) -> bool:
    """Whether all records but the one after the head are as they were."""
    h, t = len(HEAD), len(TAIL)
    return same((plain.X[:h], plain.y[:h]), (other.X[:h], other.y[:h])) and same(
        (plain.X[-t:], plain.y[-t:]), (other.X[-t:], other.y[-t:])
    )


def refused_or_unchanged(path: Path, rules: Rules, plain: Table) -> None:
    try:
        other = read(str(path), rules)
    except InvalidInput:
        return
    assert unchanged(plain, other)


TYPED: list[Any] = [
    None, math.nan, math.inf, True, False, "x", "1", "", 1.5, 2, 2**40, -0.0, np.float32(0.1), b"1",
    1e308, 5e-324, "nan", 1 + 2j, np.datetime64("2020-01-01"),
]  # fmt: skip


def typed_rows(record: tuple[Any, Any, Any]) -> tuple[list[list[Any]], list[Any]]:
    rows = [*HEAD, record, *TAIL]
    numbers = [[float(v) if isinstance(v, str) and row is not record else v for v in row[:2]]
               for row in rows]  # fmt: skip
    names = [label(row[2]) if row is not record else row[2] for row in rows]
    return numbers, names
