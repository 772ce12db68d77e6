"""Laws with fewer values that dominate a given one: mass moves to larger values only.

The functions of Theorem B7 (`hidden`) take any law that is stochastically at least that of mu(V).
So values may be sorted into cells, each of which moves to its largest value. The bound grows by
what that costs, and cells are chosen such that it costs little.

*What a move costs.* A cell with the largest value M costs sum_i w_i (u(M) - u(m_i)), u being what
larger values cost (`fdp.pairs.value_cost`).

*Which cells.* With n cells of width d(m) in a law of density w(m) the cost is the integral of
w u' d/2, and the integral of 1/d is n: so d is proportional to (w u')^{-1/2}, and all cells cost
the same. Cells are therefore filled from below up to one common cost, the least with which the
number of cells suffices (`cheapest_cells`, for any rising u).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array, array_in, count
from shiftdp._errors import InvalidInput
from shiftdp._rounding import NOT_ZERO
from shiftdp.fdp.pairs.mean_law import remainder
from shiftdp.fdp.pairs.value_cost import value_costs

_BACKWARD = 0.3  # how much the other direction of a zero-out counts, as a part
_CLOSE = 1e-3  # logarithms of costs that are so close need not be told apart
_CHEAPEST = 1e-40  # part of the cost of a single cell: below all that matters

Law = tuple[tuple[float, ...], tuple[float, ...]]
"""Values and weights."""


def coarsened(mu: Sequence[float], weight: Sequence[float], most: int) -> Law:
    """A law with at most so many values that is stochastically at least the given one.

    Pr(W >= x) does not fall for any x, rounding included, where that of the given law is what its
    weights above the first say. 300 values cost a part of 1e-4 to 3e-3 of epsilon at deltas from
    1e-5 to 1e-12, for laws that runs have; twice as many values cost half of that.

    Args:
        mu: values >= 0 that rise.
        weight: their probabilities, which add up to 1 up to rounding; some may be 0.
        most: how many values the result may have.

    >>> coarsened((1.0, 2.0, 3.0, 4.0), (0.25, 0.25, 0.25, 0.25), 1)
    ((4.0,), (1.0,))
    >>> coarsened((1.0, 1.001, 2.0, 2.001), (0.25, 0.25, 0.25, 0.25), 2)
    ((1.001, 2.001), (0.5, 0.5))
    """
    most = count("most", most, 1)
    values, weights = array_in("mu", mu, 0.0, open_high=True), array_in("weight", weight, 0.0, 1.0)
    if values.ndim != 1 or not np.all(np.diff(values) > 0.0):
        raise InvalidInput("mu", mu, "does not rise", "give different numbers, sorted")
    if values.shape != weights.shape or not weights.max() > 0.0:
        raise InvalidInput("weight", weight, "does not fit", "give one weight for each value")
    values, weights = values[weights > 0.0], weights[weights > 0.0]
    if values.size <= most:
        return _rounded(values, weights, np.arange(values.size))
    return _rounded(values, weights, _ends(values, weights, most))


def _ends(values: Array, weights: Array, most: int) -> NDArray[np.int64]:
    """The index of the last value of each cell: at most `most` cells, all of about one cost."""
    there, back = value_costs(values, weights)
    u = there + _BACKWARD * back
    # sums from the top, so that those of rare large values keep their digits
    tail = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
    moment = np.append(np.cumsum((weights * u)[::-1])[::-1], 0.0)
    whole = float(u[-1] * tail[0] - moment[0])
    budgets = max(_CHEAPEST * whole, NOT_ZERO), max(whole, NOT_ZERO)
    return cheapest_cells(u, (tail, moment), most, budgets, _CLOSE)


def _rounded(values: Array, weights: Array, ends: NDArray[np.int64]) -> Law:
    """Each cell moved to its largest value, with the sum of its weights rounded up.

    The first cell has what the others leave of 1, so that no Pr(W >= x) is too small.
    """
    parts = weights.tolist()
    starts = [0, *(ends[:-1] + 1).tolist()]
    sums = [
        _sum_up(parts[start : end + 1]) for start, end in zip(starts, ends.tolist(), strict=True)
    ]
    kept = values[ends].tolist()
    while (first := remainder(sums[1:])) <= 0.0:  # the others are all there is, up to rounding
        del kept[0], sums[0]
    return tuple(kept), (first, *sums[1:])


def _sum_up(parts: list[float]) -> float:
    """The least float that is at least the sum."""
    rounded = math.fsum(parts)
    return math.nextafter(rounded, math.inf) if math.fsum([*parts, -rounded]) > 0.0 else rounded


def cheapest_cells(
    cost: Array,
    above: tuple[Array, Array],
    most: int,
    budgets: tuple[float, float],
    close: float,
) -> NDArray[np.int64]:
    """The index of the last value of each of at most `most` cells, all of about one cost.

    Args:
        cost: u at each value, rising.
        above: sums of w and of w u over each value and the larger ones, and 0 behind the last; or
            up to a constant, since only differences are taken.
        most: how many cells there may be.
        budgets: what a cell may cost, between these two; the second is that of a single cell.
        close: logarithms of budgets that are so close need not be told apart.

    >>> weights, cost = np.full(6, 1 / 6), np.arange(6.0)
    >>> sums = [np.append(np.cumsum(row[::-1])[::-1], 0.0) for row in (weights, weights * cost)]
    >>> cheapest_cells(cost, (sums[0], sums[1]), 3, (1e-9, 9.0), 1e-3).tolist()
    [1, 3, 5]
    """
    u, last = cost.tolist(), cost.size - 1
    mass, moment = above[0].tolist(), above[1].tolist()

    def fill(budget: float) -> list[int]:
        """Fill cells from the smallest value on, each up to the budget; stop at `most` + 1."""
        ends: list[int] = []
        first = 0
        while first <= last and len(ends) <= most:
            low, high, mass_from, sum_from = first, last, mass[first], moment[first]
            while low < high:  # the last j for which first..j cost no more
                j = (low + high + 1) // 2
                if u[j] * (mass_from - mass[j + 1]) - (sum_from - moment[j + 1]) <= budget:
                    low = j
                else:
                    high = j - 1
            ends.append(low)
            first = low + 1
        return ends

    low, high = math.log(budgets[0]), math.log(budgets[1])
    best = [last]
    while high - low > close:
        middle = 0.5 * (low + high)
        ends = fill(math.exp(middle))
        if len(ends) <= most:
            best, high = ends, middle
        else:
            low = middle
    return np.array(best)
