"""When the batch of one record comes up: the schedules that a run may mean for it.

A record sits in one batch of each epoch. In a fixed order its position is anybody's guess, so the
worst one counts; in a random order positions have probabilities (Theorem B4).

*Moving a visit to a later step never helps privacy.* If a record visited at step k with
sensitivity s_k is visited at k' > k instead, with any `s' >= s_k prod_{k<j<=k'} c_j`, then mu does
not fall. *Proof.* Follow the shifts a' that are optimal for the later visit as far as possible,
`a_j = min(a'_j, c_j z_{j-1} + s_j)`. The excess of z over z' is `s_k prod c` before k' and at most
0 from there on, so a is feasible at no larger cost. This holds for any c and with a projection. ∎

*Of equal steps, a later position in every epoch is worse, also if c > 1.* If each visit comes one
step later in the epoch, and as often, mu does not fall. *Proof.* Put one idle step in front of the
run with the earlier visits: the two processes still agree there, so mu is the same. Now the visits
are where those of the later position are, and one idle step follows at the end, in which nothing
need be shifted. ∎
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import EIGHT_ROUNDINGS, ROOMY_EXPONENT
from shiftdp.interpolation.reshuffled import ReshuffledSchedule
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import Order, PerStep

__all__ = [
    "BatchRun",
    "Outcome",
    "StepSchedule",
    "Visits",
    "each_outcome",
    "has_random_visits",
    "outcomes",
    "schedule_of",
]

Pattern = Literal["every", "final", "worst"]
StepSchedule = Schedule | PeriodicSchedule | ReshuffledSchedule

_UP, _DOWN = 1.0 + EIGHT_ROUNDINGS, 1.0 - EIGHT_ROUNDINGS  # of products of a few factors
_POWER_UP = 1.0 + 2.0**-40  # of a power whose logarithm is at most _LARGEST, and rounded
_LEAST_GROUPS, _MOST_GROUPS = 16, 128
_MOST_WORK = 4_000_000  # steps times positions that are solved step by step, some seconds
_MOST_STEPS = 1 << 24  # that are listed, and followed by whoever verifies
_LARGEST = ROOMY_EXPONENT  # logarithm of the largest factor by which a visit may have grown


class BatchRun(Protocol):
    """What NoisyGD and NoisyCGD have in common."""

    @property
    def n(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def learning_rate(self) -> PerStep: ...
    @property
    def noise(self) -> PerStep: ...
    @property
    def order(self) -> Order: ...
    @property
    def batches(self) -> int: ...
    def size_of(self, position: int) -> int: ...
    def divisor_of(self, position: int) -> int: ...


@dataclass(frozen=True)
class Visits:
    """Where a record is visited.

    `every`: at `position` in each epoch (0: never). `final`: at `position` in the last epoch (0:
    not at all), and before it once at the end of each epoch, strongly enough to dominate every
    position.
    `worst`: such a dominating visit at the end of every epoch.
    """

    pattern: Pattern
    position: int = 0


@dataclass(frozen=True)
class Outcome:
    """One possibility for a record, with its probability (1 where the worst one counts)."""

    visits: Visits
    share: Fraction = Fraction(1)

    @property
    def weight(self) -> float:
        """The nearest float to the probability: `Mixture` pays for one rounding of its weights."""
        return float(self.share)


def outcomes(run: BatchRun, geometry: Geometry) -> list[Outcome]:
    """What may happen to a record: candidates for the worst (fixed), or all cases (random order).

    The probabilities of a random order add up to 1. Records that are dropped at the end of an epoch
    are those behind its last batch: in a random order one of n is among them with their share.
    """
    return list(each_outcome(run, geometry))


def each_outcome(run: BatchRun, geometry: Geometry) -> Iterator[Outcome]:
    """The same one by one: there may be as many as batches, and who compares them may stop."""
    if not has_random_visits(run):
        yield from (Outcome(visits) for visits in _candidates(run, geometry))
        return
    last = run.steps % run.batches
    if run.order == "shuffled_once":
        # positions up to `last` have one visit more: no group may reach across
        seen, cut = run.batches, last
    else:
        seen, cut = last or run.batches, 0
    groups = _groups(run, geometry, seen, cut)
    if groups is None:
        yield Outcome(Visits("worst"))
        return
    pattern: Pattern = "every" if run.order == "shuffled_once" else "final"
    left = run.n
    for group in groups:
        records = (len(group) - 1) * run.size_of(1) + run.size_of(group[-1])
        left -= records
        yield Outcome(Visits(pattern, group[-1]), Fraction(records, run.n))
    if left:
        yield Outcome(Visits(pattern, 0), Fraction(left, run.n))


def has_random_visits(run: BatchRun) -> bool:
    """Whether it is left to chance when a record is used: the order is random, and matters."""
    return run.order != "fixed" and (run.batches > 1 or _dropped(run) > 0)


def _dropped(run: BatchRun) -> int:
    """How many records of each epoch are in none of its batches."""
    return run.n - (run.batches - 1) * run.size_of(1) - run.size_of(run.batches)


def schedule_of(
    run: BatchRun, geometry: Geometry, visits: Visits, *, attained: bool = False
) -> StepSchedule:
    """The steps as this record sees them, in the units of the iterate.

    Contraction and sensitivity are rounded up, or down for what instances attain.
    """
    if visits.pattern != "every":
        return _dominated(run, geometry, visits)
    j = visits.position
    if isinstance(run.learning_rate, float) and isinstance(run.noise, float):
        eta = run.learning_rate
        visit = eta * geometry.sensitivity / run.divisor_of(j) if j else 0.0
        return PeriodicSchedule(
            contraction=geometry.steepest(eta) if attained else geometry.contraction(eta),
            sensitivity=visit * (_DOWN if attained else _UP),
            noise=eta * run.noise,
            period=run.batches,
            first=max(j, 1),
            steps=run.steps,
            diameter=geometry.diameter,
        )
    c, s, sd = _arrays(run, geometry, run.steps, attained)
    visited = np.zeros(run.steps)
    if j:
        visited[j - 1 :: run.batches] = s[j - 1 :: run.batches]
    return Schedule(c, visited, sd, geometry.diameter)


def _arrays(
    run: BatchRun, geometry: Geometry, steps: int, attained: bool = False
) -> tuple[Array, Array, Array]:
    """c_k, the sensitivity that a visit at step k would have, and the noise, step by step."""
    eta = np.broadcast_to(np.asarray(run.learning_rate, dtype=np.float64), steps)
    rates, where = np.unique(eta, return_inverse=True)
    slope = geometry.steepest if attained else geometry.contraction
    c = np.array([slope(float(rate)) for rate in rates])[where]
    small = np.arange(1, steps + 1) % run.batches == 0
    divisor = np.where(small, float(run.divisor_of(run.batches)), float(run.divisor_of(1)))
    s = eta * geometry.sensitivity / divisor * (_DOWN if attained else _UP)
    return c, s, eta * np.asarray(run.noise, dtype=np.float64)


def _equal_steps(run: BatchRun) -> bool:
    return isinstance(run.learning_rate, float) and isinstance(run.noise, float)


def _later_is_worse(run: BatchRun, geometry: Geometry) -> bool:
    """Whether a visit may always be moved to the next step: s_{k+1} >= c_{k+1} s_k throughout."""
    if isinstance(run.learning_rate, float):
        return geometry.contraction(run.learning_rate) <= 1.0
    c, _, _ = _arrays(run, geometry, run.steps)
    # full batches only: the last divisor may be smaller, which makes its visits worse still
    eta = np.asarray(run.learning_rate)
    growing = (eta[1:] >= eta[:-1]) & (c[1:] <= 1.0)
    # anything else must hold with room for the rounding of the product
    return bool(np.all(growing | (eta[1:] >= c[1:] * eta[:-1] * _UP)))


def _candidates(run: BatchRun, geometry: Geometry) -> Iterable[Visits]:
    """Positions of which one is the worst.

    Where later is worse this is the last one, or, if the last epoch is unfinished, the one that was
    visited last: against it, each visit of a later position has moved forward, and one is missing.
    """
    last = run.steps % run.batches
    if _equal_steps(run) or _later_is_worse(run, geometry):
        return [Visits("every", j) for j in sorted({last, run.batches} - {0})]
    if run.batches * run.steps <= _MOST_WORK:
        return (Visits("every", j) for j in range(1, run.batches + 1))
    return [Visits("worst")]  # too many to try one by one


def _groups(run: BatchRun, geometry: Geometry, seen: int, cut: int) -> Iterable[range] | None:
    """Positions 1 to `seen` in groups that share a bound, that of their last one; none over `cut`.

    None where that is not allowed, and taking all one by one would take too long.
    """
    affordable = _MOST_GROUPS if _equal_steps(run) else _MOST_WORK // run.steps
    most = min(max(_LEAST_GROUPS, affordable), _MOST_GROUPS)
    if seen <= most:
        return (range(j, j + 1) for j in range(1, seen + 1))
    same_each_epoch = _equal_steps(run) and run.order == "shuffled_once"
    if not (same_each_epoch or _later_is_worse(run, geometry)):
        return None
    # as wide as they are far from the last position, on which their privacy depends
    ends = {0, cut, seen}
    for begin, end in ((0, cut), (cut, seen)):
        share = max(1, most * (end - begin) // seen)
        ends |= {end - round((end - begin) ** (i / share)) for i in range(share) if end > begin}
    return (range(a + 1, b + 1) for a, b in pairwise(sorted(ends)))


def _dominated(run: BatchRun, geometry: Geometry, visits: Visits) -> Schedule | ReshuffledSchedule:
    """One visit at the end of each epoch that stands for any; in the last one, as `visits` says."""
    batches = run.batches
    whole, last = divmod(run.steps, batches)
    dominated = whole if last else whole - 1
    if isinstance(run.learning_rate, float) and isinstance(run.noise, float):
        c, eta, rest = geometry.contraction(run.learning_rate), run.learning_rate, last or batches
        one = eta * geometry.sensitivity * _UP  # of a batch of one record
        position = rest if visits.pattern == "worst" else visits.position
        final = 0.0
        if visits.pattern == "worst":
            final = _strongest_of_equal(run, c, one, rest)
        elif position:
            final = one / run.divisor_of(position)
        return ReshuffledSchedule(
            contraction=c,
            earlier=_strongest_of_equal(run, c, one, batches),
            final=final,
            noise=eta * run.noise,
            period=batches,
            epochs=dominated,
            rest=rest,
            position=position,
            diameter=geometry.diameter,
        )
    _require_short(run.steps)
    steps_c, s, sd = _arrays(run, geometry, run.steps)
    visited = np.zeros(run.steps)
    earlier = dominated * batches
    if earlier:
        epochs = (dominated, batches)
        strongest = _strongest(steps_c[:earlier].reshape(epochs), s[:earlier].reshape(epochs))
        visited[batches - 1 : earlier : batches] = strongest
    if visits.pattern == "worst":
        visited[-1] += _strongest(steps_c[None, earlier:], s[None, earlier:])[0]
    elif visits.position:
        visited[earlier + visits.position - 1] += s[earlier + visits.position - 1]
    return Schedule(steps_c, visited, sd, geometry.diameter)


def _strongest_of_equal(run: BatchRun, c: float, one: float, end: int) -> float:
    """max_k s_k c^(end-k) over positions up to `end`, rounded up; the last divisor is the least."""
    at_end = one / run.divisor_of(end)
    if c <= 1.0 or end == 1:
        return at_end
    growth = (end - 1) * math.log(c)
    if growth > _LARGEST:
        raise UnmetHypothesis(
            "order",
            run.order,
            f"may bring a record first in an epoch, and its effect then grows by a factor of "
            f"{c:.6g} in each of {end - 1} steps, out of the range of floats",
            "rely on composition, or give fewer batches an epoch or a lower learning rate",
        )
    return max(at_end, one / run.divisor_of(1) * math.exp(growth) * _POWER_UP)


def _require_short(steps: int) -> None:
    if steps > _MOST_STEPS:
        raise UnmetHypothesis(
            "steps",
            steps,
            f"are too many to be treated one by one (at most {_MOST_STEPS})",
            "give fewer, a learning rate with which a step contracts, or ask for "
            'bounds="composition"',
        )


def _strongest(c: Array, s: Array) -> Array:
    """max_k s_k prod_{k<j<=l} c_j in each row (epoch), rounded up."""
    best = s[:, 0]
    for k in range(1, c.shape[1]):
        best = np.maximum(best * c[:, k] * _UP, s[:, k])
    return best
