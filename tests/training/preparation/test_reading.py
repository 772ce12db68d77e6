"""Tables of every kind are read alike, entry by entry; no record changes how another is read."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.sklearn import PrivateTableEncoder
from shiftdp.training.preparation.columns import Boolean, Categorical, Column, Numeric
from shiftdp.training.preparation.reading import column_by_type, raw_table, read_column

NUMBERS = [1.0, None, 2.5]
WORDS = ["a", None, "b "]
TRUTHS = [True, None, False]


def frames() -> list[Any]:
    columns = {"x": NUMBERS, "w": WORDS, "t": TRUTHS}
    structured = np.empty(3, dtype=[("x", float), ("w", object), ("t", object)])
    for name, entries in columns.items():
        structured[name] = entries
    return [
        pd.DataFrame(columns),
        pd.DataFrame(columns).convert_dtypes(),
        pd.DataFrame(columns, dtype=object),
        pl.DataFrame(columns),
        structured,
        np.array(list(zip(*columns.values(), strict=True)), dtype=object),
        [list(row) for row in zip(*columns.values(), strict=True)],
    ]


@pytest.mark.parametrize("place", range(7))
def test_all_tables_are_read_alike(place: int) -> None:
    table = raw_table(frames()[place])
    kinds: list[Column] = [Numeric(), Categorical(), Boolean()]
    found = [
        read_column(raw, kind, "c", ()) for raw, kind in zip(table.columns, kinds, strict=True)
    ]
    np.testing.assert_array_equal(found[0], [1.0, np.nan, 2.5])
    assert found[1].tolist() == ["a", None, "b"]
    np.testing.assert_array_equal(found[2], [1.0, np.nan, -1.0])
    assert table.n == 3
    assert table.names == (("x", "w", "t") if place < 5 else None)


def test_kinds_follow_from_types() -> None:
    frame = pd.DataFrame({"i": [1], "f": [1.0], "b": [True], "w": ["a"]})
    frame["c"] = frame["w"].astype("category")
    kinds = [column_by_type(raw, "c").kind for raw in raw_table(frame).columns]
    assert kinds == ["number", "number", "true_false", "category", "category"]
    same = [column_by_type(raw, "c").kind for raw in raw_table(pl.DataFrame(frame)).columns]
    assert same == kinds
    with pytest.raises(InvalidInput, match="neither numbers nor text"):
        column_by_type(
            raw_table(pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])})).columns[0], "d"
        )


ENTRY = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.sampled_from(["", "NA", "1", "x", "1e3"]),
)


@given(st.lists(ENTRY, min_size=1, max_size=6), ENTRY)
def test_one_record_changes_nothing_about_how_others_are_read(
    entries: list[Any], other: Any
) -> None:
    """Read with another record beside them, the entries are the same, or all is refused."""
    for column in (Numeric(), Categorical(), Boolean()):
        try:
            alone = _read(entries, column)
            together = _read([*entries, other], column)[:-1]
        except InvalidInput:
            continue
        np.testing.assert_array_equal(
            np.array(alone.tolist(), dtype=object).astype(str),
            np.array(together.tolist(), dtype=object).astype(str),
        )


def _read(entries: list[Any], column: Column) -> Any:
    array = np.empty((len(entries), 1), dtype=object)
    array[:, 0] = entries
    return read_column(raw_table(array).columns[0], column, "c", ("NA",))


@pytest.mark.parametrize(
    ("column", "entry"),
    [
        (Numeric(), "secret"),
        (Numeric(), "nan"),
        (Numeric(), "1_000"),
        (Numeric(), {"secret": 1}),
        (Categorical(), ["secret"]),
        (Boolean(), "maybe"),
        (Boolean(), 2),
    ],
)
def test_a_refusal_names_the_column_and_no_entry(column: Column, entry: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^c=") as refusal:
        _read([entry], column)
    assert "secret" not in str(refusal.value)
    assert "maybe" not in str(refusal.value)


def test_declared_words_are_missing() -> None:
    assert np.isnan(_read(["NA"], Numeric())).all()
    assert _read(["NA", "na"], Categorical()).tolist() == [None, "na"]


def test_missing_entries_are_refused_where_that_is_declared() -> None:
    with pytest.raises(InvalidInput, match="has missing entries"):
        _read([1.0, None], Numeric(missing="refuse"))


def test_numbers_beyond_all_floats_are_infinite() -> None:
    assert _read([10**400, -(10**400)], Numeric()).tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((2, 2, 2)), 3, np.zeros((2, 2), complex)])
def test_what_is_no_table_is_refused(X: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^X="):
        raw_table(X)


@pytest.mark.parametrize(
    "made",
    [
        lambda entries: pl.DataFrame({"c": pl.Series(entries, dtype=pl.Int64)}),
        lambda entries: pd.DataFrame({"c": pd.Series(entries, dtype="Int64")}),
        lambda entries: pd.DataFrame({"c": pd.Series(entries, dtype="int64[pyarrow]")}),
    ],
    ids=["polars", "pandas", "arrow"],
)
def test_a_missing_entry_does_not_round_the_others(made: Any) -> None:
    code = 2**53 + 1  # no float
    for other in (7, None):
        column = raw_table(made([code, other])).columns[0]
        assert column_by_type(column, "c") == Numeric()
        assert read_column(column, Categorical(), "c", ()).tolist()[0] == str(code)


def test_decimals_of_polars_are_numbers() -> None:
    table = raw_table(pl.DataFrame({"c": [Decimal("1.5"), None]}))
    assert column_by_type(table.columns[0], "c") == Numeric()
    assert read_column(table.columns[0], Numeric(), "c", ())[0] == 1.5


@pytest.mark.parametrize("entry", [10**5000, Fraction(10**5000, 3)], ids=["int", "fraction"])
def test_a_number_that_python_does_not_write_is_a_category_like_others(entry: Any) -> None:
    first, second, third = _read([entry, entry + 1, "a"], Categorical()).tolist()
    assert first != second
    assert third == "a"
    with pytest.raises(InvalidInput, match=r"^c="):
        _read([entry], Boolean())


def test_a_dict_of_columns_is_refused_with_what_is_accepted() -> None:
    with pytest.raises(InvalidInput, match=r"is a mapping.*data frame of pandas or polars"):
        PrivateTableEncoder().fit({"age": [1.0, 2.0], "city": ["a", "b"]})
