"""Check that a law dominates the leaky bucket: nothing here is shared with what found it.

The bucket is the one of `chain`, on the grid that the claim states; what is computed is another
thing: T(j), not below the probability that the bucket holds j cells or more. If a block pays d
cells and adds J cells for each of N participations,

    T'(j) = sum_i P(N = i) T(j - i J + d),   with T(x) = 1 for x <= d,

in which all terms are positive. T falls, so T at the last cell may stand in for all later ones, and
nothing is lost beyond the grid. Jumps, payments and the start are found in 60 digits, from powers
of c as exact as these, or from products step by step: jumps and start are rounded up to cells,
payments down.

*Roundings.* With u = 2^-53, a term of the sum above errs by a part of at most u (i + 3), i for the
product that is P(N = i), whose factors err by 4 u each and its first one, e^-x with
x = -n log(1 - p), by (x + 4) 4 u; sums of m positive terms add m u. Each block is therefore raised
by a part of `_EACH (n_terms + x + 4)`, which is more than all of these. P(N > i) is at most a
geometric series from the next term on. All of this is true of normal floats only: x is limited, so
that e^-x is one, and what is found must add up to 1.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from itertools import pairwise

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import VerificationFailed
from shiftdp._rounding import LEAST_FLOAT, UNIT
from shiftdp.interpolation.bucket.chain import BucketGrid
from shiftdp.interpolation.bucket.equal_steps import Bucket
from shiftdp.interpolation.bucket.scheduled_steps import ScheduledBucket

_DIGITS = Context(prec=60, Emin=-(10**17), Emax=10**17)  # powers of up to 2^53 steps
# more than the roundings of a few operations with 60 digits
_UP, _DOWN = Decimal(1) + Decimal("1e-50"), Decimal(1) - Decimal("1e-50")
_EACH = 16.0 * UNIT  # for each term, and each expected participation, of a block: see above
_MOST_BLOCKS, _MOST_CELLS = 5_000, 100_000  # of a grid that is checked in reasonable time
_MOST_WORK = 2e9  # cells times terms, of all blocks
_RARE = 1e-20  # participations that are rarer together are bounded by their probability
_MOST_EXPONENT = 600.0  # -n log(1 - p) of a block: (1 - p)^n is a normal float
_ALL = 1.0 - 1e-9  # what the probabilities of a block add up to, at least
_LESS_THAN_HALF = 0.5  # the ratio from which on terms are bounded by a geometric series


def verify_bucket(
    bucket: Bucket, grid: BucketGrid, values: tuple[float, ...], weights: tuple[float, ...]
) -> None:
    """Raise `VerificationFailed` unless the law dominates the bucket.

    Args:
        bucket: its numbers are taken as they are, as exact ones.
        grid: on which the law was computed.
        values: of the law, rising; the last one is the most that the bucket can hold, or more.
        weights: their probabilities; the first counts as what the others leave.
    """
    _require(0.0 < bucket.c < 1.0 and bucket.s > 0.0, "there is no such bucket")
    _require_grid(bucket.rate, grid, bucket.steps)
    with localcontext(_DIGITS):
        exact = _exactly(bucket, grid)
    _verify_law(bucket.p, grid, exact, values, weights)


def verify_scheduled_bucket(
    bucket: ScheduledBucket,
    grid: BucketGrid,
    values: tuple[float, ...],
    weights: tuple[float, ...],
) -> None:
    """`verify_bucket` for steps that differ; how far the bucket reaches is computed anew."""
    c, s, sd = bucket.c, bucket.s, bucket.sd
    _require(c.size >= 1 and c.shape == s.shape == sd.shape, "there is no such bucket")
    _require(bool(np.all((c >= 0.0) & (c <= 1.0))), "a step expands distances")
    _require(bool(np.all((s >= 0.0) & (s < math.inf))), "a displacement is negative or infinite")
    _require(bool(np.all((sd > 0.0) & (sd < math.inf))), "a noise is not positive, or infinite")
    _require_grid(bucket.rate, grid, c.size)
    with localcontext(_DIGITS):
        exact = _step_by_step(bucket, grid)
    _verify_law(bucket.p, grid, exact, values, weights)


_Blocks = list[tuple[int, int, int, int]]
"""Steps, cells of a jump, cells that are paid, and the most cells that there can be."""
_Exact = tuple[_Blocks, int, Decimal]
"""Blocks, the first filling, and the most that the bucket can hold at the end."""


def _require_grid(rate: float, grid: BucketGrid, steps: int) -> None:
    _require(0.0 <= rate < math.inf, "the rate is negative or infinite")
    _require(0.0 < grid.mesh < math.inf, "the mesh is not positive")
    _require(1 <= grid.cells <= _MOST_CELLS, "the grid is empty, or too large")
    _require(1 <= len(grid.blocks) <= _MOST_BLOCKS, "there are too many blocks, or none")
    _require(all(n >= 1 for n in grid.blocks), "a block is empty")
    _require(sum(grid.blocks) <= steps, "the blocks are more than the steps")


def _verify_law(
    p: float,
    grid: BucketGrid,
    exact: _Exact,
    values: tuple[float, ...],
    weights: tuple[float, ...],
) -> None:
    """Raise unless each tail of the law is at least that of the blocks."""
    blocks, begin, most = exact
    _require(0.0 < p < 1.0, "the participation is no probability, or certain")
    _require(len(values) == len(weights) and bool(values), "the law has no weight for each value")
    _require(all(a < b for a, b in pairwise(values)), "the law does not rise")
    _require(values[0] >= 0.0 and values[-1] < math.inf, "a value is negative or infinite")
    _require(all(0.0 <= w <= 1.0 for w in weights), "a weight is no probability")
    _require(Decimal(values[-1]) >= most, "the bucket can hold more than the largest value")
    tail = _tail(p, grid, begin, blocks)
    claimed = math.fsum(weights)
    _require(abs(claimed - 1.0) <= len(weights) * _EACH, "the weights do not add up to 1")
    for i in range(1, len(values)):
        # the least cell above the value before; a quotient that is rounded up may miss one cell
        cell = max(0, math.floor(values[i - 1] / grid.mesh * (1.0 - _EACH))) + 1
        found = float(tail[min(cell, grid.cells)])
        _require(math.fsum(weights[i:]) * (1.0 - _EACH) >= found, "the law leaves out a tail")


def _cells_up(cells: Decimal, top: int) -> int:
    return min(top, math.ceil(min(cells * _UP, Decimal(top))))


def _cells_down(cells: Decimal, top: int) -> int:
    return math.floor(min(cells * _DOWN, Decimal(top)))


def _exactly(bucket: Bucket, grid: BucketGrid) -> _Exact:
    """By powers of c."""
    c, s, h = Decimal(bucket.c), Decimal(bucket.s), Decimal(grid.mesh)
    top, age, bounded = grid.cells, sum(grid.blocks), math.isfinite(bucket.diameter)
    diameter = Decimal(bucket.diameter) if bounded else Decimal(0)

    older = bucket.steps - age
    start = s * (1 - c**older) / (1 - c) if older else Decimal(0)
    start = min(start, diameter) if bounded else start
    most = s * (1 - c**bucket.steps) / (1 - c) * _UP
    begin = _cells_up(start * c**age / h, top)
    blocks: _Blocks = []
    for n in grid.blocks:
        age -= n
        weight = c**age if age else Decimal(1)
        paid = Decimal(bucket.rate) * weight**2 * (1 - c ** (2 * n)) / (1 - c * c)
        cap = _cells_up(diameter * weight / h, top) if bounded else top
        blocks.append((n, _cells_up(weight * s / h, top), _cells_down(paid / h, top), cap))
    return blocks, begin, min(most, diameter) if bounded else most


def _step_by_step(bucket: ScheduledBucket, grid: BucketGrid) -> _Exact:
    """By products of as many factors as there are steps: 60 digits lose less than 1e-50 there."""
    c, s, sd = (list(map(Decimal, part.tolist())) for part in (bucket.c, bucket.s, bucket.sd))
    h, top, bounded = Decimal(grid.mesh), grid.cells, math.isfinite(bucket.diameter)
    diameter = Decimal(bucket.diameter) if bounded else Decimal(0)
    older = len(c) - sum(grid.blocks)
    start = reached = Decimal(0)
    for k in range(len(c)):
        start = reached if k == older else start
        reached = c[k] * reached + s[k]
    k, weight = len(c), Decimal(1)
    blocks: _Blocks = []
    for n in reversed(grid.blocks):
        cap = _cells_up(diameter * weight / h, top) if bounded else top
        jump = clock = Decimal(0)
        for _ in range(n):
            k -= 1
            jump = max(jump, weight * s[k])
            clock += (weight * sd[k]) ** 2
            weight *= c[k]
        paid = Decimal(bucket.rate) * clock
        blocks.append((n, _cells_up(jump / h, top), _cells_down(paid / h, top), cap))
    start, most = (min(part, diameter) if bounded else part for part in (start, reached * _UP))
    return blocks[::-1], _cells_up(start * weight / h, top), most


def _tail(p: float, grid: BucketGrid, begin: int, blocks: _Blocks) -> Array:
    """T at the cells 0 to the last."""
    top = grid.cells
    tail = np.zeros(top + 1)
    tail[: begin + 1] = 1.0
    work = 0.0
    for n, jump, paid, cap in blocks:
        exponent = -n * math.log1p(-p)
        _require(exponent <= _MOST_EXPONENT, "a block has too many participations")
        after = np.full(top + 1, tail[top])  # what is beyond the grid stays there
        after[: max(0, top + 1 - paid)] = tail[min(paid, top + 1) :]
        after[0] = 1.0
        chances, rest = _participations(p, n)
        _require(math.fsum([rest, *chances]) >= _ALL, "participations of a block are left out")
        # more participations than that go beyond the grid
        inside = top // jump + 1 if jump else len(chances)
        work += min(len(chances), inside) * (top + 1)
        _require(work <= _MOST_WORK, "it would take too long to check the law")
        tail = np.full(top + 1, math.fsum([rest, *chances[inside:]]))
        for taken, chance in enumerate(chances[:inside]):
            reach = taken * jump
            tail[:reach] += chance
            tail[reach:] += chance * after[: top + 1 - reach]
        tail = np.minimum(tail * (1.0 + _EACH * (len(chances) + exponent + 4.0)) + LEAST_FLOAT, 1.0)
        tail[cap + 1 :] = 0.0
    return tail


def _participations(p: float, n: int) -> tuple[list[float], float]:
    """P(N = i) for i = 0, 1, ... until the rest is rare, and a bound on that rest."""
    odds = p / (1.0 - p)
    chance = math.exp(n * math.log1p(-p))
    chances = [chance]
    for i in range(1, n + 1):
        ratio = (n - i + 1) / i * odds
        rest = chance * ratio / (1.0 - ratio) if ratio < _LESS_THAN_HALF else 1.0
        if rest <= _RARE:
            return chances, rest
        chance *= ratio
        chances.append(chance)
    return chances, 0.0


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise VerificationFailed(problem)
