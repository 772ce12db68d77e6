"""Softmax: plain clipping, in one factor with the normalisation, and what it is not."""

import numpy as np
import pytest

from shiftdp.training import Softmax
from shiftdp.training.losses.base import scale_to_limits
from tests.training.losses.examples import labels, pairs, residuals


def test_plain_clipping_of_three_classes_is_not_monotone() -> None:
    """What section 2 of the theory says, and the reason for the envelope."""
    first, second = pairs(3, 200_000, 5)
    rng = np.random.default_rng(0)
    second = first + rng.normal(size=first.shape) * 1e-3
    y = labels(Softmax(classes=3), 200_000, 6)
    limits = np.full(200_000, 0.62)
    g, h = (residuals(Softmax(classes=3), z, y, None) for z in (first, second))
    scale_to_limits(g, limits)
    scale_to_limits(h, limits)
    inner = np.add.reduce((g - h) * (first - second), axis=0)
    assert inner.min() < -1e-9


def test_plain_clipping_of_two_classes_is_the_envelope() -> None:
    z, _ = pairs(2, 2_000, 7)
    y = labels(Softmax(classes=2), 2_000, 8)
    limits = np.full(2_000, 0.4)
    plain = residuals(Softmax(classes=2), z, y, None)
    scale_to_limits(plain, limits)
    assert np.abs(plain - residuals(Softmax(classes=2), z, y, limits)).max() < 1e-11


@pytest.mark.parametrize("size", [1.0, 20.0, 200.0])
@pytest.mark.parametrize("clip", [1e-12, 1e-6, 0.3, 5.0])
def test_normalising_and_clipping_in_one_is_one_after_the_other(size: float, clip: float) -> None:
    rng = np.random.default_rng(7)
    z = size * rng.normal(size=(10, 300))
    y = rng.integers(0, 10, 300)
    limits = clip * rng.uniform(0.5, 1.0, 300)
    fused, exact = z.copy(), z
    loss = Softmax(classes=10)
    loss.scaled_residuals(fused, y, limits)
    # in double precision, with the entry of y as minus the others so that nothing cancels
    p = np.exp(exact - exact.max(axis=0))
    own = (y, np.arange(300))
    p /= p.sum(axis=0)
    p[own] = 0.0
    p[own] = -p.sum(axis=0)
    norms = np.linalg.norm(p, axis=0)
    with np.errstate(divide="ignore"):
        p *= np.minimum(1.0, limits / norms)
    eps = float(np.finfo(np.float64).eps)
    # no residual is longer than its limit by more than the room that limits leave
    longest = np.linalg.norm(fused, axis=0) / limits
    assert longest.max() <= 1.0 + (8 + 10) * eps
    # exponents have errors of half an ulp of scores of up to 4 size
    assert np.abs(fused - p).max() <= (10 + 8 * size) * eps * min(1.0, clip) + 1e-36


def test_scores_in_any_layout_are_replaced() -> None:
    z = np.random.default_rng(1).normal(size=(3, 8))
    y = np.arange(8) % 3
    turned = np.asfortranarray(z)
    Softmax(classes=3).residuals(turned, y, None)
    Softmax(classes=3).residuals(z, y, None)
    assert (turned == z).all()


@pytest.mark.parametrize("limit", [None, 1e-80, 0.5])
@pytest.mark.parametrize("far", [400.0, -400.0, 1e6])
def test_a_residual_depends_on_the_scores_of_its_own_record_only(
    far: float, limit: float | None
) -> None:
    """To the last bit, also if the scores of another record need care that its own do not."""
    rng = np.random.default_rng(3)
    z = 90.0 * rng.normal(size=(3, 200)).clip(-3.0, 3.0)
    y = z.argmax(axis=0)
    beside = z.copy()
    z[:, 0], beside[:, 0] = 0.0, [far, 0.0, 1.0]
    loss = Softmax(classes=3)
    for scores in (z, beside):
        if limit is None:
            loss.residuals(scores, y, None)
        else:
            loss.scaled_residuals(scores, y, np.full(200, limit))
    # records that no vector of the processor holds together with the first
    assert np.array_equal(z[:, 32:-32], beside[:, 32:-32])
    assert np.isfinite(beside).all()
