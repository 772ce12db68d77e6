"""The root-finder ends on the safe side, to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp._roots import (
    bracket_up,
    largest,
    least,
    least_whole,
    most,
    narrowed,
    peak,
    regula_falsi,
    sign_change,
)


@given(st.floats(-1e6, 1e6), st.floats(0.0, 1e6), st.floats(0.0, 1e6))
def test_least_and_most_are_exact(root: float, before: float, after: float) -> None:
    low, high = np.array([min(root - before, root)]), np.array([root + after])
    found = least(lambda x: x >= root, low, high)
    assert found[0] >= root
    assert found[0] == pytest.approx(root, rel=0, abs=2e6 * 2.0**-200)
    found = most(lambda x: x <= root, low, high)
    assert found[0] <= root
    assert found[0] == pytest.approx(root, rel=0, abs=2e6 * 2.0**-200)


@given(st.floats(0.0, 1e100))
def test_the_safe_side_of_a_square_root(y: float) -> None:
    high = np.array([1e50 + 1.0])
    found = least(lambda x: x * x >= y, np.zeros(1), high)[0]
    assert found * found >= y
    assert found == pytest.approx(math.sqrt(y), rel=1e-15, abs=1e-9)


def test_many_at_once_do_not_disturb_each_other() -> None:
    roots = np.array([0.0, 1e-30, 0.1, 1.0, 7.5, 1e9])
    found = least(lambda x: x >= roots, np.zeros(6), np.full(6, 1e9))
    np.testing.assert_array_equal(found, roots)


def test_the_arguments_are_left_alone() -> None:
    low, high = np.zeros(1), np.ones(1)
    least(lambda x: x >= 0.0, low, high)
    most(lambda x: x <= 0.3, low, high)
    assert low[0] == 0.0
    assert high[0] == 1.0


@given(st.floats(1e-300, 1e299), st.floats(1e-3, 1e3))
def test_a_bracket_is_found(root: float, start: float) -> None:
    high = bracket_up(lambda x: x >= root, np.array([start]))
    assert high[0] >= root or math.isinf(high[0])
    if root < 1e100:
        assert math.isfinite(high[0])


def test_no_bracket_is_infinite() -> None:
    high = bracket_up(lambda x: np.array([x[0] >= 3.0, False]), np.ones(2))
    assert high[0] >= 3.0
    assert math.isfinite(high[0])
    assert high[1] == math.inf


@given(st.floats(-200.0, 200.0), st.floats(-30.0, 30.0), st.sampled_from([0.01, 0.5, 1.0, 7.0]))
def test_a_sign_change_is_bracketed(log_root: float, log_start: float, power: float) -> None:
    root = math.exp(log_root)

    def excess(x: float) -> float:  # (x / root)^power - 1, without overflow, and with its sign
        return math.expm1(min(power * math.log(x / root), 600.0))

    for side in (-1.0, 1.0):
        place = sign_change(
            lambda x, side=side: side * excess(x),  # type: ignore[misc]
            math.exp(log_start),
            1e-100,
            1e100,
            slope=side,
        )
        assert place.meets is not None
        assert place.misses is not None
        assert side * (place.meets - root) <= 0.0 < side * (place.misses - root)
        assert abs(place.meets - place.misses) <= 1e-7 * place.meets


@given(st.integers(1, 2**53), st.integers(1, 2**53))
def test_a_sign_change_of_whole_numbers_is_between_neighbours(last: int, start: int) -> None:
    calls = []

    def excess(x: float) -> float:
        calls.append(x)
        return -math.inf if x <= last else math.inf  # nothing is known but the sign

    place = sign_change(excess, float(start), 1.0, 2.0**53, slope=1.0, whole=True)
    assert place.meets == last
    assert place.misses == (None if last == 2**53 else last + 1)
    assert len(calls) < 200


def test_no_sign_change_is_said_to_be_none() -> None:
    assert sign_change(lambda x: 1.0, 1.0, 1e-9, 1e9, slope=-1.0) == (None, 1e9)
    assert sign_change(lambda x: -1.0, 1.0, 1e-9, 1e9, slope=-1.0) == (1e-9, None)
    assert sign_change(lambda x: 1e-300, 1.0, 1e-9, 1e9, slope=1.0) == (None, 1e-9)


def test_a_sign_change_of_a_smooth_function_takes_few_calls() -> None:
    calls = []

    def excess(x: float) -> float:
        calls.append(x)
        return -1.7 * math.log(x / 3.0) + 0.1 * math.log(x / 3.0) ** 2

    place = sign_change(excess, 3.01, 1e-9, 1e9, slope=-1.69, relative=5e-7, trust=True)
    assert place.meets == pytest.approx(3.0, rel=5e-7)
    assert len(calls) <= 3


@given(st.integers(-100, 100), st.integers(1, 10**12), st.data())
def test_the_least_whole_number_is_exact(low: int, size: int, data: st.DataObject) -> None:
    answer = data.draw(st.integers(low + 1, low + size))
    asked: list[int] = []

    def holds(n: int) -> bool:
        asked.append(n)
        return n >= answer

    assert least_whole(holds, low, low + size) == answer
    assert all(low < n < low + size for n in asked)
    assert len(asked) <= 2 * math.log2(answer - low) + 2


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=9), st.sampled_from([0.1, 1.0, 5.0]))
def test_regula_falsi_ends_on_the_safe_side(roots: list[float], power: float) -> None:
    root = np.array(roots)

    def excess(x: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.asarray(-np.copysign(np.abs(np.log(x / root)) ** power, x - root))

    x, found = regula_falsi(excess, np.full(root.shape, 1e-9), np.full(root.shape, 1e9), 1e-9, 500)
    assert found.all()
    assert (x >= root).all()
    assert (x <= root * (1 + 1e-9)).all()


def test_regula_falsi_says_what_it_did_not_find() -> None:
    excess = lambda x: np.array([1.0, -1.0, 3.0 - x[2]])  # noqa: E731
    x, found = regula_falsi(excess, np.full(3, 0.5), np.full(3, 9.0), 1e-12, 60)
    assert found.tolist() == [False, True, True]
    assert x[1] == 0.5


@given(st.floats(0.0, 40.0), st.integers(1, 40))
def test_so_many_halvings_end_where_it_holds(root: float, halvings: int) -> None:
    width = 40.0 * 0.5**halvings
    below = largest(lambda x: x <= root, 0.0, 40.0, halvings)
    assert below <= root <= below + width
    above = narrowed(lambda x: x >= root, np.zeros(1), np.full(1, 40.0), halvings)
    assert above[0] - width <= root <= above[0]


def test_ends_that_are_not_asked_are_the_answer_where_nothing_else_is() -> None:
    assert largest(lambda x: False, 1.5, 4.0, 30) == 1.5
    assert narrowed(lambda x: x > 9.0, np.ones(1), np.full(1, 4.0), 30).tolist() == [4.0]


@given(st.lists(st.floats(-3.0, 7.0), min_size=1, max_size=5), st.floats(0.5, 3.0))
def test_golden_sections_find_the_tops(tops: list[float], power: float) -> None:
    top = np.array(tops)
    asked: list[int] = []

    def hump(x: np.ndarray) -> np.ndarray:
        asked.append(x.size)
        return np.asarray(2.0 - np.abs(x - top) ** power)

    found = peak(hump, np.full(top.shape, -3.0), np.full(top.shape, 7.0), 80)
    assert (found <= 2.0).all()
    assert found == pytest.approx(2.0, abs=1e-7)
    assert len(asked) == 83  # one for each section, and the three to begin with
