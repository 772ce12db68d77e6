"""What the closed forms for equal steps share: geometric sums, and the lowest of a valley."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["geometric_sum", "lowest"]


class _Candidate(Protocol):
    @property
    def energy(self) -> float: ...


C = TypeVar("C", bound=_Candidate)


def geometric_sum(log_q: float, n: int) -> float:
    """`1 + q + ... + q^(n-1)` for `log q <= 0`, without cancellation.

    >>> geometric_sum(0.0, 7), round(geometric_sum(math.log(0.5), 3), 12)
    (7.0, 1.75)
    """
    return math.expm1(n * log_q) / math.expm1(log_q) if log_q else float(n)


def lowest(plan: Callable[[int], C], most: int) -> C:
    """The plan of least energy among 1..most, if it falls and then rises: doubling, then thirds.

    >>> from types import SimpleNamespace
    >>> lowest(lambda i: SimpleNamespace(energy=(i - 1234.4) ** 2), 10**9).energy < 0.2
    True
    """
    low, at, high = 1, 1, min(2, most)
    best = plan(1)
    while high > at:
        further = plan(high)
        if further.energy > best.energy:
            break
        low, at, best = at, high, further
        high = min(2 * high, most)
    while high - low > 2:
        left = low + (high - low) // 3
        right = high - (high - low) // 3
        if plan(left).energy <= plan(right).energy:
            high = right
        else:
            low = left
    found = [best, *(plan(i) for i in range(low, high + 1))]
    return min(found, key=lambda candidate: candidate.energy)
