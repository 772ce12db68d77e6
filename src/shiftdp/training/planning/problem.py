"""What a planner may know: public numbers about a training problem, and the privacy asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

from shiftdp._checks import (
    DATA_GREATEST,
    DATA_LEAST,
    choice,
    count,
    finite,
    magnitude,
    number_in,
)
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.training.losses.base import Loss
from shiftdp.training.losses.scalar import ClippedSquared, Huber, Logistic
from shiftdp.training.losses.softmax import Softmax

__all__ = ["COMPUTE", "Problem"]

COMPUTE = 1e11
"""Multiplications of a run unless told: seconds on one core, a minute at most."""

_REACH = 12.0  # logits that tell classes apart for good
_LONGEST = 200  # passes over the data; more gain nothing that benchmarks/utility.py could see


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The public side of a training problem.

    Args:
        n: how many records there are.
        features: how many features each has.
        loss: of one record.
        feature_bound: no feature vector is longer; the loop sees to it.
        epsilon, delta: what the released model may cost.
        adjacency: which data sets are neighbours.
        intercept: whether a constant is joined to the features.
        compute: how many multiplications the run may take.

    >>> from shiftdp.training import Softmax
    >>> digits = Problem(
    ...     n=1_437,
    ...     features=64,
    ...     loss=Softmax(classes=10),
    ...     feature_bound=3.5,
    ...     epsilon=1.0,
    ...     delta=1e-5,
    ... )
    >>> digits.epochs
    200
    """

    n: int
    features: int
    loss: Loss
    feature_bound: float
    epsilon: float
    delta: float
    adjacency: Adjacency = "replace_one"
    intercept: bool = True
    compute: float = COMPUTE

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Loss):
            raise InvalidInput("loss", self.loss, "is no loss", "give one of shiftdp.training")
        fields = {
            "n": count("n", self.n, 1),
            "features": count("features", self.features, 1),
            "feature_bound": magnitude(
                "feature_bound", self.feature_bound, DATA_LEAST, DATA_GREATEST
            ),
            "epsilon": finite("epsilon", self.epsilon, 0.0, open_low=True),
            "delta": number_in("delta", self.delta, 0.0, 1.0, open_low=True, open_high=True),
            "adjacency": choice("adjacency", self.adjacency, get_args(Adjacency)),
            "compute": number_in("compute", self.compute, 0.0, open_low=True),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def epochs(self) -> int:
        """How often the data may be passed over: two products a pass, at most 200 passes."""
        cost = 2.0 * self.n * (self.features + self.intercept) * self.loss.outputs
        return int(min(_LONGEST, max(1.0, self.compute // cost)))

    @property
    def norm_bound(self) -> float:
        """R, with the constant."""
        return math.hypot(self.feature_bound, 1.0) if self.intercept else self.feature_bound

    @property
    def residual(self) -> float:
        """The derivative of the loss at scores of 0: what every record pulls with at the start."""
        if isinstance(self.loss, Logistic):
            return 0.5
        if isinstance(self.loss, Softmax):
            return math.sqrt(1.0 - 1.0 / self.loss.classes)
        return self.loss.slope

    @property
    def reach(self) -> float:
        """The scores of a good model: logits for classes, the width of the loss for numbers."""
        if isinstance(self.loss, (Huber, ClippedSquared)):
            return self.loss.slope
        return _REACH
