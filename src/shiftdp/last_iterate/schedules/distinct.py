"""Many different steps as a few: each is charged at least as much as it costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array

MOST_LAWS = 64
"""How many different laws of a step are composed: each takes about .01 s, and 64 that stand for
sensitivities which vary evenly by a factor of ten raise epsilon by one or two per cent."""


def few_distinct(values: Array, most: int = MOST_LAWS) -> tuple[tuple[float, int], ...]:
    """At most `most` pairs (value, how often) for many values, each of them rounded up to a pair.

    What rounding adds to the sum of squares, with which the cost of a step grows, is kept small: if
    the density of values x is n(x), the best ends of the groups are equally spaced in
    `int sqrt(n(x) x) dx`. Nothing is rounded where there are few values to begin with.

    >>> few_distinct(np.array([1.0, 3.0, 1.0]))
    ((1.0, 2), (3.0, 1))
    >>> few_distinct(np.array([1.0, 1.1, 1.9, 2.0]), most=2)
    ((1.1, 2), (2.0, 2))
    """
    levels, code = levels_of(values, most)
    counts = np.bincount(code, minlength=levels.size)
    return tuple(zip(levels.tolist(), counts.tolist(), strict=True))


def levels_of(values: Array, most: int) -> tuple[Array, NDArray[np.intp]]:
    """The few values, in rising order, and for each of the many which of them it is rounded up to.

    >>> levels_of(np.array([1.0, 2.0, 1.1, 1.9]), 2)
    (array([1.1, 2. ]), array([0, 1, 0, 1]))
    """
    x, code, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(x) <= most:
        return x, code
    # in units of the largest, whose square might be no number
    rises = np.diff(np.square(x / x[-1]))
    place = np.concatenate([[0.0], np.cumsum(np.sqrt(counts[:-1] * rises))])
    group = np.minimum(np.floor(place / place[-1] * most), most - 1)
    begins = np.concatenate([[True], group[1:] != group[:-1]])
    last = np.append(np.flatnonzero(begins)[1:], len(x)) - 1
    return x[last], (np.cumsum(begins) - 1)[code]
