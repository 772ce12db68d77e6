"""What is public about a column is checked, and says what it costs and how long its part is."""

from __future__ import annotations

from typing import Any

import pytest

from shiftdp import InvalidInput
from shiftdp.training.preparation.columns import Boolean, Categorical, Numeric


@pytest.mark.parametrize(
    ("column", "sums"),
    [
        (Numeric(low=0, high=1), ()),
        (Numeric(low=0, high=1, scale="moments"), ("moments",)),
        (Numeric(), ("histogram", "moments")),
        (Numeric(within=(0, 9), scale="range"), ("histogram",)),
        (Categorical(categories=["a", "b"]), ()),  # type: ignore[arg-type]
        (Categorical(), ("categories",)),
        (Boolean(), ()),
    ],
)
def test_what_is_declared_is_free_and_the_rest_is_learnt(column: Any, sums: tuple[str]) -> None:
    assert column.sums == sums


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Numeric(low=0), "low, high"),
        (lambda: Numeric(low=1, high=1), "low, high"),
        (lambda: Numeric(low=0, high=5e-324), "low, high"),
        (lambda: Numeric(low=0, high=float("nan")), "high"),
        (lambda: Numeric(low=0, high=float("inf")), "high"),
        (lambda: Numeric(low=0, high=1, within=(0, 1)), "within"),
        (lambda: Numeric(within=(1, 0)), "within"),
        (lambda: Numeric(within=3), "within"),  # type: ignore[arg-type]
        (lambda: Numeric(scale="log"), "scale"),  # type: ignore[arg-type]
        (lambda: Numeric(missing="zero"), "missing"),  # type: ignore[arg-type]
        (lambda: Categorical(categories=()), "categories"),
        (lambda: Categorical(categories="ab"), "categories"),  # type: ignore[arg-type]
        (lambda: Categorical(categories=("a", " a")), "categories"),
        (lambda: Categorical(most=0), "most"),
        (lambda: Categorical(most=10**6), "most"),
        (lambda: Categorical(others=0), "others"),
        (lambda: Categorical(others=10**6), "others"),
        (lambda: Boolean(true=("1",), false=("1",)), "true"),
        (lambda: Boolean(true=()), "true"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(make: Any, named: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        make()
    assert refusal.value.name == named


def test_categories_are_text_whatever_they_were() -> None:
    assert Categorical(categories=(1, 2.0, "x ")).categories == ("1", "2", "x")  # type: ignore[arg-type]


def test_only_what_differs_from_the_defaults_is_written() -> None:
    assert Numeric(low=0, high=2).to_dict() == {"kind": "number", "low": 0.0, "high": 2.0}
    assert Boolean(missing="refuse").to_dict() == {"kind": "true_false", "missing": "refuse"}
