"""Theorem B3 for steps that differ: payments that lead two runs together, and the laws of steps.

In units of the iterate, let step k be c_k-Lipschitz with noise sd_k, let the record move it by s_k,
let coupled runs separate by at most `zbar_k = c_k zbar_{k-1} + apart_k`, and put
`w_k = prod_{j>k} c_j`. From a distance `z_tau = min(D, zbar_tau)` on, payments a_k >= 0 with

    sum_{k>tau} w_k a_k >= w_tau z_tau

make the run f-DP with f = S_p(a_{tau+1}/sd_{tau+1}, s_{tau+1}/sd_{tau+1}) (x) ... (x)
S_p(a_t/sd_t, s_t/sd_t). Payments that are constant on groups of steps, in units of the noise of
each, compose few laws; of these, the least sum of squares has `a/sd` proportional to the mean of
`w sd` over the group. Groups end where `w sd` changes most: equally spaced in the sum of
`|change of w sd|^(2/3)`. Many different laws are charged as a few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, FOUR_ROUNDINGS, LARGEST_EXPONENT, UNIT

Groups = tuple[tuple[float, int], ...]
"""Payments in units of the noise, and for how many consecutive steps each; up to the last step."""

MOST_LAWS = 64
"""How many different laws of a step are composed: each takes about .01 s, and 64 that stand for
sensitivities which vary evenly by a factor of ten raise epsilon by one or two per cent."""

_FAINTEST = math.log(1e-100)  # weights below it are those of steps too long ago to matter
_USELESS = 1e-100  # one over a payment, in units of noise, that proves nothing
_EACH_STEP = 64.0 * UNIT  # by which payments exceed what is asked, for roundings of each step


@dataclass(frozen=True)
class UnequalSteps:
    """The steps of a run in the variables above; k = 0 to t in `weight` and `distance`."""

    sd: Array
    sensitivity: Array
    weight: Array
    distance: Array
    diameter: float

    @staticmethod
    def of(c: Array, s: Array, apart: Array, sd: Array, diameter: float) -> UnequalSteps:
        """From constants of the steps, in time order."""
        with np.errstate(divide="ignore"):
            backwards = np.cumsum(np.log(c)[::-1])[::-1]
        z, reached = 0.0, [0.0]
        for slope, gap in zip(c.tolist(), apart.tolist(), strict=True):
            z = (slope * z + gap) * (1.0 + FOUR_ROUNDINGS)
            reached.append(z)
        weight = np.append(backwards, 0.0)
        return UnequalSteps(
            sd, s / sd * (1.0 + FOUR_ROUNDINGS), weight, np.array(reached), diameter
        )

    @property
    def steps(self) -> int:
        return int(self.sd.size)

    @property
    def longest(self) -> int:
        """The most steps that are worth looking back, all but the first at most."""
        far = np.flatnonzero(self.weight[1:] >= _FAINTEST)
        return max(1, self.steps - 1 - int(far[0])) if far.size else 1

    def start(self, tau: int) -> float:
        """z_tau."""
        return min(self.diameter, float(self.distance[tau]))

    def starts_from_diameter(self, tau: int) -> bool:
        """Whether nothing need be known of the steps up to tau."""
        return self.diameter <= float(self.distance[tau])

    def need(self, count: int, start: float | None = None) -> tuple[Array, float]:
        """w sd of the last `count` steps, over its maximum, and w_tau z_tau over the same.

        `start` is another distance than z_tau.
        """
        tau = self.steps - count
        shares = self.weight[tau + 1 :] + np.log(self.sd[tau:])
        top, z = float(np.max(shares)), self.start(tau) if start is None else start
        if z == 0.0 or self.weight[tau] == -math.inf:
            return np.exp(shares - top), 0.0
        log_need = float(self.weight[tau]) + math.log(z) - top
        need = math.inf if log_need > LARGEST_EXPONENT else math.exp(log_need)
        return np.exp(shares - top), need * (1.0 + AMPLE + _EACH_STEP * count)


def grouped_payments(
    steps: UnequalSteps, count: int, most: int, start: float | None = None
) -> Groups:
    """Payments over the last `count` steps that lead the runs together, in at most `most` groups.

    They are z_tau apart, or `start` if that is given.

    >>> ones = np.ones(5)
    >>> steps = UnequalSteps.of(ones, ones, ones, np.array([1.0, 1.0, 1.0, 2.0, 2.0]), np.inf)
    >>> [(round(a, 6), n) for a, n in grouped_payments(steps, 3, 4)]
    [(0.222222, 1), (0.444444, 2)]
    """
    shares, need = steps.need(count, start)
    if need == 0.0:
        return ((0.0, count),)
    place = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(shares)) ** (2.0 / 3.0))])
    group = np.floor(place / max(float(place[-1]), UNIT) * most * (1.0 - UNIT))
    first = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    sizes = np.diff(np.append(first, count))
    means = np.add.reduceat(shares, first) / sizes
    total = math.fsum((means * means * sizes).tolist())
    return tuple(zip((need / total * means).tolist(), sizes.tolist(), strict=True))


def all_in_the_last_step(steps: UnequalSteps, count: int, most: int) -> Groups:
    """All of it in the last step, as in [BSA24, Thm sgd-sc]; spread out if that is of no use."""
    shares, need = steps.need(count)
    if shares[-1] <= _USELESS * need:
        return grouped_payments(steps, count, most)
    last = (need / float(shares[-1]), 1)
    return ((0.0, count - 1), last) if count > 1 else (last,)


def group_laws(
    sensitivity: Array, groups: Groups, most: int = MOST_LAWS
) -> list[list[tuple[float, int]]]:
    """For each group, the sensitivities with which its steps are charged, and how many steps each.

    Args:
        sensitivity: of every step of the run, in units of its noise.
        groups: of the last steps.
        most: different laws in all, about; more are rounded up to fewer.
    """
    sizes = [n for _, n in groups]
    later = sensitivity[sensitivity.size - sum(sizes) :]
    for allowed in (most, max(1, most // len(groups))):
        levels, code = levels_of(later, allowed)
        laws = [_counted(levels, part) for part in np.split(code, np.cumsum(sizes[:-1]))]
        if sum(map(len, laws)) <= most:
            break
    return laws


def _counted(levels: Array, code: NDArray[np.intp]) -> list[tuple[float, int]]:
    counts = np.bincount(code, minlength=levels.size)
    return [(float(levels[i]), int(counts[i])) for i in np.flatnonzero(counts)]


def few_distinct(values: Array, most: int = MOST_LAWS) -> tuple[tuple[float, int], ...]:
    """At most `most` pairs (value, how often) for many values, each of them rounded up to a pair.

    What rounding adds to the sum of squares, with which the cost of a step grows, is kept small: if
    the density of values x is n(x), the best ends of the groups are equally spaced in
    `int sqrt(n(x) x) dx`. Nothing is rounded where there are few values to begin with.

    >>> few_distinct(np.array([1.0, 3.0, 1.0]))
    ((1.0, 2), (3.0, 1))
    >>> few_distinct(np.array([1.0, 1.1, 1.9, 2.0]), most=2)
    ((1.1, 2), (2.0, 2))
    """
    levels, code = levels_of(values, most)
    counts = np.bincount(code, minlength=levels.size)
    return tuple(zip(levels.tolist(), counts.tolist(), strict=True))


def levels_of(values: Array, most: int) -> tuple[Array, NDArray[np.intp]]:
    """The few values, in rising order, and for each of the many which of them it is rounded up to.

    >>> levels_of(np.array([1.0, 2.0, 1.1, 1.9]), 2)
    (array([1.1, 2. ]), array([0, 1, 0, 1]))
    """
    x, code, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(x) <= most:
        return x, code
    # in units of the largest, whose square might be no number
    rises = np.diff(np.square(x / x[-1]))
    place = np.concatenate([[0.0], np.cumsum(np.sqrt(counts[:-1] * rises))])
    group = np.minimum(np.floor(place / place[-1] * most), most - 1)
    begins = np.concatenate([[True], group[1:] != group[:-1]])
    last = np.append(np.flatnonzero(begins)[1:], len(x)) - 1
    return x[last], (np.cumsum(begins) - 1)[code]
