"""What holds of every law, whatever the tradeoff function."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp._errors import InvalidInput, NoClosedForm
from shiftdp.fdp import (
    GaussianTradeoff,
    Identity,
    LaplaceTradeoff,
    Mixture,
    PiecewiseLinear,
    PoissonReplaceOne,
    PoissonZeroOut,
    ShiftedSubsampled,
    TradeoffFunction,
    WithFailure,
    privacy_loss,
)
from shiftdp.fdp.losses import loss_law
from shiftdp.fdp.losses.law import Side
from shiftdp.fdp.losses.profile import ProfileLaw
from tests.fdp import exact
from tests.fdp.catalogue import log_uniform
from tests.fdp.losses.reference import (
    KINDS,
    SIDES,
    STEPS,
    every_kind,
    signed,
)


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


@given(STEPS | KINDS["Gaussian"] | KINDS["Laplace"], signed(1e-3, 10.0), log_uniform(1e-3, 0.1))
def test_density_integrates_to_the_tails(f: TradeoffFunction, v: float, width: float) -> None:
    """Gauss-Legendre with 40 nodes, over a part of a standard deviation."""
    law = privacy_loss(f)
    scale = math.sqrt(2.0 * abs(float(law.log_mgf(-0.5)))) * 2.0
    assume(scale > 0.0)
    low, high = v * scale, (v + width) * scale
    breaks = [0.0, *law.atoms.loss]
    if isinstance(f, ShiftedSubsampled):
        breaks += [0.5 * f.a * (f.a + f.s), -0.5 * f.a * (f.a + f.s)]
    if isinstance(f, PoissonZeroOut):
        breaks += [math.log1p(-f.p), -math.log1p(-f.p)]
    # not near a place where the law begins, or its density jumps
    assume(all(b < low - 2 * (high - low) or b > high + 2 * (high - low) for b in breaks))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    x = low + 0.5 * (high - low) * (1.0 + nodes)
    density = np.asarray(law.log_density(x))
    right, left = np.asarray(law.log_survival([low, high])), np.asarray(law.log_cdf([low, high]))
    top = float(density.max())
    assume(top > -600.0)
    total = 0.5 * (high - low) * float(weights @ np.exp(density))
    tail = right if right[0] < left[1] else left[::-1]
    gap = math.exp(tail[0]) * -math.expm1(tail[1] - tail[0])
    # the difference of two tails loses what their ratio is close to 1
    assert total == pytest.approx(gap, rel=1e-10, abs=1e-13 * math.exp(tail[0]))


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


def test_refusals_name_what_works() -> None:
    product = GaussianTradeoff(1.0).subsample(0.1).power(10)
    for f in (product, LaplaceTradeoff(1.0).subsample(0.1)):
        with pytest.raises(NoClosedForm, match="ShiftedSubsampled, PoissonZeroOut"):
            privacy_loss(f)
    with pytest.raises(NoClosedForm, match="of a symmetric function"):
        privacy_loss(PiecewiseLinear([0, 0.2, 1], [1, 0.5, 0]).subsample(0.5))
    with pytest.raises(InvalidInput, match="under='R'"):
        privacy_loss(Identity(), under="R")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"f=3\.0"):
        privacy_loss(3.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="x=nan"):
        privacy_loss(Identity()).log_cdf(math.nan)
    with pytest.raises(InvalidInput, match="s=inf"):
        privacy_loss(Identity()).log_mgf(math.inf)
    with pytest.raises(InvalidInput, match="too large"):
        privacy_loss(PoissonReplaceOne(0.75, 0.0, 12.0)).log_mgf(1e9)


def test_the_refusal_names_every_kind_that_is_registered() -> None:
    with pytest.raises(NoClosedForm) as refusal:
        privacy_loss(LaplaceTradeoff(1.0).subsample(0.1))
    registered = {kind.__name__ for kind in loss_law.registry} - {"object", "Subsampled"}
    assert len(registered) >= 10
    assert all(name in str(refusal.value) for name in registered)
    assert "C_p of" in str(refusal.value)  # that is Subsampled


def test_what_is_not_registered_is_known_from_its_profile() -> None:
    f = LaplaceTradeoff(1.0).subsample(0.1)
    for g in (f, Mixture([f, GaussianTradeoff(1.0)], [0.5, 0.5]), WithFailure(f, 0.1)):
        assert isinstance(loss_law(g), ProfileLaw)
