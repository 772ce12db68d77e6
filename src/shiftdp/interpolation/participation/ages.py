"""A sampled run as one record sees it: by age, the youngest step first.

Step k contracts by c_k, has noise sd_k, and is displaced by s_k if the record takes part, which it
does with probability p_k. With `w_k = prod_{j>k} c_j`, the value of Theorem B1 for the pattern V is
`mu(V)^2 = sum (dR)^2/dL`, the energy of the least concave majorant of the points

    L_j = sum_{i<=j} (w_i sd_i)^2   (the clock),   R_j = sum_{i<=j} w_i s_i V_i   (the path),

j counting the steps from the end. It is also `2 int_0^inf max_j (R_j - g L_j)_+ dg`, so it can only
grow where a jump is enlarged or moved to a younger clock, or a clock is lowered [Lemma C0a]. What
is rounded here is rounded in these directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import GENEROUS, NINE_ROUNDINGS, ULP

_SINGLY = 4096  # ages of equal steps that are kept one by one; older ones are grouped ...
_GROUPED = 1.0 + 2.0**-11  # ... while their number grows by at most this factor
_FORGOTTEN = 45.0  # contraction by e^-45 = 3e-20: what is older counts as one sure jump
_MOST_STEPS = 1 << 24  # that are listed one by one
_UNDERFLOWN = 1e-150  # squares of what is smaller are no floats
_BLOCKS = 4000  # of ages, for the energy of a given path


class StartLaw(NamedTuple):
    """Values that rise, at least 0, with their probabilities."""

    values: Array
    probabilities: Array

    @property
    def mean(self) -> float:
        return float(self.values @ self.probabilities)

    @property
    def variance(self) -> float:
        return float((self.values - self.mean) ** 2 @ self.probabilities)


@dataclass(frozen=True, eq=False)
class Ages:
    """Entries of neighbouring ages, the youngest first.

    Args:
        count: how many steps an entry stands for.
        participation: probability of taking part, of each of them.
        jump: the largest w s among them, rounded up.
        clock: L up to and including the youngest of them, rounded down; it never falls.
        start: the law of one more jump, at the oldest clock.
    """

    count: Array
    participation: Array
    jump: Array
    clock: Array
    start: StartLaw | None = None

    @property
    def mean(self) -> float:
        """E R_t."""
        of_start = self.start.mean if self.start else 0.0
        return float(np.sum(self.count * self.participation * self.jump)) + of_start

    @property
    def ceiling(self) -> float:
        """What mu(V) never exceeds: its value if the record always takes part."""
        taking_part = np.where(self.participation > 0.0, self.count * self.jump, 0.0)
        if self.start:
            taking_part[-1] += self.start.values[-1]
        if not taking_part.any():
            return 0.0
        return math.sqrt(self.energy(taking_part)) * (1.0 + GENEROUS) + _UNDERFLOWN

    @property
    def hull(self) -> float:
        """The energy of the majorant of the mean path."""
        rise = self.count * self.participation * self.jump
        rise[-1] += self.start.mean if self.start else 0.0
        return self.energy(rise)

    def energy(self, rise: Array) -> float:
        """Of the majorant of the path with these rises; blocks of ages rise at their youngest."""
        block = -(-len(rise) // _BLOCKS)
        # the oldest age is a block alone: a start may be there
        first = np.append(np.arange(0, len(rise) - 1, block), len(rise) - 1)
        rises, clocks = np.add.reduceat(rise, first), self.clock[first]
        hull, height = [(0.0, 0.0)], 0.0
        for x, more in zip(clocks.tolist(), rises.tolist(), strict=True):
            height += more
            while len(hull) > 1 and (height - hull[-1][1]) * (hull[-1][0] - hull[-2][0]) >= (
                hull[-1][1] - hull[-2][1]
            ) * (x - hull[-1][0]):
                hull.pop()
            hull.append((x, height))
        return math.fsum((b[1] - a[1]) ** 2 / (b[0] - a[0]) for a, b in pairwise(hull))

    @property
    def variance(self) -> float:
        """An upper bound on the variance of R_t: that of rare, independent jumps."""
        of_start = self.start.variance if self.start else 0.0
        return float(np.sum(self.count * self.participation * self.jump**2)) + of_start


def ages_of_steps(p: Array, c: Array, s: Array, sd: Array, epoch: int = 1) -> Ages:
    """Any schedule, given in the order of time.

    With an `epoch` of several steps, whole epochs are kept, in each of which the record takes part
    once. What is forgotten is then added to the jumps of the oldest one that is kept.

    >>> ones = np.ones(3)
    >>> ages_of_steps(0.5 * ones, 0.5 * ones, ones, ones).jump.round(6)
    array([1.  , 0.5 , 0.25])
    """
    if len(p) > _MOST_STEPS:
        raise UnmetHypothesis(
            "steps",
            len(p),
            f"are too many to be treated one by one (at most {_MOST_STEPS})",
            "give equal steps, or fewer",
        )
    with np.errstate(under="ignore", divide="ignore"):
        sums = np.concatenate([[0.0], np.cumsum(np.log(c[:0:-1]))])
        log_w = sums - np.max(sums)  # a factor that all weights have does not matter
        kept = len(p) - int(np.argmax(log_w[::-1] >= -_FORGOTTEN))  # what is older is forgotten
        kept = min(len(p), -(-kept // epoch) * epoch)
        # sums of as many terms, each of them off by a unit of the largest partial sum
        largest = float(np.max(np.abs(sums[:kept])))
        margin = len(p) * ULP * (1.0 + largest) + NINE_ROUNDINGS
        jump = np.exp(log_w) * s[::-1] * (1.0 + margin)
        clock = np.cumsum((np.exp(log_w[:kept]) * sd[::-1][:kept]) ** 2) * (1.0 - 3.0 * margin)
    taking_part = np.array(p[::-1], dtype=np.float64)
    ages = _after_noise(Ages(np.ones(kept), taking_part[:kept], jump[:kept], clock))
    if kept < len(p):
        rest = float(np.sum(np.where(taking_part[kept:] > 0.0, jump[kept:], 0.0)))
        if epoch > 1:
            ages.jump[-epoch:] += rest * (1.0 + margin)
        else:
            ages = with_start(ages, rest * (1.0 + margin))
    return ages


def equal_ages(p: float, c: float, s: float, sd: float, steps: float) -> Ages:
    """Equal steps, however many, with c <= 1; neighbouring old ages share an entry.

    >>> equal_ages(0.01, 1.0, 2.0, 1.0, 10**12).count.sum() == 10**12
    np.True_
    """
    if c >= 1.0 and math.isinf(steps):
        raise UnmetHypothesis(
            "steps", steps, "without end need a contraction below 1", "say how many there are"
        )
    if c < 1.0:
        forgotten = math.ceil(_FORGOTTEN / -math.log(c)) if c > 0.0 else 1
        kept = min(steps, forgotten)
    else:
        kept = steps
    first = np.arange(min(kept, _SINGLY), dtype=np.float64)
    ends = [*first.tolist()]
    a = float(len(ends))
    while a < kept:
        ends.append(a)
        a = min(kept, math.floor(a * _GROUPED) + 1.0)
    begins = np.array(ends)
    count = np.diff(np.append(begins, kept))
    log_c = math.log(c) if c > 0.0 else -math.inf
    with np.errstate(under="ignore", invalid="ignore"):
        w = np.where(begins == 0.0, 1.0, np.exp(begins * log_c))
        if c == 1.0:
            clock = begins + 1.0
        elif c == 0.0:
            clock = np.ones(len(begins))
        else:
            clock = np.expm1(2.0 * (begins + 1.0) * log_c) / math.expm1(2.0 * log_c)
    jump, clock = w * s * (1.0 + GENEROUS), clock * sd * sd * (1.0 - GENEROUS)
    ages = Ages(count, np.full(len(begins), p), jump, clock)
    if kept < steps and c > 0.0:
        # all that is older took part for sure: s c^kept (1 + c + ...)
        rest = s * math.exp(kept * log_c) / -math.expm1(log_c) * (1.0 + GENEROUS)
        ages = with_start(ages, rest)
    return ages


def with_start(ages: Ages, jump: float) -> Ages:
    """With a sure jump at the oldest clock: the distance, times w, before the first of the ages."""
    if jump == 0.0:
        return ages
    return Ages(
        np.append(ages.count, 1.0),
        np.append(ages.participation, 1.0),
        np.append(ages.jump, jump),
        np.append(ages.clock, ages.clock[-1]),
    )


def _after_noise(ages: Ages) -> Ages:
    """Without youngest ages that have neither noise nor participation."""
    noisy = ages.clock > 0.0
    quiet = int(np.argmax(noisy)) if noisy.any() else len(noisy)
    if np.any(ages.participation[:quiet] * ages.jump[:quiet] > 0.0):
        raise UnmetHypothesis(
            "noise",
            0.0,
            "in the last steps in which the record may take part: nothing hides it",
            "give the last step noise",
        )
    count, participation = ages.count[quiet:], ages.participation[quiet:]
    return Ages(count, participation, ages.jump[quiet:], ages.clock[quiet:])
