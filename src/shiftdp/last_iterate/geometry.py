"""What is assumed of the losses and of the set on which they are minimised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from shiftdp._checks import Array, choice, magnitude
from shiftdp._errors import InvalidInput
from shiftdp._rounding import FOUR_ROUNDINGS, ULP

Adjacency = Literal["replace_one", "zero_out"]


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """The class of losses: m-strongly convex, M-smooth, gradients at most L apart, diameter D.

    Args:
        strong_convexity: m; 0 for convex losses, negative for weakly convex (non-convex) ones.
        smoothness: M; infinity where nothing is known (then only composition applies).
        sensitivity: L, the largest distance between the two gradients that are compared: of two
            records for `replace_one`, of one record and nothing for `zero_out`.
        gradient_bound: G, the largest norm of one record's gradient, the ridge apart, where it is
            known (a clip, for one). Under `replace_one` it is another number than L: gradients that
            are all near one long vector have a small L and a large G, and `L <= 2 G` is all that
            holds. Poisson sampling needs G, because a record that is not drawn leaves a whole
            gradient out of the sum. Under `zero_out` L is such a bound itself.
        diameter: D, of the constraint set that every iterate is projected onto.
        prox_convexity: m_h, where each step ends with the prox of a function that is m_h-strongly
            convex (a ridge inside the prox; L1 adds nothing): it brings two points together by
            1/(1 + eta m_h) [Theorem V5]. Used where all steps are equal; 0 is valid for any prox.
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
    gradient_bound: float | None = None
    prox_convexity: float = 0.0

    def __post_init__(self) -> None:
        fields = {
            "strong_convexity": magnitude(
                "strong_convexity", self.strong_convexity, zero=True, infinite=True, signed=True
            ),
            "smoothness": magnitude("smoothness", self.smoothness, zero=True, infinite=True),
            "sensitivity": magnitude("sensitivity", self.sensitivity, zero=True),
            "diameter": magnitude("diameter", self.diameter, infinite=True),
            "adjacency": choice("adjacency", self.adjacency, get_args(Adjacency)),
            "prox_convexity": magnitude("prox_convexity", self.prox_convexity, zero=True),
        }
        if self.gradient_bound is not None:
            fields["gradient_bound"] = magnitude("gradient_bound", self.gradient_bound, zero=True)
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if self.gradient_bound is not None:
            self._check_gradient_bound(self.gradient_bound)
        m, M = self.strong_convexity, self.smoothness
        if m == math.inf:
            raise InvalidInput(
                "strong_convexity", m, "is infinite", "give a finite number, 0, or -inf"
            )
        if m > M:
            raise InvalidInput(
                "strong_convexity",
                m,
                f"exceeds smoothness={M:g}",
                "no loss is more convex than it is smooth; give strong_convexity <= smoothness",
            )

    def _check_gradient_bound(self, G: float) -> None:
        times = 2 if self.adjacency == "replace_one" else 1
        if self.sensitivity > times * G:
            most = f"{times} gradient_bound" if times > 1 else "gradient_bound"
            raise InvalidInput(
                "sensitivity",
                self.sensitivity,
                f"exceeds {most}={times * G:g}, and gradients of norm at most {G:g} are not "
                f"further apart under {self.adjacency}",
                f"give sensitivity={times * G:g} or less, or the gradient_bound that holds",
            )

    @property
    def record_bound(self) -> float | None:
        """The largest norm of one record's gradient, the ridge apart; None where it is unknown.

        >>> Geometry(strong_convexity=0, smoothness=1, sensitivity=2).record_bound is None
        True
        >>> Geometry(
        ...     strong_convexity=0, smoothness=1, sensitivity=2, adjacency="zero_out"
        ... ).record_bound
        2.0
        """
        return self.sensitivity if self.adjacency == "zero_out" else self.gradient_bound

    @property
    def convex(self) -> bool:
        return self.strong_convexity >= 0

    @property
    def bounded(self) -> bool:
        return self.diameter < math.inf

    def contraction(self, learning_rate: float) -> float:
        """c = max(|1 - eta m|, |1 - eta M|): a gradient step is c-Lipschitz.

        [BSA24, Lemma contraction]. Rounded up, so that it is a Lipschitz constant in truth;
        exactly 1 stays exactly 1. With a strongly convex prox, c / (1 + eta m_h) [Theorem V5].
        """
        c = contraction_of(self.strong_convexity, self.smoothness, learning_rate)
        if self.prox_convexity == 0.0 or math.isinf(c):
            return c
        return c / (1.0 + learning_rate * self.prox_convexity) * (1.0 + FOUR_ROUNDINGS)

    def stated(self) -> dict[str, Any]:
        """The fields; that of the prox is left out where there is none that counts."""
        return {name: x for name, x in vars(self).items() if name != "prox_convexity" or x}

    def steepest(self, learning_rate: float) -> float:
        """The contraction rounded down: a slope that some loss of the class really has."""
        return contraction_of(self.strong_convexity, self.smoothness, learning_rate, side=-1)


def contraction_of(m: float, M: float, eta: float, *, side: int = 1) -> float:
    """max(|1 - eta m|, |1 - eta M|), rounded up, or down if `side` is -1."""
    if math.isinf(m) or math.isinf(M):
        return math.inf
    return max(_distance_to_one(eta * m, side), _distance_to_one(eta * M, side))


def contractions_of(m: float, M: float, eta: Array, *, side: int = 1) -> Array:
    """`contraction_of` for many learning rates, to the last digit.

    >>> contractions_of(0.5, 1.0, np.array([1.0, 2.0, 3.0])).round(6).tolist()
    [0.5, 1.0, 2.0]
    """
    if math.isinf(m) or math.isinf(M):
        return np.full(eta.shape, math.inf)
    with np.errstate(over="ignore"):
        return np.maximum(_distances_to_one(eta * m, side), _distances_to_one(eta * M, side))


def _distances_to_one(x: Array, side: int) -> Array:
    """`_distance_to_one` for arrays."""
    value = np.abs(1.0 - x)
    moved = np.maximum(0.0, value + side * (np.abs(x) + value) * ULP)
    moved = np.where((x > 0.0) & (x < 2.0), np.minimum(moved, 1.0), moved)
    return np.where((x == 0.0) | (np.abs(x - 2.0) <= FOUR_ROUNDINGS), 1.0, moved)


def _distance_to_one(x: float, side: int) -> float:
    """|1 - x|, moved to one side by the rounding of x and of the difference, unless exact."""
    # a learning rate of 2/M in floats means just that
    if x == 0.0 or abs(x - 2.0) <= FOUR_ROUNDINGS:
        return 1.0
    value = abs(1.0 - x)
    moved = max(0.0, value + side * (abs(x) + value) * ULP)
    return min(moved, 1.0) if 0.0 < x < 2.0 else moved
