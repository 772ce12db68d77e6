"""Residuals on a device are those of NumPy, to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from shiftdp import InvalidInput
from shiftdp.last_iterate.sum_rounding import ENVELOPE_ACCURACY
from shiftdp.training import Joint, Logistic, Loss
from shiftdp.training.heads.residuals import held_targets, require_formula, residuals_of
from tests.training.heads.examples import LOSSES
from tests.training.losses.examples import labels, pairs

CPU = torch.device("cpu")


def on_device(
    loss: Loss, z: NDArray[Any], y: NDArray[Any], limits: NDArray[Any] | None, scaled: bool
) -> NDArray[Any]:
    found = residuals_of(
        loss,
        torch.from_numpy(z.copy()),
        held_targets(loss, y, CPU),
        None if limits is None else torch.from_numpy(limits),
        scaled=scaled,
    )
    return found.numpy()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("clipped", ["no", "envelope", "plain"])
def test_each_formula_is_that_of_the_loss(loss: Loss, clipped: str) -> None:
    z, _ = pairs(loss.outputs, 400, 3)
    z[:, ::7] *= 40.0  # beyond what exponentials of scores themselves can hold
    y = loss.targets(labels(loss, 400, 4))
    limits = None if clipped == "no" else np.random.default_rng(5).uniform(0.01, 1.5, 400)
    expected = z.copy()
    if clipped == "plain" and limits is not None:
        loss.scaled_residuals(expected, y, limits)
    else:
        loss.residuals(expected, y, limits)
    found = on_device(loss, z, y, limits, clipped == "plain")
    solved = clipped == "envelope" and loss.outputs > 1
    error = ENVELOPE_ACCURACY if solved else 2e-15
    scale = loss.slope if limits is None else np.minimum(limits, loss.slope)
    assert (np.linalg.norm(found - expected, axis=0) <= error * scale).all()
    if limits is not None:
        assert (np.linalg.norm(found, axis=0) <= limits * (1 + 1e-14)).all()


@pytest.mark.parametrize("clipped", [False, True])
def test_stacked_models_are_the_models_one_by_one(clipped: bool) -> None:
    for loss in LOSSES:
        z = 3.0 * np.random.default_rng(2).normal(size=(3, loss.outputs, 40))
        y = loss.targets(labels(loss, 40, 4))
        limits = np.full(40, 0.4) if clipped else None
        together = on_device(loss, z, y, limits, False)
        for one, expected in zip(z, together, strict=True):
            assert np.abs(on_device(loss, one, y, limits, False) - expected).max() <= 1e-11


class Own(Logistic):
    """A loss of a user's."""


@pytest.mark.parametrize("loss", [Own(), Joint((Logistic(), Own()))])
def test_a_loss_without_formula_is_refused_with_the_cure(loss: Loss) -> None:
    with pytest.raises(InvalidInput, match="Own' is not written for devices"):
        require_formula(loss)
