"""The law of the leaky bucket at the end of a run of equal steps, rounded up on a grid.

Let V_1, ..., V_tau be independent, 1 with probability p. A step multiplies the distance z of two
runs by c < 1, adds s V_k, and pays off `min(r_k, what there is)`, r_k = r c^{tau-k}:

    z_k = max(0, c z_{k-1} + s V_k - r_k),   z_k <= D under projection onto a set of diameter D.

In y_k = c^{tau-k} z_k a step only adds: y_k = max(0, y_{k-1} + c^{tau-k} (s V_k - r_k)). So z_tau
is found by adding up, on the points of a grid of mesh h, block of steps after block of steps.

*Blocks.* In a block of n steps, of which the last is at age i = tau - k, let N be how often the
record takes part. Then the bucket after it is at most

    max(0, y - R) + c^i s N,   R = sum of the c^{tau-k} r_k of the block,

because no step of the block has a larger c^{tau-k}, and paying before anything is added, where it
may find nothing, never pays more: by induction, max(0, max(0, y - R) + X + x - r) is at most
max(0, y - R - r) + X + x for x, r >= 0. The jump c^i s is rounded up to the grid, R down.

*Start.* Steps before the blocks are not followed: they leave the bucket at the most that they can
fill it with, s (1 + c + ... + c^{n-1}), or at the diameter.

All of this is a rising function of V: a bucket that is filled more often is never emptier.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, LARGEST_EXPONENT, NOT_ZERO

_WIDTH = 4e-3  # the part by which c^{tau-k} changes in the youngest block ...
_WIDEST = 0.1  # ... and at most, in blocks of long ago, which matter less
_EXPECTED = 20.0  # participations in a block at most
_FORGOTTEN = 2e-4  # of the typical filling: what steps that are not followed may add to it
_CELLS = 12_000  # points of the grid at most
_PER_JUMP = 1000  # points for the latest jump, where that takes fewer
_TILTS = np.geomspace(1e-2, 1e3, 60)  # of Chernoff's bound
_BEYOND = 1e-5  # of delta: how likely the bucket is fuller than the grid
_RARE = 1e-18  # more participations in a block are as rare as that, and fill the bucket
_ROOM = 1e-6  # by which tails are larger than computed: another machine rounds sums differently
_CUT = 1e-6  # of delta: fillings that are rarer together count as the fullest
_LEAST_COST, _CLOSE = 1e-18, 0.05  # of a cell; and how close the logarithm of its budget is found
_RARELY_MORE = 0.5  # the ratio of two binomials from which on the rest is a geometric series


@dataclass(frozen=True)
class Bucket:
    """A leaky bucket of equal steps, in units of their noise.

    Args:
        p: the probability that the record takes part in a step.
        c: by what a step multiplies a distance, between 0 and 1.
        s: what is added when the record takes part.
        rate: r, what is paid off in the last step at most.
        steps: tau.
        diameter: D, or infinity.
    """

    p: float
    c: float
    s: float
    rate: float
    steps: int
    diameter: float

    def fullest(self, steps: int) -> float:
        """The most that so many steps can fill the bucket with, rounded up."""
        if steps == 0:
            return 0.0
        series = -math.expm1(steps * math.log(self.c)) / (1.0 - self.c)
        return min(self.diameter, self.s * series * (1.0 + AMPLE))

    @property
    def payments(self) -> float:
        """The root of the sum of the squares of all that can be paid, rounded up."""
        squares = -math.expm1(2.0 * self.steps * math.log(self.c)) / ((1.0 - self.c) * (1 + self.c))
        return self.rate * math.sqrt(squares) * (1.0 + AMPLE)


@dataclass(frozen=True)
class BucketGrid:
    """How finely a bucket was computed.

    Args:
        mesh: h.
        cells: the points 0, h, ..., cells h; the last stands for all that is more.
        blocks: numbers of steps, the oldest block first; earlier steps are not followed.
    """

    mesh: float
    cells: int
    blocks: tuple[int, ...]


def grid_for(bucket: Bucket, delta: float) -> BucketGrid:
    """A grid on which the law hardly grows, for a bound that is read at delta.

    >>> grid = grid_for(Bucket(p=0.01, c=0.95, s=1.0, rate=0.0, steps=376, diameter=math.inf), 1e-5)
    >>> sum(grid.blocks) <= 376, grid.cells
    (True, 5...)
    """
    blocks = _blocks(bucket)
    ages = np.cumsum([0, *blocks[:0:-1]])[::-1]
    start = bucket.fullest(bucket.steps - sum(blocks)) * bucket.c ** sum(blocks)
    jumps = bucket.s * bucket.c ** ages.astype(np.float64)
    grown = np.expm1(np.minimum(np.multiply.outer(_TILTS / bucket.s, jumps), LARGEST_EXPONENT))
    cumulant = np.log1p(bucket.p * grown) @ np.array(blocks, dtype=np.float64)
    log_beyond = math.log(max(_BEYOND * delta, NOT_ZERO))
    top = start + float(np.min((cumulant - log_beyond) / (_TILTS / bucket.s)))
    top = min(top, bucket.fullest(bucket.steps))
    cells = max(2, min(_CELLS, math.ceil(_PER_JUMP * top / bucket.s)))
    return BucketGrid(top / (cells - 1), cells, blocks)


def _blocks(bucket: Bucket) -> tuple[int, ...]:
    """Blocks from the youngest to the oldest that matters, longer the older they are."""
    loss = -math.log(bucket.c)
    typical = min(bucket.diameter, bucket.s * max(bucket.p / (1.0 - bucket.c), 1.0))
    blocks: list[int] = []
    age = 0
    while age < bucket.steps:
        if bucket.fullest(bucket.steps - age) * bucket.c**age <= _FORGOTTEN * typical:
            break
        width = min(_WIDEST, _WIDTH * math.exp(0.5 * age * loss))
        most = min(bucket.steps - age, max(1, math.floor(_EXPECTED / bucket.p)))
        blocks.append(min(most, max(1, math.floor(width / loss))))
        age += blocks[-1]
    return tuple(reversed(blocks))


def bucket_law(bucket: Bucket, grid: BucketGrid, *, nearest: bool = False) -> Array:
    """The probabilities of 0, h, 2h, ..., the last that of all that is more.

    With `nearest` nothing is rounded up, and the law is an estimate, good on coarse grids.

    >>> bucket = Bucket(p=0.5, c=0.5, s=1.0, rate=0.0, steps=2, diameter=math.inf)
    >>> print(bucket_law(bucket, BucketGrid(0.51, 4, (1, 1))))  # V_2 + V_1 / 2
    [0.25 0.25 0.25 0.25 0.  ]
    """
    h, c, top = grid.mesh, bucket.c, grid.cells

    def cells(number: float) -> int:
        """A whole number, rounded up, and with it what floats may have lost."""
        more = round(number) if nearest else math.ceil(number * (1.0 + AMPLE))
        return min(top, more)

    age = sum(grid.blocks)
    begin = bucket.fullest(bucket.steps - age) * c**age
    law = np.zeros(top + 1)
    law[cells(begin / h)] = 1.0
    for n in grid.blocks:
        age -= n
        weight = c**age
        # the squares of c^{tau-k}, summed over the block
        squares = weight * weight * -math.expm1(2.0 * n * math.log(c)) / ((1.0 - c) * (1.0 + c))
        paid = math.floor(min(bucket.rate * squares / h, top) * (1.0 - AMPLE))
        law = _added(_drained(law, paid), bucket.p, n, cells(weight * bucket.s / h))
        cap = cells(min(weight * bucket.diameter / h, top))
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
    bucket: Bucket, grid: BucketGrid, law: Array, most: int, delta: float, steepness: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A law with few values that dominates; the last value is the most that there can be.

    Fillings are sorted into cells, each of which moves to its largest filling. A filling z is taken
    to cost exp(steepness z), and the cells are such that none of them costs more than some amount
    by being moved, the least for which they are few enough.

    >>> bucket = Bucket(p=0.5, c=0.5, s=1.0, rate=0.0, steps=2, diameter=math.inf)
    >>> grid = BucketGrid(0.51, 4, (1, 1))
    >>> values, weights = few_values(bucket, grid, bucket_law(bucket, grid), 3, 1e-5, 1.0)
    >>> [round(value, 2) for value in values], round(sum(weights), 12)
    ([0.51, 1.02, 1.5], 1.0)
    """
    tail = np.minimum(np.cumsum(law[::-1])[::-1] * (1.0 + _ROOM), 1.0)
    fullest, last = bucket.fullest(bucket.steps), law.size - 2
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


def _cells(z: Array, weights: Array, most: int, steepness: float) -> Array:
    """The last filling of each of at most `most` cells."""
    cost = np.exp(np.minimum(steepness * (z - z[-1]), 0.0))
    mass = np.append(0.0, np.cumsum(weights)).tolist()
    paid = np.append(0.0, np.cumsum(weights * cost)).tolist()
    size, costs = z.size, cost.tolist()

    def filled(budget: float) -> list[int]:
        """Each cell as long as its budget allows, by bisection; one more than `most` at most."""
        ends: list[int] = []
        first = 0
        while first < size and len(ends) <= most:
            low, high = first, size - 1
            while low < high:
                j = (low + high + 1) // 2
                moved = costs[j] * (mass[j + 1] - mass[first]) - (paid[j + 1] - paid[first])
                low, high = (j, high) if moved <= budget else (low, j - 1)
            ends.append(low)
            first = low + 1
        return ends

    low, high = math.log(_LEAST_COST), 0.0
    best = [size - 1]
    while high - low > _CLOSE:
        middle = 0.5 * (low + high)
        ends = filled(math.exp(middle))
        if len(ends) <= most:
            best, high = ends, middle
        else:
            low = middle
    return np.array(best)
