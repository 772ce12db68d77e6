"""The law of a leaky bucket at the end of its steps, rounded up on a grid.

The bucket is that of `chain`, block after block, on the points 0, h, 2h, ... of a grid of mesh h:
jumps and what it starts from are rounded up to the grid, payments down.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, LARGEST_EXPONENT, NOT_ZERO
from shiftdp.fdp.functions.law_coarsening import cheapest_cells
from shiftdp.interpolation.bucket.chain import BucketGrid, LeakyBucket

_CELLS = 12_000  # points of the grid at most
_PER_JUMP = 1000  # points for the largest jump, where that takes fewer
_TILTS = np.geomspace(1e-2, 1e3, 60)  # of Chernoff's bound
_BEYOND = 1e-5  # of delta: how likely the bucket is fuller than the grid
_RARE = 1e-18  # more participations in a block are as rare as that, and fill the bucket
_ROOM = 1e-6  # by which tails are larger than computed: another machine rounds sums differently
_CUT = 1e-6  # of delta: fillings that are rarer together count as the fullest
_LEAST_COST, _CLOSE = 1e-18, 0.05  # of a cell; and how close the logarithm of its budget is found
_RARELY_MORE = 0.5  # the ratio of two binomials from which on the rest is a geometric series


def grid_for(bucket: LeakyBucket, delta: float) -> BucketGrid:
    """A grid on which the law hardly grows, for a bound that is read at delta.

    >>> from shiftdp.interpolation.bucket.equal_steps import Bucket
    >>> grid = grid_for(Bucket(p=0.01, c=0.95, s=1.0, rate=0.0, steps=376, diameter=math.inf), 1e-5)
    >>> sum(grid.blocks) <= 376, grid.cells
    (True, 5...)
    """
    blocks = bucket.usual_blocks()
    chain = bucket.chain(blocks)
    largest = float(np.max(chain.jump))
    tilts = _TILTS / largest
    grown = np.expm1(np.minimum(np.multiply.outer(tilts, chain.jump), LARGEST_EXPONENT))
    cumulant = np.log1p(bucket.p * grown) @ np.array(blocks, dtype=np.float64)
    log_beyond = math.log(max(_BEYOND * delta, NOT_ZERO))
    top = chain.start + float(np.min((cumulant - log_beyond) / tilts))
    top = min(top, bucket.most)
    cells = max(2, min(_CELLS, math.ceil(_PER_JUMP * top / largest)))
    return BucketGrid(top / (cells - 1), cells, blocks)


def bucket_law(bucket: LeakyBucket, grid: BucketGrid, *, nearest: bool = False) -> Array:
    """The probabilities of 0, h, 2h, ..., the last that of all that is more.

    With `nearest` nothing is rounded up, and the law is an estimate, good on coarse grids.

    >>> from shiftdp.interpolation.bucket.equal_steps import Bucket
    >>> bucket = Bucket(p=0.5, c=0.5, s=1.0, rate=0.0, steps=2, diameter=math.inf)
    >>> print(bucket_law(bucket, BucketGrid(0.51, 4, (1, 1))))  # V_2 + V_1 / 2
    [0.25 0.25 0.25 0.25 0.  ]
    """
    h, top = grid.mesh, grid.cells

    def cells(number: float) -> int:
        """A whole number, rounded up, and with it what floats may have lost."""
        number = min(number, float(top))
        more = round(number) if nearest else math.ceil(number * (1.0 + AMPLE))
        return min(top, more)

    chain = bucket.chain(grid.blocks)
    law = np.zeros(top + 1)
    law[cells(chain.start / h)] = 1.0
    rows = zip(grid.blocks, chain.jump, chain.paid, chain.most, strict=True)
    for n, jump, paid, most in rows:
        drained = _drained(law, math.floor(min(float(paid) / h, top) * (1.0 - AMPLE)))
        law = _added(drained, bucket.p, n, cells(float(jump) / h))
        cap = cells(float(most) / h)
        law[cap] += law[cap + 1 :].sum()
        law[cap + 1 :] = 0.0
    return law


def _drained(law: Array, cells: int) -> Array:
    """Each filling less so many cells; what is beyond the grid stays there."""
    top = law.size - 1
    if cells == 0:
        return law
    out = np.zeros(law.size)
    out[: max(0, top - cells)] = law[cells:top]
    out[0] = law[: min(cells, top - 1) + 1].sum()
    out[top] = law[top]
    return out


def _added(law: Array, p: float, n: int, jump: int) -> Array:
    """Each filling more by N jumps, N being Bin(n, p)."""
    top = law.size - 1
    odds, chance = p / (1.0 - p), math.exp(n * math.log1p(-p))
    out, left = law * chance, 1.0 - chance
    for taken in range(1, n + 1):
        chance *= (n - taken + 1) / taken * odds
        reach = taken * jump
        if reach > top:
            break
        out[reach:] += chance * law[: top + 1 - reach]
        out[top] += chance * law[top + 1 - reach :].sum()
        ratio = (n - taken) / (taken + 1) * odds
        # what is left took part more often; where that is rare, by a geometric series
        left = chance * ratio / (1.0 - ratio) if ratio < _RARELY_MORE else left - chance
        if left < _RARE:
            break
    out[top] += max(left, 0.0)
    return out


def few_values(
    bucket: LeakyBucket, grid: BucketGrid, law: Array, most: int, delta: float, steepness: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A law with few values that dominates; the last value is the most that there can be.

    Fillings are sorted into cells, each of which moves to its largest filling. A filling z is taken
    to cost exp(steepness z), and the cells are such that none of them costs more than some amount
    by being moved, the least for which they are few enough.

    >>> from shiftdp.interpolation.bucket.equal_steps import Bucket
    >>> bucket = Bucket(p=0.5, c=0.5, s=1.0, rate=0.0, steps=2, diameter=math.inf)
    >>> grid = BucketGrid(0.51, 4, (1, 1))
    >>> values, weights = few_values(bucket, grid, bucket_law(bucket, grid), 3, 1e-5, 1.0)
    >>> [round(value, 2) for value in values], round(sum(weights), 12)
    ([0.51, 1.02, 1.5], 1.0)
    """
    tail = np.minimum(np.cumsum(law[::-1])[::-1] * (1.0 + _ROOM), 1.0)
    fullest, last = bucket.most, law.size - 2
    z = grid.mesh * np.arange(law.size, dtype=np.float64) * (1.0 + AMPLE)
    while last > 0 and (tail[last] <= _CUT * delta or z[last] >= fullest):
        last -= 1
    ends = _cells(z[: last + 1], law[: last + 1], max(1, most - 1), steepness)
    above = tail[ends + 1]  # the probability of more than each value
    weights = np.append(above[:-1] - above[1:], max(float(above[-1]), NOT_ZERO))
    values = np.append(z[ends], fullest)
    while (first := math.fsum([1.0, *(-weights).tolist()])) <= 0.0:  # the others are all there is
        values, weights = values[1:], weights[1:]
    some = weights > 0.0
    return (float(values[0]), *values[1:][some].tolist()), (first, *weights[some].tolist())


def _cells(z: Array, weights: Array, most: int, steepness: float) -> NDArray[np.int64]:
    """The last filling of each of at most `most` cells."""
    cost = np.exp(np.minimum(steepness * (z - z[-1]), 0.0))
    # minus the sums of what is below each value: those above it, up to a constant
    mass = -np.append(0.0, np.cumsum(weights))
    paid = -np.append(0.0, np.cumsum(weights * cost))
    return cheapest_cells(cost, (mass, paid), most, (_LEAST_COST, 1.0), _CLOSE)
