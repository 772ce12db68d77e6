"""The prefix of a run with random batches: what is left of it, and the search for its end.

[Theorem B6] After tau steps two runs are apart by what is in a leaky bucket
(`interpolation.bucket`); the K = t - tau last steps lead them together by shifts in proportion to
it. Here the free parameters are looked for: K, what the bucket pays off, and few values for its
law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shiftdp._checks import Array
from shiftdp.fdp.search.lattice import hidden_epsilon
from shiftdp.fdp.search.sampled_estimates import Pair
from shiftdp.interpolation.bucket.chain import BucketGrid, LeakyBucket
from shiftdp.interpolation.bucket.law import bucket_law, few_values, grid_for
from shiftdp.last_iterate.schedules.prefix_steps import PrefixSteps
from shiftdp.last_iterate.theorems.sampled.shifts import MOST_GROUPS

ROUGH_PREFIX = 1.85
"""Times what a search finds, or less, is an estimate for the usual prefix without payments."""

_VALUES, _FEW = 32, 11  # of the law of the bucket, in a bound and in an estimate
_TAIL = 1e-9  # every law is good for this delta, and of use at a thousandth of it
_ROUGH_GROUPS = 3  # of equal shifts, in an estimate
_COARSE, _MERGED = 6.0, 3  # times wider is the mesh in an estimate, and so many blocks are one
_ROUGH_LAWS = 6  # of the last steps, about, where they differ
_STEPS = (1.8, 1.25)  # by which numbers of steps are multiplied in the search
_RATES = (0.7, 1.2, 1.7, 2.4, 3.4, 5.0, 7.0, 10.0)  # payments that are tried, in their unit
_FLAT = 1.03  # times the least: estimates that differ by less do not tell which is better
_GUESS, _FAR = 1.0, 2.0  # a first epsilon, and how much larger than its guess one may be found
_SMALLEST, _LARGEST = 1e-3, 100.0  # guesses of an epsilon
_MENDED, _MOST_ESTIMATES = 8, 20  # how often a guess is mended, and estimates of one search


@dataclass(frozen=True)
class Prefix:
    """Where a prefix ends, what it pays in its last step, and what is left of it.

    Args:
        last: K, the steps after the prefix.
        rate: r.
        values: of the law of the bucket at the end of the prefix.
        weights: of these.
        grid: on which it was computed.
    """

    last: int
    rate: float
    values: tuple[float, ...]
    weights: tuple[float, ...]
    grid: BucketGrid


def prefix_law(
    steps: PrefixSteps, last: int, rate: float, delta: float, most: int = _VALUES
) -> Prefix:
    """The law of the bucket, in at most so many values."""
    bucket, tail = steps.bucket(last, rate), min(delta, _TAIL)
    grid = grid_for(bucket, tail)
    law = bucket_law(bucket, grid)
    values, weights = few_values(bucket, grid, law, most, tail, _steepness(steps, last, delta))
    return Prefix(last, rate, values, weights, grid)


def _steepness(steps: PrefixSteps, last: int, delta: float) -> float:
    """d log(delta) / d distance, as of a Gaussian: how steeply delta rises with the distance."""
    squares = math.fsum(n * a * a for a, n in steps.shifts(last, MOST_GROUPS))
    return math.sqrt(-2.0 * math.log(delta) * squares)


def rough_epsilon(pair: Pair, steps: PrefixSteps, delta: float) -> float:
    """An estimate of epsilon with the usual number of last steps and no payments."""
    search = _search(pair, steps, delta)
    return min(search.epsilon(last, 0.0) for last in steps.usual())


def best_prefix(pair: Pair, steps: PrefixSteps, delta: float) -> tuple[int, float, float]:
    """K and r that seem best at delta, and epsilon, by estimates: first K, then r, then K again."""
    search, share = _search(pair, steps, delta), 0.0
    last = min(steps.usual(), key=lambda last: search.epsilon(last, 0.0))
    last = search.better(last, share, _STEPS)
    for rate in _RATES:
        found, least = search.epsilon(last, rate), search.epsilon(last, share)
        if found > _FLAT * least:
            break
        share = rate if found < least else share
    if share > 0.0:
        last = search.better(last, share, _STEPS[1:])
    return last, share * steps.unit(last), search.epsilon(last, share)


@lru_cache(maxsize=16)
def _search(pair: Pair, steps: PrefixSteps, delta: float) -> _Search:
    """One search for all who ask."""
    return _Search(pair, steps, delta)


class _Search:
    """Estimates by K and payments, each made once."""

    def __init__(self, pair: Pair, steps: PrefixSteps, delta: float) -> None:
        self.pair, self.steps, self.delta = pair, steps, delta
        self.known: dict[tuple[int, float], float] = {}

    def epsilon(self, last: int, share: float) -> float:
        if (last, share) not in self.known:
            self.known[last, share] = self._estimate(last, share)
        return self.known[last, share]

    def better(self, last: int, share: float, ratios: Sequence[float]) -> int:
        """A better K: steps up or down by each ratio, as far as they help."""
        for ratio in ratios:
            for factor in (1.0 / ratio, ratio):
                while True:
                    near = min(self.steps.t - 1, max(1, round(last * factor)))
                    if self.epsilon(near, share) >= self.epsilon(last, share):
                        break
                    last = near
        return last

    def _estimate(self, last: int, share: float) -> float:
        """From a guess, which is mended until what is found is of its size, or worse than another.

        After so many estimates nothing more is tried.
        """
        if len(self.known) >= _MOST_ESTIMATES:
            return math.inf
        steps, least = self.steps, min(self.known.values(), default=math.inf)
        guess = least if math.isfinite(least) and least > 0.0 else _GUESS
        bucket = steps.bucket(last, share * steps.unit(last))
        law = _rough_law(bucket, self.delta, _steepness(steps, last, self.delta))
        laws = steps.laws(steps.shifts(last, _ROUGH_GROUPS), _ROUGH_LAWS)
        found = math.inf
        for _ in range(_MENDED):
            new = hidden_epsilon(self.pair, steps.p, laws, law, bucket.payments, self.delta, guess)
            if math.isinf(new) and math.isfinite(found):
                break  # the guess before was as low as may be
            found = new
            if found > _FAR * guess:
                if guess >= _FAR * least or guess >= _LARGEST:
                    break
                guess *= 2.0 * _FAR
            elif found < guess / _FAR**2 and guess > _SMALLEST:
                guess = max(_FAR * found, guess / _FAR**4)
            else:
                break
        return found


def _rough_law(bucket: LeakyBucket, delta: float, steepness: float) -> tuple[Array, Array]:
    """The law in few values, but for the last one, on a coarse grid and not rounded up."""
    fine = grid_for(bucket, delta)
    size = len(fine.blocks)
    blocks = tuple(sum(fine.blocks[max(0, i - _MERGED) : i]) for i in range(size, 0, -_MERGED))
    cells = math.ceil(fine.cells / _COARSE) + 1
    grid = BucketGrid(fine.mesh * _COARSE, cells, blocks[::-1])
    law = bucket_law(bucket, grid, nearest=True)
    values, weights = few_values(bucket, grid, law, _FEW + 1, delta, steepness)
    return np.array(values[:_FEW]), np.array(weights[:_FEW])
