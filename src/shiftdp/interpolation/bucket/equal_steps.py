"""The leaky bucket of equal steps, in units of their noise: everything is a geometric series."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._rounding import AMPLE
from shiftdp.interpolation.bucket.chain import Chain, LeakyBucket

WIDTH = 4e-3
"""The part by which jumps differ in the youngest block ..."""
WIDEST = 0.1
"""... and at most, in blocks of long ago, which matter less."""
EXPECTED = 20.0
"""Participations in a block at most."""
FORGOTTEN = 2e-4
"""Of the typical filling: what steps that are not followed may add to it."""


@dataclass(frozen=True)
class Bucket(LeakyBucket):
    """c_k = c, s_k = s, sd_k = 1 and r_k = r c^{tau-k}.

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
    def most(self) -> float:
        return self.fullest(self.steps)

    @property
    def payments(self) -> float:
        squares = -math.expm1(2.0 * self.steps * math.log(self.c)) / ((1.0 - self.c) * (1 + self.c))
        return self.rate * math.sqrt(squares) * (1.0 + AMPLE)

    def usual_blocks(self) -> tuple[int, ...]:
        """From the youngest to the oldest that matters, longer the older they are."""
        loss = -math.log(self.c)
        typical = min(self.diameter, self.s * max(self.p / (1.0 - self.c), 1.0))
        blocks: list[int] = []
        age = 0
        while age < self.steps:
            if self.fullest(self.steps - age) * self.c**age <= FORGOTTEN * typical:
                break
            width = min(WIDEST, WIDTH * math.exp(0.5 * age * loss))
            most = min(self.steps - age, max(1, math.floor(EXPECTED / self.p)))
            blocks.append(min(most, max(1, math.floor(width / loss))))
            age += blocks[-1]
        return tuple(reversed(blocks))

    def chain(self, blocks: tuple[int, ...]) -> Chain:
        c, sizes = self.c, np.array(blocks, dtype=np.float64)
        ages = np.cumsum([0, *blocks[:0:-1]])[::-1]
        weight = np.array([c**age for age in ages.tolist()])
        # the squares of c^{tau-k}, summed over each block
        squares = weight * weight * -np.expm1(2.0 * sizes * math.log(c)) / ((1.0 - c) * (1.0 + c))
        followed, bounded = sum(blocks), math.isfinite(self.diameter)
        return Chain(
            start=self.fullest(self.steps - followed) * c**followed,
            jump=self.s * weight,
            paid=self.rate * squares,
            most=weight * self.diameter if bounded else np.full(sizes.size, math.inf),
        )
