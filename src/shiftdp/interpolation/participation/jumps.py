"""What a class of neighbouring ages adds to the path: the law of a sum, rounded up to a lattice."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import AMPLE, GENEROUS, ULP, UNIT

# Of the lattice: weights within so much, and within a factor of 2, count as the largest, too. The
# first number holds where few of a class take part; where many do, all together are enlarged by
# about _ENLARGED points. (Without the factor, the thousands of tiny weights that a long run has
# forgotten would count as far more than they are.)
_NEAR, _NEAREST = 1.0 / 8.0, 1.0 / 64.0
_ENLARGED = 0.1  # points of the lattice: a fifth of what rounding a class up costs
_FINE = 32  # points of the finer lattice, on which a sum is made, for one of the lattice
_ALIKE = 1.01  # weights within this factor count as the largest of them
_NEGLIGIBLE = 1e-18  # probabilities below it are left out, and reported
_LARGEST_COUNT = 1e15  # trials of which one more or less does not matter to a float
_WIDEST = 1e5  # standard deviation of a number of participations: 2e6 values, errors of 1e-9
_RATIO_ROUNDINGS = 6  # of a ratio of neighbouring probabilities: odds 2, products 2, quotient, log
_WINDOW = 64  # entries that are looked at for a run of equal ones, at first


class JumpLaw(NamedTuple):
    """Values 0 = v_0 < v_1 < ... in units of the lattice, with their probabilities."""

    values: NDArray[np.int64]
    probabilities: Array

    @property
    def none(self) -> float:
        """The probability of no jump."""
        return float(self.probabilities[0])


class Binomial(NamedTuple):
    """Probabilities of `low`, `low` + 1, ..., how much is left out, and by which part they err."""

    low: int
    probabilities: Array
    lost: float = 0.0
    error: float = 0.0


def binomial(n: float, p: float, negligible: float = _NEGLIGIBLE) -> Binomial:
    """The number of successes among n, but for probabilities below `negligible`.

    From the mode outwards, by ratios of neighbours: no factorial of a large number loses digits.
    Each ratio is off by 6 roundings, so that a value k steps away is off by a part of 6 k of them,
    and the sum that all are divided by by no more; their logarithms are summed by blocks, which
    adds a part of 1e-12 at most.

    >>> binomial(4, 0.5).probabilities.round(4).tolist()
    [0.0625, 0.25, 0.375, 0.25, 0.0625]
    """
    if p >= 1.0 or n == 0:
        return Binomial(int(n), np.ones(1))
    if p <= 0.0:
        return Binomial(0, np.ones(1))
    odds = p / (1.0 - p)
    mode = min(math.floor((n + 1.0) * p), int(n))
    spread = math.sqrt(n * p * (1.0 - p) + 1.0)
    if spread > _WIDEST:
        raise UnmetHypothesis(
            "steps",
            n,
            "have so many participations that their number has too wide a law",
            "give fewer steps, or a contraction below 1",
        )
    reach = math.ceil(spread * math.sqrt(-2.0 * math.log(negligible)) - math.log(negligible))
    low, high = max(0, mode - reach), int(min(n, mode + reach))
    up = np.arange(mode, high, dtype=np.float64)
    down = np.arange(mode, low, -1, dtype=np.float64)
    rising = _block_sums(np.log((n - up) * odds / (up + 1.0)))
    falling = _block_sums(np.log(down / ((n - down + 1.0) * odds)))
    weights = np.exp(np.concatenate([falling[::-1], [0.0], rising]))
    weights /= np.sum(weights)
    kept = np.flatnonzero(weights >= negligible)
    cut = slice(int(kept[0]), int(kept[-1]) + 1)
    lost = float(np.sum(weights[: cut.start]) + np.sum(weights[cut.stop :]))
    # beyond the reach Bernstein's bound has less than this on each side
    beyond = negligible * ((low > 0) + (high < n))
    error = 2.0 * _RATIO_ROUNDINGS * UNIT * reach + AMPLE
    return Binomial(low + cut.start, weights[cut], lost + beyond, error)


def _block_sums(terms: Array) -> Array:
    """Sums of the first 1, 2, ... terms; no chain of additions is longer than two blocks."""
    size = math.isqrt(len(terms)) + 1
    padded = np.zeros(size * (len(terms) // size + 1))
    padded[: len(terms)] = terms
    within = np.cumsum(padded.reshape(-1, size), axis=1)
    before = np.cumsum(within[:, -1]) - within[:, -1]
    return (within + before[:, None]).ravel()[: len(terms)]


def sum_law(
    count: Array, participation: Array, jump: Array, unit: float, most: int
) -> tuple[JumpLaw, float, float]:
    """The law of sum_j jump_j V_j over a class, rounded up, in units.

    Also how much is left out, and by which part the probabilities may be off.

    Neighbouring ages of one participation and nearly equal weights are one binomial, with the
    largest of the weights.

    Args:
        count: steps of each entry.
        participation: their probability of taking part.
        jump: what one of them adds if it does.
        unit: of the lattice.
        most: how many values other than 0 are kept; others move up to the next one.
    """
    runs = _alike(count, participation, jump, _closeness(count, participation) * unit)
    # a single run is on the lattice at once
    parts = 1 if len(runs) == 1 else _FINE
    fine = unit / parts
    law, lost, error = np.ones(1), 0.0, 0.0
    for n, p, weight in runs:
        low, probabilities, left_out, off = binomial(n, p)
        lost += left_out
        error += off + len(probabilities) * ULP
        values = np.ceil((low + np.arange(len(probabilities))) * (weight / fine * (1.0 + GENEROUS)))
        added = np.asarray(np.bincount(values.astype(np.int64), probabilities), dtype=np.float64)
        law = _added(law, added) if len(law) > 1 else added
        # sums so large that they are left out anyway
        beyond = np.cumsum(law[::-1])[::-1]
        kept_sums = max(1, int(np.count_nonzero(beyond > _NEGLIGIBLE)))
        lost += float(beyond[kept_sums]) if kept_sums < len(law) else 0.0
        law = law[:kept_sums]
    lattice = np.bincount(-(-np.arange(len(law)) // parts), law)
    kept = lattice > _NEGLIGIBLE
    kept[0] = True
    lost += float(np.sum(lattice[~kept]))
    values = np.flatnonzero(kept)
    values, probabilities = _thinned(values, np.asarray(lattice[kept], dtype=np.float64), most)
    return JumpLaw(values, probabilities), lost, error


def lattice_law(values: Array, probabilities: Array, unit: float, most: int) -> JumpLaw:
    """A given law, rounded up to the lattice; `most` as for `sum_law`."""
    points = np.ceil(values / unit * (1.0 + GENEROUS)).astype(np.int64)
    lattice = np.asarray(np.bincount(points, probabilities), dtype=np.float64)
    kept = lattice > 0.0
    kept[0] = True
    return JumpLaw(*_thinned(np.flatnonzero(kept), lattice[kept], most))


def _closeness(count: Array, participation: Array) -> float:
    """How near weights are that count as one, as a part of the lattice."""
    mean = float(count @ participation)
    return max(_NEAREST, min(_NEAR, 2.0 * _ENLARGED / mean)) if mean > 0.0 else _NEAR


def _added(law: Array, more: Array) -> Array:
    """The law of a sum; `more` has few values other than 0."""
    moved = np.zeros(len(law) + len(more) - 1)
    for value in np.flatnonzero(more):
        moved[value : value + len(law)] += more[value] * law
    return moved


def _alike(
    count: Array, participation: Array, jump: Array, close: float
) -> list[tuple[int, float, float]]:
    """Runs of entries that count as one: (number of steps, largest p, largest jump)."""
    found, a = [], 0
    while a < len(count):
        b = _end_of_run(participation[a:], jump[a:], close) + a
        n = float(np.sum(count[a:b]))
        if n > _LARGEST_COUNT:
            n = n * (1.0 + GENEROUS)
        found.append((math.ceil(n), float(participation[a]), float(np.max(jump[a:b]))))
        a = b
    return found


def _end_of_run(participation: Array, jump: Array, close: float) -> int:
    """The first entry that is not like the one in front, looking further and further."""
    window = _WINDOW
    while True:
        apart = np.abs(jump[:window] - jump[0])
        least = np.minimum(jump[:window], jump[0])
        near = apart <= np.maximum((_ALIKE - 1.0) * least, np.minimum(close, least))
        near &= participation[:window] == participation[0]
        if not near.all():
            return int(np.argmin(near))
        if window >= len(jump):
            return len(jump)
        window *= 4


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
