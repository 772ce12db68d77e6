"""When the batch of one record comes up: the schedules that a run may mean for it.

A record sits in one batch of each epoch. In a fixed order its position is anybody's guess, so the
worst one counts; in a random order positions have probabilities (Theorem B4).

*Moving a visit to a later step never helps privacy.* If a record visited at step k with
sensitivity s_k is visited at k' > k instead, with any `s' >= s_k prod_{k<j<=k'} c_j`, then mu does
not fall. *Proof.* Follow the shifts a' that are optimal for the later visit as far as possible,
`a_j = min(a'_j, c_j z_{j-1} + s_j)`. The excess of z over z' is `s_k prod c` before k' and at most
0 from there on, so a is feasible at no larger cost. This holds for any c and with a projection. ∎
So one position may stand for a group of them, itself the last: with the strongest of their visits,
each taken there with its own weight.

*Of equal steps, a later position in every epoch is worse, also if c > 1.* If each visit comes one
step later in the epoch, and as often, mu does not fall. *Proof.* Put one idle step in front of the
run with the earlier visits: the two processes still agree there, so mu is the same. Now the visits
are where those of the later position are, and one idle step follows at the end, in which nothing
need be shifted. ∎

Where several iterates are released (Theorem V1), both lemmas hold within each segment between two
releases, as long as no visit is moved over a release: positions after whose batch there is one are
the *cuts* over which no group reaches, and the last before a cut is a candidate for the worst.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise

import numpy as np

from shiftdp._rounding import EIGHT_ROUNDINGS
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import has_releases
from shiftdp.last_iterate.schedules.position_groups import MOST_GROUPS, position_groups
from shiftdp.last_iterate.schedules.releases import MOST_LISTED, too_many
from shiftdp.last_iterate.schedules.visits import (
    BatchRun,
    Pattern,
    Visits,
    can_merge,
    has_equal_steps,
    step_constants,
    tables_of,
)

_UP = 1.0 + EIGHT_ROUNDINGS  # of products of a few factors
_EQUAL_GROUPS = 128  # of positions, where all steps are equal
_LEAST_GROUPS = 16  # however long the run is
_MOST_WORK = 4_000_000  # steps times positions that are solved step by step, some seconds
_MOST_SEGMENTS = 4_000  # segments times positions that are solved, a few seconds


@dataclass(frozen=True)
class Outcome:
    """One possibility for a record, with its probability (1 where the worst one counts)."""

    visits: Visits
    share: Fraction = Fraction(1)

    @property
    def weight(self) -> float:
        """The nearest float to the probability: `Mixture` pays for one rounding of its weights."""
        return float(self.share)


def outcomes(run: BatchRun, geometry: Geometry) -> Iterator[Outcome]:
    """What may happen to a record: candidates for the worst (fixed), or all cases (random order).

    The probabilities of a random order add up to 1. Records that are dropped at the end of an epoch
    are those behind its last batch: in a random order one of n is among them with their share.
    There may be hundreds of outcomes: whoever needs the first few only may stop there.
    """
    if not has_random_visits(run):
        yield from (Outcome(visits) for visits in _candidates(run, geometry))
        return
    pattern, seen, cuts = _positions(run)
    left = run.n
    for visits, group in _groups(run, geometry, pattern, seen, cuts):
        left -= _records(run, group)
        yield Outcome(visits, Fraction(_records(run, group), run.n))
    if left:
        yield Outcome(Visits(pattern, 0), Fraction(left, run.n))


def has_one_outcome(run: BatchRun, geometry: Geometry) -> bool:
    """Whether all positions come to the same, so that no order of the batches matters."""
    return len(list(islice(outcomes(run, geometry), 2))) == 1


def are_outcomes(run: BatchRun, geometry: Geometry, stated: Sequence[tuple[Visits, float]]) -> bool:
    """Whether these are all outcomes of a run, with their weights.

    Where steps differ, which positions stand for which was chosen by what it costs, and any other
    choice is as valid: each position must be in one group, and a group may not reach over the place
    of a release, such as where an unfinished last epoch ends.
    """
    random = has_random_visits(run)
    if has_equal_steps(run) or (not random and later_is_worse(run, geometry)):
        return list(stated) == [(case.visits, case.weight) for case in outcomes(run, geometry)]
    pattern, seen, cuts = _positions(run)
    expected: list[tuple[Visits, float]] = []
    left, place = run.n, 1
    for visits, _ in stated:
        group = visits.group
        if place > seen or not group or group.start != place or group[-1] > seen:
            break
        if bisect_left(cuts, group.start) < bisect_left(cuts, group[-1]):
            break
        share = Fraction(_records(run, group), run.n) if random else Fraction(1)
        own = Visits(pattern, group[-1], group[0] if len(group) > 1 else 0)
        expected.append((own, float(share)))
        left, place = left - _records(run, group), group.stop
    if random and left:
        expected.append((Visits(pattern, 0), float(Fraction(left, run.n))))
    return place > seen and list(stated) == expected


def _positions(run: BatchRun) -> tuple[Pattern, int, tuple[int, ...]]:
    """Where a record may be visited: in each epoch, or in the last of a reshuffled run; how many
    positions there are; and those after which something is released, before the end of an epoch."""
    if run.order == "reshuffled" and not has_releases(run):
        return "final", run.steps % run.batches or run.batches, ()
    return "every", run.batches, residues(run)


def residues(run: BatchRun) -> tuple[int, ...]:
    """Positions of the epoch, but for the last one, after whose batch something is released.

    In the last epoch alone if the run ends within one; rising.
    """
    t, releases, batches = run.steps, run.releases, run.batches
    if releases is None or releases == "epochs":
        found = {t % batches}
    elif releases == "all":
        if batches > MOST_LISTED:
            raise too_many(batches)
        found = set(range(min(batches, t + 1)))
    else:
        found = set((np.array(releases, dtype=np.int64) % batches).tolist())
    return tuple(sorted(found - {0}))


def _records(run: BatchRun, group: range) -> int:
    return (len(group) - 1) * run.size_of(1) + run.size_of(group[-1])


def has_random_visits(run: BatchRun) -> bool:
    """Whether it is left to chance when a record is used: the order is random, and matters."""
    return run.order != "fixed" and (run.batches > 1 or _dropped(run) > 0)


def _dropped(run: BatchRun) -> int:
    """How many records of each epoch are in none of its batches."""
    return run.n - (run.batches - 1) * run.size_of(1) - run.size_of(run.batches)


def later_is_worse(run: BatchRun, geometry: Geometry) -> bool:
    """Whether a visit may always be moved to the next step: s_{k+1} >= c_{k+1} s_k throughout."""
    if isinstance(run.learning_rate, float):
        return geometry.contraction(run.learning_rate) <= 1.0
    c, _, _ = step_constants(run, geometry, run.steps)
    # full batches only: the last divisor may be smaller, which makes its visits worse still
    eta = np.asarray(run.learning_rate)
    growing = (eta[1:] >= eta[:-1]) & (c[1:] <= 1.0)
    # anything else must hold with room for the rounding of the product
    return bool(np.all(growing | (eta[1:] >= c[1:] * eta[:-1] * _UP)))


def _candidates(run: BatchRun, geometry: Geometry) -> Iterable[Visits]:
    """Positions of which one is the worst.

    Where later is worse this is the last one, or, if the last epoch is unfinished, the one that was
    visited last: against it, each visit of a later position has moved forward, and one is missing.
    Likewise before each release.
    """
    if has_equal_steps(run) or later_is_worse(run, geometry):
        return [Visits("every", j) for j in sorted({*residues(run), run.batches})]
    return [visits for visits, _ in _groups(run, geometry, *_positions(run))]


def _groups(
    run: BatchRun, geometry: Geometry, pattern: Pattern, seen: int, cuts: Sequence[int]
) -> Iterator[tuple[Visits, range]]:
    """Positions 1 to `seen` in groups that share a bound, that of their last one; none over a cut.

    Of equal steps, where a later position is worse as it is, the last one stands for itself.
    """
    if not has_equal_steps(run):
        tables = tables_of(run, geometry)
        affordable = _MOST_WORK // run.steps
        if all(map(can_merge, tables)):
            affordable = MOST_GROUPS if len(tables) == 1 else _MOST_SEGMENTS // len(tables)
        most = min(max(_LEAST_GROUPS, affordable), MOST_GROUPS)
        groups = position_groups(tables, seen, cuts, last_only=pattern == "final", most=most)
        as_it_is = False
    else:
        groups = _equal_groups(seen, cuts)
        as_it_is = pattern == "every" or later_is_worse(run, geometry)
    for group in groups:
        alone = as_it_is or len(group) == 1
        yield Visits(pattern, group[-1], 0 if alone else group[0]), group


def _equal_groups(seen: int, cuts: Sequence[int]) -> list[range]:
    """Groups of positions, wider where the next release is far away, and they matter less."""
    if seen <= _EQUAL_GROUPS:
        return [range(j, j + 1) for j in range(1, seen + 1)]
    ends = {0, *cuts, seen}
    for begin, end in pairwise(sorted(ends)):
        share = max(1, _EQUAL_GROUPS * (end - begin) // seen)
        ends |= {end - round((end - begin) ** (i / share)) for i in range(share) if end > begin}
    return [range(a + 1, b + 1) for a, b in pairwise(sorted(ends))]
