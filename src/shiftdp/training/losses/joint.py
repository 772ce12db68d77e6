"""Several heads on the same features, trained as one: a loss that is the sum of theirs.

Head h has scores of its own, z_h = W_h x, and a loss l_h of them. The sum, as a function of all
scores z = (z_1, ..., z_H), has the residual (g_1, ..., g_H), so that

    slope^2 = slope_1^2 + ... + slope_H^2,      curvature = max(curvature_1, ..., curvature_H),

because the Hessian is made of blocks. [docs/losses.md, Lemma 7] One record changes the gradient of
all heads together by no more than this slope times R, and a run on the concatenated weights has one
certificate, which is about all heads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp._rounding import EIGHT_ROUNDINGS
from shiftdp.last_iterate.loss_constants import named_parts
from shiftdp.training.losses.base import Floats, Loss, Numbers, described

_UP = 1.0 + EIGHT_ROUNDINGS  # for the squares, their sum and its root
_DOWN = 1.0 - EIGHT_ROUNDINGS  # for a quotient: squares of shares add up to 1 at most


@dataclass(frozen=True)
class Joint(Loss):
    """The sum of the losses of several heads, each with scores and targets of its own.

    Targets are a matrix with a column for each head, or a sequence of vectors. A limit k on the
    residual is shared out: head h is clipped, by its own envelope, to k s_h, where s_h is its part
    of the residual that all of them have at the start, and the squares of the s_h sum to 1.

    >>> from shiftdp.training import Logistic, Softmax
    >>> both = Joint((Logistic(), Softmax(classes=3)))
    >>> both.outputs, round(both.slope**2, 12), both.curvature
    (4, 3.0, 0.5)
    >>> z = np.zeros((4, 2))
    >>> both.residuals(z, both.targets([[1, 2], [0, 0]]), None)
    >>> z.round(3)
    array([[-0.5  ,  0.5  ],
           [ 0.333, -0.667],
           [ 0.333,  0.333],
           [-0.667,  0.333]])
    """

    heads: tuple[Loss, ...]

    def __post_init__(self) -> None:
        heads = tuple(self.heads)
        if not heads or any(
            isinstance(head, Joint) or not isinstance(head, Loss) for head in heads
        ):
            raise InvalidInput(
                "heads",
                tuple(type(head).__name__ for head in heads),
                "are not losses of one head each",
                "give one or more of shiftdp.training, such as Logistic() and Softmax(classes=3)",
            )
        if not all(math.isfinite(head.slope) for head in heads):
            raise InvalidInput(
                "heads",
                tuple(type(head).__name__ for head in heads),
                "have one whose gradients are not bounded",
                "bound its residual, as ClippedSquared(residual_bound=...) does",
            )
        object.__setattr__(self, "heads", heads)

    @property
    def parameters(self) -> Numbers:
        return named_parts([(head.name, head.outputs, head.parameters) for head in self.heads])

    @property
    def outputs(self) -> int:
        return sum(head.outputs for head in self.heads)

    @property
    def slope(self) -> float:
        return math.hypot(*(head.slope for head in self.heads)) * _UP

    @property
    def curvature(self) -> float:
        return max(head.curvature for head in self.heads)

    @property
    def least_limit(self) -> float:
        parts = zip(self.heads, self.shares, strict=True)
        return max(head.least_limit / share for head, share in parts) * _UP

    @property
    def initial_residual(self) -> float:
        return math.hypot(*(head.initial_residual for head in self.heads)) * _UP  # as the slope

    @property
    def good_score(self) -> float:
        """The norm of all scores of a good model."""
        return math.hypot(*(head.good_score for head in self.heads))

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The part of a limit that each head gets; their squares sum to at most 1."""
        whole = self.initial_residual
        return tuple(head.initial_residual / whole * _DOWN for head in self.heads)

    @property
    def places(self) -> list[slice]:
        """Which of the scores belong to each head."""
        ends = accumulate((head.outputs for head in self.heads), initial=0)
        return [slice(*pair) for pair in pairwise(ends)]

    def targets(self, y: Any) -> NDArray[Any]:
        """One entry a record, with a field for each head: see `of_head`."""
        columns = [
            head.targets(column) for head, column in zip(self.heads, self._columns(y), strict=True)
        ]
        kinds = [(f"head_{place}", column.dtype) for place, column in enumerate(columns)]
        found = np.empty(len(columns[0]), dtype=kinds)
        for (name, _), column in zip(kinds, columns, strict=True):
            found[name] = column
        return found

    def _columns(self, y: Any) -> list[Any]:
        """The targets of each head."""
        number = len(self.heads)
        several = isinstance(y, (list, tuple)) and len(y) == number
        if several and all(isinstance(one, np.ndarray) and one.ndim == 1 for one in y):
            lengths = {one.size for one in y}
            columns = list(y)
        else:
            try:
                matrix = np.asarray(y)
            except (TypeError, ValueError):
                matrix = np.empty(())
            lengths = {len(matrix)} if matrix.ndim == 2 and matrix.shape[1] == number else set()
            columns = list(matrix.T) if lengths else []
        if len(lengths) != 1:
            raise InvalidInput(
                "y",
                described(y),
                f"is not a matrix with {number} columns",
                "give a row for each record, with the target of each head",
            )
        return columns

    def residuals(self, z: Floats, targets: NDArray[Any], limits: Floats | None) -> None:
        for (head, place, own), share in zip(self._parts(targets), self.shares, strict=True):
            head.residuals(z[..., place, :], own, None if limits is None else limits * share)

    def _parts(self, targets: NDArray[Any]) -> Iterator[tuple[Loss, slice, NDArray[Any]]]:
        for place, (head, scores) in enumerate(zip(self.heads, self.places, strict=True)):
            yield head, scores, targets[f"head_{place}"]
