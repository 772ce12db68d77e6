"""Columns, widths, bounds and noise, by names, types and the budget alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.privacy.noisy_sums import sums_tradeoff
from shiftdp.training.preparation.columns import Boolean, Categorical, Column, Numeric
from shiftdp.training.preparation.layout import Layout, Share, layout_of
from shiftdp.training.preparation.reading import raw_table
from shiftdp.training.preparation.schema import Schema, to_toml

TABLE = raw_table(pd.DataFrame({"a": [1.0], "b": ["x"], "c": [True]}))
COLUMNS = st.sampled_from(
    [Numeric(), Numeric(low=0, high=1), Categorical(most=3), Boolean(), Numeric(scale="range")]
)


def layout(columns: list[Column]) -> Layout:
    names = tuple(f"x{i}" for i in range(len(columns)))
    return Layout(names, tuple(range(len(columns))), tuple(columns), ())


def test_a_schema_chooses_columns_and_their_order() -> None:
    found = layout_of({"c": Boolean(), "a": Numeric(low=0, high=1)}, TABLE)
    assert (found.names, found.places) == (("c", "a"), (2, 0))
    assert found.width == 4
    assert found.bound == pytest.approx(np.sqrt(2))
    assert found.parts == []


def test_without_a_schema_types_decide() -> None:
    found = layout_of(None, TABLE)
    assert [column.kind for column in found.columns] == ["number", "category", "true_false"]
    assert found.learns_names


def test_arrays_take_a_list_of_columns() -> None:
    table = raw_table(np.zeros((2, 2)))
    assert layout_of([Numeric(), Numeric()], table).names == ("x0", "x1")
    with pytest.raises(InvalidInput, match="another table"):
        layout_of([Numeric()], table)


def test_a_schema_may_be_a_file(tmp_path: Path) -> None:
    schema = Schema({"a": Numeric()}, missing=("NA",))
    (tmp_path / "s.toml").write_text(to_toml(schema), encoding="utf-8")
    assert layout_of(tmp_path / "s.toml", TABLE) == layout_of(schema, TABLE)
    assert layout_of(schema, TABLE).missing == ("NA",)


def test_what_is_no_schema_or_names_no_column_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is no schema"):
        layout_of(3, TABLE)
    with pytest.raises(InvalidInput, match="'z' is no column of the table"):
        layout_of({"z": Numeric()}, TABLE)
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InvalidInput, match="a name twice"):
        layout_of(None, raw_table(twice))


@given(
    st.lists(COLUMNS, min_size=1, max_size=6),
    st.floats(0.01, 8.0),
    st.floats(1e-9, 1e-2),
    st.integers(1, 10**7),
    st.sampled_from(["replace_one", "zero_out"]),
)
def test_no_layout_spends_more_than_its_budget(
    columns: list[Column], epsilon: float, delta: float, n: int, adjacency: str
) -> None:
    made = layout(columns)
    share = Share.of_budget(epsilon, delta, names=made.learns_names)
    sums = made.sums(share, n, adjacency)  # type: ignore[arg-type]
    assert [(one.column, one.kind) for one in sums] == made.parts
    f = sums_tradeoff(sums, n=n, adjacency=adjacency)  # type: ignore[arg-type]
    assert f.epsilon(delta) <= epsilon
    if sums:
        assert f.epsilon(delta) > 0.98 * epsilon
