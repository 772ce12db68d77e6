"""What rounding adds to a sum over a batch."""

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shiftdp.last_iterate.sum_rounding import CHUNK, THREADS, sum_error


@given(
    n=st.integers(1, 40),
    entries=st.data(),
)
@settings(max_examples=60)
def test_the_error_of_a_sum_is_that_of_the_theorem(n: int, entries: Any) -> None:
    """Any order of additions of float64 keeps to it: here from the first to the last."""
    terms = entries.draw(arrays(np.float64, n, elements=st.floats(-1.0, 1.0)))
    total = 0.0
    for term in terms:
        total += term
    exact = sum(map(Fraction, terms.tolist()), Fraction(0))
    assert abs(Fraction(total) - exact) <= Fraction(sum_error(n))


def test_what_rounding_costs_is_small_and_grows_with_the_batch() -> None:
    assert sum_error(1) < 1e-14
    assert sum_error(10**6) < 1e-6
    assert sum_error(10**8) < 1e-3
    sizes = [1, 10, CHUNK, CHUNK + 1, 10**6, 2**53]
    assert sorted(map(sum_error, sizes)) == [sum_error(n) for n in sizes]
    k = CHUNK + 1 + THREADS
    assert Fraction(sum_error(CHUNK)) >= CHUNK * Fraction(k, 2**53) / (1 - Fraction(k, 2**53))
