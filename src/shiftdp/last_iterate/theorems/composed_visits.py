"""What composition charges for the visits of a record: the sum of their precisions, in 60 digits.

A visit at step k costs (L / (b sigma_k))^2, whatever the losses are, and the costs of all visits
add up. Which record is visited worst depends on the order of the batches and on the last one, which
may be smaller. [BSA24, Thm gd, Thm mgd]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from typing import cast

import numpy as np

from shiftdp._rounding import THIRTY_SIX_ROUNDINGS
from shiftdp.interpolation.verification_equal_steps import float_above
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import Run, people
from shiftdp.last_iterate.schedules.visits import BatchRun

_DIGITS = Context(prec=60, Emin=-(10**6), Emax=10**6)  # sums over up to 2^53 steps
_MOST_DIFFERENT = 20_000  # noises that are followed with 60 digits
_DIGIT_LOSS = Decimal("1e-40")  # far more than 2^53 additions with 60 digits


def composition_mu(run: BatchRun, geometry: Geometry) -> float:
    """[BSA24, Thm gd, Thm mgd] sqrt(sum over visits of (L / (b sigma_k))^2), for the worst record.

    b is what the sum over that batch is divided by. It holds for any schedule and any losses. In
    each epoch of a reshuffled run the worst position is taken. Infinite if a step has no noise. For
    a person with k records of which no two are in one batch: the sum over the k worst batches.

    The sum has 60 decimal digits and comes back as the next float above the root: the same number
    on every machine, and not one digit above what is proved.
    """
    with localcontext(_DIGITS):
        precision = _worst_precision(run)
        if precision.is_infinite():
            return math.inf if geometry.sensitivity else 0.0
        square = precision * Decimal(geometry.sensitivity) ** 2
        return float_above(square.sqrt() * (1 + _DIGIT_LOSS))


def _worst_precision(run: BatchRun) -> Decimal:
    """The largest sum over the visits of a record of (b sigma_k)^-2."""
    batches, steps, reshuffled = run.batches, run.steps, run.order == "reshuffled"
    full, last = (1 / Decimal(run.divisor_of(j)) ** 2 for j in (1, batches))
    if isinstance(run.noise, float):
        whole, begun = divmod(steps, batches)
        if reshuffled:
            # of an unfinished epoch the last batch, which may be smaller, is not used
            most = max(full, last) + (_times_used(run) - 1) * full
            worst = whole * most + min(begun, _times_used(run)) * full
        else:
            # the last batch is used once less where an epoch is unfinished
            worst = _largest(
                [((whole + 1) * full, begun), (whole * full, batches - 1 - begun)],
                whole * last,
                run,
            )
        return worst / Decimal(run.noise) ** 2
    if 0.0 in run.noise:
        return Decimal("Infinity")
    different = set(run.noise)
    if len(different) > _MOST_DIFFERENT:
        return _precision_in_floats(run, full, last)
    squares = {sigma: Decimal(sigma) ** 2 for sigma in different}
    inside = {sigma: full / square for sigma, square in squares.items()}
    at_end = {sigma: last / square for sigma, square in squares.items()}
    each = [
        at_end[sigma] if k % batches == 0 else inside[sigma]
        for k, sigma in enumerate(run.noise, start=1)
    ]
    if reshuffled:
        return sum((_top(each[k : k + batches], run) for k in range(0, steps, batches)), Decimal(0))
    return _top([sum(each[j::batches], Decimal(0)) for j in range(min(batches, steps))], run)


def _precision_in_floats(run: BatchRun, full: Decimal, last: Decimal) -> Decimal:
    """`_worst_precision` in floats, for very many different noises; a few parts of 1e-16 above it.

    A term has three roundings, and `fsum` one of the whole sum.
    """
    batches, k = run.batches, _times_used(run)
    each = 1.0 / np.square(np.asarray(run.noise, dtype=np.float64)) * float(full)
    each[batches - 1 :: batches] *= float(last / full)
    rows = np.zeros(-(-run.steps // batches) * batches)
    rows[: run.steps] = each
    table = rows.reshape(-1, batches)
    if run.order == "reshuffled":
        sums = np.sort(table, axis=1)[:, -min(k, batches) :].ravel().tolist()
    else:
        columns = sorted(math.fsum(column) for column in table.T.tolist())
        sums = columns[-min(k, batches) :]
    return Decimal(math.fsum(sums)) * Decimal(1.0 + THIRTY_SIX_ROUNDINGS)


def _times_used(run: BatchRun) -> int:
    """In how many batches of an epoch a person has a record."""
    return people(cast(Run, run))


def _top(values: Sequence[Decimal], run: BatchRun) -> Decimal:
    """The sum of the largest values, as many as a person's batches."""
    return sum(sorted(values, reverse=True)[: _times_used(run)], Decimal(0))


def _largest(counted: Sequence[tuple[Decimal, int]], one: Decimal, run: BatchRun) -> Decimal:
    """The sum of the largest values, each listed with how often it occurs, and of one more."""
    total, left = Decimal(0), _times_used(run)
    for value, number in sorted([*counted, (one, 1)], reverse=True):
        used = min(left, max(number, 0))
        total, left = total + used * value, left - used
    return total
