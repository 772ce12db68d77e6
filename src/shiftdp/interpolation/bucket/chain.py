"""The leaky bucket block by block: what its law is computed from, whatever the steps are.

Let V_1, ..., V_tau be independent, 1 with probability p. Step k multiplies the distance z of two
runs by c_k, adds s_k V_k, and pays off `min(r_k, what there is)`:

    z_k = max(0, c_k z_{k-1} + s_k V_k - r_k),   z_k <= D under projection onto a set of diameter D.

With W_k = c_{k+1} ... c_tau a step only adds to y_k = W_k z_k:

    y_k = max(0, y_{k-1} + W_k (s_k V_k - r_k)),   r_k = rate W_k sd_k^2,

sd_k being its noise. (Of all rates that pay off the same in all, these cost least.) So z_tau,
which is y_tau, is found by adding up, block of steps after block of steps.

*Blocks.* In a block let N be how often the record takes part, R the sum of the W_k r_k, and J the
largest W_k s_k. Then the bucket after it is at most

    max(0, y - R) + J N,

because paying before anything is added, where it may find nothing, never pays more: by induction,
max(0, max(0, y - R) + X + x - r) is at most max(0, y - R - r) + X + x for x, r >= 0.

*Start.* Steps before the blocks are not followed: they leave the bucket at the most that they can
fill it with, or at the diameter.

All of this is a rising function of V: a bucket that is filled more often is never emptier.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from shiftdp._checks import Array


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


@dataclass(frozen=True, eq=False)
class Chain:
    """The blocks of a bucket in numbers that are rounded to the safe side, the oldest first.

    Args:
        start: what the bucket holds before the first block (rounded up).
        jump: J of each block (up).
        paid: R of each block (down).
        most: what the bucket can hold after each block at most (up); infinite without a set.
    """

    start: float
    jump: Array
    paid: Array
    most: Array


class LeakyBucket(ABC):
    """A bucket after tau steps. `p` is the probability that the record takes part in a step."""

    p: float

    @property
    @abstractmethod
    def most(self) -> float:
        """The most that the bucket can hold at the end, rounded up."""

    @property
    @abstractmethod
    def payments(self) -> float:
        """sqrt(sum (r_k/sd_k)^2), rounded up."""

    @abstractmethod
    def usual_blocks(self) -> tuple[int, ...]:
        """Blocks that hardly raise the law: short where steps matter, longer long ago."""

    @abstractmethod
    def chain(self, blocks: tuple[int, ...]) -> Chain:
        """The numbers of such blocks."""
