"""The law of a mechanism that is drawn at random and revealed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Mixture,
    WithFailure,
    privacy_loss,
)
from shiftdp.fdp.losses import PrivacyLoss, loss_law


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
