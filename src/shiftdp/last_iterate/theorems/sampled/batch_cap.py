"""Batches of random size: how likely one of them is too large for the contraction.

The bad event is that at least B of the *other* n - 1 records are drawn in some step; it has the
same probability in both runs, and is independent of everything about the record itself. Each of
them is in the batch of a step with probability p, independently of the others. Under Poisson
sampling the steps are independent as well, under random allocation they are not: there the
probabilities of the steps are added up.
"""

from __future__ import annotations

import math

from shiftdp._errors import UnmetHypothesis
from shiftdp._roots import least_whole
from shiftdp._rounding import AMPLE, GENEROUS, NINE_ROUNDINGS
from shiftdp.fdp import TradeoffFunction, WithFailure
from shiftdp.last_iterate.geometry import Geometry, contraction_of
from shiftdp.last_iterate.runs import NoisySGD, people
from shiftdp.last_iterate.theorems.sampled.shifts import capped_smoothness, participation_up

_MOST_TERMS = 100_000  # of the sum; what follows is bounded by a geometric series
_SHARP = 1e-3  # the series takes over once it is at most this part of the sum
_SHARE = 1e-3  # of delta that is spent on batches beyond the cap
_NEVER = 1e-60  # a cap that is passed as rarely is high enough for every delta in use
_EXPONENT = AMPLE  # added to an exponent for the differences of logarithms of factorials


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
        return min(1.0, math.exp(N * math.log(p)) * (1.0 + GENEROUS))
    up = B * math.log(B / (N * p))
    down = (N - B) * math.log1p(-(B - N * p) / (N * (1.0 - p)))
    log_first = -(up + down) + 0.5 * math.log(N / (2.0 * math.pi * B) / (N - B))
    log_first += 1 / (12 * N) - 1 / (12 * B + 1) - 1 / (12 * (N - B) + 1)
    log_first += NINE_ROUNDINGS * (abs(up) + abs(down) + N * p) + _EXPONENT
    series, term, k = 1.0, 1.0, B
    while k < N:
        ratio = (N - k) * p / ((k + 1) * (1.0 - p))
        if ratio > 1.0 - AMPLE:
            return 1.0  # so near the mean of so many records that it is no rare event
        rest = term * ratio / (1.0 - ratio - NINE_ROUNDINGS)
        if rest < _SHARP * series or k - B >= _MOST_TERMS:
            series += rest
            break
        term *= ratio
        series += term
        k += 1
    return min(1.0, math.exp(log_first) * series * (1.0 + GENEROUS))


def cap_failure(n: int, p: float, cap: int, steps: int, *, independent: bool = True) -> float:
    """1 - (1 - P[Bin(n-1, p) >= B])^steps, rounded up; the sum over the steps if not independent.

    >>> cap_failure(100, 0.1, 25, 4) < cap_failure(100, 0.1, 25, 4, independent=False)
    True
    """
    q = tail_probability(n - 1, p, cap)
    if q >= 1.0:
        return 1.0
    if not independent:
        return min(1.0, steps * q * (1.0 + AMPLE))
    return min(1.0, -math.expm1(steps * math.log1p(-q)) * (1.0 + AMPLE))


def choose_cap(n: int, p: float, steps: int, failure: float, *, independent: bool = True) -> int:
    """The least B whose failure is at most `failure`; n never fails.

    >>> choose_cap(10_000, 0.01, 1000, 1e-8)
    175
    """

    def rare(cap: int) -> bool:
        return cap_failure(n, p, cap, steps, independent=independent) <= failure

    return least_whole(rare, 0, n)


def passed(run: NoisySGD, cap: int, steps: int) -> float:
    """The probability that so many steps of a run draw more than `cap` records, rounded up.

    It is made an event of the records of other people than the one with k of them: at least
    B - k + 1 of these are drawn.
    """
    k, p = people(run), participation_up(run)
    apart = not run.in_epochs
    return cap_failure(run.n - k + 1, p, cap - k + 1, steps, independent=apart)


def within_cap(f: TradeoffFunction, run: NoisySGD, cap: int | None, steps: int) -> TradeoffFunction:
    """f, which holds as long as no batch of so many steps passes the cap, with that failure."""
    failure = 0.0 if cap is None else passed(run, cap, steps)
    return WithFailure(f, failure) if failure > 0.0 else f


def affordable_cap(
    run: NoisySGD, geometry: Geometry, delta: float, more: int = 0
) -> tuple[int, float]:
    """The batch cap of the run, or one that hardly costs anything, and how likely it is passed.

    The least cap that is passed rarely enough at delta is raised as long as no step contracts less
    for it, so that the bound is as good at far smaller deltas: with M_l the smoothness of a record
    without the ridge, steps keep their `1 - eta m` up to `eta (2m + B M_l/b) = 2`.

    Args:
        run: with batches of random size.
        geometry: what is assumed of the losses, which are convex.
        delta: of which the cap must leave something.
        more: steps that follow the run in batches of the same kind, and are counted as well.
    """
    apart, steps = not run.in_epochs, run.steps + more
    p = participation_up(run)
    least = choose_cap(run.n, p, steps, _SHARE * delta, independent=apart)
    cap = run.batch_cap
    if cap is None:
        # at smaller deltas than any in use the least one is passed more rarely still
        never = max(least, choose_cap(run.n, p, steps, _NEVER, independent=apart))
        cap = _raised(run, geometry, least, never)
    failure = passed(run, cap, steps)
    if not failure < delta:
        raise UnmetHypothesis(
            "batch_cap",
            cap,
            f"is passed with probability {failure:.2g}, more than delta={delta:g}",
            f"give at least {least}",
        )
    return cap, failure


def left_by_cap(run: NoisySGD, geometry: Geometry, delta: float) -> tuple[int | None, float]:
    """The batch cap of `affordable_cap`, and what it leaves of delta to a bound within it.

    A run whose batches have one size has no cap, and all of delta is left.
    """
    if not run.has_random_sizes:
        return None, delta
    cap, failure = affordable_cap(run, geometry, delta)
    return cap, (delta - failure) / (1.0 - failure)


def _raised(run: NoisySGD, geometry: Geometry, least: int, never: int) -> int:
    """The largest cap with which steps contract as with the least one; `never`, if that is less,
    but for all records, of which there are never more."""

    def contractions(cap: int) -> list[float]:
        M = capped_smoothness(run, geometry, cap)
        return [contraction_of(geometry.strong_convexity, M, rate) for rate in rates]

    rates = {run.learning_rate} if isinstance(run.learning_rate, float) else {*run.learning_rate}
    known = contractions(least)
    if contractions(run.n) == known:
        return run.n
    if contractions(never) == known:
        return never
    return least_whole(lambda cap: contractions(cap) != known, least, never) - 1
