"""Residuals on a device: the formulas of `shiftdp.training.losses`, written with tensors.

Each is the same formula as that of its loss, step by step, so that what is proved of the rounding
of one holds for the other; the tests hold them to each other. Scores have the shape (..., outputs,
records), as there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.heads.envelope import envelope_residuals
from shiftdp.training.losses.base import Loss
from shiftdp.training.losses.joint import Joint
from shiftdp.training.losses.scalar import ClippedSquared, Huber, Logistic, SmoothedHinge
from shiftdp.training.losses.softmax import CALM, Softmax
from shiftdp.training.losses.weighted import Weighted

Targets = tuple[torch.Tensor, ...]
"""The targets of each head; of a loss that is not `Joint` there is one."""

_Formula = Callable[[Any, torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]


def held_targets(loss: Loss, targets: NDArray[Any], device: torch.device) -> Targets:
    """Targets, as the loss makes them, on a device."""
    names = targets.dtype.names or ()
    columns = [targets[name] for name in names] if isinstance(loss, Joint) else [targets]
    return tuple(torch.from_numpy(np.ascontiguousarray(column)).to(device) for column in columns)


def require_formula(loss: Loss) -> None:
    """Refuse a loss whose residuals are not written for a device."""
    heads = loss.heads if isinstance(loss, Joint) else (loss,)
    for head in heads:
        kind = type(head.loss if isinstance(head, Weighted) else head)
        if kind not in _FORMULAS:
            raise InvalidInput(
                "loss",
                kind.__name__,
                "is not written for devices other than the processor",
                'give device="cpu", or a loss of shiftdp.training',
            )


def residuals_of(
    loss: Loss,
    z: torch.Tensor,
    targets: Targets,
    limits: torch.Tensor | None,
    *,
    scaled: bool = False,
) -> torch.Tensor:
    """The gradient of the loss in the scores, clipped to the limits.

    Args:
        loss: of one record.
        z: scores, of shape (..., outputs, records), in float64; they may be overwritten.
        targets: of these records, one tensor a head.
        limits: the norm that each record's residual is clipped to; None without clipping.
        scaled: whether residuals are scaled down to their limit, and not those of the envelope.
    """
    if isinstance(loss, Joint):
        return _of_heads(loss, z, targets, limits, scaled)
    (own,) = targets
    return _of_one(loss, z, own, limits, scaled)


def _of_heads(
    loss: Joint, z: torch.Tensor, targets: Targets, limits: torch.Tensor | None, scaled: bool
) -> torch.Tensor:
    parts = []
    for head, place, own, share in zip(loss.heads, loss.places, targets, loss.shares, strict=True):
        limit = None if limits is None or scaled else limits * share
        parts.append(_of_one(head, z[..., place, :], own, limit, scaled=False))
    g = torch.cat(parts, dim=-2)
    return _scaled(g, limits) if scaled and limits is not None else g


def _of_one(
    loss: Loss, z: torch.Tensor, targets: torch.Tensor, limits: torch.Tensor | None, scaled: bool
) -> torch.Tensor:
    if isinstance(loss, Weighted):
        g = _of_one(loss.loss, z, targets, limits, scaled)
        weights = torch.tensor(loss.weights, dtype=torch.float64, device=z.device)
        places = targets if loss.outputs > 1 else (targets > 0).long()
        return g * weights[places]
    if isinstance(loss, Softmax) and scaled:
        return _shares(z, targets, limits)
    if not scaled or limits is None:
        return _FORMULAS[type(loss)](loss, z, targets, limits)
    return _scaled(_FORMULAS[type(loss)](loss, z, targets, None), limits)


def _logistic(
    loss: Logistic, z: torch.Tensor, targets: torch.Tensor, limits: torch.Tensor | None
) -> torch.Tensor:
    return _clipped(torch.special.expit(z) - targets, limits)


def _hinge(
    loss: SmoothedHinge, z: torch.Tensor, targets: torch.Tensor, limits: torch.Tensor | None
) -> torch.Tensor:
    inside = ((1.0 + loss.width / 2.0) - z * targets) / loss.width
    return _clipped(-(inside.clamp(0.0, 1.0) * targets), limits)


def _regression(
    loss: Huber | ClippedSquared,
    z: torch.Tensor,
    targets: torch.Tensor,
    limits: torch.Tensor | None,
) -> torch.Tensor:
    g = z - targets
    if math.isfinite(loss.slope):
        g = g.clamp(-loss.slope, loss.slope)
    return _clipped(g, limits)


def _softmax(
    loss: Softmax, z: torch.Tensor, targets: torch.Tensor, limits: torch.Tensor | None
) -> torch.Tensor:
    g = _shares(z, targets, None)
    if limits is None:
        return g
    far = (g * g).sum(dim=-2).sqrt() > limits
    if not bool(far.any()):
        return g
    # classes first, then all models' records together
    long, place = z.movedim(-2, 0), g.movedim(-2, 0)
    y, kappa = (array.expand(far.shape)[far] for array in (targets, limits))
    place[:, far] = envelope_residuals(long[:, far], y, kappa)
    return g


_FORMULAS: dict[type[Loss], _Formula] = {
    Logistic: _logistic,
    SmoothedHinge: _hinge,
    Huber: _regression,
    ClippedSquared: _regression,
    Softmax: _softmax,
}


def _shares(z: torch.Tensor, y: torch.Tensor, limits: torch.Tensor | None) -> torch.Tensor:
    """p - e_y for each record, scaled down to its limit if there are limits: the scheme of
    `shiftdp.training.losses.softmax`, in which nothing cancels."""
    top, least = z.amax(dim=-2, keepdim=True), z.amin(dim=-2, keepdim=True)
    e = torch.exp(z - torch.where((top < CALM) & (least > -CALM), 0.0, top))
    own = y.expand(*z.shape[:-2], 1, z.shape[-1])
    mine = e.gather(-2, own)
    e.scatter_(-2, own, 0.0)
    others = e.sum(dim=-2, keepdim=True)
    factor = 1.0 / (mine + others)
    if limits is not None:
        norms = (e * e).sum(dim=-2, keepdim=True) + others * others
        # what squares below the smallest number may have lost
        norms = (norms + 2 * z.shape[-2] * torch.finfo(z.dtype).tiny).sqrt()
        factor = torch.minimum(factor, limits / norms)
    e.scatter_(-2, own, -others)
    return e * factor


def _clipped(g: torch.Tensor, limits: torch.Tensor | None) -> torch.Tensor:
    return g if limits is None else torch.maximum(torch.minimum(g, limits), -limits)


def _scaled(g: torch.Tensor, limits: torch.Tensor) -> torch.Tensor:
    """Each residual scaled down to its limit."""
    norms = (g * g).sum(dim=-2, keepdim=True).sqrt()
    return g * (limits / torch.maximum(norms, limits))
