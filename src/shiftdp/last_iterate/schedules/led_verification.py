"""Check payments of Theorem B3 for steps that differ, in floats rounded to the safe side.

Nothing here is shared with the search. Two numbers are followed step by step: how far apart coupled
runs can be, and what the payments leave of that distance. With `u = 2^-53`, each operation errs by
a part of at most u; after each step the result is raised by more than its three or four operations
can have lost. The distance is a sum of positive terms until payments are taken off, and what is
taken off is lowered, so that a distance that is followed down to 0 is truly there.
"""

from __future__ import annotations

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import EIGHT_ROUNDINGS, FOUR_ROUNDINGS, LEAST_FLOAT
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD
from shiftdp.last_iterate.schedules.led_together import Groups

_UP, _DOWN = 1.0 + EIGHT_ROUNDINGS, 1.0 - EIGHT_ROUNDINGS  # of a few products and sums


def meeting_starts(
    run: NoisySGD, geometry: Geometry, tau: int, groups: Groups, cap: int | None
) -> list[int]:
    """How many steps have to keep to the batch cap, for each start from which the runs meet.

    All of them, if they start from the distance that the steps up to tau can lead to; those after
    tau, if they start from the diameter. None if the payments do not bring the runs together.
    """
    rates = np.broadcast_to(np.asarray(run.learning_rate, dtype=np.float64), run.steps)
    c = _slopes(rates, run, geometry, cap)
    sd = rates * np.asarray(run.noise) * _DOWN
    apart = rates * geometry.sensitivity / run.batch_size * _UP
    starts = [(_separation(c[:tau], apart[:tau]), run.steps)]
    if geometry.bounded:
        starts.append((geometry.diameter, run.steps - tau))
    paid = np.repeat([a for a, _ in groups], [n for _, n in groups]) * sd[tau:] * _DOWN
    return [counted for z, counted in starts if _meet(z, c[tau:], paid)]


def _slopes(rates: Array, run: NoisySGD, geometry: Geometry, cap: int | None) -> Array:
    """max |1 - eta m|, |1 - eta M| from above; a learning rate of 2/M in floats means just that."""
    m, M = geometry.strong_convexity, geometry.smoothness
    if cap is not None:
        M = m + (M - m) * (min(cap, run.n) / run.batch_size) * _UP * _UP
    found = np.zeros_like(rates)
    for curvature in (m, M):
        x = rates * curvature
        distance = np.abs(1.0 - x)
        raised = distance + (np.abs(x) + distance) * FOUR_ROUNDINGS
        raised = np.where((x >= 0.0) & (x <= 2.0), np.minimum(raised, 1.0), raised)
        found = np.maximum(found, np.where(np.abs(x - 2.0) <= FOUR_ROUNDINGS, 1.0, raised))
    return found


def _separation(c: Array, apart: Array) -> float:
    """How far apart coupled runs may be, from above."""
    z = 0.0
    for slope, gap in zip(c.tolist(), apart.tolist(), strict=True):
        z = (slope * z + gap) * _UP
    return z


def _meet(z: float, c: Array, paid: Array) -> bool:
    """Whether nothing is left of the distance at the end."""
    for slope, payment in zip(c.tolist(), paid.tolist(), strict=True):
        if z <= 0.0:
            return True
        # the least float pays for a product that underflows
        z = ((slope * z + LEAST_FLOAT) * _UP - payment) * _UP if slope else -payment
    return z <= 0.0
