"""Rows within their bound before any product, whatever they hold and however they are stored."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from shiftdp import InvalidInput, NoisyGD
from shiftdp.training import Logistic, Plan
from shiftdp.training.descent.records import bounded_rows, prepare

ENTRY = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-3.0, 3.0),
    st.sampled_from([0.0, 1.7e308, -1.7e308, 1e154, 5e-324, 2.0**500, 2.0**501]),
)


def squared(row: NDArray[Any]) -> Fraction:
    return sum((Fraction(float(x)) ** 2 for x in row), Fraction(0))


def taken(X: Any, bound: float) -> NDArray[np.float64]:
    rows = bounded_rows(X, bound)
    block = rows.take(slice(0, rows.shape[0]))
    dense: NDArray[np.float64] = block.toarray() if rows.sparse else block
    assert dense.dtype == np.float64
    for row, norm in zip(dense, rows.norms, strict=True):
        assert squared(row) <= Fraction(float(norm)) ** 2 <= Fraction(bound) ** 2
    return dense


@given(
    X=arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=ENTRY),
    bound=st.sampled_from([1e-100, 1e-3, 1.0, 7.0, 1e100]),
    form=st.sampled_from([np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array]),
)
@settings(max_examples=300, deadline=None)
def test_every_row_is_within_the_bound_and_keeps_its_direction(
    X: NDArray[np.float64], bound: float, form: Any
) -> None:
    """In exact arithmetic: no row as taken is longer than the bound, nor much shorter than it or
    than the row as it was given."""
    for given_row, row in zip(X, taken(form(X), bound), strict=True):
        exact = squared(given_row)
        if exact <= Fraction(bound) ** 2 * (1 - Fraction(1, 2**40)):
            assert (row == given_row).all()
            continue
        # scaled to the bound: not longer (checked above), and not shorter by more than rounding
        assert squared(row) >= Fraction(bound) ** 2 * (1 - Fraction(1, 2**40))
        largest = int(np.argmax(np.abs(given_row)))
        ratio = Fraction(float(row[largest])) / Fraction(float(given_row[largest]))
        for x, z in zip(given_row, row, strict=True):
            wanted = Fraction(float(x)) * ratio
            lost = Fraction(max(bound, 1.0)) / 2**900  # below the smallest floats
            assert abs(Fraction(float(z)) - wanted) <= abs(wanted) / 2**45 + lost


def test_some_rows_of_many_are_the_same_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < 0.5)
    huge = X.copy()
    huge[7] *= 1e300
    chosen = np.array([3, 7, 7, 49, 0])
    for form in (X, X.astype(np.float32), huge):
        dense, sparse = bounded_rows(form, 1.5), bounded_rows(sp.csr_array(form), 1.5)
        whole = dense.take(slice(0, 50), np.empty((60, 6)))
        assert (dense.take(chosen) == whole[chosen]).all()
        assert (sparse.take(chosen).toarray() == whole[chosen]).all()
        assert (sparse.take(slice(5, 9)).toarray() == whole[5:9]).all()


@given(
    X=arrays(np.float64, (4, 3), elements=ENTRY),
    other=arrays(np.float64, 3, elements=ENTRY),
    form=st.sampled_from([np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array, sp.coo_array]),
)
@settings(max_examples=100, deadline=None)
def test_a_row_is_taken_in_the_same_way_whatever_the_others_are(
    X: NDArray[np.float64], other: NDArray[np.float64], form: Any
) -> None:
    """Bit by bit, and in the same layout."""
    moved = X.copy()
    moved[-1] = other
    one, two = (bounded_rows(form(each), 1.0).take(slice(0, 4)) for each in (X, moved))
    if isinstance(one, np.ndarray):
        assert one.flags.c_contiguous
        assert two.flags.c_contiguous
    else:
        one, two = one.toarray(), two.toarray()
    assert one[:-1].tobytes() == two[:-1].tobytes()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_entries_that_are_not_finite_are_refused(bad: float) -> None:
    X = np.full((3, 2), 1e308)
    X[1, 0] = bad
    for form in (X, sp.csr_array(X), X.astype(object)):
        with pytest.raises(InvalidInput) as caught:
            bounded_rows(form, 1.0)
        assert "1" not in str(caught.value).replace("(3, 2)", "")


def test_a_refusal_does_not_lead_to_what_other_software_said() -> None:
    damaged = sp.csr_array(np.eye(3))
    damaged.indices[1] = 77
    for bad in (damaged, [[1.0], [2.0, 3.0]]):
        with pytest.raises(InvalidInput) as refusal:
            bounded_rows(bad, 1.0)
        assert refusal.value.__context__ is None
        assert refusal.value.__cause__ is None


def test_a_part_of_the_records_is_checked_against_its_own_number() -> None:
    run = NoisyGD(n=9, steps=1, learning_rate=0.1, noise=1.0)
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0)
    X, y = np.ones((4, 2)), np.ones(4)
    assert prepare(plan, X, y, part=4).rows.shape == (4, 2)
    for part in (None, 5):
        with pytest.raises(InvalidInput, match=f"does not have the {part or 9} records"):
            prepare(plan, X, y, part=part)
