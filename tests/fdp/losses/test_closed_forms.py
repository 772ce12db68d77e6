"""The laws of the Gaussian and of the Laplace mechanism."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp import (
    GaussianTradeoff,
    LaplaceTradeoff,
    privacy_loss,
)
from shiftdp.fdp.losses.law import Side
from tests.fdp.catalogue import log_uniform
from tests.fdp.losses.reference import (
    Number,
    Triple,
    assert_right,
    gaussian,
    signed,
)


@given(log_uniform(1e-6, 1e3), signed(1e-12, 140.0))
def test_gaussian(mu: float, v: float) -> None:
    x = v * mu + 0.5 * mu * mu
    assume(x != 0.0)
    assert_right(GaussianTradeoff(mu), x, lambda at, side: gaussian(mpf(mu), at, side))


@given(log_uniform(1e-6, 800.0), st.floats(-1.5, 1.5))
def test_laplace(mu: float, share: float) -> None:
    """|Z| - |Z - mu| for Z from Lap(mu), or from Lap(0)."""
    assume(abs(abs(share) - 1.0) > 1e-9 and share != 0.0)

    def reference(at: Number, side: Side) -> Triple:
        if abs(at) >= mu:
            return (mpf(1), mpf(0), mpf(0)) if at > 0 else (mpf(0), mpf(1), mpf(0))
        v = (at + mpf(mu)) / 2 - (mpf(mu) if side == "Q" else 0)
        tail = mpmath.exp(-abs(v)) / 2
        # the density of Z, twice as dense as that of the loss
        return (tail, 1 - tail, tail / 2) if v < 0 else (1 - tail, tail, tail / 2)

    assert_right(LaplaceTradeoff(mu), share * mu, reference)
    atoms = privacy_loss(LaplaceTradeoff(mu)).atoms
    assert atoms.loss.tolist() == [-mu, mu]
    assert atoms.log_mass == pytest.approx([-mu - math.log(2), -math.log(2)], rel=1e-15)


@given(log_uniform(1e-6, 1e3), st.floats(-1e3, 1e3))
def test_moment_of_gaussian(mu: float, s: float) -> None:
    want = mpf(s) * (mpf(s) + 1) * mpf(mu) ** 2 / 2
    assert privacy_loss(GaussianTradeoff(mu)).log_mgf(s) == pytest.approx(float(want), rel=1e-14)


@settings(max_examples=200)
@given(
    log_uniform(1e-6, 300.0),
    st.floats(-5.0, 5.0) | signed(1e-8, 1e3) | signed(1e-8, 1.0).map(lambda t: t - 0.5),
)
def test_moment_of_laplace(mu: float, s: float) -> None:
    """Two atoms and an exponential between them, integrated in 60 digits."""
    assume(abs(s + 0.5) > 1e-9 and abs(s) > 1e-9 and abs(s + 1) > 1e-9)
    with mpmath.workdps(60):
        m, t = mpf(mu), mpf(s)
        atoms = (mpmath.exp(t * m) + mpmath.exp(-(t + 1) * m)) / 2
        rate = t + mpf(1) / 2
        between = mpmath.exp(-m / 2) * (mpmath.exp(rate * m) - mpmath.exp(-rate * m)) / (4 * rate)
        want = float(mpmath.log(atoms + between))
    # s + 1 is rounded
    assert privacy_loss(LaplaceTradeoff(mu)).log_mgf(s) == pytest.approx(
        want, rel=1e-13 + 1e-15 / min(abs(s), abs(s + 1.0))
    )
    middle = m / 2 - mpmath.log1p(m / 2)
    assert privacy_loss(LaplaceTradeoff(mu)).log_mgf(-0.5) == pytest.approx(
        float(-middle), rel=1e-13
    )
