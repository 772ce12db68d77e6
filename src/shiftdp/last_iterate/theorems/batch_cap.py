"""Poisson sampling draws batches of any size: how likely one is too large for the contraction.

The bad event is that at least B of the *other* n - 1 records are drawn in some step; it has the
same probability in both runs, and is independent of everything about the record itself.
"""

from __future__ import annotations

import math

__all__ = ["cap_failure", "choose_cap", "tail_probability"]


_MOST_TERMS = 100_000


def tail_probability(trials: int, p: float, at_least: int) -> float:
    """P[Bin(trials, p) >= at_least], rounded up; 1 where it is no rare event.

    With Robbins' bounds on factorials the first term is at most
    exp(-KL) sqrt(N / (2 pi B (N-B))) exp(1/12N - 1/(12B+1) - 1/(12(N-B)+1)), within a part
    1/(180 B^3) or so, and the ratios of later terms fall: what follows a term is at most a
    geometric series with its ratio, which takes the place of the sum when that is precise enough,
    or has become long.

    >>> round(tail_probability(100, 0.1, 25), 12)
    1.3073...e-05
    """
    N, B = trials, at_least
    if B > N or p == 0.0:
        return 0.0 if B > 0 else 1.0
    if N * p + 1.0 >= B or p == 1.0:
        return 1.0
    if B == N:
        return min(1.0, math.exp(N * math.log(p)) * (1.0 + 1e-9))
    up = B * math.log(B / (N * p))
    down = (N - B) * math.log1p(-(B - N * p) / (N * (1.0 - p)))
    log_first = -(up + down) + 0.5 * math.log(N / (2.0 * math.pi * B) / (N - B))
    log_first += 1.0 / (12.0 * N) - 1.0 / (12.0 * B + 1.0) - 1.0 / (12.0 * (N - B) + 1.0)
    log_first += 1e-15 * (abs(up) + abs(down) + N * p) + 1e-12
    series, term, k = 1.0, 1.0, B
    while k < N:
        ratio = (N - k) * p / ((k + 1) * (1.0 - p))
        if ratio > 1.0 - 1e-12:
            return 1.0  # so near the mean of so many records that it is no rare event
        rest = term * ratio / (1.0 - ratio - 1e-15)
        if rest < 1e-3 * series or k - B >= _MOST_TERMS:
            series += rest
            break
        term *= ratio
        series += term
        k += 1
    return min(1.0, math.exp(log_first) * series * (1.0 + 1e-9))


def cap_failure(n: int, p: float, cap: int, steps: int) -> float:
    """1 - (1 - P[Bin(n-1, p) >= B])^steps, rounded up."""
    q = tail_probability(n - 1, p, cap)
    if q >= 1.0:
        return 1.0
    return min(1.0, -math.expm1(steps * math.log1p(-q)) * (1.0 + 1e-12))


def choose_cap(n: int, p: float, steps: int, failure: float) -> int:
    """The least B whose failure is at most `failure`; n never fails.

    >>> choose_cap(10_000, 0.01, 1000, 1e-8)
    175
    """
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if cap_failure(n, p, middle, steps) <= failure:
            high = middle
        else:
            low = middle
    return high
