"""How often the second class is true where a model says it is: a curve from a noisy histogram.

The cells of the histogram are joined by a rule of public numbers (`groups`), and every joined cell
is reported, so that none is chosen by its noise. The interval of each holds by itself, however many
records are in it.

**Statement.** Records are drawn independently; of those with a score in a cell the share q is of
the second class. The cell has P of these and M others, and p = P + s N1 and m = M + s N2 are
released, N1 and N2 being independent standard normal numbers. Let a + b = 1 - level, and z such
that P(|N1| <= z)^2 = 1 - a. Let P- and P+ be the least and the largest whole number of at least 0
within s z of p, and M- and M+ likewise. With L(x, y) and U(x, y) the ends of the interval of
Clopper and Pearson (1934) at the level 1 - b for x of x + y records (0 if x = 0, 1 if y = 0), the
interval [L(P-, M+), U(P+, M-)] has q with a probability of at least the level.

*Proof.* With a probability of 1 - a both noises are at most s z in size, and then P- <= P <= P+ and
M- <= M <= M+. Given how many records the cell has, T = P + M, the number P is binomial with T and
q, so that L(P, M) <= q <= U(P, M) with a probability of at least 1 - b, whatever T is, 0 included:
then the ends are 0 and 1. L(x, y) is a quantile of the beta law with x and y + 1, and U(x, y) one
of that with x + 1 and y: both rise with x and fall with y. So where both hold,
L(P-, M+) <= L(P, M) <= q <= U(P, M) <= U(P+, M-). One of them fails with probability a + b at most.
QED

The statement asks nothing of T, so it is true of small cells and of empty ones. The price is width:
ends that hold for noise and for sampling apart, and for both counts, reach up to about twice as far
as those of one normal law for all of it.

The two ends never meet: L(x, y) < x/(x + y) < U(x, y) but where x or y is 0, when one end is 0 or 1
and the other is not; and P- <= P+, M- <= M+. Where noise is so far below 0 that no whole number is
within s z, the ends are those of 0. A count that cannot be told from 0 has P- = M- = 0, and the
interval [0, 1].
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from shiftdp.training.losses.base import Floats
from shiftdp.training.selection.curves import Estimate

_ABOVE = 15.0
"""Evenly filled cells have so many times the noise of one class in them: its interval then reaches
about a fifth to either side."""
_FEWEST = 50  # records of an evenly filled cell, below which sampling alone makes it as wide
_SPLITS = (0.1, 0.3, 0.5, 0.7, 0.9)  # parts of 1 - level that are tried for the noise
_ROUNDED = 2.0**-6
"""What rounding adds to the noise, in units of it: cells are released on a grid of 2^-8 of theirs,
so k joined ones are off by k 2^-9 of that at most, which is sqrt(k) 2^-9 of the joined noise; there
are fewer than 64."""


class CalibrationCell(NamedTuple):
    """Records whose score is in a cell: the probability that was said, and the share that it is."""

    low: float
    high: float
    records: float
    share: Estimate


def groups(cells: int, n: int, noise: float) -> list[slice]:
    """Which neighbouring cells are joined, by public numbers alone.

    A joined cell of k has noise sqrt(k) times as large. There are as many as can be if evenly
    filled ones are to have 15 times their noise and 50 records, and at least one.

    >>> len(groups(24, 10_000, 8.0)), len(groups(24, 1_000, 8.0)), len(groups(24, 100, 8.0))
    (24, 2, 1)
    """
    most = n / _FEWEST
    if noise > 0.0:  # n/g >= above * noise * sqrt(cells/g)
        most = min(most, (n / (_ABOVE * noise)) ** 2 / cells)
    number = int(min(max(most, 1.0), cells))
    edges = [round(i * cells / number) for i in range(number + 1)]
    return [slice(first, last) for first, last in pairwise(edges)]


def calibration(
    counts: Floats, probabilities: Floats, noise: float, z: float, n: int
) -> tuple[CalibrationCell, ...]:
    """For each joined cell of the score: how often the second class is true.

    Args:
        counts: two rows, one a class, with noise.
        probabilities: the edges of the cells, as probabilities of the second class, 0 and 1
            included.
        noise: in each entry.
        z: the level, as deviations of a normal law to both sides.
        n: how many records there are, which is public.
    """
    found = []
    for joined in groups(counts.shape[1], n, noise):
        negative, positive = (float(row[joined].sum()) for row in counts)
        size = joined.stop - joined.start
        spread, even = noise * math.sqrt(size), n * size / counts.shape[1]
        found.append(
            CalibrationCell(
                float(probabilities[joined.start]),
                float(probabilities[joined.stop]),
                negative + positive,
                share_interval(positive, negative, spread, z, even),
            )
        )
    return tuple(found)


def share_interval(
    positive: float, negative: float, noise: float, z: float, expected: float
) -> Estimate:
    """The interval of the statement above, and the share of the noisy counts.

    Args:
        positive: the noisy number of the second class.
        negative: that of the first.
        noise: in both.
        z: the level, as deviations of a normal law to both sides.
        expected: how many records there might be, which is public: by it, the part of 1 - level
            that the noise may fail with is chosen.

    >>> print(share_interval(30.0, 70.0, 0.0, 1.96, 100.0))
    0.3000 [0.2124, 0.3998]
    >>> print(share_interval(2.0, 5.0, 10.0, 1.96, 100.0))
    0.2857 [0.0000, 1.0000]
    """
    from scipy.special import betaincinv, ndtr

    fails = 2.0 * float(ndtr(-z))
    reach, sampled = 0.0, fails
    if noise > 0.0:
        reach, sampled = _split(fails, noise, expected)
    (least, most), (fewest, others) = (_whole(one, reach) for one in (positive, negative))
    low = 0.0 if least == 0 else float(betaincinv(least, others + 1, 0.5 * sampled))
    high = 1.0 if fewest == 0 else float(betaincinv(most + 1, fewest, 1.0 - 0.5 * sampled))
    total = positive + negative
    value = positive / total if total > 0.0 else 0.5
    return Estimate(min(max(value, low), high), low, high)


def _split(fails: float, noise: float, expected: float) -> tuple[float, float]:
    """How far a count may be from its noisy one, and the probability that is left for sampling.

    The interval of a share of one half reaches about as far as the sum of both parts.
    """
    from scipy.special import ndtri

    def parts(share: float) -> tuple[float, float, float]:
        # P(|N| <= z)^2 = 1 - a
        each = -math.expm1(0.5 * math.log1p(-share * fails))
        sampled = (1.0 - share) * fails
        reach = noise * (float(-ndtri(0.5 * each)) + _ROUNDED)
        width = reach + float(-ndtri(0.5 * sampled)) * 0.5 * math.sqrt(expected)
        return width, reach, sampled

    _, reach, sampled = min(map(parts, _SPLITS))
    return reach, sampled


def _whole(noisy: float, reach: float) -> tuple[int, int]:
    """The least and the largest number of records that a noisy count can stand for."""
    return max(0, math.ceil(noisy - reach)), max(0, math.floor(noisy + reach))
