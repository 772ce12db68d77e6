"""From one vertex of a path's least concave majorant to the next, for the verifier alone.

Two neighbouring slopes of the ladder are taken at a time. A path that stays below the line of the
upper slope through a vertex, and is above the line of the lower slope at some later class, has its
next vertex there. The probability of each such move, by start, end and rise, is computed from the
jumps of the classes, and nothing is shared with the engine. [Theorem C5]

First passages that are too unlikely are not followed. By Chernoff's bound the probability that the
rise from one class to another exceeds h is at most `exp(log E e^(tilt rise) - tilt h)`, for any
tilt > 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp.interpolation.participation.verification.classes import Classes

SHIFT = 46
"""Slopes are multiples of 2^-46."""
RELATIVE = 1e-8
"""The part by which all sums in a row may be off together: see `tail`."""
_TILTS = 2.0 ** np.linspace(-12.0, 2.0, 30)  # of Chernoff's bound


class Lines(NamedTuple):
    """Whole heights of lines from each class to each later one, at most the cap; -1 elsewhere.

    `short` says where that is one less than the difference of the whole heights over 0.
    """

    heights: NDArray[np.int64]
    short: NDArray[np.bool_]


def lines_of(ticks: list[int], slope: int, cap: int) -> Lines:
    """In exact arithmetic: the whole part of a difference, from whole parts and fractions."""
    whole, part = zip(*(divmod(slope * tick, 1 << SHIFT) for tick in ticks), strict=True)
    if whole[-1] >= 1 << 62:
        raise ValueError("lines are steeper than whole numbers can follow")
    fraction, at = np.array(part, dtype=np.int64), np.array(ticks, dtype=np.int64)
    # classes of one clock have a line of height -1 between them
    short = (fraction[None, :] < fraction[:, None]) | (at[None, :] == at[:, None])
    over_zero = np.array(whole, dtype=np.int64)
    heights = np.minimum(over_zero[None, :] - over_zero[:, None] - short, cap)
    return Lines(np.where(at[None, :] > at[:, None], heights, -1), short)


class Found(NamedTuple):
    """Chances of transitions [start, end, rise], with no record on the way and with some."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    rises: Array
    direct: Array
    through: Array


def transitions(
    classes: Classes,
    upper: Lines,
    lower: Lines,
    reach: NDArray[np.int64],
    weight: Array,
    each: float,
) -> Found | None:
    """From all classes that have weight; None if there are no transitions."""
    starts = np.flatnonzero(weight > 0.0)
    high = int(reach[starts].max())
    while int(reach[int(starts[0]) : high + 1].max()) > high:
        high = int(reach[int(starts[0]) : high + 1].max())
    starts = starts[starts < high]
    if not starts.size:
        return None
    first = int(starts[0])
    band = upper.heights - lower.heights
    width = int(band[first : high + 1, first : high + 1].max(initial=0))
    if width <= 0:
        return None
    passages = _first_passages(classes, lower.heights, reach, first, high, width)
    ends = np.arange(first, high + 1)
    room = np.where(ends > starts[:, None], band[starts][:, ends], 0)
    direct = passages[starts - first] * (np.arange(1, width + 1) <= room[:, :, None])
    short = lower.short[first : high + 1, first : high + 1]
    through = _by_records(passages, direct, room, short, starts - first, weight[starts], each)
    rises = lower.heights[starts][:, ends][:, :, None] + np.arange(1.0, width + 1.0)
    return Found(starts, ends, rises, direct, through)


def _first_passages(
    classes: Classes,
    lower: NDArray[np.int64],
    reach: NDArray[np.int64],
    first: int,
    high: int,
    width: int,
) -> Array:
    """[s, i, x - 1]: P(from s, first above the lower line at i, by x), counted from class `first`.

    `free[s]` has the heights at which a path from s may be, weakly below its line, if its epoch may
    still jump, `spent[s]` if it may not: after s itself, and after a jump, until the next epoch.
    """
    size = high - first + 1
    found = np.zeros((size, size, width))
    room = int(lower[first, high]) + 1
    free = np.zeros((size, room))
    single = all(classes.opens[first:high])  # one class an epoch: all that is spent is free again
    spent = free if single else np.zeros((size, room))
    for i in range(first + 1, high + 1):
        table = classes.tables[i - 1]
        s = np.flatnonzero(reach[first:i] >= i)
        spent[i - 1 - first, 0] = 1.0
        if not s.size:
            continue
        own = slice(int(s[0]), i - first)
        if classes.opens[i - 1] and not single:
            free[own] += spent[own]
            spent[own] = 0.0
        line = lower[first:i, i][own]
        before = int(lower[first, i - 1]) + 1 if i > first + 1 else 1
        before = max(before, 1)
        new = np.zeros((len(line), int(line.max()) + 1 + width))
        for value, chance in zip(table.values[1:].tolist(), table.probabilities[1:], strict=True):
            end = min(new.shape[1], value + before)
            if value < end:
                new[:, value:end] += chance * free[own, : end - value]
        free[own] *= table.probabilities[0]
        heights = np.arange(new.shape[1])
        under = heights[: new.shape[1] - width] <= line[:, None]
        spent[own, : under.shape[1]] += new[:, : under.shape[1]] * under
        corner = np.arange(len(line)) * new.shape[1] + line
        found[own, i - first] = new.ravel()[corner[:, None] + heights[1 : width + 1]]
    return found


