"""What is assumed of the losses and of the set on which they are minimised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from shiftdp._checks import choice, number_in
from shiftdp._errors import InvalidInput

__all__ = ["Adjacency", "Geometry"]

Adjacency = Literal["replace_one", "zero_out"]


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """The class of losses: m-strongly convex, M-smooth, gradients at most L apart, diameter D.

    Args:
        strong_convexity: m; 0 for convex losses, negative for weakly convex (non-convex) ones.
        smoothness: M; infinity where nothing is known (then only composition applies).
        sensitivity: L, the largest distance between the two gradients that are compared: of two
            records for `replace_one`, of one record and nothing for `zero_out`.
        diameter: D, of the constraint set that every iterate is projected onto.
        adjacency: which data sets are neighbours. `replace_one` exchanges a record, `zero_out`
            replaces its loss by nothing and keeps the regulariser.

    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> round(geometry.contraction(0.05), 6)
    0.9999
    """

    strong_convexity: float
    smoothness: float
    sensitivity: float
    diameter: float = math.inf
    adjacency: Adjacency = "replace_one"

    def __post_init__(self) -> None:
        fields = {
            "strong_convexity": number_in(
                "strong_convexity", self.strong_convexity, -math.inf, open_high=True
            ),
            "smoothness": number_in("smoothness", self.smoothness, 0.0),
            "sensitivity": number_in("sensitivity", self.sensitivity, 0.0, open_high=True),
            "diameter": number_in("diameter", self.diameter, 0.0, open_low=True),
            "adjacency": choice("adjacency", self.adjacency, get_args(Adjacency)),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        m, M = self.strong_convexity, self.smoothness
        if m > M:
            raise InvalidInput(
                "strong_convexity",
                m,
                f"exceeds smoothness={M:g}",
                "no loss is more convex than it is smooth; give strong_convexity <= smoothness",
            )

    @property
    def convex(self) -> bool:
        return self.strong_convexity >= 0

    @property
    def bounded(self) -> bool:
        return self.diameter < math.inf

    def contraction(self, learning_rate: float) -> float:
        """c = max(|1 - eta m|, |1 - eta M|): a gradient step is c-Lipschitz.

        [BSA24, Lemma contraction]. Rounded up, so that it is a Lipschitz constant in truth;
        exactly 1 stays exactly 1.
        """
        slow, fast = self._slopes(learning_rate, +1)
        return max(slow, fast)

    def steepest(self, learning_rate: float) -> float:
        """The same number rounded down: a slope that some loss of the class really shows."""
        slow, fast = self._slopes(learning_rate, -1)
        return max(slow, fast)

    def _slopes(self, eta: float, side: int) -> tuple[float, float]:
        m, M = self.strong_convexity, self.smoothness
        if math.isinf(m) or math.isinf(M):
            return math.inf, math.inf
        return _distance_to_one(eta * m, side), _distance_to_one(eta * M, side)


def _distance_to_one(x: float, side: int) -> float:
    """|1 - x|, moved to one side by the rounding of x and of the difference, unless exact."""
    if x == 0.0 or abs(x - 2.0) <= 2.0**-51:  # a learning rate of 2/M in floats means just that
        return 1.0
    value = abs(1.0 - x)
    moved = max(0.0, value + side * (abs(x) + value) * 2.0**-52)
    return min(moved, 1.0) if 0.0 < x < 2.0 else moved
