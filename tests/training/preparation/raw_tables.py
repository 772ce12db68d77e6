"""A raw table as people have it: mixed columns, missing entries, an imbalanced target."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftdp.training.preparation.columns import Boolean, Categorical, Numeric
from shiftdp.training.preparation.schema import Schema

CITIES = ("Amsterdam", "Berlin", "Cairo", "Delhi", "Essen", "Faro")
JOBS = ("manual", "office", "public", "none")

DECLARED = Schema(
    {
        "age": Numeric(low=18, high=95),
        "income": Numeric(low=0, high=200_000),
        "hours": Numeric(low=0, high=99),
        "balance": Numeric(low=-10_000, high=10_000),
        "visits": Numeric(low=0, high=20),
        "city": Categorical(categories=CITIES),
        "job": Categorical(categories=JOBS),
        "married": Boolean(),
    },
    target="bought",
    classes=("no", "yes"),
)
"""Ranges and categories as somebody might guess them who has seen no record."""


def raw_columns(n: int, seed: int) -> tuple[dict[str, Any], Any]:
    """Columns by name, with None and NaN where entries are missing, and labels; 11% are "yes"."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(9, 5, n), 18, 95).round()
    income = np.exp(rng.normal(10.3, 0.8, n))
    hours = np.clip(rng.normal(39, 10, n), 0, 99)
    balance = rng.normal(500, 3000, n)
    visits = rng.poisson(2.5, n).astype(float)
    city = rng.choice(CITIES, n, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03]).astype(object)
    job = rng.choice(JOBS, n, p=[0.35, 0.4, 0.15, 0.1]).astype(object)
    married = rng.random(n) < 0.55
    silent = rng.random(n) < 0.1
    score = (
        -3.3
        + 0.042 * (age - 45)
        + 0.9 * (np.log(income) - 10.3)
        + 0.03 * (hours - 39)
        - 0.0002 * (balance - 500)
        + 0.15 * (visits - 2.5)
        + 0.6 * married
        + 0.4 * silent
    )
    for name, effect in zip(CITIES, (0.5, -0.4, 0.0, 0.3, 0.0, 0.8), strict=True):
        score = score + effect * (city == name)
    score = score + 0.5 * (job == "office") - 0.9 * (job == "none")
    bought = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    income = np.where(silent, np.nan, income)
    hours = np.where(rng.random(n) < 0.05, np.nan, hours)
    job[rng.random(n) < 0.06] = None
    columns = {
        "age": age, "income": income, "hours": hours, "balance": balance, "visits": visits,
        "city": city, "job": job, "married": married,
    }  # fmt: skip
    return columns, bought


def raw_frame(n: int, seed: int) -> tuple[Any, Any]:
    """The same as a data frame of pandas."""
    import pandas as pd

    columns, bought = raw_columns(n, seed)
    return pd.DataFrame(columns), bought


PARTS = tuple(f"p{i:02d}" for i in range(40))
GRADES = ("A", "B", "C", "D", "E")
_OF_PARTS = np.random.default_rng(77).normal(size=len(PARTS)) * 0.6

SKEWED = Schema(
    {
        "price": Numeric(low=0, high=5_000),
        "weight": Numeric(low=0, high=300),
        "year": Numeric(low=1950, high=2030),
        "delay": Numeric(low=0, high=1_000),
        "mark": Numeric(low=-10, high=10),
        "part": Categorical(categories=PARTS),
        "grade": Categorical(categories=GRADES),
        "new": Boolean(),
        "tested": Boolean(),
    }
)
"""Ranges that hold nearly all entries, most of which are in a small part of them."""


def skewed_frame(n: int, seed: int, level: float = -2.9) -> tuple[Any, Any]:
    """A table of long tails and of a column with 40 categories, most of them rare.

    Args:
        level: what scores start from; at -2.9, 11% are "yes", at -4.2 4%.
    """
    import pandas as pd

    rng = np.random.default_rng(10**6 + seed)
    price, weight = np.exp(rng.normal(5.5, 1.1, n)), rng.gamma(4, 20, n)
    year, delay = np.round(2024 - rng.exponential(9, n)), rng.pareto(1.7, n) * 10
    mark = rng.standard_t(4, n)
    often = 1.0 / np.arange(1, len(PARTS) + 1)
    part = rng.choice(len(PARTS), n, p=often / often.sum())
    grade = rng.choice(len(GRADES), n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    new, tested, silent = rng.random(n) < 0.3, rng.random(n) < 0.8, rng.random(n) < 0.25
    score = (
        level
        + 0.6 * (np.log(price) - 5.5)
        + 0.012 * (weight - 80)
        - 0.06 * (year - 2015)
        + 0.3 * np.log1p(delay)
        - 0.5
        - 0.35 * mark
        + _OF_PARTS[part]
        + np.array([0.0, 0.2, 0.5, 0.9, 1.3])[grade]
        + 0.7 * new
        - 0.9 * tested
        + 0.8 * silent
    )
    bought = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    grades = np.array(GRADES, dtype=object)[grade]
    price = np.where(rng.random(n) < 0.08, np.nan, price)
    grades[rng.random(n) < 0.1] = None
    columns = {
        "price": price, "weight": weight, "year": year, "delay": delay,
        "mark": np.where(silent, np.nan, mark), "part": np.array(PARTS, dtype=object)[part],
        "grade": grades, "new": new, "tested": tested,
    }  # fmt: skip
    return pd.DataFrame(columns), bought
