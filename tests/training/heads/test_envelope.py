"""The envelope of softmax on a device."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from shiftdp.training.heads import envelope as on_device
from shiftdp.training.heads.envelope import envelope_residuals
from shiftdp.training.losses.envelope import envelope_residuals as by_numpy


def columns(seed: int, size: int, spread: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores of records whose residual is long: the label is not the largest."""
    generator = torch.Generator().manual_seed(seed)
    z = spread * torch.randn(6, size, generator=generator, dtype=torch.float64)
    return z, z.argmin(dim=0)


@pytest.mark.parametrize("spread", [0.5, 5.0, 200.0])
@pytest.mark.parametrize("kappa", [1e-4, 0.05, 0.6])
def test_it_is_that_of_numpy(spread: float, kappa: float) -> None:
    z, y = columns(3, 200, spread)
    limits = torch.full((200,), kappa, dtype=torch.float64)
    found = envelope_residuals(z, y, limits).numpy()
    expected = by_numpy(z.numpy(), y.numpy(), limits.numpy())
    assert np.linalg.norm(found - expected, axis=0).max() <= 1e-10 * kappa
    assert (np.linalg.norm(found, axis=0) <= kappa).all()


def test_records_that_do_not_settle_are_solved_on_the_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    z, y = columns(4, 30, 4.0)
    limits = torch.full((30,), 0.3, dtype=torch.float64)
    settled = envelope_residuals(z, y, limits)
    monkeypatch.setattr(on_device, "NEWTON", 2)
    found = envelope_residuals(z, y, limits)
    assert (found - settled).abs().max() <= 1e-10
    assert torch.isfinite(found).all()
