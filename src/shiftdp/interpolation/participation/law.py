"""A law that dominates mu(V): what Theorem B7 asks of the participation of a record."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._rounding import GENEROUS
from shiftdp.interpolation.participation.ages import Ages
from shiftdp.interpolation.participation.path import Resolution, many, path_of
from shiftdp.interpolation.participation.vertices import Tail, ladder, vertex_law

__all__ = ["ParticipationLaw", "dominating_law", "law_of_tail", "resolution_for"]

_RUNG = 1.15  # ratio of neighbouring slopes: mu^2 is at most 0.5% too large
_CELLS = 1500
_PART = 1e-4  # of delta: rarer things are rounded more coarsely
_CAP_PART = 1e-4  # of delta: sums that are not followed


@dataclass(frozen=True)
class ParticipationLaw:
    """Values of mu, rising, with weights that add up to 1: mu(V) is stochastically at most this.

    >>> ParticipationLaw((0.0, 1.0), (0.9, 0.1)).mean
    0.1
    """

    mu: tuple[float, ...]
    weight: tuple[float, ...]

    @property
    def mean(self) -> float:
        return math.fsum(mu * w for mu, w in zip(self.mu, self.weight, strict=True))


def dominating_law(
    ages: Ages, *, delta: float, resolution: Resolution | None = None
) -> ParticipationLaw:
    """A law that dominates mu(V), fine enough for privacy at delta. [Theorem C5, Lemma C0a]

    Args:
        ages: the run as one record sees it.
        delta: the tail that matters: rarer things are not told apart.
        resolution: how finely classes, jumps and clocks are rounded; chosen if not given.

    >>> from shiftdp.interpolation.participation.ages import equal_ages
    >>> law = dominating_law(equal_ages(0.5, 1.0, 1.0, 1.0, 1), delta=1e-5)
    >>> [round(mu, 3) for mu in law.mu[:2]], [round(w, 3) for w in law.weight[:2]]
    ([0.0, 1.0], [0.5, 0.5])
    """
    path = path_of(ages, resolution or resolution_for(ages), _CAP_PART * delta)
    top = min(_top(ages), ages.ceiling) * (1.0 + GENEROUS)
    tail = vertex_law(path, ladder(path, _RUNG), _CELLS, top, _PART * delta)
    return law_of_tail(tail, ages.ceiling)


def law_of_tail(tail: Tail, ceiling: float) -> ParticipationLaw:
    """The law with this tail; what exceeds 1 leaves at the bottom, what is lost is at the top."""
    above = np.minimum(tail.above + tail.lost, 1.0)
    above[0] = 1.0
    weight = above - np.append(above[1:], 0.0)
    mu = np.arange(len(above)) * tail.cell * (1.0 + GENEROUS)
    mu[-1] = max(ceiling, mu[-1])
    kept = weight > 0.0
    return ParticipationLaw(tuple(mu[kept].tolist()), tuple(weight[kept].tolist()))


def resolution_for(ages: Ages) -> Resolution:
    """Fine where that is cheap: each class costs half a lattice point, each ratio of clocks its half.

    Equal jumps are on the lattice and cost nothing there.
    """
    if float(np.min(ages.jump)) == float(np.max(ages.jump)):
        return Resolution(ratio=1.05, levels=400, values=60)
    if many(ages) < 0.5:
        return Resolution(ratio=1.05, levels=700, values=30)
    return Resolution(ratio=1.18, levels=2000, values=80)


def _top(ages: Ages) -> float:
    """A generous range of mu: what is above it counts as lost."""
    hull = _mean_energy(ages)
    alone = ages.jump**2 / ages.clock
    rare = math.sqrt(float(np.sum(ages.count * ages.participation * alone)))
    return math.sqrt(hull) + 6.5 * rare + 1.5 * math.sqrt(float(np.max(alone)))


def _mean_energy(ages: Ages) -> float:
    """The energy of the majorant of the mean path."""
    rise = np.cumsum(ages.count * ages.participation * ages.jump)
    hull = [(0.0, 0.0)]
    for clock, height in zip(ages.clock.tolist(), rise.tolist(), strict=True):
        while len(hull) > 1 and (height - hull[-1][1]) * (hull[-1][0] - hull[-2][0]) >= (
            hull[-1][1] - hull[-2][1]
        ) * (clock - hull[-1][0]):
            hull.pop()
        hull.append((clock, height))
    pairs = zip(hull, hull[1:], strict=False)
    return sum((b[1] - a[1]) ** 2 / (b[0] - a[0]) for a, b in pairs if b[0] > a[0])
