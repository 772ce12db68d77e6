"""The leaky bucket of steps that differ: each has its contraction, displacement and noise.

*Roundings.* W_k is a product of at most tau floats, and off by a part tau u, u = 2^-53; jumps,
payments and sums of tau positive terms by a few times that. `_margin` is more than all of these.
What underflows is that of steps so long ago that they are not followed; these start the bucket at
one least float at least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, NOT_ZERO, UNIT
from shiftdp.fdp.pairs.mean_law import total
from shiftdp.interpolation.bucket.chain import Chain, LeakyBucket
from shiftdp.interpolation.bucket.equal_steps import EXPECTED, FORGOTTEN, WIDEST, WIDTH

_SHARE = 0.01  # of all noise, in a block: payments that come first find nothing in an empty bucket
_MOST_BLOCKS, _WIDER = 1500, 2.0  # more are made fewer by wider ones
_AHEAD = 64  # steps of a block that are looked at first
_EACH_STEP = 16.0 * UNIT  # see above


@dataclass(frozen=True, eq=False)
class ScheduledBucket(LeakyBucket):
    """Steps 1 to tau, in time order.

    Args:
        p: the probability that the record takes part in a step.
        c: by what each step multiplies a distance, at most 1.
        s: what each adds when the record takes part.
        sd: the noise of each.
        rate: r_k over W_k sd_k^2.
        diameter: D, or infinity.
        reached: the most that the first 0, 1, ..., tau steps can fill the bucket with (up).
    """

    p: float
    c: Array
    s: Array
    sd: Array
    rate: float
    diameter: float
    reached: Array

    @property
    def steps(self) -> int:
        return int(self.c.size)

    @property
    def most(self) -> float:
        return min(self.diameter, float(self.reached[-1]))

    @property
    def payments(self) -> float:
        noise = self._weight[1:] * self.sd
        top = float(np.max(noise, initial=0.0))
        if not top:
            return 0.0  # there are no steps
        squares = float(total(((noise / top) ** 2)[:, None])[0])
        return self.rate * top * math.sqrt(squares) * (1.0 + self._margin)

    @cached_property
    def _weight(self) -> Array:
        """W_0, ..., W_tau."""
        return np.append(np.cumprod(self.c[::-1])[::-1], 1.0)

    @property
    def _margin(self) -> float:
        return AMPLE + _EACH_STEP * self.steps

    def usual_blocks(self) -> tuple[int, ...]:
        """Steps join a block from the youngest on as long as their jumps are nearly the same."""
        jump, clock = self._weight[1:] * self.s, (self._weight[1:] * self.sd) ** 2
        typical = min(self.diameter, max(self.p * float(np.sum(jump)), float(np.max(jump))))
        left = np.minimum(self.reached, self.diameter) * self._weight
        # the last number of steps that may be left out; at least one step is followed
        older = int(np.flatnonzero(left[:-1] <= FORGOTTEN * typical)[-1])
        size = np.log(np.maximum(jump[older:], NOT_ZERO))[::-1]
        width = np.minimum(WIDEST, WIDTH * np.exp(0.5 * (float(np.max(size)) - size)))
        part = clock[older:][::-1] / float(np.sum(clock[older:]))
        most = max(1, math.floor(EXPECTED / self.p))
        wider = 1.0
        while True:
            blocks = _joined(size, width * wider, part, most)
            if len(blocks) <= _MOST_BLOCKS:
                return tuple(reversed(blocks))
            wider, most = wider * _WIDER, max(most, math.ceil(size.size / _MOST_BLOCKS))

    def chain(self, blocks: tuple[int, ...]) -> Chain:
        older = self.steps - sum(blocks)
        first = older + np.cumsum([0, *blocks[:-1]])
        last = older + np.cumsum(blocks) - 1
        weight, up = self._weight[1:], 1.0 + self._margin
        clock = (weight * self.sd) ** 2
        start = min(self.diameter, float(self.reached[older])) * float(self._weight[older])
        bounded = math.isfinite(self.diameter)
        return Chain(
            start=start * up + NOT_ZERO if older else 0.0,
            jump=np.maximum.reduceat(weight * self.s, first) * up,
            paid=self.rate * np.add.reduceat(clock, first) * (1.0 - self._margin),
            most=weight[last] * self.diameter * up if bounded else np.full(last.size, math.inf),
        )


def _joined(size: Array, width: Array, part: Array, most: int) -> list[int]:
    """Numbers of steps, the youngest first, as which the arrays are ordered.

    A block ends before the step with which its jumps would differ by more than the width there, or
    it would have too large a part of the clock, or too many steps. Too many blocks are not listed
    to the end.
    """
    blocks: list[int] = []
    first, ahead = 0, _AHEAD
    while first < size.size and len(blocks) <= _MOST_BLOCKS:
        last = min(first + most, size.size)
        end = min(first + ahead, last)
        here = slice(first, end)
        spread = np.maximum.accumulate(size[here]) - np.minimum.accumulate(size[here])
        full = (spread > width[here]) | (np.cumsum(part[here]) > _SHARE)
        full[0] = False
        if not full.any() and end < last:
            ahead *= 4
            continue
        blocks.append(int(np.argmax(full)) if full.any() else end - first)
        first += blocks[-1]
        ahead = max(_AHEAD, 2 * blocks[-1])
    return blocks
