"""Check what proofs by Theorems B3 and B6 say of steps that differ: nothing here searches.

The numbers with which the bucket of Theorem B6 is computed are compared with those of the run in
exact arithmetic, one comparison for each different pair of a learning rate and a noise. Payments
are followed step by step in floats, rounded to the safe side: how far apart the runs can be, and
what the payments leave of that. With `u = 2^-53`, each operation errs by a part of at most u; after
each step the result is raised by more than its three or four operations can have lost. The distance
is a sum of positive terms until payments are taken off, and what is taken off is lowered, so that a
distance that is followed down to 0 is truly there.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import VerificationFailed
from shiftdp._rounding import EIGHT_ROUNDINGS, FOUR_ROUNDINGS, LEAST_FLOAT
from shiftdp.interpolation.bucket.verification import verify_scheduled_bucket
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD
from shiftdp.last_iterate.schedules.led_together import Groups
from shiftdp.last_iterate.schedules.prefix_steps import ScheduledPrefix

if TYPE_CHECKING:
    from shiftdp.last_iterate.theorems.prefix import PrefixProof

_UP, _DOWN = 1.0 + EIGHT_ROUNDINGS, 1.0 - EIGHT_ROUNDINGS  # of a few products and sums
_TWO = Fraction(1, 2**50)  # a learning rate of 2/M in floats means just that
_MOST_GROUPS = 64  # of shifts: each is a law that is composed


def verify_scheduled_prefix(
    run: NoisySGD, geometry: Geometry, steps: ScheduledPrefix, proof: PrefixProof
) -> None:
    """Raise `VerificationFailed` unless the law dominates the bucket and the shifts close it.

    Args:
        run: with a learning rate or a noise for each step.
        geometry: what is assumed of the losses.
        steps: the numbers that the bucket is computed with.
        proof: the claim.
    """
    verify_prefix(run, proof)
    _verify_steps(run, geometry, steps, proof.cap)
    sizes = [n for _, n in proof.groups]
    paid = np.repeat([a for a, _ in proof.groups], sizes) * steps.sd[proof.tau :] * _DOWN
    met = _meet(1.0, steps.c[proof.tau :], paid)
    _require(met, "the shifts do not bring the two runs together")
    bucket = steps.bucket(run.steps - proof.tau, proof.rate)
    verify_scheduled_bucket(bucket, proof.grid, proof.values, proof.weights)


def verify_prefix(run: NoisySGD, proof: PrefixProof) -> None:
    """Raise `VerificationFailed` unless a proof by Theorem B6 has the form that the run needs."""
    tau, groups, cap = proof.tau, proof.groups, proof.cap
    _require(1 <= tau < run.steps, f"tau={tau} is not among 1 to {run.steps - 1}")
    _require(0 < len(groups) <= _MOST_GROUPS, "there are no shifts, or too many")
    _require(all(n >= 1 for _, n in groups), "a group of steps is empty")
    _require(sum(n for _, n in groups) == run.steps - tau, "the groups are not the steps after tau")
    _require(all(0.0 <= a < math.inf for a, _ in groups), "a shift is negative or infinite")
    _require(run.has_random_sizes == (cap is not None), "batches of random size have a batch cap")


def _verify_steps(
    run: NoisySGD, geometry: Geometry, steps: ScheduledPrefix, cap: int | None
) -> None:
    """Each c_k, s_k and the diameter are not below those of the run, and no sd_k is above."""
    _require(math.isfinite(geometry.smoothness), "the losses are not known to be smooth")
    m, M = Fraction(geometry.strong_convexity), Fraction(geometry.smoothness)
    if cap is not None:
        _require(m >= 0, "batches of random size are covered for convex losses only")
        M = m + (M - m) * min(cap, run.n) / run.batch_size
    rates, noises = (
        np.broadcast_to(np.asarray(part, dtype=np.float64), run.steps)
        for part in (run.learning_rate, run.noise)
    )
    unit = Fraction(float(rates[-1])) * Fraction(float(noises[-1]))
    apart = Fraction(geometry.sensitivity) / run.batch_size
    # of steps with the same learning rate and noise the least c and s, and the most sd
    pairs, where = np.unique(np.stack([rates, noises]), axis=1, return_inverse=True)
    where, count = np.ravel(where), pairs.shape[1]
    least_c, least_s = np.full((2, count), math.inf)
    most_sd = np.zeros(count)
    np.minimum.at(least_c, where, steps.c)
    np.minimum.at(least_s, where, steps.apart)
    np.maximum.at(most_sd, where, steps.sd)
    for i, (rate, noise) in enumerate(pairs.T.tolist()):
        eta, sigma = Fraction(rate), Fraction(noise)
        slow, fast = abs(1 - eta * m), abs(1 - eta * M)
        fast = Fraction(1) if 1 < fast <= 1 + _TWO else fast
        _require(Fraction(least_c[i]) >= max(slow, fast), "the steps contract less")
        _require(Fraction(least_s[i]) * unit >= eta * apart, "a participation moves more")
        _require(Fraction(most_sd[i]) * unit <= eta * sigma, "a step has less noise")
    if geometry.bounded:
        diameter = Fraction(steps.listed.diameter) * unit
        _require(diameter >= Fraction(geometry.diameter), "the set is larger")
    else:
        _require(math.isinf(steps.listed.diameter), "the set is not bounded")


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


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise VerificationFailed(problem)
