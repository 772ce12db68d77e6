"""Laws with few values that leak hardly more than a given one: each value goes to two neighbours.

**Theorem C8** [docs/theory.md]. Let W and W' be laws on [0, infinity), Z a standard Gaussian that
is independent of them, and g(m) = P(W' > m) - P(W > m).

1. If `int_t^inf g phi >= 0` for all t >= 0, then `E u(W') >= E u(W)` for every rising u whose
   derivative, over the density phi, rises. So are those of `HiddenExchange`: its bound for W' holds
   where that for W does.
2. If also `int_0^t g phi >= 0` for all t >= 0, then W' + Z is stochastically at least W + Z. So the
   pairs (E N(W), N(0)) and (E N(W), E N(-W)) leak no more than those of W', in both directions, and
   the same holds of sums with independent laws.

*Proof.* E u(W') - E u(W) = int g u' = int (g phi) (u' / phi). Summed by parts, with a factor that
rises that is a mean, with positive weights, of the first integrals; with one that falls, of the
second ones. P(W + Z > x) = E Phi(W - x), where the factor is phi(m - x)/phi(m), e^(m x) up to a
constant: it rises for x >= 0 and falls for x <= 0. For the test {y > x} of `HiddenExchange`, x >=
0, it is the same up to m = x, and phi(0)/phi(m) beyond. Every best test between pairs of part 2 is
a half-line, and what it reaches depends on W by P(W + Z > x) alone, in which it rises. ∎

*How values are split.* A value m between a and b goes to b with the probability

    (Phi(m) - Phi(a)) / (Phi(b) - Phi(a)),

and to a otherwise. Then the first integrals are never negative, and 0 at a and b; a function u as
in part 1 is replaced by its chord between a and b, as a function of Phi(m). So the cost is of
second order in the width of a cell: 300 values cost what tens of thousands would if each went to
the next larger one. Values of a cell that ends beyond 30 do go there: 1 - Phi has few digits left.
The second integrals fall a little below 0 within a cell. For them some of the smallest values,
which matter least, are moved up as far as is needed.

*Which cells.* With a density w and cells of width d the cost is the integral of w k d^2 with some
k(m), and the integral of 1/d is the number of cells: so d is proportional to (w k)^(-1/3), and all
cells cost the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array, count
from shiftdp._rounding import GENEROUS, NOT_ZERO
from shiftdp.fdp.pairs.value_cost import value_costs

_BACKWARD = 0.3  # how much the other direction of a zero-out counts, as a part
_CLOSE = 1e-3  # logarithms of costs that are so close need not be told apart
_CHEAPEST = 1e-40  # part of the cost of a single cell: below all that matters
# 1 - Phi of a value just below 30, beyond which nothing is shared: floats lose its digits soon, and
# whoever checks the order compares tails one by one
_VANISHED = 1e-196

Law = tuple[tuple[float, ...], tuple[float, ...]]
"""Values and weights."""


def split_law(mu: Sequence[float], weight: Sequence[float], most: int) -> Law:
    """A law with at most so many values, at least the given one in the sense of Theorem C8.

    That is up to roundings, which change a tail by a part of 1e-12: whoever needs more raises the
    tails before. Both parts of the theorem apply. 300 values cost a part of 2.5e-4 of epsilon or
    less, at deltas from 1e-5 to 1e-12, in the 15 laws of runs that were measured; the smaller
    direction of a zero-out up to 9e-4.

    Args:
        mu: values >= 0 that rise.
        weight: their probabilities > 0, which add up to 1 up to rounding.
        most: how many values the result may have, at least 2.

    >>> values, weights = split_law((0.0, 1.0, 1.001, 1.002), (0.9, 0.05, 0.03, 0.02), 3)
    >>> values, [round(w, 6) for w in weights]
    ((0.0, 1.0, 1.002), [0.9, 0.05, 0.05])
    """
    most = count("most", most, 2)
    if len(mu) <= most:
        return tuple(mu), tuple(weight)
    values, weights = np.array(mu), np.array(weight)
    beyond = scipy.special.ndtr(-values)  # 1 - Phi, which keeps its digits
    nodes = _nodes(value_costs(values, weights), beyond, weights, most)
    kept, lower = _shares(nodes, beyond, weights)
    kept = _lifted(kept, lower, nodes, beyond, weights)
    some = kept > 0.0
    return tuple(values[nodes][some].tolist()), tuple(kept[some].tolist())


def _nodes(
    costs: tuple[Array, Array], beyond: Array, weights: Array, most: int
) -> NDArray[np.int64]:
    """The indices of the values that remain, the first and the last included.

    From each node on a cell is made as long as one common budget allows, the least one with which
    the nodes suffice. What chords change in the other direction counts as well, to either side.
    """
    last, q = len(weights) - 1, beyond.tolist()
    there, back = costs[0], _BACKWARD * costs[1]
    u, v = there.tolist(), back.tolist()
    # sums from the top, so that those of rare large values keep their digits
    mass, gone, paid, got = (
        np.append(np.cumsum(part[::-1])[::-1], 0.0).tolist()
        for part in (weights, weights * beyond, weights * there, weights * back)
    )

    def price(a: int, b: int) -> float:
        """Of all values between a and b, on the chord instead of the curve."""
        inside, width = mass[a + 1] - mass[b], q[a] - q[b]
        shared = q[b] >= _VANISHED
        up = (q[a] * inside - (gone[a + 1] - gone[b])) / width if shared and width > 0.0 else inside
        chord = u[a] * inside + (u[b] - u[a]) * up - (paid[a + 1] - paid[b])
        return float(chord + abs(v[a] * inside + (v[b] - v[a]) * up - (got[a + 1] - got[b])))

    def fill(budget: float) -> list[int]:
        nodes = [0]
        while nodes[-1] < last and len(nodes) <= most:
            low, high = nodes[-1] + 1, last
            while low < high:
                middle = (low + high + 1) // 2
                if price(nodes[-1], middle) <= budget:
                    low = middle
                else:
                    high = middle - 1
            nodes.append(low)
        return nodes

    whole = max(price(0, last), NOT_ZERO)
    low, high = math.log(max(_CHEAPEST * whole, NOT_ZERO)), math.log(whole)
    best = [0, last]
    while high - low > _CLOSE:
        middle = 0.5 * (low + high)
        found = fill(math.exp(middle))
        if len(found) <= most:
            best, high = found, middle
        else:
            low = middle
    return np.array(best)


def _shares(nodes: NDArray[np.int64], beyond: Array, weights: Array) -> tuple[Array, Array]:
    """The weight of each node, and how much of it comes from the cell above it."""
    index = np.arange(len(weights))
    cell = np.minimum(np.searchsorted(nodes, index, side="right") - 1, len(nodes) - 2)
    a, b = nodes[cell], nodes[cell + 1]
    width = beyond[a] - beyond[b]
    shared = (beyond[b] >= _VANISHED) & (width > 0.0)
    up = np.where(shared, (beyond[a] - beyond) / np.maximum(width, NOT_ZERO), 1.0)
    up[nodes[:-1]], up[nodes[-1]] = 0.0, 1.0
    above = np.bincount(cell + 1, weights * up, len(nodes))
    down = weights * (1.0 - up)
    own = np.zeros(len(nodes))
    own[:-1] = weights[nodes[:-1]]
    down[nodes[:-1]] = 0.0
    lower = np.bincount(cell, down, len(nodes))
    return np.asarray(above + own + lower), np.asarray(lower)


def _lifted(
    kept: Array, lower: Array, nodes: NDArray[np.int64], beyond: Array, weights: Array
) -> Array:
    """The weights of the nodes, with some values moved up so that no second integral is negative.

    Cell by cell from the smallest: where the second integral would fall below 0, what would go down
    goes up, and the integral is larger from there on.
    """
    kept = kept.copy()
    after = np.cumsum(kept[::-1])[::-1]
    cell = np.searchsorted(nodes, np.arange(len(weights) - 1), side="right") - 1
    left = np.cumsum(weights[::-1])[::-1][1:]  # P(W > m) from each value on
    terms = (after[cell + 1] - left) * -np.diff(beyond)
    depth = np.zeros(len(nodes) - 1)
    for k, (a, b) in enumerate(pairwise(nodes.tolist())):
        depth[k] = max(0.0, -float(np.cumsum(terms[a:b]).min()))
    needed, width, done = depth + GENEROUS * beyond[0], -np.diff(beyond[nodes]), 0.0
    for k in np.flatnonzero(depth > 0.0).tolist():
        if done < needed[k]:
            kept[k], kept[k + 1] = max(kept[k] - lower[k], 0.0), kept[k + 1] + lower[k]
            done += float(lower[k] * width[k])
    return kept
