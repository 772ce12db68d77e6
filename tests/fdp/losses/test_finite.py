"""Laws of finitely many losses."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    Mixture,
    PiecewiseLinear,
    WithFailure,
    privacy_loss,
)
from shiftdp.fdp.losses import PrivacyLoss, loss_law
from tests.fdp.catalogue import asymmetric
from tests.fdp.losses.reference import (
    assert_close,
    log_of,
    pieces,
    signed,
)


@given(asymmetric, st.floats(-15.0, 15.0))
def test_finitely_many_losses(f: PiecewiseLinear, x: float) -> None:
    losses = [float(mpmath.log(q / p)) for p, q in pieces(f)]
    assume(all(abs(loss - x) > 1e-9 for loss in losses))
    for side, which in (("P", 0), ("Q", 1)):
        law = privacy_loss(f, under=side)  # type: ignore[arg-type]
        masses = list(zip(losses, (piece[which] for piece in pieces(f)), strict=True))
        left = sum((m for loss, m in masses if loss < x), mpf(0))
        right = sum((m for loss, m in masses if loss > x), mpf(0))
        assert_close(law.log_cdf(x), [log_of(left)])
        assert_close(law.log_survival(x), [log_of(right)])
        assert law.log_density(x) == -math.inf
        together = sorted(losses)
        apart = [b - a > 1e-9 for a, b in itertools.pairwise(together)]
        if all(apart):
            assert law.atoms.loss == pytest.approx(together, rel=1e-13, abs=1e-15)


def test_failure_and_pure_privacy() -> None:
    """(eps, delta)-DP: revealed with probability delta, else two atoms."""
    law = privacy_loss(ApproxDPTradeoff(1000.0, 1e-6))
    assert law.atoms.loss.tolist() == [-1000.0, 1000.0, math.inf]
    rest = math.log1p(-1e-6)
    assert law.atoms.log_mass == pytest.approx([rest - 1000.0, rest, math.log(1e-6)], rel=1e-15)
    assert law.log_survival(2000.0) == pytest.approx(math.log(1e-6), rel=1e-15)
    assert law.log_cdf(math.inf) == 0.0
    assert law.log_survival(math.inf) == -math.inf
    assert law.log_mgf(1e-9) == math.inf
    assert law.log_mgf(0.0) == 0.0
    assert law.log_mgf(-1.0) == pytest.approx(rest, rel=1e-12)
    back = privacy_loss(ApproxDPTradeoff(1000.0, 1e-6), under="P")
    assert back.atoms.loss.tolist() == [-math.inf, -1000.0, 1000.0]
    assert back.log_cdf(-math.inf) == pytest.approx(math.log(1e-6), rel=1e-15)
    assert back.log_survival(-math.inf) == pytest.approx(rest, rel=1e-12)
    nothing, all_of_it = privacy_loss(Identity()), privacy_loss(GaussianTradeoff(math.inf))
    assert nothing.atoms.loss.tolist() == [0.0]
    assert nothing.log_mgf([-7.0, 3.0]).tolist() == [0.0, 0.0]  # type: ignore[union-attr]
    assert all_of_it.atoms.loss.tolist() == [math.inf]
    assert all_of_it.log_mgf(-1.0) == -math.inf


@given(asymmetric, st.floats(-50.0, 50.0) | signed(1e-6, 1.0))
def test_moment_of_finitely_many_losses(f: PiecewiseLinear, s: float) -> None:
    """sum q_i (q_i/p_i)^s over the pieces."""
    want = mpmath.log(sum(q * (q / p) ** mpf(s) for p, q in pieces(f)))
    # masses are differences of knots, rounded, and so are the losses
    largest = max(abs(float(mpmath.log(q / p))) for p, q in pieces(f))
    assert privacy_loss(f).log_mgf(s) == pytest.approx(
        float(want), rel=1e-12, abs=4e-16 * (1 + abs(s)) * (1 + largest)
    )


def test_an_atom_beside_the_edge_of_a_panel_is_integrated() -> None:
    """3/16 of the largest loss is an edge of panels, and an atom is close to it."""
    high = 10.93125
    low = high * (3 / 16 - 4e-5)
    parts = [ApproxDPTradeoff(high), ApproxDPTradeoff(low)]
    f = Mixture(parts, [0.5, 0.5])
    rule = loss_law(f).quadrature(-150.0, 3.0)
    for s in (-0.8, -0.3):
        assert rule.excess(s) == pytest.approx(math.expm1(privacy_loss(f).log_mgf(s)), rel=1e-11)


def test_shapes_and_kinds() -> None:
    law: PrivacyLoss = privacy_loss(WithFailure(GaussianTradeoff(1.0), 1e-3))
    assert isinstance(law.log_cdf(0.5), float)
    assert np.shape(law.log_survival(np.zeros((2, 3)))) == (2, 3)
    assert np.shape(law.log_mgf([[-0.5]])) == (1, 1)
    blend = privacy_loss(Mixture([GaussianTradeoff(0.5), GaussianTradeoff(1.0)], [0.5, 0.5]))
    parts = [privacy_loss(GaussianTradeoff(mu)).log_cdf(0.7) for mu in (0.5, 1.0)]
    assert blend.log_cdf(0.7) == pytest.approx(math.log(np.exp(parts).mean()), rel=1e-14)
