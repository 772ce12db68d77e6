"""What may be assumed of the losses, and the Lipschitz constant that follows."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp._checks import LEAST
from shiftdp.last_iterate import Geometry
from shiftdp.last_iterate.geometry import contraction_of, contractions_of

GOOD: dict[str, Any] = {"strong_convexity": 0.5, "smoothness": 2.0, "sensitivity": 1.0}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("strong_convexity", math.nan),
        ("strong_convexity", math.inf),
        ("strong_convexity", "0"),
        ("strong_convexity", True),
        ("strong_convexity", None),
        ("strong_convexity", [0.5]),
        ("strong_convexity", 2.5),  # above the smoothness
        ("smoothness", math.nan),
        ("smoothness", -1.0),
        ("smoothness", "much"),
        ("sensitivity", -1.0),
        ("sensitivity", math.inf),
        ("sensitivity", math.nan),
        ("diameter", 0.0),
        ("diameter", -1.0),
        ("diameter", math.nan),
        ("diameter", None),
        ("adjacency", "add_remove"),
        ("adjacency", ""),
        ("adjacency", None),
        ("adjacency", ["replace_one"]),
    ],
)
def test_bad_input_is_named_with_value_and_remedy(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        Geometry(**{**GOOD, name: value})
    assert caught.value.name == name
    assert caught.value.value is value or caught.value.value == value
    assert caught.value.remedy
    assert name in str(caught.value)


def test_positional_arguments_and_unknown_names_are_refused() -> None:
    with pytest.raises(TypeError):
        Geometry(0.5, 2.0, 1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Geometry(**{**GOOD, "radius": 1.0})


def test_edges_that_mean_something() -> None:
    assert not Geometry(**{**GOOD, "strong_convexity": -math.inf}).convex
    assert Geometry(**{**GOOD, "smoothness": math.inf}).contraction(0.1) == math.inf
    assert Geometry(**{**GOOD, "strong_convexity": 2.0}).convex  # m = M
    assert Geometry(**{**GOOD, "strong_convexity": 0, "smoothness": 0}).contraction(5.0) == 1.0
    assert not Geometry(**GOOD).bounded
    assert Geometry(**GOOD, diameter=1).bounded


def test_it_is_frozen_and_holds_plain_floats() -> None:
    parts = {
        "strong_convexity": np.float64(0),
        "smoothness": np.int64(2),
        "sensitivity": Fraction(1, 2),
        "gradient_bound": np.float32(0.5),
    }
    geometry = Geometry(**{**GOOD, **parts})
    assert {type(getattr(geometry, f.name)) for f in dataclasses.fields(geometry)} == {float, str}
    with pytest.raises(dataclasses.FrozenInstanceError):
        geometry.smoothness = 3.0  # type: ignore[misc]
    assert hash(geometry) == hash(dataclasses.replace(geometry))


curvatures = st.floats(-3.0, 3.0).map(lambda m: m if abs(m) >= LEAST else 0.0)


@given(curvatures, st.floats(0.01, 5.0), st.floats(0.01, 3.0))
def test_contraction_is_rounded_up_and_steepest_down(m: float, M: float, eta: float) -> None:
    geometry = Geometry(strong_convexity=min(m, M), smoothness=M, sensitivity=1.0)
    exact = max(abs(1 - Fraction(eta) * Fraction(h)) for h in (min(m, M), M))
    up, down = geometry.contraction(eta), geometry.steepest(eta)
    if abs(exact - 1) > Fraction(1, 2**50):  # 2/M in floats counts as 2/M
        assert Fraction(down) <= exact <= Fraction(up)
    assert up == pytest.approx(float(exact), rel=1e-14, abs=4e-15)
    assert down == pytest.approx(float(exact), rel=1e-14, abs=4e-15)


@given(st.floats(0.01, 100.0))
def test_the_largest_contractive_rate_is_exactly_contractive(M: float) -> None:
    geometry = Geometry(strong_convexity=0.0, smoothness=M, sensitivity=1.0)
    assert geometry.contraction(2.0 / M) == 1.0
    assert geometry.contraction(1.0 / M) == 1.0
    assert geometry.contraction(2.01 / M) > 1.0


def test_strongly_convex_steps_contract() -> None:
    geometry = Geometry(strong_convexity=1.0, smoothness=10.0, sensitivity=1.0)
    assert geometry.contraction(0.1) == pytest.approx(0.9)
    assert geometry.contraction(0.19) == pytest.approx(0.9)
    assert geometry.contraction(0.2) == 1.0
    weak = Geometry(strong_convexity=-1.0, smoothness=10.0, sensitivity=1.0)
    assert weak.contraction(0.1) == pytest.approx(1.1)


def test_no_gradients_are_further_apart_than_twice_the_longest() -> None:
    with pytest.raises(InvalidInput, match=r"exceeds 2 gradient_bound=1\.8"):
        Geometry(**{**GOOD, "sensitivity": 2.0, "gradient_bound": 0.9})
    with pytest.raises(InvalidInput, match=r"exceeds gradient_bound=1\.9"):
        Geometry(**{**GOOD, "sensitivity": 2.0, "adjacency": "zero_out", "gradient_bound": 1.9})
    for bad in (-1.0, math.nan, math.inf, "1"):
        with pytest.raises(InvalidInput, match="gradient_bound"):
            Geometry(**{**GOOD, "gradient_bound": bad})


def test_the_norm_of_a_gradient_is_known_from_zero_out_and_else_only_if_given() -> None:
    exchanged = Geometry(**{**GOOD, "sensitivity": 2.0})
    assert exchanged.record_bound is None
    assert dataclasses.replace(exchanged, gradient_bound=7.0).record_bound == 7.0
    assert dataclasses.replace(exchanged, adjacency="zero_out").record_bound == 2.0


@given(
    st.floats(-2.0, 5.0),
    st.floats(5.0, 50.0),
    st.lists(st.floats(1e-12, 1e12), min_size=1, max_size=20),
    st.sampled_from([-1, 1]),
)
@example(0.0, 8.0, [0.25, 0.2500000000000001, 0.125], 1)
def test_contractions_of_many_rates_are_those_of_each(
    m: float, M: float, rates: list[float], side: int
) -> None:
    found = contractions_of(m, M, np.array(rates), side=side)
    assert found.tolist() == [contraction_of(m, M, rate, side=side) for rate in rates]
