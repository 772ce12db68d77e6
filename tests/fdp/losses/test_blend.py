"""The law of a mechanism that is drawn at random and revealed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp.fdp import (
    GaussianTradeoff,
    Mixture,
    WithFailure,
    privacy_loss,
)
from shiftdp.fdp.losses import PrivacyLoss


def test_shapes_and_kinds() -> None:
    law: PrivacyLoss = privacy_loss(WithFailure(GaussianTradeoff(1.0), 1e-3))
    assert isinstance(law.log_cdf(0.5), float)
    assert np.shape(law.log_survival(np.zeros((2, 3)))) == (2, 3)
    assert np.shape(law.log_mgf([[-0.5]])) == (1, 1)
    blend = privacy_loss(Mixture([GaussianTradeoff(0.5), GaussianTradeoff(1.0)], [0.5, 0.5]))
    parts = [privacy_loss(GaussianTradeoff(mu)).log_cdf(0.7) for mu in (0.5, 1.0)]
    assert blend.log_cdf(0.7) == pytest.approx(math.log(np.exp(parts).mean()), rel=1e-14)
