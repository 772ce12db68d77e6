"""What a class of neighbouring ages adds to the path: the law of a sum, rounded up to a lattice."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._rounding import GENEROUS

__all__ = ["JumpLaw", "binomial", "sum_law"]

_FINE = 32  # points of the finer lattice, on which a sum is made, for one of the lattice
_ALIKE = 1.02  # weights within this factor count as the largest of them
_NEGLIGIBLE = 1e-18  # probabilities below it are left out, and reported
_LARGEST_COUNT = 1e15  # trials of which one more or less does not matter to a float


class JumpLaw(NamedTuple):
    """Values 0 = v_0 < v_1 < ... in units of the lattice, with their probabilities."""

    values: NDArray[np.int64]
    probabilities: Array

    @property
    def none(self) -> float:
        """The probability of no jump."""
        return float(self.probabilities[0])


def binomial(n: float, p: float, negligible: float = _NEGLIGIBLE) -> tuple[int, Array, float]:
    """The first value kept, probabilities from there on, and how much is left out on both sides.

    From the mode, by ratios of neighbours: no factorial of a large number loses digits.

    >>> low, law, lost = binomial(4, 0.5)
    >>> low, law.round(4).tolist(), lost
    (0, [0.0625, 0.25, 0.375, 0.25, 0.0625], 0.0)
    """
    if p >= 1.0 or n == 0:
        return int(n), np.ones(1), 0.0
    odds = p / (1.0 - p)
    mode = math.floor((n + 1.0) * p)
    spread = math.sqrt(n * p * (1.0 - p) + 1.0)
    reach = math.ceil(spread * math.sqrt(-2.0 * math.log(negligible)) - math.log(negligible))
    low, high = max(0, mode - reach), int(min(n, mode + reach))
    k = np.arange(low, high, dtype=np.float64)
    logs = np.log((n - k) * odds / (k + 1.0))
    logs = np.concatenate([[0.0], np.cumsum(logs)])
    weights = np.exp(logs - logs[mode - low])
    weights /= math.fsum(weights)
    kept = np.flatnonzero(weights >= negligible)
    cut = slice(int(kept[0]), int(kept[-1]) + 1)
    lost = math.fsum(weights[: cut.start]) + math.fsum(weights[cut.stop :])
    # beyond the reach Chernoff's bound has less than this on each side
    beyond = negligible * ((low > 0) + (high < n))
    return low + cut.start, weights[cut], lost + beyond


def sum_law(
    count: Array, participation: Array, jump: Array, unit: float, most: int
) -> tuple[JumpLaw, float]:
    """The law of sum_j jump_j V_j over a class, rounded up, in units; and how much is left out.

    Ages of nearly equal weight are one binomial with the largest weight and participation among
    them.

    Args:
        count: steps of each entry.
        participation: their probability of taking part.
        jump: what one of them adds if it does.
        unit: of the lattice.
        most: how many values other than 0 are kept; others move up to the next one.
    """
    fine = unit / _FINE
    law, lost = np.ones(1), 0.0
    for n, p, weight in _alike(count, participation, jump, fine):
        low, probabilities, left_out = binomial(n, p)
        lost += left_out
        values = np.ceil((low + np.arange(len(probabilities))) * (weight / fine * (1.0 + GENEROUS)))
        moved = np.zeros(len(law) + int(values[-1]))
        for value, probability in zip(values.astype(np.int64), probabilities, strict=True):
            moved[value : value + len(law)] += probability * law
        law = moved
    lattice = np.bincount(-(-np.arange(len(law)) // _FINE), law)
    kept = lattice > _NEGLIGIBLE
    kept[0] = True
    lost += float(np.sum(lattice[~kept]))
    values, probabilities = _thinned(np.flatnonzero(kept), lattice[kept], most)
    return JumpLaw(values, probabilities), lost


def _alike(
    count: Array, participation: Array, jump: Array, fine: float
) -> list[tuple[float, float, float]]:
    """Runs of entries that count as one: (number of steps, largest p, largest jump)."""
    found, a = [], 0
    while a < len(count):
        apart = np.abs(jump[a:] - jump[a])
        near = apart <= np.maximum((_ALIKE - 1.0) * np.minimum(jump[a:], jump[a]), 4.0 * fine)
        near &= participation[a:] == participation[a]
        differs = np.flatnonzero(~near)
        b = a + int(differs[0]) if differs.size else len(count)
        b = max(b, a + 1)
        n = float(np.sum(count[a:b]))
        p = float(np.max(participation[a:b]))
        if n > _LARGEST_COUNT:
            n = n * (1.0 + GENEROUS)
        found.append((math.ceil(n), p, float(np.max(jump[a:b]))))
        a = b
    return found


def _thinned(
    values: NDArray[np.int64], probabilities: Array, most: int
) -> tuple[NDArray[np.int64], Array]:
    """At most `most` values besides 0; the mass of the others moves up.

    Half of the cells are even in value, so that the tail is not inflated, half in the square root
    of the probability.
    """
    if len(values) <= most + 1:
        return values, probabilities
    density = np.sqrt(probabilities[1:])
    density = density / density.sum() + np.diff(values) / values[-1]
    share = np.cumsum(density) / density.sum()
    cell = np.minimum((share * most * (1.0 - GENEROUS)).astype(np.int64), most - 1)
    last = np.append(np.flatnonzero(np.diff(cell)), len(cell) - 1)
    first = np.concatenate([[0], last[:-1] + 1])
    return (
        np.concatenate([[0], values[1:][last]]),
        np.concatenate([probabilities[:1], np.add.reduceat(probabilities[1:], first)]),
    )
