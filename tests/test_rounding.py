"""Margins are as large as their names say, and what is rounded to a side is on that side."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import _rounding
from shiftdp._rounding import (
    HUGE,
    INVERTIBLE_EXPONENT,
    LARGEST_EXPONENT,
    LEAST_FLOAT,
    NORMAL_EXPONENT,
    NOT_ZERO,
    ROOMY_EXPONENT,
    UNIT,
    complement_down,
    round_down,
    round_up,
    scaled_up,
)

shares = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("name", "roundings"),
    [
        ("THREE_ROUNDINGS", 3),
        ("FOUR_ROUNDINGS", 4),
        ("SEVEN_ROUNDINGS", 7),
        ("EIGHT_ROUNDINGS", 8),
        ("NINE_ROUNDINGS", 9),
        ("EIGHTEEN_ROUNDINGS", 18),
        ("THIRTY_SIX_ROUNDINGS", 36),
    ],
)
def test_a_margin_pays_for_the_roundings_of_its_name(name: str, roundings: int) -> None:
    margin, unit = getattr(_rounding, name), Fraction(UNIT)
    assert roundings * unit <= Fraction(margin) < (roundings + 1) * unit
    # as a factor it is rounded itself, and one of the units goes to the products of errors
    worst = (1 - unit) ** (roundings - 1)
    assert Fraction(1.0 + margin) * worst >= 1
    assert Fraction(1.0 - margin) / worst <= 1


def test_the_ends_of_the_range_are_where_they_are_said_to_be() -> None:
    assert math.nextafter(0.0, 1.0) == LEAST_FLOAT
    assert math.isfinite(1.0 / NOT_ZERO)
    assert math.isfinite(HUGE * 1e8)
    assert math.isfinite(math.exp(LARGEST_EXPONENT) * 1e4)
    assert math.isfinite(math.exp(INVERTIBLE_EXPONENT) * 1e8)
    assert math.isfinite(math.exp(ROOMY_EXPONENT) * 1e40)
    smallest_normal = 2.0**-1022
    assert math.exp(-NORMAL_EXPONENT) >= smallest_normal > math.exp(-NORMAL_EXPONENT - 1.0)


@given(shares)
def test_a_complement_is_the_greatest_float_below(x: float) -> None:
    down = float(complement_down(np.asarray(x)))
    assert Fraction(down) + Fraction(x) <= 1
    assert Fraction(math.nextafter(down, 2.0)) + Fraction(x) > 1 or x == 0.0


@given(shares, shares)
def test_a_scaled_number_is_above_and_stays_positive(weight: float, x: float) -> None:
    scaled = float(scaled_up(weight, np.array([x]))[0])
    exact = Fraction(weight) * Fraction(x)
    assert Fraction(scaled) >= exact
    assert (scaled > 0.0) == (weight > 0.0 and x > 0.0)
    assert Fraction(scaled) <= exact * Fraction(1 + 1e-15) + 2 * Fraction(LEAST_FLOAT)


@given(st.floats(1e-130, 1e300), st.integers(0, 10**6))
def test_closed_forms_are_stated_on_their_side(value: float, terms: int) -> None:
    assert round_down(value, terms) < value < round_up(value)
    assert round_down(value, terms) >= value * (1.0 - 1e-14 - terms * 1e-15)
    assert round_down(1.0, 10**18) == 0.0
