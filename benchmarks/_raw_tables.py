"""Raw tables for `tables.py`: laws that records are drawn from, with what is declared of each.

- **mixed** and **skewed** are those of `tests/training/preparation/raw_tables.py`. On the first the
  bound on rows was chosen, on both the parts of the budget that preparations get.
- **stays** is a law of hospital stays on which nothing about declared ranges was chosen: costs
  and values of the laboratory over several powers of ten, counts that are mostly 0, a column that
  is nearly constant, 12 departments, a fifth of one column missing.
- **wide**, **normal** and **loans** have numbers only, of which nothing is declared: long tails
  over many powers of ten; normal columns of all sizes, some far from 0; and loans, with a column
  that is often 0. They are for `learnt_ranges.py`.
- **German credit** is `german_raw.csv`: 700 records of 1,000 for training, ranges that somebody
  might guess, and as declared categories all that occur in the table.

The `level` of a law is what scores start from, which sets how many records are positive.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from _tasks import ROOT, TABLES

from shiftdp.sklearn import Boolean, Categorical, Numeric, Schema

sys.path.insert(0, str(ROOT))
from tests.training.preparation import raw_tables as known  # needs the path


class Law(NamedTuple):
    """A law of raw tables.

    Args:
        name: with the part of positives.
        declared: ranges and categories that somebody might declare who has seen no record.
        draw: a table of so many records, and labels "no" and "yes", by a seed.
    """

    name: str
    declared: Schema
    draw: Callable[[int, int], tuple[Any, Any]]


DEPARTMENTS = tuple(f"d{i:02d}" for i in range(12))
_OF_DEPARTMENTS = np.random.default_rng(5).normal(size=len(DEPARTMENTS)) * 0.5

STAYS = Schema(
    {
        "age": Numeric(low=0, high=110),
        "cost": Numeric(low=0, high=200_000),
        "days": Numeric(low=0, high=100),
        "before": Numeric(low=0, high=30),
        "protein": Numeric(low=0, high=500),
        "sodium": Numeric(low=100, high=180),
        "department": Categorical(categories=DEPARTMENTS),
        "entry": Categorical(categories=("planned", "emergency", "moved")),
        "woman": Boolean(),
    }
)


def stays(n: int, seed: int, level: float) -> tuple[Any, Any]:
    """Hospital stays, and whether somebody came back."""
    import pandas as pd

    rng = np.random.default_rng(2 * 10**6 + seed)
    age = np.clip(rng.normal(62, 19, n), 0, 105).round()
    cost = np.exp(rng.normal(8.4, 1.2, n))
    days = 1.0 + rng.negative_binomial(1.2, 0.18, n)
    before = rng.negative_binomial(0.4, 0.35, n).astype(float)
    protein = np.exp(rng.normal(2.0, 1.4, n))
    sodium = rng.normal(139, 4, n).round()
    often = np.exp(-0.35 * np.arange(len(DEPARTMENTS)))
    department = rng.choice(len(DEPARTMENTS), n, p=often / often.sum())
    entry = rng.choice(3, n, p=[0.5, 0.42, 0.08])
    woman, untested = rng.random(n) < 0.52, rng.random(n) < 0.2
    score = (
        level
        + 0.02 * (age - 62)
        + 0.35 * (np.log(cost) - 8.4)
        + 0.03 * (days - 6)
        + 0.45 * np.minimum(before, 6)
        + 0.3 * (np.log(protein) - 2.0)
        - 0.07 * (sodium - 139)
        + _OF_DEPARTMENTS[department]
        + np.array([0.0, 0.6, 0.3])[entry]
        - 0.3 * woman
        - 0.4 * untested
    )
    back = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    columns = {
        "age": age, "cost": cost, "days": days, "before": before,
        "protein": np.where(untested, np.nan, protein),
        "sodium": np.where(rng.random(n) < 0.1, np.nan, sodium),
        "department": np.array(DEPARTMENTS, dtype=object)[department],
        "entry": np.array(["planned", "emergency", "moved"], dtype=object)[entry],
        "woman": woman,
    }  # fmt: skip
    return pd.DataFrame(columns), back


def wide(n: int, seed: int) -> tuple[Any, Any]:
    """Four columns with lognormal entries, deviations of 2.5 in their logarithms."""
    import pandas as pd

    rng = np.random.default_rng(3 * 10**6 + seed)
    z = rng.normal(size=(n, 4))
    score = z @ np.array([1.0, -0.7, 0.5, 0.4])
    table = pd.DataFrame({f"v{i}": np.exp(2.5 * z[:, i] + i) for i in range(4)})
    return table, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")


def normal(n: int, seed: int) -> tuple[Any, Any]:
    """Eight columns of normal entries, with means and deviations of all sizes."""
    import pandas as pd

    rng = np.random.default_rng(4 * 10**6 + seed)
    z = rng.normal(size=(n, 8))
    score = z @ np.array([1.0, -0.7, 0.5, 0.4, 0.6, 0.3, 0.0, 0.0])
    means = (0.0, 100.0, 0.0, 5.0, 1000.0, -3.0, 50.0, 0.0)
    sizes = (1.0, 10.0, 50.0, 5.0, 300.0, 1.0, 30.0, 0.01)
    entries = np.array(means) + np.array(sizes) * z
    table = pd.DataFrame({f"v{i}": entries[:, i] for i in range(8)})
    return table, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")


def loans(n: int, seed: int) -> tuple[Any, Any]:
    """Amounts that are 0 in four of ten records, a ratio, a year and a score; 30% are "yes"."""
    import pandas as pd

    rng = np.random.default_rng(5 * 10**6 + seed)
    bad = rng.random(n) < 0.3
    table = pd.DataFrame(
        {
            "amount": np.where(rng.random(n) < 0.4, 0.0, np.exp(rng.normal(5 + 0.8 * bad, 1.3))),
            "ratio": rng.beta(2 + 2 * bad, 5),
            "year": 2000.0 + rng.integers(0, 25, n) - 3 * bad,
            "score": rng.normal(650 - 40 * bad, 60),
        }
    )
    return table, np.where(bad, "yes", "no")


_RANGES = {
    "duration": (0, 72), "amount": (0, 20_000), "rate": (1, 4), "residence": (1, 4),
    "age": (18, 80), "credits": (1, 4), "liable": (1, 2),
}  # fmt: skip


def german() -> Law:
    """Splits of the German credit table; the number of records is that of a training part."""
    import pandas as pd

    with open(TABLES / "german_raw.csv", encoding="utf-8") as file:
        table = pd.DataFrame(list(csv.DictReader(file)))
    labels = np.where(table.pop("bad") == "1", "yes", "no")
    columns: dict[str, Any] = {}
    for name in table.columns:
        if name in _RANGES:
            table[name] = table[name].astype(float)
            low, high = _RANGES[name]
            columns[name] = Numeric(low=low, high=high, missing="refuse")
        else:
            words = tuple(sorted(table[name].unique()))
            columns[name] = Categorical(categories=words, missing="refuse")

    def draw(n: int, seed: int) -> tuple[Any, Any]:
        order = np.random.default_rng(seed % TEST).permutation(len(table))
        part = order[:700] if seed < TEST else order[700:]
        return table.iloc[part].reset_index(drop=True), labels[part]

    return Law("German credit, 30%", Schema(columns), draw)


TEST = 10_000
"""Seeds of held-out records begin here."""


def scaled(schema: Schema, scale: Any) -> Schema:
    """The same ranges and categories, with one scale for all numbers."""
    columns = {
        name: replace(column, scale=scale) if isinstance(column, Numeric) else column
        for name, column in schema.columns.items()
    }
    return replace(schema, columns=columns)


LAWS: dict[str, Callable[[], Law]] = {
    "mixed": lambda: Law("mixed, 11%", known.DECLARED, known.raw_frame),
    "skewed": lambda: Law("skewed, 11%", known.SKEWED, known.skewed_frame),
    "skewed4": lambda: Law(
        "skewed, 4%", known.SKEWED, lambda n, seed: known.skewed_frame(n, seed, -4.2)
    ),
    "stays": lambda: Law("stays, 12%", STAYS, lambda n, seed: stays(n, seed, -2.55)),
    "stays4": lambda: Law("stays, 4%", STAYS, lambda n, seed: stays(n, seed, -3.8)),
    "german": german,
}
