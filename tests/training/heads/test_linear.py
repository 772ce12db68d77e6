"""The layer that a fit returns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from shiftdp import InvalidInput, NoisyGD
from shiftdp.training import Logistic, Plan
from shiftdp.training.heads.linear import BoundedFeatures, CertifiedLinear

CERTIFICATE = Plan(
    run=NoisyGD(n=10, steps=2, learning_rate=0.1, noise=1.0), loss=Logistic(), feature_bound=1.0
).certificate


@pytest.mark.parametrize("bias", [True, False])
def test_it_is_a_linear_layer_with_these_weights(bias: bool) -> None:
    released = np.arange(12.0).reshape(3, 4)
    layer = CertifiedLinear(released, bias, CERTIFICATE, (1, 2), torch.float64)
    plain = nn.Linear(layer.in_features, 3, bias=bias, dtype=torch.float64)
    plain.load_state_dict(layer.state_dict())
    x = torch.ones(2, layer.in_features, dtype=torch.float64)
    expected = released.sum(axis=1)
    assert np.allclose(layer(x).detach().numpy(), expected)
    assert torch.equal(plain(x), layer(x))
    assert layer.certificate is CERTIFICATE
    first, second = layer.heads()
    assert torch.equal(torch.cat([first(x), second(x)], dim=1), layer(x))


def test_long_rows_are_scaled_and_others_left_alone() -> None:
    bounded = BoundedFeatures(0.5)
    x = torch.tensor([[0.3, 0.0], [3.0, -4.0], [3e38, 3e38], [0.0, 0.0]])
    found = bounded(x)
    assert torch.equal(found[0], x[0])
    assert torch.equal(found[3], x[3])
    assert torch.allclose(found[1], torch.tensor([0.3, -0.4]))
    assert torch.allclose(found[2].norm(), torch.tensor(0.5))
    assert bounded(torch.ones(3, 2, 2)).shape == (3, 4)
    assert "feature_bound=0.5" in repr(bounded)


@pytest.mark.parametrize("bound", [None, 0.0, -1.0, math.nan, math.inf, "1"])
def test_a_bound_that_bounds_nothing_is_refused(bound: Any) -> None:
    with pytest.raises(InvalidInput, match="feature_bound"):
        BoundedFeatures(bound)
