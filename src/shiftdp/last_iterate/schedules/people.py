"""Where the records of one person are visited, and how strongly. [Theorem V4]

Displacements of records in one step add up. mu of Theorem B1 is the least norm of payments that
lead the two runs together; payments for two sets of visits together pay for both, so

    mu(visits + visits') <= mu(visits) + mu(visits'),   mu(k visits) = k mu(visits)

where there is no projection. And moving a visit to a later step never lowers mu where steps do not
expand and displacements do not fall from step to step (`outcomes`), with or without one, whatever
other visits there are. So the worst that k records of a person can do is,

- `anywhere`: to be all in the batch that is worst for one record;
- `one_per_batch`: to be in the last k batches of each epoch, or, where the run ends inside an
  epoch, in the batches of the last k steps: of any l steps in a row that end with such a step, a
  person's visits can be moved to the last ones;
- in a random order, when the last of them is in the batch at position j (of each epoch, or of the
  last one if batches are reshuffled): `anywhere`, to be all at j; `one_per_batch`, to be at j and
  the k - 1 positions before. That last position has a known law: with N_j records in the first j
  batches, P(last <= j) = C(N_j, k) / C(n, k); of whole batches in a random order,
  C(j, k) / C(l, k). [Theorem B4] takes the mean over it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import EIGHT_ROUNDINGS
from shiftdp.interpolation.schedule import Schedule
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import Outcome, has_random_visits, later_is_worse
from shiftdp.last_iterate.runs import NoisyCGD
from shiftdp.last_iterate.schedules.visits import Pattern, Visits, require_short, step_constants

_UP, _DOWN = 1.0 + EIGHT_ROUNDINGS, 1.0 - EIGHT_ROUNDINGS  # of a product of two numbers
_MOST_GROUPS, _LEAST_GROUPS = 128, 16  # of positions, one of which stands for each
_MOST_RECORDS = 10_000  # of a person, whose binomial coefficients are whole numbers of that length
_MOST_WORK = 8_000_000  # steps times groups that are solved, a few seconds


def require_arranged(run: NoisyCGD, geometry: Geometry) -> None:
    """Raise `UnmetHypothesis` unless it is known which visits of a person are the worst."""
    if not later_is_worse(run, geometry):
        raise UnmetHypothesis(
            "learning_rate",
            run.learning_rate if isinstance(run.learning_rate, float) else "<many>",
            "lets steps expand, or shrinks faster than they contract: the last batches need not "
            "be the worst ones",
            "rely on group privacy, or give steps that do not shrink and are at most 2/smoothness",
        )
    unfinished = run.steps % run.batches
    if unfinished and (has_random_visits(run) or run.divisor_of(run.batches) != run.divisor_of(1)):
        raise UnmetHypothesis(
            "steps",
            run.steps,
            "ends inside an epoch, in a random order or with a smaller last batch",
            f"give a multiple of {run.batches}, or rely on group privacy",
        )


def person_outcomes(run: NoisyCGD) -> list[Outcome]:
    """What may happen to a person: the worst case in a fixed order, or all cases in a random one.

    >>> run = NoisyCGD(
    ...     n=8,
    ...     batch_size=2,
    ...     epochs=3,
    ...     learning_rate=0.1,
    ...     noise=1.0,
    ...     order="shuffled_once",
    ...     records_per_person=2,
    ...     arrangement="one_per_batch",
    ... )
    >>> [(case.visits.position, str(case.share)) for case in person_outcomes(run)]
    [(2, '1/6'), (3, '1/3'), (4, '1/2')]
    """
    if not has_random_visits(run):
        return [Outcome(Visits("every", run.steps % run.batches or run.batches))]
    most = min(max(_LEAST_GROUPS, _MOST_WORK // run.steps), _MOST_GROUPS)
    ends = _ends(run.batches, most)
    law = dict(zip(ends, position_law(run, ends), strict=True))
    found = [Outcome(Visits("final", 0), law[0])] if law[0] else []
    for begin, end in pairwise(ends):
        if share := law[end] - law[begin]:
            pattern: Pattern = "every" if run.order == "shuffled_once" else "final"
            found.append(Outcome(Visits(pattern, end), share))
    return found


def position_law(run: NoisyCGD, positions: Iterable[int]) -> list[Fraction]:
    """P(the last of a person's records is at position j or before), j = 0 (none is used) to l."""
    k, l = run.records_per_person, run.batches  # noqa: E741
    if k > _MOST_RECORDS:
        raise UnmetHypothesis(
            "records_per_person",
            k,
            f"are too many for the law of their positions (at most {_MOST_RECORDS:,})",
            "give fewer",
        )
    if run.arrangement == "one_per_batch":
        return [Fraction(comb(j, k), comb(l, k)) for j in positions]
    used = (l - 1) * run.size_of(1) + run.size_of(l)
    within = (run.n - used + j * run.size_of(1) if j < l else run.n for j in positions)
    return [Fraction(comb(records, k), comb(run.n, k)) for records in within]


def _ends(batches: int, most: int) -> list[int]:
    """The last positions of groups, as wide as they are far from the end; 0 comes first."""
    if batches <= most:
        return list(range(batches + 1))
    near = {batches - round(batches ** (i / most)) for i in range(most)}
    return sorted({0, batches} | near)


def person_schedule(
    run: NoisyCGD, geometry: Geometry, visits: Visits, *, attained: bool = False
) -> Schedule:
    """The steps as a person sees them; rounded up, or down for what instances attain."""
    require_short(run.steps)
    c, s, sd = step_constants(run, geometry, run.steps, attained)
    times = visited_by(run, visits)
    return Schedule(c, s * times * (_DOWN if attained else _UP), sd, geometry.diameter)


def visited_by(run: NoisyCGD, visits: Visits) -> Array:
    """How many of a person's records are in each step, in the worst case with this last one."""
    k, l, t = run.records_per_person, run.batches, run.steps  # noqa: E741
    step = np.arange(t)
    position, last = step % l + 1, visits.position
    width, times = (k, 1.0) if run.arrangement == "one_per_batch" else (1, float(k))
    if not has_random_visits(run):
        behind = (last - position) % l  # around the epoch, which need not be finished
    elif visits.pattern == "every":
        behind = last - position
    else:  # the last epoch as it is drawn, all others in the worst way
        behind = np.where(step < t - l, l, last) - position
    return np.where((behind >= 0) & (behind < width), times, 0.0)
