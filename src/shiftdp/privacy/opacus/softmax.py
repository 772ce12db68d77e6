"""Softmax and the clip: of three classes or more it is covered only where the clip cannot act.

Scaling the gradient of softmax to a norm leaves no gradient of a convex function, nor of any other
([docs/losses.md]): no theorem but composition holds. It is covered where nothing is ever clipped:
because no gradient can be that long, rows of norm R having gradients of norm sqrt(2) R at most; or
because the loss is the Lipschitz envelope, whose gradients end at the clip.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import GRADIENT_IN_SINGLE, unclipped_norm
from shiftdp.privacy.opacus.reading import inner_of, linear_map, longest
from shiftdp.privacy.opacus.run import Declaration

_CANCELLED = 1e-4  # rows that sum to this part of their sizes sum to 0, in single precision
_ROUNDINGS = 16  # of the sum of a record's softmax, in whatever precision it is computed
_HEADS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)  # layers that scores may come from
_LEAST_LIMIT = 1e-4  # below it the residuals of an envelope have too few digits


def refuse_clip(linear: nn.Linear, declaration: Declaration, clip: float) -> None:
    """Of a declared softmax: a clip that could act.

    Two classes are one score, and clipping a loss of one score leaves it convex.
    """
    if not declaration.classes:
        return
    R = declaration.row_bound(linear.bias is not None)
    if declaration.loss == "envelope_softmax":
        if not unclipped_norm(clip) / R >= _LEAST_LIMIT:
            raise UnmetHypothesis(
                "max_grad_norm",
                clip,
                f"is less than {_LEAST_LIMIT:g} of the bound on rows, {R:g}",
                "raise it, or scale rows down",
            )
    elif linear.out_features > 2 and not math.sqrt(2.0) * R <= unclipped_norm(clip):
        raise UnmetHypothesis(
            "max_grad_norm",
            clip,
            f"may clip a softmax of {linear.out_features} outputs, whose clipped gradient is not "
            "the gradient of any function",
            f"raise it above sqrt(2) R = {math.sqrt(2.0) * R:.4g}, the constant of the intercept "
            'included, or declare loss="envelope_softmax" and train with '
            "shiftdp.torch.EnvelopeCrossEntropy",
        )


def refuse_clipped_softmax(module: Any, optimizer: Any, declaration: Declaration) -> None:
    """Clipped softmax of three classes or more, whatever curvature was declared for it.

    Softmax is known by its gradients: those of the outputs of a linear head add up to zero, p - e_y
    having sum 0.
    """
    if declaration.composed_only or declaration.classes:
        return
    heads = [count for part in inner_of(module).modules() if (count := _softmax_outputs(part))]
    if not heads:
        return
    whole = linear_map(module)
    if whole is not None and declaration.feature_bound is not None:
        most = math.sqrt(2.0) * declaration.row_bound(whole.bias is not None)
        never = most <= unclipped_norm(optimizer.max_grad_norm)
        if never and longest(optimizer.grad_samples) <= most * (1.0 + GRADIENT_IN_SINGLE):
            return
    raise UnmetHypothesis(
        "curvature",
        declaration.curvature,
        f"is declared for a softmax of {heads[0]} outputs, whose clipped gradient is not the "
        "gradient of any function",
        'give loss="softmax" and a feature_bound R of a linear model with sqrt(2) R below '
        'max_grad_norm, so that nothing is clipped, or loss="envelope_softmax", or '
        'bounds="composition"',
    )


def _softmax_outputs(part: nn.Module) -> int:
    """How many outputs a layer has, if they are three or more and their gradients add up to zero.

    Weights or biases may be frozen, so either tells.
    """
    if not isinstance(part, _HEADS):
        return 0
    samples = (getattr(p, "grad_sample", None) for p in (part.weight, part.bias))
    found = [s for s in samples if isinstance(s, torch.Tensor) and s.dim() > 1]
    outputs = int(part.weight.shape[0])
    return outputs if outputs > 2 and any(map(_sums_to_zero, found)) else 0


def _sums_to_zero(samples: torch.Tensor) -> bool:
    """Whether gradients, of shape (records, outputs, ...), are zero when summed over the outputs.

    Of all records together: p - e_y of a record whose p_y is nearly 1 has hardly a digit, and says
    nothing by itself.
    """
    rows = samples.detach().double()
    total, size = float(rows.sum(dim=1).abs().sum()), float(rows.abs().sum())
    digits = _ROUNDINGS * torch.finfo(samples.dtype).eps
    return size > 0.0 and total <= max(_CANCELLED, digits) * size
