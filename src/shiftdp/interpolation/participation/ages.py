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

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import GENEROUS

__all__ = ["Ages", "ages_of_steps", "equal_ages", "with_start"]

_SINGLY = 4096  # ages of equal steps that are kept one by one; older ones are grouped ...
_GROUPED = 1.0 + 2.0**-11  # ... while their number grows by at most this factor
_FORGOTTEN = 45.0  # contraction by e^-45 = 3e-20: what is older counts as one sure jump
_MOST_STEPS = 1 << 24  # that are listed one by one


@dataclass(frozen=True, eq=False)
class Ages:
    """Entries of neighbouring ages, the youngest first.

    Args:
        count: how many steps an entry stands for.
        participation: probability of taking part, of each of them.
        jump: w s of the youngest of them, rounded up.
        clock: L up to and including the youngest of them, rounded down.
        ceiling: what mu(V) never exceeds.
    """

    count: Array
    participation: Array
    jump: Array
    clock: Array
    ceiling: float

    @property
    def mean(self) -> float:
        """E R_t."""
        return float(np.sum(self.count * self.participation * self.jump))

    @property
    def variance(self) -> float:
        """An upper bound on the variance of R_t: that of rare, independent jumps."""
        return float(np.sum(self.count * self.participation * self.jump**2))


def ages_of_steps(p: Array, c: Array, s: Array, sd: Array) -> Ages:
    """Any schedule, given in the order of time.

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
        log_w = np.concatenate([[0.0], np.cumsum(np.log(c[:0:-1]))])
        w = np.exp(log_w)
        clock = np.cumsum((w * sd[::-1]) ** 2) * (1.0 - GENEROUS)
        jump = w * s[::-1] * (1.0 + GENEROUS)
    ceiling = math.sqrt(float(np.sum((s / sd) ** 2))) * (1.0 + GENEROUS)  # that of composition
    ages = Ages(np.ones(len(p)), np.array(p[::-1], dtype=np.float64), jump, clock, ceiling)
    return _without_remote_past(ages, log_w)


def equal_ages(p: float, c: float, s: float, sd: float, steps: float) -> Ages:
    """Equal steps, however many, with c <= 1; neighbouring old ages share an entry.

    >>> equal_ages(0.01, 1.0, 2.0, 1.0, 10**12).count.sum() == 10**12
    np.True_
    """
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
    ceiling = s / sd * math.sqrt(kept) * (1.0 + GENEROUS)  # that of composition
    ages = Ages(count, np.full(len(begins), p), jump, clock, ceiling)
    if kept < steps and c > 0.0:
        # all that is older took part for sure: s c^kept (1 + c + ...)
        rest = s * math.exp(kept * log_c) / -math.expm1(log_c) * (1.0 + GENEROUS)
        ages = with_start(ages, rest)
    return ages


def with_start(ages: Ages, jump: float) -> Ages:
    """With a sure jump at the oldest clock: the distance, times w, before the first of the ages.

    Payments add up, so that mu grows by what the jump alone costs at most.
    """
    alone = jump / math.sqrt(float(ages.clock[-1]))
    return Ages(
        np.append(ages.count, 1.0),
        np.append(ages.participation, 1.0),
        np.append(ages.jump, jump),
        np.append(ages.clock, ages.clock[-1]),
        (ages.ceiling + alone) * (1.0 + GENEROUS),
    )


def _without_remote_past(ages: Ages, log_w: Array) -> Ages:
    """All that is contracted by more than e^-45 as one sure jump."""
    old = np.flatnonzero(np.maximum.accumulate(log_w[::-1])[::-1] < -_FORGOTTEN)
    if not old.size:
        return ages
    cut = max(int(old[0]), 1)
    rest = float(np.sum(ages.jump[cut:])) * (1.0 + GENEROUS)
    parts = (ages.count, ages.participation, ages.jump, ages.clock)
    kept = Ages(*(part[:cut] for part in parts), ages.ceiling)
    return with_start(kept, rest) if rest > 0.0 else kept
