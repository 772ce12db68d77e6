"""Cross-entropy whose gradients end at the clip: a drop-in loss for loops that clip.

Scaling a record's gradient of softmax to a norm leaves no gradient of a convex function, and no
bound on the last iterate holds. The Lipschitz envelope of the loss is convex, as smooth, the same
where gradients are short, and has none that are longer than the clip ([docs/losses.md], Lemmas 2
and 5): then there is nothing for the loop to clip.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import nn
from torch.autograd.function import once_differentiable

from shiftdp._checks import DATA_GREATEST, DATA_LEAST, choice, magnitude
from shiftdp._errors import InvalidInput
from shiftdp._rounding import EIGHT_ROUNDINGS, OPACUS_ADDS, unclipped_norm
from shiftdp.training.losses.base import Floats
from shiftdp.training.losses.softmax import Softmax

Reduction = Literal["mean", "sum", "none"]

_ROW_SLACK = 1.0 + 1e-6  # rows that were scaled to the bound in single precision may be above it


class EnvelopeCrossEntropy(nn.Module):
    """CrossEntropyLoss, but for records whose gradient would be longer than the clip.

    The gradient in the scores is that of `shiftdp.training.Softmax` with envelope clipping,
    computed by the same code in double precision. A record's gradient in the weights of a linear
    map has norm |q| |x|, q being that in the scores, so its limit is clip / |x|: of each record if
    `features` are given to the call, else of the longest row that the bound allows. A little room
    is left for single precision, and for what Opacus adds to a norm, so that a clip of `clip` never
    acts.

    Args:
        clip: the norm that no record's gradient exceeds: `max_grad_norm` of Opacus.
        feature_bound: the largest norm of a row of features, without the constant of the bias.
        bias: whether the linear map has one.
        reduction: as for torch's losses.

    >>> scores = torch.tensor([[0.0, 3.0, 1.0]], requires_grad=True)
    >>> loss = EnvelopeCrossEntropy(clip=1.0, feature_bound=2.0, bias=False)
    >>> loss(scores, torch.tensor([0])).backward()
    >>> round(float(scores.grad.norm()), 4)  # times a row of norm 2 that is 1
    0.5
    """

    def __init__(
        self,
        clip: float,
        *,
        feature_bound: float,
        bias: bool = True,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        choice("reduction", reduction, get_args(Reduction))
        self.clip = magnitude("clip", clip, DATA_LEAST, DATA_GREATEST)
        self.feature_bound = magnitude("feature_bound", feature_bound, DATA_LEAST, DATA_GREATEST)
        self.bias = bool(bias)
        self.reduction = reduction
        longest = math.hypot(self.feature_bound * _ROW_SLACK, float(self.bias))
        limit = unclipped_norm(self.clip) / longest * (1.0 - EIGHT_ROUNDINGS)
        least = Softmax(classes=2).least_limit
        if not limit >= least:
            raise InvalidInput(
                "clip",
                clip,
                f"is less than {least:g} of the longest row, {longest:g}",
                f"give at least {least * longest + 2 * OPACUS_ADDS:.3g}, or scale rows down",
            )
        self.limit = limit

    def forward(
        self,
        scores: torch.Tensor,
        targets: torch.Tensor,
        features: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The loss of scores (records, classes) and labels from 0.

        Args:
            scores: what the linear map returned.
            targets: the classes of the records, as whole numbers.
            features: the rows that the linear map was given, each of which then has its own limit.
        """
        if scores.dim() != 2:
            raise InvalidInput(
                "scores", tuple(scores.shape), "is not one row of scores a record", "flatten it"
            )
        if not torch.isfinite(scores.detach()).all():
            raise InvalidInput(
                "scores",
                tuple(scores.shape),
                "has entries that are not finite, and so would all gradients be",
                "look for a learning rate that is too large, or rows that are not finite",
            )
        losses = _envelope(scores, targets, self._limits(scores, features))
        if self.reduction == "none":
            return losses
        return losses.mean() if self.reduction == "mean" else losses.sum()

    def extra_repr(self) -> str:
        return f"clip={self.clip:g}, feature_bound={self.feature_bound:g}, bias={self.bias}"

    def _limits(self, scores: torch.Tensor, features: torch.Tensor | None) -> Floats:
        if features is None:
            return np.full(len(scores), self.limit)
        if features.dim() != 2 or len(features) != len(scores):
            raise InvalidInput(
                "features",
                tuple(features.shape),
                f"is not one row for each of {len(scores)} records",
                "give what the linear map was given",
            )
        rows = torch.linalg.vector_norm(features.detach().double(), dim=1).cpu().numpy()
        if not (rows <= self.feature_bound * _ROW_SLACK).all():
            raise InvalidInput(
                "feature_bound",
                self.feature_bound,
                "is passed by the norm of a row",
                "scale rows down to the bound, or give a bound that holds for all data",
            )
        norms = np.hypot(rows, float(self.bias))
        with np.errstate(divide="ignore"):
            limits: Floats = unclipped_norm(self.clip) / norms * (1.0 - EIGHT_ROUNDINGS)
        return limits


def _envelope(scores: torch.Tensor, targets: torch.Tensor, limits: Floats) -> torch.Tensor:
    losses: torch.Tensor = _Envelope.apply(scores, targets, limits)  # type: ignore[no-untyped-call]
    return losses


class _Envelope(torch.autograd.Function):
    """Values and gradients from the residuals q of the NumPy loss.

    With p = q + e_y the value is <q, z> - sum p log p: the conjugate of softmax is the negative
    entropy of p, and q maximises <q, z> less it over the ball of radius k.
    """

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, targets: torch.Tensor, limits: Floats) -> Any:
        z = np.ascontiguousarray(scores.detach().double().cpu().numpy().T)
        loss = Softmax(classes=len(z))
        y = loss.targets(targets.detach().cpu().numpy())
        if y.shape != limits.shape:
            raise InvalidInput(
                "targets", tuple(y.shape), f"is not one label for {len(limits)} scores", "give one"
            )
        q = z.copy()
        loss.residuals(q, y, limits)
        p = q.copy()
        p[y, np.arange(len(y))] += 1.0
        surprise = -p * np.log(np.where(p > 0.0, p, 1.0))
        values = (q * (z - z.max(axis=0, initial=-np.inf)) + surprise).sum(axis=0)
        ctx.save_for_backward(torch.from_numpy(q.T.copy()).to(scores))
        return torch.from_numpy(values).to(scores)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weights: torch.Tensor) -> Any:
        (q,) = ctx.saved_tensors
        return weights[:, None] * q, None, None
