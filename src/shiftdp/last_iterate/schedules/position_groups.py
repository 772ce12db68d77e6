"""Positions of an epoch in groups that share a bound: as few as wanted, at little cost.

The last position of a group stands for all, with the strongest of their visits (`merged_steps`). A
visit by itself costs `x_k = w_k s_k / sqrt(L_k)`, L being the noise that it and the steps after it
leave in the last iterate. The group from a to b is charged `max_k w_k s_k / sqrt(L_b)` instead. It
is made as long as this is at most a given factor above the x of each of its positions in each
epoch, or so little that it does not matter beside the largest x of the run. The factor is the
least of a ladder that leaves few enough groups.

Any groups whatever are valid. What is computed here decides how much they cost, and nothing else,
so it need not be exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from shiftdp._checks import Array
from shiftdp.last_iterate.schedules.merged_steps import StepTable

MOST_GROUPS = 256
"""Each is proved by shifts of its own, in about a millisecond; so many cost some tenths of a per
cent of epsilon, however many batches there are."""

_FINEST, _LADDER = 1e-3, 1.2  # the first factor that is tried, as a logarithm, and its growth
_LEAST_WIDTH = 8  # of the window in which the end of a group is first looked for


def position_groups(
    tables: Sequence[StepTable],
    seen: int,
    cuts: Sequence[int] = (),
    *,
    last_only: bool = False,
    most: int = MOST_GROUPS,
) -> list[range]:
    """Positions 1 to `seen` in at most `most` groups, or few more; none reaches over one of `cuts`.

    `tables`: one for each segment of steps that ends with a release. `last_only`: the positions are
    those of the last epoch; else of every epoch.

    >>> from shiftdp.last_iterate.schedules.merged_steps import step_table
    >>> table = step_table(np.ones(100), np.full(100, 2.0), np.ones(100), 100, math.inf)
    >>> [len(group) for group in position_groups([table], 100, most=9)]
    [74, 9, 6, 4, 3, 2, 1, 1]
    """
    if seen <= most:
        return [range(j, j + 1) for j in range(1, seen + 1)]
    ends = sorted({0, *cuts, seen})
    most = max(most, len(ends) - 1)
    costs = [_costs(table) for table in tables]
    pushes, clocks = (np.concatenate(parts) for parts in zip(*costs, strict=True))
    if last_only:
        pushes, clocks = pushes[-1:], clocks[-1:]
    alone = _difference(pushes, clocks)
    factor = _FINEST
    while True:
        found: list[range] | None = []
        for i, (begin, end) in enumerate(pairwise(ends)):
            if found is not None:
                left = most - len(found) - (len(ends) - 2 - i)  # one at least for each that follows
                part = _greedy(alone, pushes, clocks, begin, end, factor, left)
                found = None if part is None else found + part
        if found is not None:
            return found
        factor *= _LADDER


def _costs(table: StepTable) -> tuple[Array, Array]:
    """log w s and log sqrt(L) of each step, a row an epoch."""
    with np.errstate(divide="ignore"):
        log_c, log_s, log_sd = (np.log(x).ravel()[::-1] for x in (table.c, table.s, table.sd))
    weight = np.concatenate([[0.0], np.cumsum(log_c)[:-1]])
    clock = 0.5 * np.logaddexp.accumulate(2.0 * (weight + log_sd))
    shape = table.c.shape
    return (weight + log_s)[::-1].reshape(shape), clock[::-1].reshape(shape)


def _difference(push: Array, clock: Array) -> Array:
    """log of w s / sqrt(L); no push costs nothing, also where there is no noise."""
    with np.errstate(invalid="ignore"):
        return np.where(push == -math.inf, -math.inf, push - clock)


def _greedy(
    alone: Array, pushes: Array, clocks: Array, begin: int, end: int, factor: float, most: int
) -> list[range] | None:
    """Groups of the columns `begin` to `end - 1`, each as long as it may be, from the last on.

    None if there would be more than `most`, unless each has one position.
    """
    # log of the largest x times e^factor - 1
    negligible = float(np.max(alone)) + factor + math.log1p(-math.exp(-factor))
    groups: list[range] = []
    last, width = end - 1, 1
    while last >= begin:
        if len(groups) >= most:
            return None
        window = 2 * width + _LEAST_WIDTH
        while True:
            first = max(begin, last - window + 1)
            part = slice(first, last + 1)
            strongest = np.maximum.accumulate(pushes[:, part][:, ::-1], axis=1)
            charged = _difference(strongest, clocks[:, [last]])
            least = np.minimum.accumulate(alone[:, part][:, ::-1], axis=1)
            allowed = np.all(charged <= np.maximum(least + factor, negligible), axis=0)
            allowed[0] = True
            if first == begin or not allowed.all():
                break
            window *= 2
        width = allowed.size if allowed.all() else int(np.argmin(allowed))
        groups.append(range(last - width + 2, last + 2))
        last -= width
    return groups[::-1]
