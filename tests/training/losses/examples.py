"""The losses that are tested, their definitions, and what has to hold for pairs of scores."""

from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from shiftdp.training import (
    ClippedSquared,
    Huber,
    Joint,
    Logistic,
    Loss,
    SmoothedHinge,
    Softmax,
    Weighted,
)

LOSSES: list[Loss] = [
    Logistic(),
    SmoothedHinge(width=0.5),
    SmoothedHinge(width=3.0),
    Huber(width=1.3),
    ClippedSquared(residual_bound=2.0),
    Softmax(classes=2),
    Softmax(classes=3),
    Softmax(classes=10),
    Weighted(Logistic(), (0.3, 1.0)),
    Weighted(SmoothedHinge(width=0.5), (1.0, 0.01)),
    Weighted(Softmax(classes=3), (1.0, 0.2, 0.7)),
    Joint((Logistic(), Softmax(classes=3), Huber(width=0.7))),
]


def labels(loss: Loss, size: int, seed: int) -> NDArray[Any]:
    rng = np.random.default_rng(seed)
    if isinstance(loss, Joint):
        return np.stack([labels(head, size, seed + k) for k, head in enumerate(loss.heads)], axis=1)
    if loss.outputs > 1:
        return rng.integers(0, loss.outputs, size)
    if isinstance(loss, (Huber, ClippedSquared)):
        return np.asarray(rng.normal(size=size) * 3)
    return rng.integers(0, 2, size)


def residuals(
    loss: Loss, z: NDArray[Any], y: NDArray[Any], limits: NDArray[Any] | None
) -> NDArray[Any]:
    out = z.copy()
    loss.residuals(out, loss.targets(y), limits)
    return out


def value(loss: Loss, z: NDArray[np.float64], y: Any) -> mpmath.mpf:
    """The loss of one record by its definition, in 40 digits."""
    if isinstance(loss, Joint):
        parts = zip(loss.heads, loss.places, y, strict=True)
        return sum(value(head, z[place], float(own)) for head, place, own in parts)
    if isinstance(loss, Weighted):
        return mpmath.mpf(loss.weights[int(y)]) * value(loss.loss, z, y)
    scores = [mpmath.mpf(float(score)) for score in z]
    if isinstance(loss, Softmax):
        return mpmath.log(sum(mpmath.exp(score) for score in scores)) - scores[int(y)]
    (score,) = scores
    if isinstance(loss, Logistic):
        return mpmath.log(1 + mpmath.exp(-(2 * y - 1) * score))
    if isinstance(loss, SmoothedHinge):
        h, t = mpmath.mpf(loss.width), (2 * y - 1) * score
        if t >= 1 + h / 2:
            return mpmath.mpf(0)
        return 1 - t if t <= 1 - h / 2 else (1 + h / 2 - t) ** 2 / (2 * h)
    k = mpmath.mpf(loss.slope)
    r = score - mpmath.mpf(float(y))
    return r * r / 2 if abs(r) <= k else k * abs(r) - k * k / 2


def pairs(outputs: int, size: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pairs of score vectors, near, far, tied and huge: two arrays of shape (outputs, size)."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-2, 1.5, size)
    first = rng.normal(size=(outputs, size)) * scale
    apart = 10.0 ** rng.uniform(-4, 1.5, size)
    second = first + rng.normal(size=(outputs, size)) * apart
    # every tenth pair differs by an exchange of two scores
    second[:, ::10] = first[::-1, ::10]
    return first, second


def check_pairs(loss: Loss, size: int, seed: int, kappa: float | NDArray[Any] | None) -> None:
    """Monotone, cocoercive with 1/curvature, and within the Lipschitz bound."""
    first, second = pairs(loss.outputs, size, seed)
    y = labels(loss, size, seed + 1)
    limits = None if kappa is None else np.broadcast_to(kappa, size).astype(np.float64)
    most = loss.slope if limits is None else np.minimum(limits, loss.slope)
    g, h = residuals(loss, first, y, limits), residuals(loss, second, y, limits)
    assert (np.linalg.norm(g, axis=0) <= most * (1 + 1e-15)).all()
    inner = np.add.reduce((g - h) * (first - second), axis=0)
    apart = np.linalg.norm(first - second, axis=0)
    change = np.linalg.norm(g - h, axis=0)
    # residuals are right to 1e-10 where they are solved for and to 1e-15 where they are not;
    # scores of size 100 pass some ulps of themselves on
    error = 1e-10 if loss.outputs > 1 and kappa is not None else 1e-13
    assert (inner >= -error * apart).all()
    assert (change <= loss.curvature * apart + error).all()
    assert (loss.curvature * inner >= change**2 - error * (change + loss.curvature * apart)).all()
