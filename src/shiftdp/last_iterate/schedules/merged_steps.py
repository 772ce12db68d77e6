"""A run of unequal steps as one record sees it: its visits, and one step for all between two.

**Lemma (idle steps merge).** Let the steps a + 1, ..., b not touch the record, and put
`w_j = prod_{j<i<=b} c_i`. One step with Lipschitz constant `prod c_j`, no sensitivity and noise
`sqrt(sum (w_j sd_j)^2)` in their place leaves the mu of Theorem B1 as it is. *Proof.* In the
variables of Theorem B1 the obstacle is level on these steps: a path below it at their end is below
it throughout, and of all ways to rise by a given amount over a given clock the straight one costs
least. A start inside of them, from the diameter, is no better than one at their beginning if
`c <= 1`: the jump `w D` is no smaller and the clock that is left is shorter. ∎

So mu takes time that grows with the number of visits and not of steps. Of several positions in the
epoch the last may stand for all, with the strongest of their visits moved there: each keeps its own
weight, `s_k prod_{k<j<=last} c_j`, and mu does not fall (Lemma C0a; with a projection by the lemma
of Theorem B4).

**Rounding.** Constants of merged steps take at most 8 l + 20 roundings each, l being the number of
batches: products of at most 2 l factors, their squares, sums of positive terms, a root. They are
raised or lowered by twice that. A product that leaves the range of floats at the lower end is
raised to 1e-300 at least, unless a factor is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import NOT_ZERO, UNIT
from shiftdp.interpolation.schedule import Schedule

_MOST_LACKING = 10**7  # steps of an unfinished epoch, which do nothing and take 240 MB
_OTHERS = 20.0  # roundings beside those of products and sums along an epoch


@dataclass(frozen=True)
class StepTable:
    """c, s and sd of each step in a row an epoch; what the last row lacks does nothing.

    c: Lipschitz constants; s: the sensitivity that a visit would have; sd: the noise. Steps that
    an unfinished last epoch does not have are 1, 0 and 0.
    """

    c: Array
    s: Array
    sd: Array
    diameter: float

    @property
    def batches(self) -> int:
        return int(self.c.shape[1])


def step_table(c: Array, s: Array, sd: Array, batches: int, diameter: float) -> StepTable:
    """The table of steps that are given in time order.

    >>> one, two, three = np.ones(3), np.full(3, 2.0), np.full(3, 3.0)
    >>> step_table(one, two, three, 2, 9.0).sd
    array([[3., 3.],
           [3., 0.]])
    """
    lacking = -c.size % batches
    if lacking > _MOST_LACKING:
        raise UnmetHypothesis(
            "batch_size",
            batches,
            f"batches an epoch are too many for a table of {c.size} steps",
            "rely on composition, or give larger batches",
        )
    rows = (np.pad(x, (0, lacking), constant_values=f) for x, f in ((c, 1.0), (s, 0.0), (sd, 0.0)))
    c, s, sd = (row.reshape(-1, batches) for row in rows)
    return StepTable(c, s, sd, diameter)


@dataclass(frozen=True)
class _Merged:
    """Consecutive steps as one, in each epoch: constant, variance, and whether one forgets all."""

    constant: Array
    variance: Array
    forgets: NDArray[np.bool_]

    def then(self, other: _Merged) -> _Merged:
        with _beyond_floats():
            constant = self.constant * other.constant
            variance = self.variance * np.square(other.constant) + other.variance
        return _Merged(constant, variance, self.forgets | other.forgets)

    def of(self, epochs: slice) -> _Merged:
        return _Merged(self.constant[epochs], self.variance[epochs], self.forgets[epochs])


def strongest(table: StepTable, group: range) -> Array:
    """max_k s_k prod_{k<j<=last} c_j over a group of positions, from 1, in each epoch; rounded up.

    >>> table = step_table(np.full(3, 0.5), np.array([9.0, 4.0, 1.0]), np.ones(3), 3, np.inf)
    >>> strongest(table, range(1, 4)).round(9)
    array([2.25])
    """
    part = slice(group.start - 1, group.stop - 1)
    if len(group) == 1:
        return table.s[:, group.start - 1]
    with _beyond_floats():
        found = np.max(table.s[:, part] * _weights(table.c[:, part]), axis=1)
    return np.asarray(found * (1.0 + _margin(table)))


def _margin(table: StepTable) -> float:
    return 2.0 * (8.0 * table.batches + _OTHERS) * UNIT


def _merged(table: StepTable, columns: range) -> _Merged:
    part = slice(columns.start, columns.stop)
    c, sd = table.c[:, part], table.sd[:, part]
    with _beyond_floats():
        weights = _weights(c)
        constant = weights[:, 0] * c[:, 0] if len(columns) else np.ones(len(c))
        variance = np.square(weights * sd).sum(axis=1)
    return _Merged(constant, variance, np.any(c == 0.0, axis=1))


def _beyond_floats() -> np.errstate:
    """What overflows is refused where schedules are made; what underflows is provided for."""
    return np.errstate(over="ignore", under="ignore", invalid="ignore")


def _weights(c: Array) -> Array:
    """prod_{j>k} c_j in each row."""
    after = np.concatenate([c[:, 1:], np.ones((len(c), 1))], axis=1)[:, : c.shape[1]]
    return np.asarray(np.cumprod(after[:, ::-1], axis=1)[:, ::-1])


@dataclass(frozen=True)
class _Place:
    """A group of positions: the strongest visit at its last one, and the rest of the epoch."""

    column: int
    strength: Array
    before: _Merged
    after: _Merged


def _places(table: StepTable, groups: Sequence[range]) -> Iterator[_Place]:
    """The groups, of positions from 1, in rising order; what lies between two is idle."""
    pieces: list[tuple[range, _Merged]] = []
    end = 0
    for group in groups:
        pieces.append(
            (range(group.start - 1, group.stop - 1), _merged(table, range(end, group.stop - 2)))
        )
        end = group.stop - 1
    tail = _merged(table, range(end, table.batches))
    after: list[_Merged] = []
    for columns, idle in reversed(pieces):
        after.append(tail)
        tail = idle.then(_merged(table, columns[-1:])).then(tail)
    head = _merged(table, range(0))
    for (columns, idle), later in zip(pieces, reversed(after), strict=True):
        before = head.then(idle)
        group = range(columns.start + 1, columns.stop + 1)
        yield _Place(columns[-1], strongest(table, group), before, later)
        head = before.then(_merged(table, columns[-1:]))


def visited_each_epoch(table: StepTable, groups: Sequence[range]) -> Iterator[Schedule]:
    """For each group of positions, in rising order: a visit at its last one in each epoch; an empty
    group is never visited.

    >>> table = step_table(np.ones(6), np.full(6, 2.0), np.ones(6), 3, np.inf)
    >>> (schedule,) = visited_each_epoch(table, [range(1, 2)])
    >>> schedule.sensitivity.round(9).tolist(), schedule.noise.round(6).tolist()
    ([2.0, 0.0, 2.0, 0.0], [1.0, 1.414214, 1.0, 1.414214])
    """
    first, rest = slice(0, 1), slice(1, None)
    places = iter(_places(table, [group for group in groups if len(group)]))
    for group in groups:
        if not len(group):
            yield _never(table)
            continue
        place = next(places)
        between = place.after.of(slice(0, -1)).then(place.before.of(rest))
        idle = [place.before.of(first), between, place.after.of(slice(-1, None))]
        yield _schedule(
            table, idle, place.strength, table.c[:, place.column], table.sd[:, place.column]
        )


def visited_last(table: StepTable, groups: Sequence[range]) -> Iterator[Schedule]:
    """For each group of positions of the last epoch: a visit at the last of it, and at the end of
    each epoch before one that stands for any; an empty group is not visited in the last epoch."""
    earlier = StepTable(table.c[:-1], table.s[:-1], table.sd[:-1], table.diameter)
    final = StepTable(table.c[-1:], table.s[-1:], table.sd[-1:], table.diameter)
    everywhere = range(1, table.batches + 1)
    (end,) = _places(earlier, [everywhere])
    places = iter(_places(final, [group for group in groups if len(group)]))
    for group in groups:
        idle, strength = [end.before], end.strength
        c, sd = earlier.c[:, -1], earlier.sd[:, -1]
        if len(group):
            place = next(places)
            idle += [place.before, place.after]
            strength = np.append(strength, place.strength)
            c = np.append(c, final.c[:, place.column])
            sd = np.append(sd, final.sd[:, place.column])
        else:
            idle.append(_merged(final, range(table.batches)))
        yield _schedule(table, idle, strength, c, sd)


def _schedule(
    table: StepTable, idle: Sequence[_Merged], strength: Array, c: Array, sd: Array
) -> Schedule:
    """The visits with what is idle before each and after the last, one step each."""
    constant = np.concatenate([part.constant for part in idle])
    variance = np.concatenate([part.variance for part in idle])
    forgets = np.concatenate([part.forgets for part in idle])
    margin = _margin(table)
    if not np.all((table.c == 0.0) | (table.c == 1.0)):  # else products are exact
        with _beyond_floats():
            constant = np.where(forgets, 0.0, constant * (1.0 + margin) + NOT_ZERO)
    noise = np.sqrt(variance) * (1.0 - margin)
    steps = np.empty((3, 2 * strength.size + 1))
    steps[:, 0::2] = constant, np.zeros(constant.size), noise
    steps[:, 1::2] = c, strength, sd
    if not np.all(np.isfinite(steps)):
        raise UnmetHypothesis(
            "batch_size",
            table.batches,
            "batches an epoch lie between two visits, and steps that expand each of them make what "
            "a visit does grow out of the range of floats",
            "rely on composition, or give larger batches or a lower learning rate",
        )
    visits = np.flatnonzero(steps[1])
    if not visits.size:
        return _never(table)
    # before the first visit both runs are the same; a step that does nothing is none
    kept = steps[:, visits[0] :]
    kept = kept[:, (kept[0] != 1.0) | (kept[1] != 0.0) | (kept[2] != 0.0)]
    return Schedule(kept[0], kept[1], kept[2], table.diameter)


def _never(table: StepTable) -> Schedule:
    """The schedule of a record that is never used: one step that does nothing to it."""
    return Schedule([1.0], [0.0], [1.0], table.diameter)
