"""What all kinds of candidates have in common: budget and passes, and the clips and rates to try.

**Clips.** A record that pulls with less than the largest gradient at the start needs less noise if
gradients are clipped below; but then records that are told wrongly count too little for good, and
scores become too sure of themselves. What noise saves is seen by the reference problem; what is
lost for good is a share of what is learnt (docs/planner.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shiftdp._checks import DATA_GREATEST, DATA_LEAST, Array, magnitude
from shiftdp.fdp import GaussianTradeoff
from shiftdp.last_iterate.certification import Bounds
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.losses.base import Loss
from shiftdp.training.plan import Clipping
from shiftdp.training.planning.problem import Overrides, Problem
from shiftdp.training.planning.utility import Reference, Segments

MOST_STEPS = 1_000_000
"""Steps of any run; a longer one is not listed, and nothing is made for it."""

QUICK = 5e9
"""Multiplications that take seconds: no shorter run is preferred to one of so many."""

_REACHES = 0.5 * 4e4 ** (np.arange(-20, 60) / 59.0)
"""Of runs, in scores of a good model; at the least nearly nothing is learnt."""

_SWING = 2.0  # how far equal steps may move a score, in the same; beyond, they never settle
_LEAP = 6.0  # how far the first of falling steps may; three classes and more share the leap
_MOST_RATES = 20_000  # steps of a run whose rates fall: each candidate holds one rate a step

_OF_ONE_SCORE = {0.25: 0.07, 0.35: 0.04, 0.5: 0.03, 1.0: 0.005, math.inf: 0.0}
"""Clips, in what a record pulls with at the start, and what they cost for good, as a share of what
is learnt. Set so that the smallest is taken where little is learnt, none where nearly all is."""

_OF_CLASSES = {0.25: 0.055, 0.5: 0.015, 1.0: 0.01, math.inf: 0.0}
"""Clips and their costs for several classes: there the largest score counts, however little larger
it is."""


class Listed(NamedTuple):
    """Runs of one kind and length: what their errors are predicted from, how often they pass over
    the data, how to make the k-th, and whether its noise is still to be placed."""

    segments: Segments
    passes: float
    run: Callable[[int], TrainingRun]
    placed: bool = False


@dataclass(frozen=True)
class Clip:
    """One way of clipping, and what is expected of it.

    Args:
        clipping: `none`, or `envelope`.
        norm: that gradients are clipped to.
        sensitivity: what one record can change a sum of gradients by.
        reference: the problem that runs with this clip are tried on.
    """

    clipping: Clipping
    norm: float | None
    sensitivity: float
    reference: Reference


@dataclass(frozen=True)
class Setting:
    """A problem with what the user has chosen of the run.

    Args:
        smoothness: of the loss without a ridge.
        costs: what runs cost with noise and sensitivity 1, as far as somebody has asked.
    """

    problem: Problem
    chosen: Overrides
    smoothness: float
    costs: dict[object, float] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def mu(self) -> float:
        """The Gaussian guarantee that the budget is worth."""
        return GaussianTradeoff.from_budget(self.problem.epsilon, self.problem.delta).mu

    @property
    def epochs(self) -> float:
        """How often the data may be passed over."""
        given = self.chosen.epochs
        return self.problem.epochs if given is None else given

    def is_quick(self, passes: float) -> bool:
        """Whether nobody waits for so many passes."""
        return self.problem.work * passes <= QUICK

    def at_most(self, epochs: float) -> float:
        """The epochs that the user has chosen; else the problem's, and no more than these."""
        return min(self.epochs, epochs) if self.chosen.epochs is None else self.epochs

    def noise(self, needed: float) -> float | None:
        """What the budget needs, about; or the noise that the user has chosen, and None if that
        cannot be enough."""
        given = self.chosen.noise
        if given is None:
            return needed
        return given if given >= 0.5 * needed else None

    def bounds(self, run: TrainingRun, l2: float) -> Bounds:
        """The theorems to use: composition alone where no other applies or is tighter, or where the
        others take seconds."""
        if self.chosen.bounds is not None:
            return self.chosen.bounds
        if run.sampled:
            return "composition"
        if run.full_batches and l2 == 0.0:
            return "composition"  # full steps that do not contract: Theorem B1 says the same
        eta = run.learning_rate
        largest = eta if isinstance(eta, float) else max(eta)
        return "best" if largest * (self.smoothness + l2) <= 2.0 else "composition"

    def equal_rates(self, clip: Clip, steps: int) -> Array:
        """Learning rates of runs of so many equal steps, one for each reach; or the one given."""
        if self.chosen.learning_rate is not None:
            return np.array([self.chosen.learning_rate])
        strides = _REACHES / steps
        allowed = strides <= max(_SWING, strides[0])
        return np.asarray(self._per_stride(clip) * strides[allowed])

    def falling_rates(self, clip: Clip, steps: int, stages: int | None = None) -> Array | None:
        """Rates that fall to 0 along a line, a row for each reach and a column for each of some
        stages of equal length, or for each step; None where rates are given, or steps are one or
        too many."""
        parts = min(steps, stages or steps)
        if self.chosen.learning_rate is not None or not 1 < parts <= _MOST_RATES:
            return None
        shape = np.linspace(2.0, 2.0 / parts, parts) / (parts + 1.0) * (parts / steps)
        first = _REACHES * shape[0]
        reaches = _REACHES[first <= max(_LEAP * max(1.0, clip.reference.outputs / 3), first[0])]
        return np.asarray(self._per_stride(clip) * reaches[:, None] * shape)

    def _per_stride(self, clip: Clip) -> float:
        """The rate at which a step moves scores by those of a good model."""
        reference = clip.reference
        return reference.reach / (reference.slope * reference.norm_bound**2)


