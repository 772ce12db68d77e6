"""The runs that the planner compares, each with the noise that the budget nearly asks of it.

Runs of three kinds are listed: full batches, batches in turn, and random batches. The
error of each is predicted on the reference problem of `training/planning/utility.py`. The noise
here is by closed forms; only the run that is taken is calibrated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shiftdp.last_iterate import NoisyGD
from shiftdp.last_iterate.certification import Bounds
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.entropy import Entropy
from shiftdp.training.plan import Oversized, Plan
from shiftdp.training.planning.kinds import (
    cyclic_batches,
    full_batches,
    placed_batches,
    random_batches,
)
from shiftdp.training.planning.problem import Overrides, Problem
from shiftdp.training.planning.setting import Clip, Listed, Setting, clipping_under, clips
from shiftdp.training.planning.utility import Prediction

_Kind = Callable[[Setting, Clip], Iterator[Listed | None]]

# where noise can be placed, the same noise at every step is never better
_KINDS: dict[str, tuple[_Kind, ...]] = {
    "gd": (full_batches,),
    "cgd": (placed_batches, cyclic_batches),
    "sgd": (random_batches,),
}


@dataclass(frozen=True)
class Candidate:
    """A run whose noise is not exact yet, and its predicted error."""

    listed: Listed
    place: int
    clip: Clip
    prediction: Prediction

    @property
    def run(self) -> TrainingRun:
        return self.listed.run(self.place)

    @property
    def l2(self) -> float:
        return float(self.listed.segments.l2[self.place])

    @property
    def placed(self) -> bool:
        """Whether its noise is still to be placed."""
        return self.listed.placed

    @property
    def passes(self) -> float:
        """Over the data."""
        return self.listed.passes


class Candidates:
    """The runs that one problem allows, and what they have in common.

    Attributes:
        too_long: whether a run was left out because it has more than `MOST_STEPS` steps.
    """

    def __init__(
        self, problem: Problem, chosen: Overrides, entropy: Entropy, oversized: Oversized
    ) -> None:
        self.problem, self.chosen = problem, chosen
        self._entropy, self._oversized = entropy, oversized
        self._clips = clips(problem, chosen)
        any_run = NoisyGD(n=problem.n, steps=1, learning_rate=1.0, noise=1.0)
        without_ridge = self.plan(any_run, 0.0, self._clips[0], "best")
        self.setting = Setting(problem, chosen, without_ridge.geometry.smoothness)
        self.too_long = False

    def plan(self, run: TrainingRun, l2: float, clip: Clip, bounds: Bounds) -> Plan:
        """What trains by this run."""
        problem = self.problem
        return Plan(
            run=run,
            loss=problem.loss,
            feature_bound=problem.feature_bound,
            l2=l2,
            intercept=problem.intercept,
            clipping=clipping_under(clip, problem.loss, bounds == "composition"),
            clip=clip.norm,
            adjacency=problem.adjacency,
            oversized=self._oversized,
            features=problem.features,
            bounds=bounds,
            entropy=self._entropy,
        )

    def algorithms(self) -> tuple[str, ...]:
        """Those that are compared, the simplest first."""
        chosen, n = self.chosen, self.problem.n
        if chosen.algorithm is not None:
            return (chosen.algorithm,)
        if chosen.centre:
            return ("gd",)
        if chosen.named:
            return tuple(chosen.named)
        if chosen.batch_size is not None:
            return ("gd",) if chosen.batch_size == n else ("cgd", "sgd")
        return ("gd", "cgd", "sgd")

    def of(self, algorithm: str) -> Iterator[Candidate]:
        """The runs of one algorithm whose error is predicted to be finite."""
        for clip in self._clips:
            for listed in self._listed(algorithm, clip):
                for place, prediction in enumerate(clip.reference.predict(listed.segments)):
                    if math.isfinite(prediction.total) and self._covered(listed, place):
                        yield Candidate(listed, place, clip, prediction)

    def _covered(self, listed: Listed, place: int) -> bool:
        """Whether the bounds that were chosen cover full steps of this length: all but composition
        ask for at most 2/smoothness."""
        if self.chosen.bounds in (None, "composition") or not listed.run(0).full_batches:
            return True
        largest = float(listed.segments.rates[place].max())
        return largest * (self.setting.smoothness + float(listed.segments.l2[place])) <= 2.0

    def _listed(self, algorithm: str, clip: Clip) -> list[Listed]:
        """The runs of the first kind that has any."""
        for kind in _KINDS[algorithm]:
            found = list(kind(self.setting, clip))
            self.too_long |= None in found
            listed = [one for one in found if one is not None]
            if listed:
                return listed
        return []
