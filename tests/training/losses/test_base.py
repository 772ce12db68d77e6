"""Each loss has the constants that it states, clipped or not, and clipping keeps it convex."""

from typing import Any

import mpmath
import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.training import ClippedSquared, Huber, Logistic, Loss, SmoothedHinge, Softmax
from shiftdp.training.losses.base import scale_to_limits, signs
from tests.training.losses.examples import LOSSES, check_pairs, labels, residuals, value


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_residuals_are_the_gradient_of_the_definition(loss: Loss) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(loss.outputs, 12)) * 3
    y = labels(loss, 12, 1)
    g = residuals(loss, z, y, None)
    with mpmath.workdps(40):
        for record in range(12):
            for j in range(loss.outputs):
                up, down = z[:, record].copy(), z[:, record].copy()
                # differences of exactly representable points
                up[j] += 2.0**-20
                down[j] -= 2.0**-20
                slope = (value(loss, up, y[record]) - value(loss, down, y[record])) / 2**-19
                # the third derivative is at most 1/h^2 = 4, the kinks' share at most h^-1 2^-20
                assert abs(float(slope) - g[j, record]) <= 4e-6


@pytest.mark.parametrize("kappa", [None, 0.05, 0.62, 1.2])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_constants_on_random_pairs(loss: Loss, kappa: float | None) -> None:
    check_pairs(loss, 5_000 if loss.outputs > 1 else 200_000, 3, kappa)


@pytest.mark.slow
@pytest.mark.parametrize("kappa", [None, 0.3, 0.62])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_constants_on_millions_of_pairs(loss: Loss, kappa: float | None) -> None:
    few = loss.outputs > 1 and kappa is not None
    for seed in range(4):
        check_pairs(loss, 50_000 if few else 500_000, 100 + seed, kappa)


def test_huge_scores_do_no_harm() -> None:
    z = np.array([[500.0, -800.0], [-500.0, 800.0], [0.0, 0.0]])
    for kappa in (None, 0.5):
        limits = None if kappa is None else np.full(2, kappa)
        g = residuals(Softmax(classes=3), z, np.array([1, 1]), limits)
        assert np.isfinite(g).all()
    assert residuals(Logistic(), np.array([[1e4, -1e4]]), np.array([1, 1]), None).tolist() == [
        [-0.0, -1.0]
    ]


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (Logistic(), [0, 1, 2]),
        (Logistic(), [0.5, 1, 0]),
        (Logistic(), ["a", "b", "c"]),
        (Logistic(), [[0, 1, 1]]),
        (SmoothedHinge(), [float("nan"), 1, 0]),
        (Softmax(classes=3), [0, 1, 3]),
        (Softmax(classes=3), [0, -1, 2]),
        (Softmax(classes=3), [0, 1.5, 2]),
        (Softmax(classes=3), None),
        (Huber(), [float("inf"), 1.0, 2.0]),
        (Huber(), [1j, 1.0, 2.0]),
        (Huber(), [[1.0], [1.0, 2.0]]),
    ],
)
def test_bad_labels_are_one_error_without_their_values(loss: Loss, y: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        loss.targets(y)
    assert caught.value.name == "y"
    assert str(caught.value.value).startswith("<")


@pytest.mark.parametrize(
    "call",
    [
        lambda: Softmax(classes=1),
        lambda: SmoothedHinge(width=0.0),
        lambda: Huber(width=-1.0),
        lambda: Huber(width=float("inf")),
        lambda: ClippedSquared(residual_bound=0.0),
    ],
)
def test_bad_parameters_are_refused(call: Any) -> None:
    with pytest.raises(InvalidInput):
        call()


@pytest.mark.parametrize(
    "loss",
    [Softmax(classes=3), Logistic(), SmoothedHinge(), Huber(), ClippedSquared()],
    ids=repr,
)
@pytest.mark.parametrize("limited", [False, True])
def test_stacked_models_are_the_models_one_by_one(loss: Loss, limited: bool) -> None:
    rng = np.random.default_rng(2)
    z = 3.0 * rng.normal(size=(4, loss.outputs, 50))
    y = loss.targets(rng.integers(0, 2, 50))
    limits = np.full(50, 0.4) if limited else None
    stacked, plain = z.copy(), z.copy()
    loss.residuals(stacked, y, limits)
    for one, together in zip(z.copy(), stacked, strict=True):
        loss.residuals(one, y, limits)
        assert np.abs(one - together).max() <= 1e-11
    if limits is not None:
        loss.scaled_residuals(plain, y, limits)
        for one, together in zip(z.copy(), plain, strict=True):
            loss.residuals(one, y, None)
            scale_to_limits(one, limits)
            assert np.abs(one - together).max() <= 1e-14


@pytest.mark.parametrize("y", [[-1, 0], [-1, 0, 1], [0, 2], [0.5]])
def test_labels_that_are_not_two_classes_are_refused(y: list[float]) -> None:
    """0 and -1 in one vector would be one class."""
    with pytest.raises(InvalidInput, match="give 0 and 1, or -1 and 1"):
        signs(y)
