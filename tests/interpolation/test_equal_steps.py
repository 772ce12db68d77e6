"""Pieces of equal steps are pooled to the greatest convex minorant, whichever way they grow."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.interpolation.equal_steps import (
    Piece,
    Plan,
    as_shifts,
    geometric_sum,
    lowest,
    minorant,
    stated_mu,
)
from tests.interpolation.brute_force import hull_energy


@given(st.integers(0, 2**32), st.integers(1, 5), st.floats(0.7, 1.4))
@settings(max_examples=300)
def test_pooled_pieces_are_the_convex_minorant(seed: int, n: int, c: float) -> None:
    rng = np.random.default_rng(seed)
    ends = np.cumsum(rng.integers(1, 5, n))
    first, t = np.append(1, ends[:-1] + 1), int(ends[-1])
    pushes = rng.uniform(0.0, 1.0, n)  # each in front of the first step of its piece
    w = c ** (t - np.arange(1, t + 1.0))
    pieces = []
    for i, j, push in zip(first.tolist(), ends.tolist(), pushes, strict=True):
        peak = i if c > 1.0 else j
        v = float(np.sum(w[i - 1 : j] ** 2)) / w[peak - 1] ** 2
        pieces.append(Piece(i, j, peak, push * w[i - 1] / w[peak - 1], v))
    found = minorant(pieces, lambda k: min(c, 1 / c) ** k, expanding=c > 1.0)
    energy = sum((x.p * w[x.peak - 1]) ** 2 / (x.v * w[x.peak - 1] ** 2) for x in found)
    p = np.zeros(t)
    p[first - 1] = pushes * w[first - 1]
    # the definition takes differences of sums, whose terms span 1.4^40 = 7e5
    assert energy == pytest.approx(hull_energy(p, w**2), rel=1e-9)
    assert [x.first for x in found[1:]] == [x.last + 1 for x in found[:-1]]


def test_a_displacement_without_steps_goes_to_the_next_piece() -> None:
    (whole,) = minorant(
        [Piece(1, 0, 1, 3.0, 0.0), Piece(1, 2, 1, 1.0, 2.0)], lambda n: 1.0, expanding=True
    )
    assert whole == Piece(1, 2, 1, 4.0, 2.0)


@pytest.mark.parametrize("most", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("bottom", [0.3, 1.0, 2.4, 9.9, 500.0, 5000.0])
def test_the_lowest_of_a_valley_is_found(most: int, bottom: float) -> None:
    def plan(i: int) -> Plan:
        return Plan(abs(i - bottom), i, 0.0, [])

    assert lowest(plan, most).energy == min(abs(i - bottom) for i in range(1, most + 1))


@given(st.floats(1e-130, 1e300), st.integers(0, 10**6))
def test_mu_is_stated_a_little_above(value: float, tail: int) -> None:
    assert value < stated_mu(value) <= stated_mu(value, tail) <= value * (1.0 + 1e-8)


def test_a_power_that_underflowed_is_not_stated_as_0() -> None:
    assert stated_mu(0.0) > 0.0


@given(st.floats(0.01, 1.0), st.integers(0, 50))
def test_geometric_sums(q: float, n: int) -> None:
    assert geometric_sum(math.log(q), n) == pytest.approx(math.fsum(q**k for k in range(n)))


def test_a_plan_becomes_shifts_in_the_units_of_the_noise() -> None:
    plan = Plan(1.0, 3, 5.0, [Piece(4, 6, 6, 2.0, 4.0), Piece(7, 7, 7, 1.0, 1.0)])
    shifts = as_shifts(plan, 10.0, 2)
    assert (shifts.tau, shifts.start, shifts.mu) == (3, 5.0, stated_mu(1.0, 2))
    assert shifts.amount.tolist() == [5.0, 10.0]
    assert [x.tolist() for x in (shifts.first, shifts.last, shifts.peak)] == [
        [4, 7],
        [6, 7],
        [6, 7],
    ]
