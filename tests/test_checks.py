"""Checks of arguments."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp._checks import array_in, choice, count, finite, length, number_in, per_step


@given(st.floats(allow_nan=False), st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_number_in_is_membership(value: float, a: float, b: float) -> None:
    low, high = sorted((a, b))
    if low <= value <= high:
        assert number_in("x", value, low, high) == value
    else:
        with pytest.raises(InvalidInput):
            number_in("x", value, low, high)


@pytest.mark.parametrize(
    ("value", "open_low", "open_high", "ok"),
    [
        (0.0, False, False, True),
        (0.0, True, False, False),
        (1.0, False, False, True),
        (1.0, False, True, False),
        (5e-324, True, True, True),
    ],
)
def test_open_ends(value: float, open_low: bool, open_high: bool, ok: bool) -> None:
    if ok:
        assert number_in("x", value, 0, 1, open_low=open_low, open_high=open_high) == value
        assert array_in("x", [value], 0, 1, open_low=open_low, open_high=open_high)[0] == value
        return
    with pytest.raises(InvalidInput, match="lies outside"):
        number_in("x", value, 0, 1, open_low=open_low, open_high=open_high)
    with pytest.raises(InvalidInput, match="lies outside"):
        array_in("x", [value], 0, 1, open_low=open_low, open_high=open_high)


def test_the_interval_is_shown() -> None:
    with pytest.raises(InvalidInput, match=r"x=2 lies outside \[0, 1\); give a number in \[0, 1\)"):
        number_in("x", 2, 0, 1, open_high=True)
    with pytest.raises(InvalidInput, match=r"give a number in \(0, inf\)"):
        finite("x", 0.0, 0.0, open_low=True)


def test_fractions_and_large_integers() -> None:
    assert number_in("x", Fraction(1, 4), 0, 1) == 0.25
    assert number_in("x", 10**400, 0) == math.inf
    with pytest.raises(InvalidInput):
        number_in("x", 10**400, 0, 1)
    with pytest.raises(InvalidInput):
        finite("x", -(10**400))
    assert count("k", 10**400) == 10**400


def test_infinity_only_where_it_is_admitted() -> None:
    assert number_in("x", math.inf, 0) == math.inf
    with pytest.raises(InvalidInput):
        finite("x", math.inf)
    with pytest.raises(InvalidInput):
        finite("x", -math.inf)
    assert finite("x", -1e308) == -1e308


@pytest.mark.parametrize("value", [3, 3.0, np.int32(3), np.float64(3), Fraction(3)])
def test_whole_numbers(value: Any) -> None:
    whole = count("k", value)
    assert whole == 3
    assert type(whole) is int


@pytest.mark.parametrize("value", [3.5, "3", None, True, math.nan, math.inf, Decimal(3), 3j, [3]])
def test_no_whole_numbers(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"k=.*whole number"):
        count("k", value)


def test_a_count_has_a_least_value() -> None:
    assert count("k", 2, 2) == 2
    with pytest.raises(InvalidInput, match="k=1 is below 2; give a whole number >= 2"):
        count("k", 1, 2)


def test_choices() -> None:
    assert choice("order", "fixed", ("fixed", "other")) == "fixed"
    for bad in ("Fixed", None, 1, ["fixed"]):
        with pytest.raises(InvalidInput, match="choose 'fixed' or 'other'"):
            choice("order", bad, ("fixed", "other"))


def test_arrays_are_copied_as_floats() -> None:
    source = np.array([0.1, 0.2])
    checked = array_in("x", source, 0, 1)
    checked[0] = 9.0
    assert source[0] == 0.1
    assert array_in("x", 1, 0, 1).shape == ()
    assert array_in("x", [[0, 1]], 0, 1).shape == (1, 2)
    assert array_in("x", np.array([1], np.uint8), 0).dtype == np.float64


@pytest.mark.parametrize(
    "values", [[], [[]], "ab", ["a"], None, [None], [True], [1j], [[1], [2, 3]], {1.0}, [math.nan]]
)
def test_what_is_no_array(values: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        array_in("x", values, 0, 1)
    assert refusal.value.name == "x"


def test_one_number_serves_all_steps_and_many_serve_one_each() -> None:
    assert per_step("noise", 2, 5) == 2.0
    assert per_step("noise", (1, 2.5), 2) == (1.0, 2.5)
    with pytest.raises(InvalidInput, match=r"one entry a step \(3\)"):
        per_step("noise", (1, 2.5), 3)


def test_a_run_without_end_has_equal_steps() -> None:
    assert per_step("noise", 2.0, length("steps", math.inf)) == 2.0
    with pytest.raises(InvalidInput, match="a run without end has equal steps; give one number"):
        per_step("noise", (1.0, 2.0), length("steps", math.inf))
