"""A run as the steps of one coordinate: how far the record moves each of them, and when it may.

All records share one quadratic loss of curvature h, and the record adds a gradient of length L to
it: `x <- slope x + shift V + rate noise Z`, with V = 1 if the record takes part. Where V is random,
so is the sum of the displacements that is left at the end; the noise is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from shiftdp._checks import Array
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import (
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    Run,
    Unlearning,
    people,
)
from shiftdp.last_iterate.schedules.releases import release_steps

Law = Literal["position", "shuffled_once", "each_epoch", "each_step"]

LONGEST = 50_000
"""Steps that are looked at one by one."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """The steps of a run, in the order of time.

    Args:
        rate: learning rates.
        noise: deviations of the noise on the gradient.
        moved: how far the record, if it takes part, moves the gradient of the step; 0 where it
            cannot take part.
        law: `position`, a place in the epoch that is the same in every epoch and that the attacker
            chooses; `shuffled_once`, the same but drawn; `each_epoch`, drawn anew in each epoch;
            `each_step`, with probability `p` in every step.
        epoch: how many steps an epoch has.
        places: of an epoch, how many of the records are in each of its batches, and last how many
            are in none.
        p: participation in a step.
        copies: how many records, drawn independently of each other, the person has.
        alike: whether the curvature may be any of the class: one version of the record is like
            all other records.
        releases: the steps after which an iterate is released.
    """

    rate: Array
    noise: Array
    moved: Array
    law: Law = "position"
    epoch: int = 1
    places: tuple[int, ...] = (1, 0)
    p: float = 1.0
    copies: int = 1
    alike: bool = True
    releases: tuple[int, ...] = ()

    @property
    def steps(self) -> int:
        return int(self.rate.size)


def timeline_of(run: Run, geometry: Geometry) -> Timeline | None:
    """The timeline of a run; None where it has none of finite length, or no loss is known."""
    if run.streams:
        return timeline_of(run.window, geometry)
    if isinstance(run, LangevinMC):
        return timeline_of(run.as_descent(run.steps), geometry) if run.steps <= LONGEST else None
    if run.deletes:
        return _deleted(run, geometry)
    if run.one_draw or run.steps > LONGEST:
        return None
    line = _sampled(run, geometry) if run.sampled else _in_turn(run, geometry)
    return None if line is None else replace(line, releases=tuple(release_steps(run)))


def _in_turn(run: NoisyGD | NoisyCGD, geometry: Geometry) -> Timeline | None:
    """Full batches, and batches in turn. A person's records are in one batch where they may be."""
    t, batches = int(run.steps), run.batches
    records = people(run)
    together = records <= run.size_of(batches) and run.order == "fixed"
    if run.cyclic and run.arrangement == "one_per_batch":
        together = False
    weight = records if together else 1
    position = np.arange(t) % batches + 1
    divisor = np.array([run.divisor_of(j) for j in range(1, batches + 1)])[position - 1]
    used = [run.size_of(j) for j in range(1, batches + 1)]
    laws: dict[str, Law] = {
        "fixed": "position",
        "shuffled_once": "shuffled_once",
        "reshuffled": "each_epoch",
    }
    return Timeline(
        rate=np.broadcast_to(np.asarray(run.learning_rate, dtype=np.float64), t),
        noise=np.broadcast_to(np.asarray(run.noise, dtype=np.float64), t),
        moved=weight * geometry.sensitivity / divisor,
        law=laws[run.order] if batches > 1 or run.n > sum(used) else "position",
        epoch=batches,
        places=(*used, run.n - sum(used)),
        # a sum over fewer records than it is divided by has less of their curvature than others
        alike=geometry.adjacency == "replace_one"
        and run.size_of(batches) == run.divisor_of(batches),
    )


def _sampled(run: NoisySGD, geometry: Geometry) -> Timeline | None:
    t, alike = int(run.steps), not run.has_random_sizes
    moved = geometry.sensitivity
    if not alike and geometry.adjacency == "replace_one":
        # the other version of the record has no gradient, which is allowed where G is known
        if geometry.gradient_bound is None:
            return None
        moved = min(moved, geometry.gradient_bound)
    allocated = run.in_epochs
    return Timeline(
        rate=np.broadcast_to(np.asarray(run.learning_rate, dtype=np.float64), t),
        noise=np.broadcast_to(np.asarray(run.noise, dtype=np.float64), t),
        moved=np.full(t, moved / run.batch_size),
        law="each_epoch" if allocated else "each_step",
        epoch=run.batches,
        places=(*(1 for _ in range(run.batches)), 0),
        p=run.participation,
        copies=1 if alike or allocated else people(run),
        alike=alike,
    )


def _deleted(run: Unlearning, geometry: Geometry) -> Timeline | None:
    """Training, and then steps in which the records take no part."""
    training, K = timeline_of(run.training, geometry), run.further_steps
    if training is None or run.grid or run.later_requests or run.steps > LONGEST:
        return None
    weight = 1
    if not run.training.sampled and run.training.order == "fixed":
        weight = min(run.records, run.training.size_of(run.training.batches))

    def joined(before: Array, after: object) -> Array:
        return np.concatenate([before, np.broadcast_to(np.asarray(after, dtype=np.float64), K)])

    return replace(
        training,
        rate=joined(training.rate, run.learning_rate),
        noise=joined(training.noise, run.noise),
        moved=joined(weight * training.moved, 0.0),
        releases=(training.steps + K,),
    )
