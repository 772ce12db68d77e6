"""Where the last steps of a run in a bounded set begin: a random distance, at most the diameter.

Before the last J steps the two runs are at a distance of at most D, whatever happened. It costs
what a jump of w_J D at the oldest of the J clocks does [Lemma C4]. Better, the distance itself is
random: with the same batches and the same noise it follows `z <- min(D, c z + s V)`, one more jump
that does not depend on the last J participations.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from shiftdp._rounding import FOUR_ROUNDINGS, GENEROUS
from shiftdp.interpolation.participation.ages import Ages, StartLaw, equal_ages

_POINTS = 3000  # of the lattice on which distances are rounded up, at least
_MOST_POINTS = 20000  # of that lattice, at most
_FORGETTING = 150.0  # points for a contraction by e: roundings up gather half of a part of 150
MOST_FOLLOWED = 4000  # that are followed; the distance before them is the diameter
_LONG_AGO = 14.0  # contraction by e^-14 = 1e-6 leaves nothing of where it began
_FACTORS = 2.0 ** (
    np.arange(-12.0, 10.0) / 3.0
)  # cuts, in times that it takes to gather a diameter


def start_law(p: float, c: float, s: float, diameter: float, steps: float) -> StartLaw:
    """The distance after `steps` steps, from 0 on, rounded up: z <- min(D, c z + s V), c <= 1.

    >>> law = start_law(0.5, 0.5, 1.0, 10.0, 100)  # hardly ever capped: the mean is p s/(1 - c)
    >>> 1.0 <= law.mean < 1.01
    True
    """
    # it is never more than s (1 + c + c^2 + ...)
    unbounded = s * min(steps, 1.0 / (1.0 - c) if c < 1.0 else math.inf)
    diameter = min(diameter, unbounded * (1.0 + GENEROUS))
    rate = -math.log(c) if 0.0 < c < 1.0 else math.inf if c <= 0.0 else 0.0
    followed = int(min(steps, MOST_FOLLOWED, 1.0 + _LONG_AGO / rate if rate > 0.0 else math.inf))
    points = max(_POINTS, min(_MOST_POINTS, _FORGETTING / rate if rate > 0.0 else 0.0))
    # s is a whole number of units, a little more than whole parts of it; in a very wide set it is
    # less than a unit, and counts as one
    whole = max(1, math.floor(points * min(s / diameter, 1.0)))
    unit = max(min(s, diameter) / whole, diameter / _MOST_POINTS) * (1.0 + GENEROUS)
    last = math.ceil(diameter / unit)
    at = np.arange(last + 1)
    up = np.ceil(c * at * (1.0 + FOUR_ROUNDINGS)) if c < 1.0 else at
    still = np.asarray(up, dtype=np.int64)
    moved = np.minimum(still + whole, last)
    law = np.zeros(last + 1)
    law[0 if followed >= steps else last] = 1.0
    for _ in range(followed):
        stays = np.bincount(still, (1.0 - p) * law, last + 1)
        law = np.asarray(stays + np.bincount(moved, p * law, last + 1), dtype=np.float64)
    likely = law > 0.0
    likely[-1] |= not likely.any()
    values = np.minimum(at * unit, diameter * (1.0 + GENEROUS))
    return StartLaw(values[likely], law[likely] / math.fsum(law))


def cut_ages(
    p: float, c: float, s: float, sd: float, steps: float, diameter: float, last: float
) -> Ages:
    """The last steps alone, begun at a random distance. [Lemma C4]"""
    ages = equal_ages(p, c, s, sd, last)
    if last >= steps or c == 0.0:
        return ages
    before = start_law(p, c, s, diameter, steps - last)
    factor = math.exp(last * math.log(c)) * (1.0 + GENEROUS)
    return replace(ages, start=StartLaw(before.values * factor, before.probabilities))


def bounded_ages(p: float, c: float, s: float, sd: float, steps: float, diameter: float) -> Ages:
    """Equal steps in a set of the given diameter, cut where that costs least. [Lemma C4]

    Any cut is valid. The one that is taken is best for the mean of mu(V)^2, about that of the mean
    path, of lone participations and of the spread of the start.

    Args:
        p: probability of taking part.
        c: contraction of a step, at most 1.
        s: displacement of a step in which the record takes part.
        sd: noise of a step.
        steps: how many there are, math.inf included.
        diameter: of the set.
    """
    before = start_law(p, c, s, diameter, steps)  # hardly another after some steps less

    def cost(last: float) -> float:
        ages = equal_ages(p, c, s, sd, last)
        rare = ages.count * p * (1.0 - p) * ages.jump**2 / ages.clock
        if last == steps:
            return ages.hull + float(np.sum(rare))
        weight = math.exp(last * math.log(c))
        ages = replace(ages, start=StartLaw(before.values * weight, before.probabilities))
        spread = before.variance * weight**2 / float(ages.clock[-1])
        return ages.hull + float(np.sum(rare)) + spread

    if c == 0.0:
        return equal_ages(p, c, s, sd, steps)
    gathered = diameter / max(p * s, diameter * GENEROUS)
    cuts = {min(steps, max(1.0, math.floor(gathered * factor))) for factor in _FACTORS}
    cuts |= {steps} if c < 1.0 or math.isfinite(steps) else set()
    return cut_ages(p, c, s, sd, steps, diameter, min(sorted(cuts), key=cost))
