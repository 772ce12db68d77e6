"""Laws with a density."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given

from shiftdp.fdp import PoissonZeroOut, ShiftedSubsampled, TradeoffFunction, privacy_loss
from tests.fdp.catalogue import log_uniform
from tests.fdp.losses.reference import KINDS, STEPS, signed


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


@pytest.mark.parametrize("s", [-1e6, -1e4, 1e3, 1e6])
def test_moment_of_any_order(s: float) -> None:
    """With t = max(s + 1, -s), M is p^t e^{t(t-1)d^2/2} but for what N(a) adds, which is less by a
    factor of e^{-t s d} for each time that it is chosen.
    """
    p, d, t = 0.01, 1.1, max(s + 1.0, -s)
    whole = 0.5 * t * (t - 1.0) * d * d
    for f in (PoissonZeroOut(p, 0.1, 1.0, s > 0), ShiftedSubsampled(p, 0.1, 1.0)):
        value = privacy_loss(f).log_mgf(s)
        assert value == pytest.approx(whole + t * math.log(p), rel=1e-12)
