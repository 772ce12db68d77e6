"""Rows as distances from a centre that is measured before the first step.

Rows of features often lie far from 0 and close to one another. Then most of their length says
nothing, and both the noise, which goes with the bound on rows, and the scores that it disturbs are
larger than they need be. Two sums with noise change that: the mean of the rows, and how many of
them are how far from it. What is trained on is

    x' = (x - c) R/b,   scaled down to R where it is longer,

R being the bound on rows, c the noisy mean and b a distance that most rows keep to. Scores are
linear in x, so the weights are given back for rows as they came.

**Theorem P2 (centred rows).** Let G bound the gradients of a run of full batches, and L >= D G
their sensitivity, D being 2, and 1 under zero-out. Let a row add G x/R to the first sum, and to the
second one sqrt(2) G, or G under zero-out, at the place of its distance among intervals that are
public. With noise n sigma on every entry such a sum costs what a step with noise sigma on the mean
gradient does, and the whole run is composed like one with two more steps.

*Proof.* Neighbouring sums of the first kind are D G apart at most, as no row is longer than R, and
so are those of the second: two ones at different places are sqrt(2) apart, a one and none 1. So
each of them is G(L / (n sigma)), as a step is. The second looks at distances from what the first
one released, and rows are replaced by functions of themselves and of what was released: adaptive
composition [DRS22, Cor 2] is about exactly that. Going back to the rows as they came looks at no
record. QED

Entries of the mean are cut to multiples of R 2^-20 towards 0, so that rows do not become longer and
the sums are of whole numbers, exact in any order; the noise is larger by `_ROOM`, for the rounding
of the bound on rows. Counts are whole as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import AMPLE
from shiftdp.last_iterate import NoisyGD
from shiftdp.last_iterate.runs import has_releases, people
from shiftdp.last_iterate.training_record import MEASURING
from shiftdp.training.descent.disk import blocks
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.losses.base import Floats

if TYPE_CHECKING:
    from shiftdp.training.descent.batches import TrainingRun
    from shiftdp.training.descent.records import BoundedRows
    from shiftdp.training.plan import Plan

_GRID = 20  # bits of an entry that go into the mean
MOST = 2**32
"""Records whose sums are whole numbers of floats."""
_ROOM = 1.0 + AMPLE  # for the rounding of norms that are held to the bound
_DISTANCES = np.exp2(np.arange(-24, 1) / 4.0)  # ends of intervals, in the bound
_HELD = 0.8
"""The part of the rows that are to be as they are; all others are scaled down."""
_FINE = 8  # bits of the noise that a grid keeps


def with_sums(run: NoisyGD, mean: float, distances: float) -> NoisyGD:
    """The run with a step for each of the two sums before its own.

    Args:
        run: of full batches.
        mean: the noise of the mean of the rows, as that of a step: on a mean of vectors of the
            length that gradients are bounded by.
        distances: the same for how many rows are how far from it.

    >>> longer = with_sums(NoisyGD(n=10, steps=3, learning_rate=0.5, noise=1.0), 4.0, 8.0)
    >>> longer.steps, longer.noise
    (5, (4.0, 8.0, 1.0, 1.0, 1.0))
    >>> without_sums(longer)
    NoisyGD(n=10, steps=3, learning_rate=0.5, noise=(1.0, 1.0, 1.0), ...)
    """
    rates, noise = run.learning_rate, run.noise
    if isinstance(rates, tuple):
        rates = (*rates[:1] * MEASURING, *rates)
    if isinstance(noise, float):
        noise = (noise,) * run.steps
    return replace(
        run, steps=run.steps + MEASURING, learning_rate=rates, noise=(mean, distances, *noise)
    )


def without_sums(run: TrainingRun) -> TrainingRun:
    """The steps of a centred run that move the model."""
    rates, noise = (
        value[MEASURING:] if isinstance(value, tuple) else value
        for value in (run.learning_rate, run.noise)
    )
    return replace(run, steps=run.steps - MEASURING, learning_rate=rates, noise=noise)


@dataclass(frozen=True)
class Centre:
    """What was released of the rows: where they lie, and how far from there most of them are."""

    place: Floats
    distance: float

    def moved(self, rows: Floats, bound: float) -> Floats:
        """Rows as they are trained on; none is longer than the bound after it is held to it."""
        return np.asarray((rows - self.place) * (bound / self.distance))

    def given_back(self, weights: Floats, bound: float) -> Floats:
        """The weights for rows as they came; the last column is the intercept.

        >>> centre = Centre(np.array([1.0, 0.0]), 0.5)
        >>> centre.given_back(np.array([[1.0, 2.0, 3.0]]), bound=1.0)
        array([[2., 4., 1.]])
        """
        found = np.array(weights, dtype=np.float64)
        found[..., :-1] *= bound / self.distance
        found[..., -1] -= found[..., :-1] @ self.place
        return found


def measured(plan: Plan, rows: BoundedRows, stream: Stream) -> Centre:
    """Where the rows lie, by two noisy sums. Theorem P2

    Args:
        plan: that is `centred`, whose bound the rows keep to.
        rows: of all records.
        stream: of noise, which is not that of the steps.
    """
    bound, n = plan.feature_bound, rows.shape[0]
    of_sum, of_counts = deviations(plan)
    mean = _released(sum_of(rows, bound), of_sum, stream) / n
    place = bound * _within(_shrunk(mean, of_sum / n))
    counts = _released(distances_from(place, rows, bound), of_counts, stream)
    return Centre(place, bound * _holding(counts, of_counts, n))


def sum_of(rows: BoundedRows, bound: float) -> Floats:
    """The sum of all rows in the bound, on the grid."""
    total = np.zeros(rows.shape[1], dtype=np.int64)
    for part in blocks(rows.shape[0], 8 * rows.shape[1]):
        block = np.trunc(rows.take(part) * (float(1 << _GRID) / bound))
        total += block.astype(np.int64).sum(axis=0)
    found: Floats = total / float(1 << _GRID)
    total.fill(0)
    return found


def distances_from(place: Floats, rows: BoundedRows, bound: float) -> Floats:
    """How many rows are in each interval of distances; what is beyond counts in the last one."""
    counts = np.zeros(len(_DISTANCES), dtype=np.int64)
    for part in blocks(rows.shape[0], 8 * rows.shape[1]):
        apart = np.linalg.norm(rows.take(part) - place, axis=1) / bound
        interval = np.minimum(np.searchsorted(_DISTANCES, apart), len(_DISTANCES) - 1)
        counts += np.bincount(interval, minlength=len(_DISTANCES))
    found = counts.astype(np.float64)
    counts.fill(0)
    return found


def deviations(plan: Plan) -> tuple[float, float]:
    """Of the noise on the sum of rows, in the bound, and on the counts of distances.

    A step's noise is on a mean of vectors of length G: times n/G it is that on a sum of vectors of
    length 1. Two counts are sqrt(2) apart where two records are compared, and may be 2 apart.
    """
    unit = plan.run.n / plan.gradient_bound * _ROOM
    twice = 1.0 if plan.adjacency == "zero_out" else math.sqrt(2.0)
    mean, distances = _noise_of_sums(plan.run)
    return mean * unit, distances * unit / twice


def _noise_of_sums(run: TrainingRun) -> tuple[float, float]:
    noise = run.noise
    return (noise, noise) if isinstance(noise, float) else (noise[0], noise[1])


def _released(sums: Floats, noise: float, stream: Stream) -> Floats:
    """The sums with noise, on a grid of at most 2^-8 of it. The sums themselves are overwritten."""
    drawn = np.empty(len(sums))
    stream.fill(drawn)
    drawn *= noise
    sums += drawn
    grid = 2.0 ** (math.floor(math.log2(noise)) - _FINE)
    found = np.rint(sums / grid) * grid
    drawn.fill(0)
    sums.fill(0)
    return np.asarray(found)


def _shrunk(mean: Floats, noise: float) -> Floats:
    """The noisy mean, nearer to 0 the more of it may be noise: Wiener's factor.

    The squared length, less what noise adds to it on average, is that of the mean without noise. So
    a mean that is lost in its noise becomes 0. Free, as the law of the noise is public.

    >>> _shrunk(np.array([6.0, 8.0]), 1.0), _shrunk(np.array([0.6, 0.8]), 1.0)
    (array([5.88, 7.84]), array([0., 0.]))
    """
    square, excess = float(mean @ mean), len(mean) * noise * noise
    if square <= excess:
        return np.zeros_like(mean)
    return np.asarray(mean * (1.0 - excess / square))


def _within(mean: Floats) -> Floats:
    """The same direction, and no further from 0 than rows can be on average: 1.

    >>> _within(np.array([3.0, 4.0])), _within(np.array([0.3, 0.4]))
    (array([0.6, 0.8]), array([0.3, 0.4]))
    """
    return np.asarray(mean / max(1.0, float(np.linalg.norm(mean))))


def _holding(counts: Floats, noise: float, n: int) -> float:
    """The least distance, in the bound, that most rows surely keep to.

    From the largest one down, as long as the rows beyond are few, with a deviation of their noise
    on top: a distance that noise alone makes small would make scores large.

    >>> counts = np.array([0.0] * 20 + [60.0, 30.0, 10.0, 0.0, 0.0])
    >>> _holding(counts, 1.0, 100), _holding(counts, 40.0, 100)
    (0.5946035575013605, 1.0)
    """
    beyond = np.cumsum(counts[::-1])[:-1]
    unsure = noise * np.sqrt(np.arange(1, len(counts)))
    few = beyond + unsure <= (1.0 - _HELD) * n
    steps = len(few) if few.all() else int(np.argmin(few))
    return float(_DISTANCES[len(counts) - 1 - steps])


def require_centrable(plan: Plan) -> None:
    """Refuse runs that Theorem P2 is not about, and those that cannot give weights back."""
    run = plan.run
    wrong = {
        "batches that are not full": not run.full_batches,
        f'bounds="{plan.bounds}"': plan.bounds != "composition",
        "a model without an intercept": not plan.intercept,
        "an L1 penalty or the elastic net (a prox)": plan.prox is not None,
        "a projection": plan.projection is not None,
        "several releases": has_releases(run),
        "several records a person": people(run) > 1,
        f"more than {MOST} records": run.n > MOST,
        f"{run.steps} steps, of which {MEASURING} measure": run.steps <= MEASURING,
        "sums without noise": run.steps > MEASURING and not all(_noise_of_sums(run)),
    }
    for what, found in wrong.items():
        if found:
            raise refuse_to_centre(what)


def refuse_to_centre(what: str) -> UnmetHypothesis:
    """The error for a run whose rows cannot be centred."""
    return UnmetHypothesis(
        "centre", True, f"does not go with {what}: Theorem P2 centres rows for composed runs of "
        "full batches, of dense rows in this process", "leave them where they are: centre=False",
    )  # fmt: skip
