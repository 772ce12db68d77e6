"""Whether the gradients of a step are those of the logistic or softmax loss that was declared.

The gradient of a record with features x and scores z is g x^T in the weights and g in the biases,
g being that of its loss in the scores. Scores and features are seen in the forward pass, so the
declaration is checked, record by record, before the step is made.

Of a logistic loss, g = sigmoid(z) - y with y from 0 to 1, so that sigmoid(z) - g has to be a label:
in this range, and one of two values or the record's entry in the batch. A loss of weighted scores
or classes, or one that bends in another way, soon has others. Of softmax, g = softmax(z) - e_y, and
the label is where g is negative.

Of the envelope at the limit k, g is the same where its norm is at most k. Elsewhere it is the q
with q = softmax(z - nu q) - e_y, |q| = k for some nu > 0 ([docs/losses.md], Lemma 5). To check a
given q is simpler than to find it: t -> loss(z - t q) is convex, and its derivative
-<q, softmax(z - t q) - e_y> grows, and is -|q|^2 at t = nu; so nu is found by halving, and q is
compared with softmax(z - nu q) - e_y. Nothing of this uses the code that the loss is computed by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import GRADIENT_IN_SINGLE, unclipped_norm
from shiftdp.privacy.opacus.run import Declaration

_AGREES = GRADIENT_IN_SINGLE  # of the limit: gradients that are closer are the same
_ROUNDINGS = 8  # units in the precision of the scores; of an envelope for each unit of their spread
_HALVINGS = 60  # of the bracket of the multiplier nu: more than a float has binary digits
_DOUBLINGS = 200  # of its upper end at most, from 1/k, until the residual is short enough

Call = tuple[torch.Tensor, torch.Tensor]
"""Rows that a linear map was given, and the scores that it returned."""


class WatchedScores:
    """Keeps what a linear map was given and returned, from one step to the next."""

    def __init__(self) -> None:
        self._calls: list[Call] = []

    def hook(self, module: Any, arguments: tuple[Any, ...], output: Any) -> None:
        """A forward hook of the linear map that looks at it while it is trained."""
        if module.training and torch.is_grad_enabled():
            self._calls.append((arguments[0].detach(), output.detach()))

    def taken(self) -> list[Call]:
        """The calls since this was asked last."""
        calls, self._calls = self._calls, []
        return calls


def refuse_other_loss(
    linear: nn.Linear,
    calls: list[Call],
    declaration: Declaration,
    clip: float,
    batch: Sequence[torch.Tensor] = (),
) -> None:
    """Refuse gradients that are not those of the declared loss in one of the `calls`.

    Args:
        linear: the model.
        calls: what it was given and returned.
        declaration: of the loss.
        clip: of the optimizer.
        batch: the tensors of the loader's batch, among which labels may be.
    """
    weight, bias = (_samples(p) for p in (linear.weight, linear.bias))
    given = weight if weight is not None else bias
    if given is None or not len(given):
        return  # a step without records
    R = declaration.row_bound(linear.bias is not None)
    for rows, scores in calls:
        if declaration.classes and scores.dtype not in (torch.float32, torch.float64):
            raise UnmetHypothesis(
                "scores",
                str(scores.dtype),
                "have too few digits to tell the declared loss from another",
                "train the head in single precision, outside of autocast",
            )
        if len(rows) == len(given) and _agrees(
            rows.double(), scores, weight, bias, _limits(declaration, rows, linear, clip, R), batch
        ):
            return
    raise UnmetHypothesis(
        "loss",
        declaration.loss,
        "has other gradients than those of a step that was to be made",
        _REMEDIES[declaration.loss or ""],
    )


_REMEDIES = {
    "logistic": "train with BCEWithLogitsLoss without weights, of scores as they are, and the same "
    "loss_reduction as in make_private; or declare the loss that is used",
    "softmax": "train with CrossEntropyLoss without weights or smoothed labels, and the same "
    "loss_reduction as in make_private",
    "envelope_softmax": "train with shiftdp.torch.EnvelopeCrossEntropy, with the clip of "
    "make_private and the feature_bound declared",
}


def _samples(parameter: Any) -> torch.Tensor | None:
    samples = getattr(parameter, "grad_sample", None)
    return samples.detach() if isinstance(samples, torch.Tensor) else None


def _limits(
    declaration: Declaration, rows: torch.Tensor, linear: nn.Linear, clip: float, R: float
) -> list[torch.Tensor]:
    """What residuals may be limited to: by nothing; else by the bound on rows, or by each row."""
    if declaration.loss != "envelope_softmax":
        return [rows.new_full((len(rows),), math.inf, dtype=torch.float64)]
    norms = torch.linalg.vector_norm(rows.double(), dim=1)
    if linear.bias is not None:
        norms = torch.hypot(norms, torch.ones_like(norms))
    most = unclipped_norm(clip)
    return [torch.full_like(norms, most / R), most / norms]


def _agrees(
    rows: torch.Tensor,
    scores: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    limits: list[torch.Tensor],
    batch: Sequence[torch.Tensor],
) -> bool:
    """Whether gradients are residuals of the loss times the rows, for one choice of limits.

    Where nothing is limited, the residuals of softmax have an error of some roundings. Those of an
    envelope have one in proportion to the limit k and the spread of the scores: a rounding of q
    moves z - nu q by at most nu k, about the spread, and softmax, near a class, by k times that.
    """
    if bias is not None:
        g = bias.double()
    else:
        squares = rows.square().sum(dim=1).clamp_min(torch.finfo(torch.float64).tiny)
        g = torch.einsum("bkd,bd->bk", _given(weight).double(), rows) / squares[:, None]
    z = scores.double()
    spread = z.amax(dim=1) - z.amin(dim=1)
    unit = _ROUNDINGS * torch.finfo(scores.dtype).eps
    shown = rows.square().sum(dim=1) > 0.0 if bias is None else torch.ones_like(spread) > 0.0
    for k in limits:
        stretched = torch.where(k.isinf(), 0.0, spread)
        slack = k.clamp_max(math.sqrt(2.0)) * (_AGREES + unit * (1.0 + stretched))
        apart = _distance(z, g, k, slack) if z.shape[1] > 1 else _beyond(z, g)
        close = (apart <= slack) | ~shown
        if weight is not None:
            outer = weight.double() - g[:, :, None] * rows[:, None, :]
            apart = torch.linalg.vector_norm(outer.flatten(1), dim=1)
            close &= apart <= slack * torch.linalg.vector_norm(rows, dim=1)
        labelled = z.shape[1] > 1 or _are_labels(torch.sigmoid(z) - g, slack, shown, batch)
        if bool(close.all()) and labelled:
            return True
    return False


def _given(weight: torch.Tensor | None) -> torch.Tensor:
    if weight is None:
        raise UnmetHypothesis("module", "Linear", "has no gradients of records", "train it")
    return weight


def _are_labels(
    y: torch.Tensor, slack: torch.Tensor, shown: torch.Tensor, batch: Sequence[torch.Tensor]
) -> bool:
    """Whether these have two values, as hard or smoothed labels have, or are a tensor of a batch.

    >>> y, slack = torch.tensor([[0.1], [0.9], [0.1]]), torch.full((3,), 1e-5)
    >>> _are_labels(y, slack, slack > 0, []), _are_labels(y.cumsum(0), slack, slack > 0, [])
    (True, False)
    """
    seen = y[shown, 0]
    if len(seen) < 2 or bool(
        (torch.minimum(seen - seen.amin(), seen.amax() - seen) <= 2.0 * slack[shown]).all()
    ):
        return True
    given = (part.to(y).reshape(-1) for part in batch if part.numel() == len(y))
    return any(bool(((one[shown] - seen).abs() <= slack[shown]).all()) for one in given)


def _beyond(z: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """How far each g is from the derivatives of a logistic loss at z, of any label from 0 to 1."""
    p = torch.sigmoid(z)
    return torch.maximum(g - p, p - 1.0 - g).clamp_min(0.0)[:, 0]


def _distance(
    z: torch.Tensor, g: torch.Tensor, k: torch.Tensor, slack: torch.Tensor
) -> torch.Tensor:
    """How far each g is from the residual of softmax at z under the limit k."""
    # of a record that is as good as certain, nothing is negative that is not rounding
    y = torch.where(g.amin(dim=1) < -slack, g.argmin(dim=1), z.argmax(dim=1))
    one_hot = nn.functional.one_hot(y, z.shape[1]).double()
    plain = torch.softmax(z, dim=1) - one_hot
    apart: torch.Tensor = torch.linalg.vector_norm(g - plain, dim=1)
    limited = torch.linalg.vector_norm(plain, dim=1) > k
    if bool(limited.any()):
        apart[limited] = _envelope_distance(z[limited], g[limited], one_hot[limited], k[limited])
    return apart


def _envelope_distance(
    z: torch.Tensor, g: torch.Tensor, one_hot: torch.Tensor, k: torch.Tensor
) -> torch.Tensor:
    """How far g, scaled to the limit k, is from softmax(z - nu g) - e_y at the best nu > 0."""
    norms = torch.linalg.vector_norm(g, dim=1)
    q = g * (k / norms.clamp_min(torch.finfo(torch.float64).tiny))[:, None]

    def residual(nu: torch.Tensor) -> torch.Tensor:
        return torch.softmax(z - nu[:, None] * q, dim=1) - one_hot

    def short(nu: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = (q * residual(nu)).sum(dim=1) <= k.square()
        return found

    low, high = torch.zeros_like(k), 1.0 / k
    for _ in range(_DOUBLINGS):
        if bool(short(high).all()):
            break
        high = torch.where(short(high), high, 2.0 * high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        below = short(middle)
        low, high = torch.where(below, low, middle), torch.where(below, middle, high)
    return torch.maximum(torch.linalg.vector_norm(residual(high) - q, dim=1), (norms - k).abs())
