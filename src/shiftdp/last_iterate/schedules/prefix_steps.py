"""The steps of a run as Theorem B6 sees them: a bucket that some fill, and the ones that follow it.

Distances are in units of the noise that the last step adds to the iterate. Of equal steps these are
the units of every step, and everything is a geometric series; steps that differ are listed one by
one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import EIGHT_ROUNDINGS, ROOMY_EXPONENT
from shiftdp.interpolation.bucket.chain import LeakyBucket
from shiftdp.interpolation.bucket.equal_steps import Bucket
from shiftdp.interpolation.bucket.scheduled_steps import ScheduledBucket
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD
from shiftdp.last_iterate.schedules.led_together import (
    Groups,
    UnequalSteps,
    group_laws,
    grouped_payments,
)
from shiftdp.last_iterate.theorems.sampled.shifts import (
    Laws,
    StepArrays,
    StochasticSteps,
    grouped_shifts,
    step_arrays,
    steps_of,
)

_FIRST = 1.2  # -log of what is left of a distance by the end: where a search for tau begins
_HALF = 2  # of the steps, where so much is never lost
_RISE = 1.5  # a noise that is so many times that of the step before begins a cool-down
_MOST_FELT = 1000.0  # participations that are still felt, in the mean: more make long sums
# of them, what B7 then gives at least, and minus the log of what is left of a distance in all: from
# here on no bound of Theorem B6 was seen to be below that of B7
_CROWD, _MUCH, _FORGETS = 150.0, 5.0, 1.0
_SHORTEST = 1.0 - 1e-6  # the largest contraction of equal steps: nearer to 1 nothing is forgotten
_WIDEST_RANGE = 1e60  # of noises and displacements: their squares are floats
_UP, _DOWN = 1.0 + EIGHT_ROUNDINGS, 1.0 - EIGHT_ROUNDINGS  # of a few products and sums


class PrefixSteps(ABC):
    """t steps, in each of which the record takes part with probability p."""

    p: float
    t: int

    @abstractmethod
    def bucket(self, last: int, rate: float) -> LeakyBucket:
        """The bucket of the prefix that leaves so many last steps."""

    @abstractmethod
    def shifts(self, last: int, groups: int) -> Groups:
        """What leads together, in the last steps, two runs that are 1 apart."""

    @abstractmethod
    def laws(self, groups: Groups, most: int) -> Laws:
        """The laws of the last steps with these shifts: for estimates."""

    @abstractmethod
    def usual(self) -> tuple[int, ...]:
        """Numbers of last steps with which a search begins."""

    def crowded(self, rival: float) -> bool:
        """Whether so many participations are felt that Theorem B7, whose epsilon is the rival, has
        the better bound: what a bucket loses by being rounded up grows with each of them.

        False if not known.
        """
        return False

    @abstractmethod
    def unit(self, last: int) -> float:
        """The unit in which rates of payment are tried: what the mean of all participations asks
        for, or half of it."""


@dataclass(frozen=True)
class EqualPrefix(PrefixSteps):
    """Equal steps with 0 < c < 1."""

    p: float
    t: int
    steps: StochasticSteps

    @staticmethod
    def of(steps: StochasticSteps) -> EqualPrefix:
        return EqualPrefix(steps.p, steps.steps, steps)

    def bucket(self, last: int, rate: float) -> Bucket:
        each = self.steps
        return Bucket(each.p, each.c, each.apart, rate, each.steps - last, each.diameter)

    def shifts(self, last: int, groups: int) -> Groups:
        return grouped_shifts(self.steps.c, 1.0, last, groups)

    def laws(self, groups: Groups, most: int) -> Laws:
        return [(a, self.steps.s, n) for a, n in groups]

    def usual(self) -> tuple[int, ...]:
        return (min(self.t - 1, max(1, round(_FIRST / (1.0 - self.steps.c)))),)

    def crowded(self, rival: float) -> bool:
        loss = -self.t * math.log(self.steps.c)
        if math.isfinite(self.steps.diameter) or rival < _MUCH or loss < _FORGETS:
            return False
        return self.p * -math.expm1(-loss) / (1.0 - self.steps.c) >= _CROWD

    def unit(self, last: int) -> float:
        return self.steps.p * self.steps.apart * self.steps.c**last


@dataclass(frozen=True, eq=False)
class ScheduledPrefix(PrefixSteps):
    """Steps that differ, none of which expands distances."""

    p: float
    t: int
    c: Array
    apart: Array
    sd: Array
    listed: UnequalSteps

    @staticmethod
    def of(steps: StepArrays) -> ScheduledPrefix:
        """From steps in units of the iterate."""
        c, s, apart, sd = (
            np.broadcast_to(np.asarray(part, dtype=np.float64), steps.steps)
            for part in (steps.c, steps.s, steps.apart, steps.sd)
        )
        unit = float(sd[-1])
        move, gap, noise = s / unit * _UP, apart / unit * _UP, sd / unit * _DOWN
        listed = UnequalSteps.of(c, move, gap, noise, steps.diameter / unit * _UP)
        return ScheduledPrefix(steps.p, steps.steps, c, gap, noise, listed)

    def bucket(self, last: int, rate: float) -> ScheduledBucket:
        tau = self.t - last
        c, s, sd = self.c[:tau], self.apart[:tau], self.sd[:tau]
        reached = self.listed.distance[: tau + 1]
        return ScheduledBucket(self.p, c, s, sd, rate, self.listed.diameter, reached)

    def shifts(self, last: int, groups: int) -> Groups:
        return grouped_payments(self.listed, last, groups, start=1.0)

    def laws(self, groups: Groups, most: int) -> Laws:
        charged = group_laws(self.listed.sensitivity, groups, most)
        pairs = zip(groups, charged, strict=True)
        return [(a, s, n) for (a, _), parts in pairs for s, n in parts]

    def usual(self) -> tuple[int, ...]:
        """Until distances are a third, and where the last cool-down begins, if there is one."""
        faded = np.flatnonzero(self.listed.weight[1:] <= -_FIRST)
        counts = [self.t - 1 - int(faded[-1]) if faded.size else self.t // _HALF]
        rises = np.flatnonzero(self.sd[1:] >= _RISE * self.sd[:-1])
        counts += [self.t - 1 - int(rises[-1])] if rises.size else []
        return tuple({min(self.t - 1, max(1, count)): None for count in counts})

    def unit(self, last: int) -> float:
        return self._slope * math.exp(
            max(float(self.listed.weight[self.t - last]), -ROOMY_EXPONENT)
        )

    @cached_property
    def _slope(self) -> float:
        """Half of what the mean of all participations asks for, over the clock."""
        w = np.exp(self.listed.weight[1:])
        return 0.5 * self.p * float(np.sum(w * self.apart)) / float(np.sum((w * self.sd) ** 2))


@lru_cache(maxsize=16)
def prefix_steps(run: NoisySGD, geometry: Geometry, cap: int | None) -> PrefixSteps:
    """The steps with batches of at most `cap` records, if they forget what is long ago.

    Raises `UnmetHypothesis` where distances grow, or too many participations are felt.
    """
    listed = step_arrays(run, geometry, cap)
    if listed.equal:
        steps = steps_of(run, geometry, cap)
        if not 0.0 < steps.c <= _SHORTEST or steps.p / (1.0 - steps.c) > _MOST_FELT:
            raise _too_long(steps.c, steps.p)
        return EqualPrefix.of(steps)
    found = ScheduledPrefix.of(listed)
    felt = found.p * float(np.sum(np.exp(np.minimum(found.listed.weight, 0.0))))
    if float(np.max(found.c)) > 1.0 or felt > _MOST_FELT:
        raise _too_long(float(np.max(found.c)), found.p)
    sizes = np.concatenate([found.sd, found.apart[found.apart > 0.0]])
    if float(np.max(sizes)) > _WIDEST_RANGE or float(np.min(sizes)) < 1.0 / _WIDEST_RANGE:
        raise UnmetHypothesis(
            "noise",
            f"<{run.steps} entries>",
            "differs by more than 60 decades between steps",
            "give noise, and learning rates, of about one size",
        )
    return found


def _too_long(c: float, p: float) -> UnmetHypothesis:
    return UnmetHypothesis(
        "contraction",
        c,
        f"is not between 0 and 1, or too near to 1 for p={p:g}: Theorem B6 follows what "
        f"is not forgotten, at most {_MOST_FELT:g} participations",
        "rely on Theorem B7 or on composition, or add a ridge",
    )
