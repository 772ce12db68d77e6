"""The prefix of a run with random batches: what is left of it, and the search for its end.

[Theorem B6] After tau steps two runs are apart by what is in a leaky bucket
(`interpolation.bucket`); the K = t - tau last steps lead them together by shifts in proportion to
it. Here the free parameters are looked for: K, what the bucket pays off, and few values for its
law. All of it is for equal steps, in units of their noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shiftdp._checks import Array
from shiftdp.fdp.search.hidden_estimates import hidden_epsilon
from shiftdp.fdp.search.sampled_estimates import Pair
from shiftdp.interpolation.bucket.law import (
    Bucket,
    BucketGrid,
    bucket_law,
    few_values,
    grid_for,
)
from shiftdp.last_iterate.theorems.sampled_shifts import StochasticSteps, grouped_shifts

_VALUES, _FEW = 12, 7  # of the law of the bucket, in a bound and in an estimate
_ROUGH_GROUPS = 3  # of equal shifts, in an estimate
_COARSE, _MERGED = 6.0, 3  # times wider is the mesh in an estimate, and so many blocks are one
_FIRST = 1.2  # times 1/(1 - c): the number of last steps with which a search begins
_STEPS = (1.8, 1.25)  # by which numbers of steps are multiplied in the search
_RATES = (0.7, 1.2, 1.7, 2.4, 3.4, 5.0, 7.0, 10.0)  # payments that are tried, in units of p s c^K
_GUESS, _FAR = 1.0, 2.0  # a first epsilon, and how much larger than its guess one may be found
_SMALLEST, _LARGEST = 1e-3, 100.0  # guesses of an epsilon
_MENDED, _MOST_ESTIMATES = 8, 16  # how often a guess is mended, and estimates of one search


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


def bucket_of(steps: StochasticSteps, last: int, rate: float) -> Bucket:
    """The bucket of the prefix that leaves so many last steps."""
    tau = steps.steps - last
    return Bucket(steps.p, steps.c, steps.apart, rate, tau, steps.diameter)


def prefix_law(
    steps: StochasticSteps, last: int, rate: float, delta: float, most: int = _VALUES
) -> Prefix:
    """The law of the bucket, in at most so many values."""
    bucket = bucket_of(steps, last, rate)
    grid = grid_for(bucket, delta)
    law = bucket_law(bucket, grid)
    steepness = _steepness(steps, last, delta)
    values, weights = few_values(bucket, grid, law, most, delta, steepness)
    return Prefix(last, rate, values, weights, grid)


def _steepness(steps: StochasticSteps, last: int, delta: float) -> float:
    """By how much, in a logarithm, delta rises with the distance: as for a Gaussian."""
    squares = math.fsum(n * a * a for a, n in grouped_shifts(steps.c, 1.0, last))
    return math.sqrt(-2.0 * math.log(delta) * squares)


def rough_epsilon(pair: Pair, steps: StochasticSteps, delta: float) -> float:
    """An estimate of epsilon with the usual number of last steps and no payments."""
    last = min(steps.steps - 1, max(1, round(_FIRST / (1.0 - steps.c))))
    return _Search(pair, steps, delta).epsilon(last, 0.0)


def best_prefix(pair: Pair, steps: StochasticSteps, delta: float) -> tuple[int, float, float]:
    """K and r that seem best at delta, and epsilon, by estimates: first K, then r, then K again."""
    search, most = _Search(pair, steps, delta), steps.steps - 1
    last, share = min(most, max(1, round(_FIRST / (1.0 - steps.c)))), 0.0
    last = search.better(last, share, _STEPS)
    for rate in _RATES:
        if search.epsilon(last, rate) >= search.epsilon(last, share):
            break
        share = rate
    if share > 0.0:
        last = search.better(last, share, _STEPS[1:])
    rate = share * steps.p * steps.apart * steps.c**last
    return last, rate, search.epsilon(last, share)


class _Search:
    """Estimates by K and payments, each made once."""

    def __init__(self, pair: Pair, steps: StochasticSteps, delta: float) -> None:
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
                    near = min(self.steps.steps - 1, max(1, round(last * factor)))
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
        bucket = bucket_of(steps, last, share * steps.p * steps.apart * steps.c**last)
        law = _rough_law(bucket, self.delta, _steepness(steps, last, self.delta))
        groups = grouped_shifts(steps.c, 1.0, last, _ROUGH_GROUPS)
        found = math.inf
        for _ in range(_MENDED):
            found = hidden_epsilon(
                self.pair, steps.p, steps.s, groups, law, bucket.payments, self.delta, guess
            )
            if found > _FAR * guess:
                if guess >= _FAR * least or guess >= _LARGEST:
                    break
                guess *= 2.0 * _FAR
            elif found < guess / _FAR**2 and guess > _SMALLEST:
                guess = max(_FAR * found, guess / _FAR**4)
            else:
                break
        return found


@lru_cache(maxsize=64)
def _rough_law(bucket: Bucket, delta: float, steepness: float) -> tuple[Array, Array]:
    """The law in few values, but for the last one, on a coarse grid and not rounded up."""
    fine = grid_for(bucket, delta)
    size = len(fine.blocks)
    blocks = tuple(sum(fine.blocks[max(0, i - _MERGED) : i]) for i in range(size, 0, -_MERGED))
    cells = math.ceil(fine.cells / _COARSE) + 1
    grid = BucketGrid(fine.mesh * _COARSE, cells, blocks[::-1])
    law = bucket_law(bucket, grid, nearest=True)
    values, weights = few_values(bucket, grid, law, _FEW + 1, delta, steepness)
    return np.array(values[:_FEW]), np.array(weights[:_FEW])