def _by_records(
    passages: Array,
    direct: Array,
    room: NDArray[np.int64],
    short: NDArray[np.bool_],
    starts: NDArray[np.int64],
    weight: Array,
    each: float,
) -> Array:
    """Transitions with records between, never above the upper line.

    An overshoot counts from the whole height of a line, and two whole heights in a row may be one
    less than that of both. The rise less the difference of heights over 0, one number less where a
    line is `short`, adds up: with it, stretches are put together.
    """
    width = passages.shape[2]
    onward = _lowered(passages, short)
    own = short[starts]
    at_once = _lowered(direct, own)
    through = np.zeros_like(at_once)
    limit = room - own
    for s in range(int(starts[0]) + 1, len(passages)):
        rows = starts < s
        through[rows, s] *= np.arange(width + 1) <= limit[rows, s][:, None]
        here = at_once[:, s] + through[:, s]
        likely = np.flatnonzero(rows & (here.sum(axis=1) * weight > each))
        later = np.flatnonzero(onward[s].any(axis=1))
        if not likely.size or not later.size:
            continue
        begin, end = int(later[0]), int(later[-1]) + 1
        heights = np.flatnonzero(here[likely].any(axis=0))
        low, high = int(heights[0]), int(heights[-1]) + 1
        shifted = np.zeros((high - low, end - begin, width + 1 - low))
        for x, row in enumerate(shifted):
            row[:, x:] = onward[s, begin:end, : width + 1 - low - x]
        sums = here[likely, low:high] @ shifted.reshape(high - low, -1)
        through[likely, begin:end, low:] += sums.reshape(likely.size, end - begin, -1)
    through = np.where(own[:, :, None], through[:, :, :-1], through[:, :, 1:])
    return np.asarray(through * (np.arange(1, width + 1) <= room[:, :, None]))


def _lowered(chances: Array, short: NDArray[np.bool_]) -> Array:
    """By x = 0 to width, from x = 1 to width; one number less where a line is short."""
    found = np.zeros((*chances.shape[:2], chances.shape[2] + 1))
    found[:, :, 1:] = chances
    less = np.nonzero(short & chances.any(axis=2))
    found[less] = np.append(chances[less], np.zeros((len(less[0]), 1)), axis=1)
    return found


def log_moments(classes: Classes) -> Array:
    """log E e^(tilt rise) up to each class, for each tilt, rounded up by independence of epochs."""
    total, chance = [np.zeros(len(_TILTS))], 1.0
    for table, opens in zip(classes.tables, classes.opens, strict=True):
        chance = 1.0 if opens else chance
        with np.errstate(divide="ignore"):
            exponents = np.outer(_TILTS, table.values[1:]) + np.log(
                table.probabilities[1:] * chance
            )
            rest = np.log(np.array([1.0 - chance * (1.0 - table.probabilities[0])]))
        largest = np.maximum(exponents.max(axis=1, initial=-math.inf), rest)
        terms = np.exp(exponents - largest[:, None]).sum(axis=1) + np.exp(rest - largest)
        total.append(total[-1] + largest + np.log(terms))
        chance *= float(table.probabilities[0])
    return np.array(total).T


def reach_of(classes: Classes, moments: Array, slope: int, each: float) -> NDArray[np.int64]:
    """The last class at which a path from each class can be above the line, but for `each`."""
    m = len(classes.tables)
    ticks = np.array(classes.ticks, dtype=np.float64) * (slope / 2.0**SHIFT)
    drift = moments - _TILTS[:, None] * ticks[None, :]
    last = np.arange(m + 1)
    for j in range(m):
        bound = np.min(drift[:, j + 1 :] - drift[:, j : j + 1], axis=0)
        possible = np.flatnonzero(bound > math.log(each) - RELATIVE)
        if possible.size:
            last[j] = j + 1 + int(possible[-1])
    return last
