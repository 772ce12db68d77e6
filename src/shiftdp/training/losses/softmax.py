"""Multinomial logistic regression, with two ways of clipping: one that keeps convexity, and one
that does not."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import count
from shiftdp._errors import InvalidInput
from shiftdp.training.losses.arrays import copy_of, is_contiguous
from shiftdp.training.losses.base import Floats, Loss, described, module_of, real_vector
from shiftdp.training.losses.envelope import LEAST, envelope_residuals

_CALM = 300.0  # exponentials of scores this size, and the sums of their squares, stay in range


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

    @property
    def initial_residual(self) -> float:
        return math.sqrt(1.0 - 1.0 / self.classes)

    @property
    def least_limit(self) -> float:
        return LEAST

    def targets(self, y: Any) -> NDArray[Any]:
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
            _residuals(z, targets, None)
            return
        xp = module_of(z)
        scores = copy_of(z)
        _residuals(z, targets, None)
        far = xp.sqrt(xp.einsum("...kb,...kb->...b", z, z)) > limits
        if far.any():
            # classes first, then all models' records together
            long, place = (xp.moveaxis(array, -2, 0) for array in (scores, z))
            y, kappa = (xp.broadcast_to(array, far.shape)[far] for array in (targets, limits))
            place[:, far] = envelope_residuals(long[:, far], y, kappa)

    def scaled_residuals(self, z: Floats, targets: NDArray[Any], limits: Floats) -> None:
        _residuals(z, targets, limits)


def _residuals(z: Floats, y: NDArray[Any], limits: Floats | None) -> None:
    """p - e_y for each record, scaled down to its limit if there are limits.

    With e = exp(z), o the sum of e over the other classes and t = o + e_y, the residual is e/t but
    for the entry of y, which is -o/t: nothing cancels. Its norm is that of e with -o at y, over t;
    so one factor a record, the smaller of 1/t and limit/norm, both normalises and clips. The norm
    is known to K + 6 units of roundoff, for which the limits leave room.
    """
    if 0 in z.shape:
        return
    flat = z.reshape(-1)
    if not is_contiguous(z):  # then its flat form is a copy
        contiguous = flat.reshape(z.shape)
        _residuals(contiguous, y, limits)
        z[...] = contiguous
        return
    xp = module_of(z)
    # scores of any size are rare: a pass over them is saved until they occur. Others stay as they
    # are to the last bit, so that a residual depends on the scores of its own record only
    if not (z.max() < _CALM and z.min() > -_CALM):
        top = xp.amax(z, axis=-2, keepdims=True)
        least = xp.amin(z, axis=-2, keepdims=True)
        z -= xp.where((top < _CALM) & (least > -_CALM), 0.0, top)
    *models, classes, records = z.shape
    own = xp.arange(records, device=z.device)
    own += y * records
    if models:
        first = xp.arange(0, len(flat), classes * records, device=z.device)
        own = own + first.reshape(*models, 1)
    with np.errstate(over="ignore", under="ignore"):
        xp.exp(z, out=z)
        factor = flat[own]
        flat[own] = 0.0
        others = z.sum(axis=-2)
        factor += others
        xp.reciprocal(factor, out=factor)
        if limits is not None:
            norms = xp.einsum("...kb,...kb->...b", z, z)
            norms += others * others
            # what squares below the smallest number may have lost
            norms += 2 * classes * sys.float_info.min
            xp.sqrt(norms, out=norms)
            xp.minimum(factor, xp.divide(limits, norms, out=norms), out=factor)
        flat[own] = xp.negative(others, out=others)
        z *= factor[..., None, :]
