"""Epsilon that a family of events proves to be unavoidable.

An event E with `P(E) = x` and `Q(E) = y` shows that no epsilon below `log((x - delta) / y)` holds
at this delta. Which event is tried is free, so nothing about its choice has to be rounded; only the
two probabilities count. The events here are `{sum of labels > level}`: each coordinate is cut into
cells, and a cell's label is its privacy loss, rounded to a lattice. Levels and labels that are a
little off cost only a second order of that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, GENEROUS, NOT_ZERO
from shiftdp.interpolation.instances.jump_law import Accuracy, JumpLaw

_FARTHEST = 36.0  # Phi(-36) = 4e-284 is a float; so is its quotient with anything that matters
_ROOM = 2.0  # deviations beyond the quantile at delta that cells go on for
_LEAST_LABEL = 1e-4  # finer labels change nothing


@dataclass(frozen=True, eq=False)
class Cells:
    """The probabilities of the cells of one coordinate, from left to right, in both runs."""

    with_record: Array
    without: Array


def cells_of(law: JumpLaw, delta: float, accuracy: Accuracy, *, away: float = 0.0) -> Cells:
    """The cells of the pair (E N(S, 1), E N(-away S, 1)).

    >>> law = JumpLaw(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    >>> cells = cells_of(law, 1e-5, Accuracy())
    >>> bool(abs(np.sum(cells.with_record) - 1.0) < 1e-12 > abs(np.sum(cells.without) - 1.0))
    True
    """
    beyond = math.sqrt(-2.0 * math.log(delta)) + _ROOM
    top = float(law.value[-1])
    low, high = -min(_FARTHEST, beyond + away * top), min(_FARTHEST, top + beyond)
    edges = np.linspace(low, high, accuracy.cells)
    return Cells(
        _masses(law.value, law.weight, edges),
        _masses(-away * law.value[::-1], law.weight[::-1], edges)
        if away
        else _masses(np.zeros(1), np.ones(1), edges),
    )


def epsilon_of_cells(coordinates: list[Cells], delta: float, accuracy: Accuracy) -> float:
    """The epsilon that no bound on this product of coordinates can be below, rounded down."""
    losses = [
        np.log(cells.with_record + NOT_ZERO) - np.log(cells.without + NOT_ZERO)
        for cells in coordinates
    ]
    spread = sum(float(np.ptp(loss)) for loss in losses)
    unit = max(_LEAST_LABEL, spread / accuracy.labels)
    x, y = np.ones(1), np.ones(1)
    for cells, loss in zip(coordinates, losses, strict=True):
        label = np.rint((loss - loss.min()) / unit).astype(int)
        x = np.convolve(x, np.bincount(label, cells.with_record))
        y = np.convolve(y, np.bincount(label, cells.without))
    above = epsilon_from_tails(np.cumsum(x[::-1]), np.cumsum(y[::-1]), delta)
    below = epsilon_from_tails(np.cumsum(y), np.cumsum(x), delta)
    return max(above, below)


def epsilon_from_tails(gained: Array, paid: Array, delta: float) -> float:
    """The largest log((x - delta) / y) over events, rounded down; 0 if there is none above.

    Args:
        gained: x, the probabilities of the events in one run, to a part of 1e-9.
        paid: y, their probabilities in the other.
        delta: where epsilon is read.

    >>> round(epsilon_from_tails(np.array([0.5]), np.array([0.1]), 0.25), 6)
    0.916291
    """
    x = gained * (1.0 - GENEROUS) - delta
    y = paid * (1.0 + GENEROUS) + NOT_ZERO
    useful = x > 0.0
    if not useful.any():
        return 0.0
    best = float(np.max(np.log(x[useful]) - np.log(y[useful])))
    return max(0.0, best * (1.0 - AMPLE) - GENEROUS)


def _masses(centre: Array, weight: Array, edges: Array) -> Array:
    """What E N(centre, 1) gives to the cells between -inf, the edges and inf.

    Each from the tail on its own side, so that small ones have all digits.
    """
    from scipy.special import ndtr

    apart = edges[None, :] - centre[:, None]
    left, right = weight @ ndtr(apart), weight @ ndtr(-apart)
    inner = np.where(left[:-1] < right[1:], np.diff(left), -np.diff(right))
    return np.asarray(np.maximum(np.concatenate([left[:1], inner, right[-1:]]), 0.0))
