"""What all kinds of candidates have in common: the budget, the passes, and the rates to try."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shiftdp._checks import Array
from shiftdp.fdp import GaussianTradeoff
from shiftdp.last_iterate import NoisyGD, NoisySGD
from shiftdp.last_iterate.certification import Bounds
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.planning.clips import Clip
from shiftdp.training.planning.problem import Overrides, Problem
from shiftdp.training.planning.utility import Segments

__all__ = ["MOST_STEPS", "QUICK", "Listed", "Setting"]

MOST_STEPS = 1_000_000
"""Steps of any run; a longer one is not listed, and nothing is made for it."""

QUICK = 5e9
"""Multiplications that take seconds: no shorter run is preferred to one of so many."""

_REACHES = np.geomspace(0.5, 2e4, 60)  # of runs, in scores of a good model
_SWING = 2.0  # how far equal steps may move a score, in the same; beyond, they never settle
_LEAP = 6.0  # how far the first of falling steps may; three classes and more share the leap
_MOST_RATES = 20_000  # steps of a run whose rates fall: each candidate holds one rate a step


class Listed(NamedTuple):
    """Runs of one kind and length: what their errors are predicted from, how often they pass over
    the data, how to make the k-th, and whether its noise is still to be placed."""

    segments: Segments
    passes: float
    run: Callable[[int], TrainingRun]
    placed: bool = False


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
        if isinstance(run, NoisySGD):
            return "composition"
        if isinstance(run, NoisyGD) and l2 == 0.0:
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


def sampled_variance(size: int, share: float = 0.0) -> float:
    """The variance of the mean of a random batch of records of variance 1, a share of all."""
    return (1.0 - share) / size


def sizes(setting: Setting, batches: tuple[int, ...]) -> list[int]:
    """Batch sizes that make so many batches an epoch, the largest first; or the one given."""
    n, given = setting.problem.n, setting.chosen.batch_size
    if given is not None:
        return [given]
    return sorted({math.ceil(n / k) for k in batches if k <= n}, reverse=True)
