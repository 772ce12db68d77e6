"""One formula for arrays and tensors: residuals of tensors are those of arrays, to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shiftdp.last_iterate.sum_rounding import ENVELOPE_ACCURACY
from shiftdp.training import Loss, Softmax
from shiftdp.training.losses import envelope
from shiftdp.training.losses.arrays import by_numpy, copy_of, is_contiguous
from shiftdp.training.losses.base import module_of
from shiftdp.training.losses.envelope import envelope_residuals
from tests.training.losses.examples import LOSSES, labels, pairs

torch = pytest.importorskip("torch")


def of_tensors(
    loss: Loss, z: NDArray[Any], y: NDArray[Any], limits: NDArray[Any] | None, scaled: bool = False
) -> NDArray[Any]:
    scores = torch.from_numpy(z.copy())
    targets: Any = (
        torch.from_numpy(y)
        if y.dtype.names is None
        else {name: torch.from_numpy(y[name].copy()) for name in y.dtype.names}
    )
    at_most: Any = None if limits is None else torch.from_numpy(limits)
    (loss.scaled_residuals if scaled else loss.residuals)(scores, targets, at_most)
    found: NDArray[Any] = scores.numpy()
    return found


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("clipped", ["no", "envelope", "plain"])
def test_tensors_have_the_residuals_of_arrays(loss: Loss, clipped: str) -> None:
    z, _ = pairs(loss.outputs, 400, 3)
    z[:, ::7] *= 40.0  # beyond what exponentials of scores themselves can hold
    y = loss.targets(labels(loss, 400, 4))
    limits = None if clipped == "no" else np.random.default_rng(5).uniform(0.01, 1.5, 400)
    expected = z.copy()
    if clipped == "plain" and limits is not None:
        loss.scaled_residuals(expected, y, limits)
    else:
        loss.residuals(expected, y, limits)
    found = of_tensors(loss, z, y, limits, clipped == "plain")
    solved = clipped == "envelope" and loss.outputs > 1
    error = ENVELOPE_ACCURACY if solved else 2e-15
    scale = loss.slope if limits is None else np.minimum(limits, loss.slope)
    assert (np.linalg.norm(found - expected, axis=0) <= error * scale).all()
    if limits is not None:
        assert (np.linalg.norm(found, axis=0) <= limits * (1 + 1e-14)).all()


@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_tensors_of_stacked_models_are_those_of_the_models(loss: Loss, clipped: bool) -> None:
    z = 3.0 * np.random.default_rng(2).normal(size=(3, loss.outputs, 40))
    y = loss.targets(labels(loss, 40, 4))
    limits = np.full(40, 0.4) if clipped else None
    together = of_tensors(loss, z, y, limits)
    for one, expected in zip(z, together, strict=True):
        assert np.abs(of_tensors(loss, one, y, limits) - expected).max() <= 1e-11


@pytest.mark.parametrize("spread", [0.5, 5.0, 200.0])
@pytest.mark.parametrize("kappa", [1e-4, 0.05, 0.6])
@pytest.mark.parametrize("steps", [envelope._NEWTON, 2])
def test_the_envelope_of_tensors_is_that_of_arrays(
    spread: float, kappa: float, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where records do not settle, and are solved on the processor."""
    z = spread * np.random.default_rng(3).normal(size=(6, 100))
    y, limits = z.argmin(axis=0), np.full(100, kappa)  # a label that is not the largest
    expected = envelope_residuals(z, y, limits)
    monkeypatch.setattr(envelope, "_NEWTON", steps)
    found = np.asarray(envelope_residuals(*map(torch.from_numpy, (z, y, limits))))
    assert np.linalg.norm(found - expected, axis=0).max() <= 1e-10 * kappa
    assert (np.linalg.norm(found, axis=0) <= kappa).all()


def test_scores_whose_entries_are_not_side_by_side_are_replaced_too() -> None:
    z = np.random.default_rng(1).normal(size=(7, 3))
    y = Softmax(classes=3).targets(labels(Softmax(classes=3), 7, 1))
    expected = of_tensors(Softmax(classes=3), np.ascontiguousarray(z.T), y, None)
    for array, own in ((z.copy(), y), (torch.from_numpy(z.copy()), torch.from_numpy(y))):
        assert is_contiguous(array)
        assert not is_contiguous(array.T)
        Softmax(classes=3).residuals(array.T, own, None)
        assert np.abs(np.asarray(array).T - expected).max() <= 1e-15


@pytest.mark.parametrize("module", [np, torch], ids=["numpy", "torch"])
def test_what_has_two_names_is_the_same(module: Any) -> None:
    z = module.asarray([0.0, 2.0])
    assert module_of(z) is module
    copied = copy_of(z)
    copied += 1.0
    assert np.asarray(copied).tolist() == [1.0, 3.0]
    assert np.asarray(z).tolist() == [0.0, 2.0]
    doubled = by_numpy(lambda a, b: a + b, z, z)
    assert module_of(doubled) is module
    assert np.asarray(doubled).tolist() == [0.0, 4.0]
