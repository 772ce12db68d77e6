"""Encoded parts of rows: what they are, and that they are never longer than is promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.training.preparation.codes import (
    CategoryCode,
    Code,
    NumberCode,
    TruthCode,
    hashed,
    scaled_to,
)
from shiftdp.training.preparation.columns import Boolean, Categorical, Column, Missing, Numeric


def test_numbers_are_scaled_clipped_and_standardised() -> None:
    values = np.array([0.0, 5.0, 10.0, 99.0, np.nan])
    plain = NumberCode(0.0, 10.0).block(values, Numeric(low=0, high=10))
    assert plain[:, 0].tolist() == [-1.0, 0.0, 1.0, 1.0, 0.0]
    assert plain[:, 1].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    learnt = NumberCode(0.0, 10.0, 0.5, 0.25).block(values, Numeric(fill=5.0, missing="fill"))
    assert learnt[:, 0].tolist() == [-3.0, -2.0, 2.0, 2.0, -2.0]
    assert learnt.shape == (5, 1)


def test_categories_have_a_place_each_and_the_others_one() -> None:
    words = np.array(["b", "z", None], dtype=object)
    code, column = CategoryCode(("a", "b")), Categorical(most=3, others=1)
    assert code.block(words, column).tolist() == [
        [0, 1, 0, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]
    assert code.names("c", column) == ["c=a", "c=b", "c=(unused 1)", "c=(other)", "c=(missing)"]
    filled = code.block(words, Categorical(most=3, others=1, missing="fill"))
    assert filled[2].tolist() == [0, 0, 0, 1]


def test_names_that_were_not_learnt_are_spread_by_a_hash_that_never_changes() -> None:
    code, column = CategoryCode(("a",)), Categorical(most=2, others=4)
    words = np.array(["a", "red", "green", "blue", None], dtype=object)
    assert code.block(words, column).argmax(axis=1).tolist() == [0, 5, 2, 5, 6]
    assert code.names("c", column)[2:] == [*(f"c=(other {i})" for i in (1, 2, 3, 4)), "c=(missing)"]
    assert [hashed(word, 16) for word in words[1:4]] == [3, 8, 11]


@given(
    st.lists(st.one_of(st.none(), st.text(min_size=1)), min_size=1, max_size=8),
    st.sets(st.text(min_size=1), max_size=3),
    st.integers(1, 40),
    st.sampled_from(["indicator", "fill"]),
)
def test_a_category_has_one_place_that_no_other_record_changes(
    words: list[str | None], known: set[str], others: int, missing: Missing
) -> None:
    code, column = CategoryCode(tuple(known)), Categorical(most=3, others=others, missing=missing)
    together = code.block(np.array(words, dtype=object), column)
    assert together.shape[1] == column.width == len(code.names("c", column))
    assert (together.sum(axis=1) == 1.0).all()
    for word, row in zip(words, together, strict=True):
        assert (code.block(np.array([word], dtype=object), column)[0] == row).all()
        if word is not None:
            own = word in known
            assert own == bool(row[: len(known)].any())
            assert own or row[column.places : column.places + others].sum() == 1.0


def test_truth_is_a_sign() -> None:
    found = TruthCode().block(np.array([1.0, -1.0, np.nan]), Boolean())
    assert found.tolist() == [[1, 0], [-1, 0], [0, 1]]


MISSING = st.sampled_from(["indicator", "fill"])
FINITE = st.floats(-1e12, 1e12)


@given(
    st.lists(st.floats(), min_size=1, max_size=5),
    FINITE,
    FINITE,
    st.floats(-1, 1),
    st.floats(0.05, 1),
    st.one_of(st.none(), FINITE),
    MISSING,
    st.sampled_from(["range", "moments"]),
)
def test_no_number_makes_a_longer_part_than_is_promised(
    values: list[float], a: float, b: float, mean: float, deviation: float,
    fill: float | None, missing: Missing, scale: Any,
) -> None:  # fmt: skip
    if a == b:
        return
    column = Numeric(scale=scale, fill=fill, missing=missing)
    code: Code = NumberCode(min(a, b), max(a, b), mean, deviation)
    if scale == "range":
        code = NumberCode(min(a, b), max(a, b))
    _require_bounded(code, column, np.array(values))


@given(st.lists(st.one_of(st.none(), st.text(max_size=2)), min_size=1, max_size=5), MISSING)
def test_no_word_makes_a_longer_part_than_is_promised(words: list[Any], missing: Missing) -> None:
    entries = np.empty(len(words), dtype=object)
    entries[:] = words
    _require_bounded(CategoryCode(("a", "b")), Categorical(most=2, missing=missing), entries)


def _require_bounded(code: Code, column: Column, values: Any) -> None:
    block = code.block(values, column)
    assert block.shape == (len(values), column.width)
    assert np.isfinite(block).all()
    assert (block**2).sum(axis=1).max() <= column.squared_bound * (1 + 1e-12)
    assert len(code.names("c", column)) == column.width


@pytest.mark.parametrize("value", [1e308, -1e308, np.inf, -np.inf])
def test_huge_numbers_are_clipped_without_a_warning(value: float) -> None:
    assert abs(scaled_to(np.array([value]), -1e12, 1e12)[0]) == 1.0
