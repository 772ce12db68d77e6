"""Is one tradeoff function above another everywhere, and if not, where?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array, number_in
from shiftdp._rounding import LARGEST_EXPONENT, NOT_ZERO
from shiftdp.fdp.tradeoff import TradeoffFunction, tradeoff

_ROUNDING = 1e-12  # more than any value of f is rounded down by
_START = 128  # points of the first grid towards each end
_ROUNDS = 40  # halvings of cells: 2^-40 is below the tolerance
_MOST_CELLS = 200_000  # at once; with more the comparison gives up
_TOLERANCE = 1e-9  # by how much f may be below g if nothing else is asked for
_NEAREST, _NEAR = 1e-300, 1e-12  # alpha at which two grids towards 0 begin, very fine and fine


@dataclass(frozen=True)
class Comparison:
    """The answer to "is f >= g?".

    `holds` is True when f >= g - tolerance is proved on all of [0, 1], False when f is below g at
    `alpha` by `gap`, and None when neither could be shown.
    """

    holds: bool | None
    tolerance: float
    alpha: float | None = None
    gap: float = 0.0

    def __bool__(self) -> bool:
        return self.holds is True


def dominates(
    f: TradeoffFunction, g: TradeoffFunction, tolerance: float = _TOLERANCE
) -> Comparison:
    """Whether f(alpha) >= g(alpha) - tolerance for all alpha: f is at least as private as g.

    On a cell [a, b] the convex g lies below its chord, and f above each of its supporting lines
    1 - delta_f(eps) - e^eps alpha. Cells where this proves nothing are halved.

    >>> from shiftdp.fdp import ApproxDPTradeoff, GaussianTradeoff
    >>> bool(dominates(GaussianTradeoff(0.5), GaussianTradeoff(1.0)))
    True
    >>> verdict = dominates(GaussianTradeoff(1.0), ApproxDPTradeoff(1.0, 1e-5))
    >>> verdict.holds, 0 < verdict.alpha < 1
    (False, True)
    """
    tradeoff("f", f)
    tradeoff("g", g)
    tolerance = number_in("tolerance", tolerance, 0.0, 1.0)
    left = _grid()
    right = left[1:]
    left = left[:-1]
    for _ in range(_ROUNDS):
        ends = np.unique(np.concatenate([left, right]))
        below = g._beta(ends) - f._beta(ends)
        at = int(np.argmax(below))
        # both values are rounded down
        if below[at] > tolerance + _ROUNDING:
            return _violation(f, g, float(ends[at]), tolerance)
        unproved = ~_proved(f, g, left, right, tolerance)
        if not unproved.any():
            return Comparison(True, tolerance)
        left, right = left[unproved], right[unproved]
        middle = 0.5 * (left + right)
        if np.any(middle <= left) or left.size > _MOST_CELLS:
            break
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return Comparison(None, tolerance, float(left[0]))


def _grid() -> Array:
    """A grid on [0, 1] that is finest near the ends, where tradeoff functions bend most."""
    tiny, small = np.geomspace(_NEAREST, _NEAR, 2 * _START), np.geomspace(_NEAR, 0.5, _START)
    return np.unique(np.concatenate([[0.0], tiny, small, 1.0 - small, [1.0]]))


def _proved(
    f: TradeoffFunction, g: TradeoffFunction, left: Array, right: Array, tolerance: float
) -> NDArray[np.bool_]:
    """Cells where f >= g - tolerance is proved: a supporting line of f lies above a chord of g."""
    high_left, high_right = g._beta(left) + _ROUNDING, g._beta(right) + _ROUNDING
    f_left, f_right = f._beta(left), f._beta(right)
    # near kinks: f decreases, so on the whole cell it is at least its value at the right end
    flat = f_right + tolerance >= high_left
    with np.errstate(divide="ignore"):
        slope = np.maximum((f_left - f_right) / (right - left), NOT_ZERO)
        epsilon = np.clip(np.log(slope), -LARGEST_EXPONENT, LARGEST_EXPONENT)
    height, gamma = 1.0 - f._delta(epsilon), np.exp(epsilon)
    line = (height - gamma * left + tolerance >= high_left) & (
        height - gamma * right + tolerance >= high_right
    )
    proved: NDArray[np.bool_] = flat | line
    return proved


def _violation(
    f: TradeoffFunction, g: TradeoffFunction, alpha: float, tolerance: float
) -> Comparison:
    """The place near alpha where f is furthest below g."""
    gap, width = 0.0, 0.25
    for _ in range(30):
        points = np.clip(alpha + width * np.linspace(-1.0, 1.0, 41), 0.0, 1.0)
        below = g._beta(points) - f._beta(points)
        at = int(np.argmax(below))
        if below[at] > gap:
            alpha, gap = float(points[at]), float(below[at])
        width *= 0.5
    return Comparison(False, tolerance, alpha, gap)
