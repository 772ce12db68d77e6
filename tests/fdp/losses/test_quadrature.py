"""Nodes of a law give its moment generating function."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from shiftdp.fdp import GaussianTradeoff, Subsampled, TradeoffFunction, privacy_loss
from shiftdp.fdp.losses import loss_law
from shiftdp.fdp.losses.quadrature import Quadrature
from tests.fdp import exact
from tests.fdp.catalogue import log_uniform
from tests.fdp.losses.reference import KINDS, STEPS, every_kind, signed


@given(STEPS, st.floats(-2.0, 2.0) | signed(1e-6, 0.1))
def test_nodes_of_steps_give_the_moments_of_their_laws(f: TradeoffFunction, s: float) -> None:
    """The quadrature of the contour, where floats hold its masses."""
    d = getattr(f, "a", 0.0) + getattr(f, "s", getattr(getattr(f, "base", None), "mu", 0.0))
    assume(d < 4.0)
    spread = 3.0 * (d + getattr(f, "s", 0.0)) + 9.0
    quadrature = loss_law(f).quadrature(-0.5 * spread * spread, 3.0)
    want = math.log1p(quadrature.excess(s))
    assert privacy_loss(f).log_mgf(s) == pytest.approx(want, rel=1e-11, abs=1e-300)


def test_subsampled_gaussian_quadrature_is_exact() -> None:
    """One factor, real s: M from its 40-digit profile, integrated by mpmath."""
    p, mu = 0.2, 1.5
    f = Subsampled(GaussianTradeoff(mu), p)
    rule = loss_law(f).quadrature(-100.0, 1.0)
    for s in (-0.5, 0.7, 3.0):
        with mpmath.workdps(25):
            integral = mpmath.quad(
                lambda e, s=s: (mpmath.exp(s * e) + mpmath.exp(-(s + 1) * e)) * exact.delta(f, e),
                [0, 0.1, 0.5, 1, 2, 4, 8, 16, 24],
            )
        true = float(s * (s + 1) * integral)
        assert rule.excess(s) == pytest.approx(true, rel=3e-14)


@every_kind
@settings(max_examples=10)
@given(st.data())
def test_nodes_of_every_law_have_its_mass_and_its_moments(kind: str, data: st.DataObject) -> None:
    f = data.draw(KINDS[kind])
    rule = loss_law(f).quadrature(-150.0, 3.0)
    assume(math.isfinite(rule.error))
    lost, lost_back = rule.missing
    assume(max(lost, lost_back) < 1.0)
    if not rule.profile:
        assert math.exp(rule.log_sum(0.0)) == pytest.approx(1.0 - lost, rel=1e-12)
        assert math.exp(rule.log_sum(-1.0)) == pytest.approx(1.0 - lost_back, rel=1e-12)
    law = privacy_loss(f)
    for s in (-0.8, -0.3):
        value, exact_value = rule.excess(s), math.expm1(law.log_mgf(s))
        if rule.profile:  # rounded up by a relative 1e-11, or by what 1 - beta - gamma alpha loses
            assert value == pytest.approx(exact_value, rel=1e-9, abs=1e-14)
        else:
            assert value == pytest.approx(exact_value, rel=1e-11, abs=1e-300)


@example(mu=math.e, c=2.0, tau=0.0)
@example(mu=math.e, c=1.0, tau=2.0)
@given(log_uniform(1e-3, 3.0), st.floats(-0.9, 3.0), st.floats(0.0, 20.0))
def test_mirror_images_may_be_written_out(mu: float, c: float, tau: float) -> None:
    points = np.array([0.0, tau])
    # log M = s (s + 1) mu^2/2 at s = c + i tau
    log_m = (0.5 * mu * mu * ((c + 1j * points) * (c + 1.0 + 1j * points))).real
    # |M| is left over from M(c), and |M|^2 from |M|^2 - 1
    assume(max(log_m[0] - log_m[1], -2.0 * log_m[1]) < 18.0)
    magnified = 1.0 + np.exp(log_m[0] - log_m) + np.exp(-2.0 * log_m)
    reached = 9.0 + mu * max(c, 1.0)  # standard deviations: nine from the middle of e^{cL} dQ
    half = loss_law(GaussianTradeoff(mu)).quadrature(-0.5 * reached * reached, 25.0)
    whole = Quadrature(np.append(half.loss, -half.loss), np.append(half.log_mid, half.log_mid))
    assert half.mean() == pytest.approx(0.5 * mu * mu, rel=1e-9)
    assert whole.mean() == pytest.approx(half.mean(), rel=1e-9)
    at_c = half.excess(c)
    assert whole.excess(c) == pytest.approx(at_c, rel=1e-12, abs=1e-300)
    assert whole.rough_excess(np.array([c])) == pytest.approx(at_c, abs=1e-13 * (1.0 + at_c))
    mine, other = (rule.tilted(c).line(at_c, points) for rule in (half, whole))
    assert np.all(np.abs(mine[0] - other[0]) <= 1e-13 * magnified)
    assert np.all(np.abs(mine[0] - log_m) <= 1e-13 * magnified * (1.0 + abs(log_m[0])))
