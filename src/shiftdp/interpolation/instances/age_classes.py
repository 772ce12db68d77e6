"""The steps of a run by age, in classes: what a drifting coordinate keeps of each of them.

Ages count from the end, 1 for the last step. A coordinate that shows the slopes `c` after the step
of age j keeps `W_j s_j` of a displacement of that age and `W_j sd_j` of its noise, with
`W_j = prod_{i<j} c_i`. If it shows the least slopes of the class from age j on, the noise of all
ages above j adds the variance `remnant_j`. Ages are put into classes, whose displacements count as
the least of them: that lowers what is leaked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, LEAST_FLOAT, ULP

_SINGLE = 48  # ages that are a class each
_GROWTH = 0.02  # of later classes, as a part of their age ...
_FADING = 0.008  # ... and the most by which the logarithm of a weight may fall inside one
_FAINT = 16.0  # what has been contracted by more than exp(-16) is left out: it leaks nothing
_MOST_CLASSES = 20_000  # ages beyond the last one are left out
_GREATEST_LOG = 300.0  # of a weight, in size: ages beyond are left out
_PER_STEP = 700.0 * ULP  # the rounding of a sum of logarithms of up to 300, and of one of squares


@dataclass(frozen=True, eq=False)
class AgeClasses:
    """Classes of ages, the youngest first; a block of them is carried by one coordinate.

    Args:
        end: the oldest age of each class.
        count: how many ages it has.
        jump: what is kept of one participation (of any age of the class, not above it).
        clock: the variance that is kept of all noise up to the end of the class (not below).
        remnant: the variance of older noise if it is forgotten as fast as can be (not below).
    """

    end: Array
    count: Array
    jump: Array
    clock: Array
    remnant: Array

    @property
    def size(self) -> int:
        return int(self.end.size)

    def block(self, first: int, last: int) -> tuple[Array, Array]:
        """Shifts in units of the noise, and how many steps of each, of the classes first..last-1.

        >>> classes = equal_classes(1.0, 0.0, s=1.0, sd=0.5, steps=4)
        >>> shifts, counts = classes.block(0, 4)
        >>> shifts.round(6), counts
        (array([1., 1., 1., 1.]), array([1, 1, 1, 1]))
        """
        variance = self.clock[last - 1] + self.remnant[last - 1]
        return self.jump[first:last] / math.sqrt(variance), self.count[first:last]


def equal_classes(c: float, floor: float, *, s: float, sd: float, steps: int) -> AgeClasses:
    """The classes of equal steps with slopes c, and `floor` where the past is to be forgotten.

    Args:
        c: a slope that the class of losses allows, not rounded up.
        floor: the least one, not rounded down.
        s: displacement of a step, rounded down.
        sd: deviation of its noise, rounded up.
        steps: t.
    """
    log_c = math.log(c) if c > 0.0 else -math.inf
    end = _equal_ends(log_c, steps)
    count = np.diff(end, prepend=0)
    least = np.where(log_c < 0.0, end - 1, end - count)  # the age, less 1, of the least weight
    clock = _squares(log_c, end)
    with np.errstate(over="ignore"):  # least slopes above 1: no end of older noise, so no leak
        older = _squares(math.log(floor) if floor > 0.0 else -math.inf, steps - end) * floor**2
    at_end = _power(2.0 * log_c, end - 1)
    return AgeClasses(
        end=end,
        count=count,
        jump=s * _power(log_c, least) * (1.0 - AMPLE),
        clock=sd * sd * clock * (1.0 + AMPLE),
        remnant=sd * sd * at_end * older * (1.0 + AMPLE),
    )


def classes_of_steps(c: Array, floor: Array, s: Array, sd: Array) -> AgeClasses:
    """The classes of unequal steps, given in the order of time.

    >>> one = classes_of_steps(*(np.full(9, x) for x in (0.9, 0.5, 1.0, 2.0)))
    >>> other = equal_classes(0.9, 0.5, s=1.0, sd=2.0, steps=9)
    >>> bool(np.allclose(one.remnant, other.remnant) and np.allclose(one.clock, other.clock))
    True
    """
    c, floor, s, sd = (np.asarray(x, dtype=np.float64)[::-1] for x in (c, floor, s, sd))
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.maximum(c[:-1], LEAST_FLOAT)))])
    end = _ends(logs)
    kept = int(end[-1])
    weight = np.exp(logs[:kept])
    older = _forgotten(floor, sd)
    starts = (end - np.diff(end, prepend=0)).astype(np.intp)
    error = AMPLE + _PER_STEP * s.size
    return AgeClasses(
        end=end,
        count=np.diff(end, prepend=0),
        jump=np.minimum.reduceat(weight * s[:kept], starts) * (1.0 - error),
        clock=np.cumsum((weight * sd[:kept]) ** 2)[end - 1] * (1.0 + error),
        remnant=weight[end - 1] ** 2 * older[end - 1] * (1.0 + error),
    )


def _forgotten(floor: Array, sd: Array) -> Array:
    """For each age j the variance of older noise after the step of age j, with the least slopes."""
    squares, variances, older = (floor**2).tolist(), (sd**2).tolist(), 0.0
    found = np.zeros(sd.size)
    for j in range(sd.size - 1, -1, -1):
        found[j] = squares[j] * older
        older = variances[j] + squares[j] * older
    return found


def _equal_ends(log_c: float, steps: int) -> Array:
    """The ends of classes of equal steps."""
    rate = abs(log_c)
    longest = steps
    if rate > 0.0:
        longest = min(steps, max(1, math.ceil((_FAINT if log_c < 0 else _GREATEST_LOG) / rate)))
    ends = list(range(1, min(_SINGLE, longest) + 1))
    most = _FADING / rate if rate > 0.0 else math.inf
    while ends[-1] < longest and len(ends) < _MOST_CLASSES:
        ends.append(min(longest, ends[-1] + max(1, int(min(_GROWTH * ends[-1], most)))))
    return np.array(ends)


def _ends(logs: Array) -> Array:
    """The ends of classes, given the logarithms of the weights of all ages."""
    steps = int(np.sum(np.cumsum(np.abs(logs) > _GREATEST_LOG) == 0))
    ends = list(range(1, min(_SINGLE, steps) + 1))
    while ends[-1] < steps and len(ends) < _MOST_CLASSES:
        begin = ends[-1]
        reach = begin + max(1, int(_GROWTH * begin))
        near = np.abs(logs[begin : min(reach, steps)] - logs[begin]) <= _FADING
        ends.append(begin + max(1, int(np.sum(np.cumprod(near)))))
    return np.array(ends)


def _power(log_base: float, exponent: Array) -> Array:
    """exp(exponent log_base), with 0^0 = 1."""
    if log_base == -math.inf:
        return np.where(exponent == 0, 1.0, 0.0)
    return np.asarray(np.exp(exponent * log_base))


def _squares(log_base: float, terms: Array) -> Array:
    """The sum of base^(2i) over 0 <= i < terms."""
    if log_base == 0.0:
        return terms.astype(np.float64)
    if log_base == -math.inf:
        return np.minimum(terms, 1.0)
    return np.asarray(np.expm1(2.0 * log_base * terms) / math.expm1(2.0 * log_base))
