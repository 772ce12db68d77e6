"""Sorting the values of a law into few cells, each of which moves to its largest value.

Such a law dominates the given one where larger values leak more. Moving a cell costs
`sum_i w_i (u(M) - u(m_i))`, M its largest value, w the weights and u a rising function that says
what a value costs. Cells are filled from below up to one common cost, the least with which so many
cells suffice (why one cost for all is best: `fdp.functions.law_coarsening`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array


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
