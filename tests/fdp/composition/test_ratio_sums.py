"""Sums of likelihood ratios: never below the exact law in the convex order, and close to it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.fdp import GaussianTradeoff
from shiftdp.fdp.composition.connect_the_dots import LossAtoms, connect_the_dots
from shiftdp.fdp.composition.ratio_sums import RatioLaw, added, gaussian_ratio, sum_of_ratios

LEVELS = (0.1, 0.4, 0.8, 1.0, 1.3, 2.0, 4.0)


def call(law: RatioLaw, level: float, scale: float = 1.0) -> float:
    """E (X - level)_+ in units of `scale`."""
    beyond = np.maximum(np.exp(law.exponents) / scale - level, 0.0)
    return float(beyond @ law.mass) + law.infinite / scale


def put(law: RatioLaw, level: float, scale: float = 1.0) -> float:
    """E (level - X)_+ in units of `scale`."""
    below = np.maximum(level - np.exp(law.exponents) / scale, 0.0)
    return float(below @ law.mass) + level * law.zero


def mean_and_mass(law: RatioLaw) -> tuple[float, float]:
    return call(law, 0.0), float(law.mass.sum()) + law.zero


masses = st.lists(st.integers(0, 9), min_size=1, max_size=9)


@st.composite
def laws(draw: Any) -> RatioLaw:
    found = draw(masses)
    total = sum(found) + draw(st.integers(0, 3)) + 1
    mass = np.array(found) / total
    start = draw(st.integers(-6, 6))
    return RatioLaw(0.25, start, mass, 1.0 - float(mass.sum()), draw(st.sampled_from([0.0, 0.01])))


@given(laws(), laws())
def test_a_sum_is_above_all_pairs_in_the_convex_order(one: RatioLaw, other: RatioLaw) -> None:
    """Against every pair of values, in rational arithmetic."""
    found = added(one, other)
    points = [
        [(Fraction(0), Fraction(law.zero)), *((Fraction(x), Fraction(q)) for x, q in pairs)]
        for law, pairs in (
            (law, zip(np.exp(law.exponents).tolist(), law.mass.tolist(), strict=True))
            for law in (one, other)
        )
    ]
    sums = [(x + y, p * q) for x, p in points[0] for y, q in points[1]]
    infinite = Fraction(one.infinite) + Fraction(other.infinite)
    for level in (Fraction(0), *(Fraction(x) for x in LEVELS)):
        exact = sum((max(x - level, Fraction(0)) * q for x, q in sums), infinite)
        assert call(found, float(level)) >= float(exact) * (1.0 - 1e-14)
        exact = sum((max(level - x, Fraction(0)) * q for x, q in sums), Fraction(0))
        assert put(found, float(level)) >= float(exact) * (1.0 - 1e-14)
    # the mean and the mass are kept, but for what is rounded up
    mean = sum((x * q for x, q in sums), infinite)
    assert call(found, 0.0) == pytest.approx(float(mean), rel=1e-11)
    assert mean_and_mass(found)[1] == pytest.approx(1.0, rel=1e-11)


@given(laws(), st.floats(1e-3, 0.3), st.floats(1e-3, 0.3))
def test_trimming_goes_up_in_the_convex_order(law: RatioLaw, low: float, high: float) -> None:
    found = law.trimmed(low, high)
    for level in LEVELS:
        assert call(found, level) >= call(law, level) * (1.0 - 1e-14)
        assert put(found, level) >= put(law, level) * (1.0 - 1e-14)
    assert call(found, 0.0) == pytest.approx(call(law, 0.0), rel=1e-8)
    assert mean_and_mass(found)[1] == pytest.approx(1.0, rel=1e-11)
    assert found.mass.size <= law.mass.size


@pytest.mark.parametrize("start", [-2771, 2731, -2903, 2877])
@pytest.mark.parametrize("mesh", [0.1, 0.0937])
def test_ends_are_trimmed_far_from_1_too(start: int, mesh: float) -> None:
    """A float exponent of 270 errs by 120 ulps of 1, which masses are still rounded up by."""
    law = RatioLaw(mesh, start, np.array([0.11, 0.09, 0.3, 0.27, 0.1, 0.13]), 0.0, 0.0)
    found = law.trimmed(0.25, float(np.exp(law.exponents[-2:]) @ law.mass[-2:]) * (1.0 + 1e-12))
    first = found.start - start
    last = first + found.mass.size - 1
    assert (first, last) == (2, 4)
    with mpmath.workdps(40):
        x = [mpmath.exp(mpmath.mpf(mesh) * (start + j)) for j in range(6)]
        q = [mpmath.mpf(each) for each in law.mass.tolist()]
        below = sum(q[j] * x[j] / x[first] for j in range(first))
        assert found.mass[0] >= q[first] + below
        assert found.zero >= sum(q[:first]) - below
        assert found.mass[-1] >= q[4] + q[5]
        assert found.infinite >= q[5] * (x[5] - x[4])
        assert found.infinite <= q[5] * (x[5] - x[4]) * (1 + 1e-12)


def test_the_ratio_1_has_what_the_errors_of_the_others_may_have_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def coarse(*given: Any) -> tuple[LossAtoms, LossAtoms]:
        above, below = connect_the_dots(*given)
        return replace(above, right_error=above.right * 1e-3, left_error=above.left * 1e-2), below

    exact = gaussian_ratio(1.0, 0.1)
    monkeypatch.setattr("shiftdp.fdp.composition.ratio_sums.connect_the_dots", coarse)
    rough = gaussian_ratio(1.0, 0.1)
    others = connect_the_dots(GaussianTradeoff(1.0), 0.1, 9.0)[0]
    taken = 1e-3 * float(others.right.sum()) + 1e-2 * float(others.left.sum())
    assert np.all(rough.mass >= exact.mass)
    assert rough.mass[-rough.start] >= exact.mass[-exact.start] + 0.99 * taken


def test_halving_changes_nothing() -> None:
    law = gaussian_ratio(1.0, 0.1)
    fine = law.halved(2)
    for level in LEVELS:
        assert call(fine, level) == pytest.approx(call(law, level), rel=1e-12)


@pytest.mark.parametrize(("s", "count"), [(0.2, 7), (1.0, 12), (2.5, 5), (1.0, 1)])
def test_mass_mean_and_second_moment(s: float, count: int) -> None:
    """The second moment of the exact law is l^2 + l (e^{s^2} - 1)."""
    law = sum_of_ratios(s, count, 1 / 16)
    mean, mass = mean_and_mass(law)
    assert 0.0 <= mean / count - 1.0 < 1e-9
    assert 0.0 <= mass - 1.0 < 1e-9
    spread = float((np.exp(law.exponents) - count) ** 2 @ law.mass)
    exact = count * math.expm1(s * s)
    assert exact <= spread * (1.0 + 1e-6) <= 1.02 * exact
