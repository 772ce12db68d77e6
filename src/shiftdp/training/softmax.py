"""Multinomial logistic regression, with two ways of clipping: one that keeps convexity, and one
that does not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import count
from shiftdp._errors import InvalidInput
from shiftdp.training.loss import Floats, Loss, described, real_vector
from shiftdp.training.softmax_envelope import envelope_residuals

__all__ = ["Softmax", "scale_to_limits"]

_CALM = 60.0  # scores this size neither overflow nor vanish in float32


@dataclass(frozen=True)
class Softmax(Loss):
    """log sum_j exp(z_j) - z_y, with one column of weights for each class.

    The residual is p - e_y, p the softmax of the scores, of norm at most sqrt(2); the Hessian
    diag(p) - p p^T has no eigenvalue above 1/2. [docs/losses.md, Lemma 4]

    >>> Softmax(classes=10).curvature
    0.5
    """

    classes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", count("classes", self.classes, 2))

    @property
    def outputs(self) -> int:
        return self.classes

    @property
    def slope(self) -> float:
        return math.nextafter(math.sqrt(2.0), 2.0)

    @property
    def curvature(self) -> float:
        return 0.5

    def targets(self, y: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
        labels = real_vector("y", y)
        last = self.classes - 1
        if labels.dtype.kind == "f" and not (labels == np.floor(labels)).all():
            raise InvalidInput(
                "y", described(labels), "has labels that are not whole", f"give 0 to {last}"
            )
        if not ((labels >= 0) & (labels <= last)).all():
            raise InvalidInput(
                "y", described(labels), f"has labels outside 0 to {last}", f"give 0 to {last}"
            )
        return labels.astype(np.intp)

    def residuals(self, z: Floats, targets: NDArray[Any], limits: Floats | None) -> None:
        if limits is None:
            _residuals(z, targets)
            return
        scores = z.copy()
        _residuals(z, targets)
        norms = np.sqrt(np.add.reduce(z * z, axis=0))
        far = np.flatnonzero(norms > limits)
        if far.size:
            z[:, far] = envelope_residuals(scores[:, far], targets[far], limits[far])


def scale_to_limits(g: Floats, limits: Floats) -> None:
    """Plain clipping: each residual scaled down to its limit. Not monotone for three classes."""
    norms = np.sqrt(np.add.reduce(g * g, axis=0))
    np.maximum(norms, limits, out=norms)
    g *= np.divide(limits, norms, out=norms)


def _residuals(z: Floats, y: NDArray[Any]) -> None:
    # scores of any size are rare: a pass over them is saved until they occur
    if not (z.max(initial=0.0) < _CALM and z.min(initial=0.0) > -_CALM):
        z -= np.maximum.reduce(z, axis=0)
    with np.errstate(under="ignore"):
        np.exp(z, out=z)
    total = np.add.reduce(z, axis=0)
    z *= np.reciprocal(total, out=total)
    z[y, np.arange(z.shape[1])] -= 1