# --- clips ---


def clips(problem: Problem, chosen: Overrides) -> list[Clip]:
    """Those that are compared: the user's; else none, and those that could save noise.

    >>> from shiftdp.training import Logistic
    >>> problem = Problem(
    ...     n=10,
    ...     features=3,
    ...     loss=Logistic(),
    ...     feature_bound=1.0,
    ...     intercept=False,
    ...     epsilon=1,
    ...     delta=0.1,
    ... )
    >>> found = clips(problem, Overrides())
    >>> [clip.norm for clip in found]
    [0.125, 0.175, 0.25, 0.5, None]
    >>> [round(clip.reference.slope, 3) for clip in found]
    [0.109, 0.144, 0.188, 0.25, 0.25]
    """
    loss, R = problem.loss, problem.norm_bound
    if chosen.clip is not None:
        if chosen.clip == math.inf:
            return [_clip(problem, None, 0.0)]
        return [_clip(problem, magnitude("clip", chosen.clip, DATA_LEAST, DATA_GREATEST), 0.0)]
    if loss.initial_residual >= loss.slope:
        return [_clip(problem, None, 0.0)]
    found = []
    costs = _OF_CLASSES if loss.outputs > 1 else _OF_ONE_SCORE
    for share, cost in costs.items():
        norm = share * loss.initial_residual * R
        found.append(_clip(problem, norm if norm < loss.slope * R else None, cost))
    return found


def _clip(problem: Problem, norm: float | None, cost: float) -> Clip:
    loss, R = problem.loss, problem.norm_bound
    bound = loss.slope * R if norm is None else min(norm, loss.slope * R)
    return Clip(
        clipping="none" if norm is None else "envelope",
        norm=norm,
        sensitivity=bound * (1.0 if problem.adjacency == "zero_out" else 2.0),
        reference=Reference(
            directions=problem.features + problem.intercept,
            norm_bound=R,
            slope=_average(bound / R, loss.initial_residual),
            curvature=loss.curvature,
            reach=loss.good_score,
            outputs=loss.outputs,
            clipping=cost,
        ),
    )


def _average(limit: float, start: float) -> float:
    """A residual that falls evenly from `start` to 0, on average, if it counts as `limit` at most.

    >>> _average(0.25, 0.5), _average(1.0, 0.5)
    (0.1875, 0.25)
    """
    limit = min(limit, start)
    return limit - limit * limit / (2.0 * start)


def clipping_under(clip: Clip, loss: Loss, composed: bool) -> Clipping:
    """Plain clipping of several classes is quicker, and composition asks for no convexity."""
    several = loss.outputs > 2
    return "plain" if clip.clipping == "envelope" and several and composed else clip.clipping
