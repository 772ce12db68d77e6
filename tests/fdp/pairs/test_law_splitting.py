"""Laws with few values: at least the given one in the sense of Theorem C8, and hardly worse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from shiftdp.fdp import HiddenExchange, HiddenReplaceOne, HiddenZeroOut
from shiftdp.fdp.pairs.law_splitting import split_law
from tests.fdp.catalogue import log_uniform
from tests.fdp.functions.test_law_coarsening import smooth
from tests.fdp.hidden_laws import Law, laws


def integrals(large: Law, small: Law) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The two integrals of Theorem C8 at all values, and 1 - Phi there."""
    edges = np.unique([0.0, *large[0], *small[0]])
    beyond = ndtr(-edges)
    width = np.append(beyond[:-1] - beyond[1:], beyond[-1])

    def tail(law: Law) -> np.ndarray:
        above = np.append(np.cumsum(law[1][::-1])[::-1], 0.0)
        above[0] = 1.0
        return np.asarray(above[np.searchsorted(law[0], edges, side="right")])

    terms = (tail(large) - tail(small)) * width
    return np.cumsum(terms[::-1])[::-1], np.cumsum(terms), beyond


@settings(max_examples=80)
@given(laws(log_uniform(1e-3, 12.0), log_uniform(1e-18, 1.0), 40), st.integers(2, 20))
def test_no_integral_is_negative(law: Law, most: int) -> None:
    found = split_law(*law, most)
    assert len(found[0]) <= most
    assert set(found[0]) <= set(law[0])
    assert found[0][-1] == law[0][-1]
    assert math.fsum(found[1]) == pytest.approx(1.0, abs=1e-12)
    upward, downward, beyond = integrals(found, law)
    assert np.all(upward >= -1e-13 * beyond)
    assert np.all(downward >= -1e-13)


@settings(max_examples=40)
@given(laws(log_uniform(1e-2, 8.0), log_uniform(1e-12, 1.0), 40), st.integers(3, 12))
def test_no_profile_falls(law: Law, most: int) -> None:
    found = split_law(*law, most)
    for kind in (HiddenExchange, HiddenReplaceOne, HiddenZeroOut):
        few, all_of_them = kind(*found), kind(*law)
        for epsilon in (0.0, 0.1, 1.0, 4.0, 10.0):
            assert few.delta(epsilon) >= all_of_them.delta(epsilon) * (1.0 - 1e-9) - 1e-13
            other = few.inverse().delta(epsilon), all_of_them.inverse().delta(epsilon)
            assert other[0] >= other[1] * (1.0 - 1e-9) - 1e-13


@pytest.mark.parametrize("name", ["bulk", "steps", "broad"])
def test_three_hundred_values_cost_next_to_nothing(name: str) -> None:
    law = smooth(name)
    found = split_law(*law, 300)
    for kind in (HiddenExchange, HiddenReplaceOne):
        for delta in (1e-5, 1e-8, 1e-12):
            ratio = kind(*found).epsilon(delta) / kind(*law).epsilon(delta)
            assert 1.0 - 1e-9 <= ratio <= 1.0 + 1e-3


def test_the_cost_falls_with_the_square_of_the_number_of_values() -> None:
    law = smooth("broad")
    exact = HiddenExchange(*law).epsilon(1e-7)
    costs = [HiddenExchange(*split_law(*law, n)).epsilon(1e-7) / exact - 1.0 for n in (20, 80, 320)]
    assert costs[0] > 8.0 * costs[1] > 8.0 * 8.0 * costs[2] > 0.0


def test_few_values_stay_as_they_are() -> None:
    mu, weight = (0.0, 1.0, 2.5), (0.5, 0.25, 0.25)
    assert split_law(mu, weight, 3) == (mu, weight)


def test_where_the_density_vanishes_values_move_up() -> None:
    mu = (0.0, 50.0, 51.0, 52.0)
    values, weights = split_law(mu, (0.4, 0.3, 0.2, 0.1), 3)
    tails = {m: math.fsum(w for v, w in zip(values, weights, strict=True) if v >= m) for m in mu}
    assert all(tails[m] >= t - 1e-15 for m, t in zip(mu, (1.0, 0.6, 0.3, 0.1), strict=True))
