"""Laws of a mean: exact sums of weights, and sums over rows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.fdp.pairs.mean_law import MeanLaw, remainder, total
from tests.fdp.catalogue import log_uniform

weights = st.lists(log_uniform(1e-20, 1.0), min_size=1, max_size=40)


def test_the_first_weight_is_what_the_others_leave() -> None:
    law = MeanLaw.of((0.0, 1.0, 2.0), (0.5, 0.25, 1e-30))
    assert law.weight.ravel().tolist() == [0.75, 0.25, 1e-30]
    assert law.rest == 0.25


def test_values_that_the_others_leave_nothing_for_are_left_out() -> None:
    law = MeanLaw.of((0.0, 1.0, 2.0, 3.0), (1e-300, 0.5, 0.5, 1e-40))
    assert law.mean.ravel().tolist() == [1.0, 2.0, 3.0]
    assert law.weight.ravel().tolist() == [0.5, 0.5, 1e-40]


@given(weights)
def test_a_remainder_is_correctly_rounded(values: list[float]) -> None:
    exact = 1 - sum(Fraction(w) for w in values)
    assert remainder(values) == float(exact)
    assert remainder(values, 0.5) == float(exact - Fraction(1, 2))


@given(weights)
def test_the_weights_add_up_to_one(values: list[float]) -> None:
    shares = [w / math.fsum(values) for w in values]
    law = MeanLaw.of(tuple(range(len(shares))), shares)
    parts = [Fraction(w) for w in law.weight.ravel().tolist()]
    off = sum(parts, Fraction(-1))
    assert abs(off) * 2**53 <= parts[0]


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=300))
def test_a_sum_in_halves_is_off_by_few_roundings(values: list[float]) -> None:
    terms = np.array(values)[:, None] * np.array([1.0, 3.0])
    exact = [math.fsum(column) for column in terms.T]
    sizes = np.abs(terms).sum(axis=0)
    depth = math.ceil(math.log2(max(len(values), 2)))
    assert np.all(np.abs(total(terms) - exact) <= (depth + 1.0) * 2.0**-53 * sizes)


def test_a_sum_leaves_its_terms_alone() -> None:
    terms = np.arange(6.0).reshape(3, 2)
    assert total(terms).tolist() == [6.0, 9.0]
    assert terms.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_without_a_mean_of_zero() -> None:
    law = MeanLaw.of((0.0, 1.0), (0.5, 0.5))
    assert law.positive.mean.ravel().tolist() == [1.0]
    assert law.positive.positive.mean.ravel().tolist() == [1.0]
    assert law.spread >= 1.0
    assert (law.size, law.largest) == (2, 1.0)


@pytest.mark.parametrize(("size", "depth"), [(1, 1), (2, 1), (3, 2), (256, 8), (257, 9)])
def test_how_deep_a_sum_is(size: int, depth: int) -> None:
    law = MeanLaw.of(range(size), [1.0 / size] * size)
    assert law.sum_error == depth
