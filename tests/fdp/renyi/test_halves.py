"""Renyi moments of S_p(a, s): never below the exact ones, and close."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shiftdp.fdp.renyi.halves import halves_log_moment
from tests.fdp.renyi.exact_moments import (
    agrees,
    exact_halves,
    orders,
    probabilities,
    sizes,
)


@settings(max_examples=10)
@given(probabilities, st.sampled_from([0.0, 0.02, 0.5, 0.98]), sizes, orders)
def test_symmetric_steps_against_mpmath(p: float, share: float, d: float, order: float) -> None:
    assume(order * d <= 10.0)
    exact = exact_halves(p, share * d, d, order)
    assert agrees(halves_log_moment(p, share * d, d, order), exact)
