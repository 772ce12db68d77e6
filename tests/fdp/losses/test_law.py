"""What holds for every law of a privacy loss."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp import ShiftedSubsampled, privacy_loss
from shiftdp.fdp.losses.law import Side
from tests.fdp import exact
from tests.fdp.losses.reference import KINDS, SIDES, every_kind, signed


@every_kind
@settings(max_examples=10)
@given(st.data())
def test_tails_are_slopes_of_the_profile(kind: str, data: st.DataObject) -> None:
    """P(L > x) = -d delta/d gamma and Q(L > x) = delta - gamma d delta/d gamma, gamma = e^x.

    A central difference of width 1e-14 in 45 digits is right to some 1e-24, atoms aside.
    """
    f = data.draw(KINDS[kind])
    x = data.draw(st.floats(-3.0, 3.0) | signed(1e-3, 20.0))
    laws = [privacy_loss(f, under=side) for side in SIDES]
    finite = laws[0].atoms.loss[np.isfinite(laws[0].atoms.loss)]
    assume(np.all(np.abs(finite - x) > 1e-9))
    if isinstance(f, ShiftedSubsampled):
        assume(abs(abs(x) - 0.5 * f.a * (f.a + f.s)) > 1e-9)
    gamma, h = mpmath.exp(mpf(x)), mpf(10) ** -14
    around = [exact.delta(f, mpf(x) + mpmath.log1p(k * h)) for k in (-1, 0, 1)]
    beyond_p = (around[0] - around[2]) / (2 * h * gamma)
    beyond_q = around[1] + gamma * beyond_p
    for law, beyond in zip(laws, (beyond_q, beyond_p), strict=True):
        assert math.exp(law.log_survival(x)) == pytest.approx(float(beyond), rel=1e-11, abs=1e-18)
        assert math.exp(law.log_cdf(x)) == pytest.approx(float(1 - beyond), rel=1e-11, abs=1e-18)


@every_kind
@settings(max_examples=15)
@given(st.data())
def test_laws_are_laws(kind: str, data: st.DataObject) -> None:
    """Nothing is ever nan; tails add up to 1; e^x dP = dQ; Q(L > x) = delta(x) + e^x P(L > x)."""
    f = data.draw(KINDS[kind])
    wild = data.draw(st.lists(st.floats(allow_nan=False) | signed(1e-9, 1e3), min_size=1))
    x = np.array([*wild, 0.0, math.inf, -math.inf, 5e-324, 1e300, -1e300])
    finite = np.isfinite(x) & (np.abs(x) < 500.0)
    laws = {side: privacy_loss(f, under=side) for side in SIDES}
    tails: dict[Side, Any] = {}
    for side, law in laws.items():
        left, right, density = law.log_cdf(x), law.log_survival(x), law.log_density(x)
        tails[side] = right
        assert not any(np.isnan(values).any() for values in (left, right, density))
        assert np.logaddexp(left, right) == pytest.approx(0.0, abs=1e-15)
        rising = np.asarray(left)[np.argsort(x)]
        assert np.all(rising[1:] >= rising[:-1] - 1e-15)
    q, p = (np.asarray(laws[side].log_density(x)) for side in SIDES)
    both = (q > -math.inf) & (p > -math.inf) & finite
    q, p, at = q[both], p[both], x[both]
    # z^2/2 is rounded on both sides
    assert np.all(np.abs(q - p - at) <= 1e-14 * (np.abs(q) + np.abs(p) + np.abs(at) + 1.0))
    e = x[finite]
    right = np.exp(tails["P"][finite] + e) + np.asarray(f.delta(e))
    # delta is rounded up, by at most a relative 1e-11, or what 1 - beta - gamma alpha loses
    knots = kind in ("Mixture", "WithFailure") or "PiecewiseLinear" in kind
    assert np.exp(tails["Q"][finite]) == pytest.approx(
        right, rel=2e-11, abs=4e-15 if knots else 1e-300
    )


@every_kind
@settings(max_examples=10)
@given(st.data())
def test_exchanging_the_worlds(kind: str, data: st.DataObject) -> None:
    """L of f under P is -L of the inverse under Q."""
    f = data.draw(KINDS[kind])
    here, there = privacy_loss(f, under="P"), privacy_loss(f.inverse())
    x = data.draw(signed(1e-6, 100.0))
    assume(np.all(np.abs(here.atoms.loss - x) > 1e-9 * abs(x)))
    assert here.atoms.loss == pytest.approx(-there.atoms.loss[::-1], rel=1e-12)
    assert here.atoms.log_mass == pytest.approx(there.atoms.log_mass[::-1], rel=1e-12, abs=1e-12)
    assert here.log_cdf(x) == pytest.approx(there.log_survival(-x), rel=1e-12, abs=1e-12)
    assert here.log_density(x) == pytest.approx(there.log_density(-x), rel=1e-12, abs=1e-12)
    s = data.draw(st.floats(-20.0, 20.0))
    assert here.log_mgf(s) == pytest.approx(there.log_mgf(-s), rel=1e-11, abs=1e-13)


@every_kind
@settings(max_examples=10)
@given(st.data())
def test_moment_is_one_at_zero_and_minus_one(kind: str, data: st.DataObject) -> None:
    f = data.draw(KINDS[kind])
    law = privacy_loss(f)
    assert law.log_mgf(0.0) == 0.0
    lost = privacy_loss(f, under="P").atoms
    missing = float(np.exp(lost.log_mass[lost.loss == -math.inf]).sum())
    assert law.log_mgf(-1.0) == pytest.approx(math.log1p(-missing), rel=1e-12, abs=1e-15)
    s = data.draw(st.floats(-30.0, 30.0))
    value = law.log_mgf(s)
    assert not math.isnan(value)
    if missing == 0.0 and math.isfinite(value):
        # convex, and 0 at both
        assert value >= -1e-13 if s * (s + 1.0) > 0 else value <= 1e-13
        assert privacy_loss(f, under="P").log_mgf(s + 1.0) == pytest.approx(value, rel=1e-12)


@every_kind
@settings(max_examples=10)
@given(st.data())
def test_the_moment_that_is_stated_for_certificates_is_that_of_the_law_rounded_up(
    kind: str, data: st.DataObject
) -> None:
    """E_Q[e^((order - 1) L)], once nearest and once from above: one pair, two readings."""
    f, order = data.draw(KINDS[kind]), data.draw(st.floats(1.1, 12.0))
    nearest, stated = privacy_loss(f).log_mgf(order - 1.0), f._log_moment(order)
    assert nearest <= stated * (1.0 + 1e-10) + 1e-13
    # two kinds are bounded on a grid; in all others there is only rounding
    slack = {"HiddenExchange": 1e-3, "Subsampled symmetric PiecewiseLinear": 0.02}.get(kind, 1e-9)
    assert stated <= nearest * (1.0 + slack) + 1e-12
