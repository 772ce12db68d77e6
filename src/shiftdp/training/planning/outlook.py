"""Whether a planned model can be better than a constant, and what it would take if not.

The planner predicts the error of its run on a reference problem, as a share of the error of a model
of zeros. A model that knows only what is learnt sooner than the scores of a good one are reached
has told nothing apart: on tables whose results are known, models with as large a predicted error
were no better than the answer that ignores the features, and mostly worse, as their noise is above
their signal (docs/planner.md). It is a forecast: a table with very little in it can fail at smaller
errors too. Nothing here sees the user's data, so that asking costs no privacy and a refusal tells
nothing.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property

from shiftdp._errors import InvalidInput
from shiftdp.fdp import GaussianTradeoff
from shiftdp.training.descent.entropy import System
from shiftdp.training.planning.candidates import Candidates
from shiftdp.training.planning.planner import Planned
from shiftdp.training.planning.problem import Overrides, Problem
from shiftdp.training.planning.setting import clips

_SLACK = 0.025
"""How much less the predicted error has to be than that of a model that has told nothing apart. Set
so that beyond it no model was more than two points better than a constant, on eight tables at
epsilons from 0.001 to 0.1, and the next one was six points better."""

_LARGEST_ADVISED = 10.0  # an epsilon beyond is no protection to speak of, and no advice


class WeakSignalWarning(UserWarning):
    """A model is predicted to be no better than a constant: its noise is above its signal."""


@dataclass(frozen=True)
class Outlook:
    """What the planner expects of a plan.

    Args:
        problem: public numbers.
        chosen: what the user has chosen of the run.
        error: the predicted error, as a share of that of a model of zeros.
        limit: from which error on a constant is as good.

    >>> from shiftdp.training import Logistic
    >>> from shiftdp.training.planning import plan_for
    >>> public = dict(features=40, loss=Logistic(), feature_bound=1.0, delta=1e-5)
    >>> few = Problem(n=60, epsilon=0.1, **public)
    >>> found = outlook_of(plan_for(few))
    >>> found.worthwhile, found.records > 60, found.epsilon > 0.1
    (False, True, True)
    >>> outlook_of(plan_for(replace(few, n=found.records))).worthwhile
    True
    """

    problem: Problem
    chosen: Overrides
    error: float
    limit: float

    @property
    def worthwhile(self) -> bool:
        """Whether the model is predicted to be better than a constant."""
        return self.error < self.limit

    @cached_property
    def times(self) -> float:
        """How many times n mu would have to be what it is, G(mu) being the budget; infinite where
        that is no cure.

        The noise on scores goes with 1/(n mu), and its square with the error; the other parts stay.
        So a run with error `rest` + `noise` comes to the limit where n mu is the square root of
        noise/(limit - rest) times as large. The best of the listed runs is taken.
        """
        if self.worthwhile:
            return 1.0
        if self.chosen.noise is not None:
            return math.inf
        listed = Candidates(self.problem, self.chosen, System(), "scale")
        least = math.inf
        for name in listed.algorithms():
            for one in listed.of(name):
                rest = one.prediction.total - one.prediction.noise
                if rest < self.limit:
                    least = min(least, math.sqrt(one.prediction.noise / (self.limit - rest)))
        return max(1.0, least)

    @property
    def records(self) -> int | None:
        """About how many records would be enough at the same budget; None where none are."""
        if self.worthwhile or math.isinf(self.times):
            return self.problem.n if self.worthwhile else None
        return math.ceil(_upwards(self.problem.n * self.times))

    @property
    def epsilon(self) -> float | None:
        """About the epsilon that would be enough for as many records; None where none is."""
        given, delta = self.problem.epsilon, self.problem.delta
        if self.worthwhile or math.isinf(self.times):
            return given if self.worthwhile else None
        mu = GaussianTradeoff.from_budget(given, delta).mu * self.times
        return _upwards(GaussianTradeoff(mu).epsilon(delta))

    @property
    def cure(self) -> str:
        """What to do, in words."""
        ways = []
        if self.chosen.noise is not None:
            return "leave the noise to the planner"
        if self.epsilon is not None and self.epsilon <= _LARGEST_ADVISED:
            ways.append(f"epsilon={self.epsilon:g}")
        if self.records is not None:
            ways.append(f"{self.records} records")
        if self.problem.features > 1:
            ways.append("fewer features with a smaller feature_bound")
        return "give " + ", or ".join(ways or ["more records"])

    def __str__(self) -> str:
        shares = f"{self.error:.3f} of the error of a model of zeros is predicted to be left"
        if self.worthwhile:
            return f"{shares}; a constant leaves {self.limit:.3f}"
        return f"{shares}, which is no better than a constant ({self.limit:.3f}): {self.cure}"


def outlook_of(planned: Planned, overrides: Overrides | None = None) -> Outlook:
    """Whether the planner expects this model to be better than a constant, from public numbers.

    Args:
        planned: what `plan_for`, or `plan` of an estimator, gave.
        overrides: what was chosen of the run, if anything; the cure is for the same choices.
    """
    chosen = overrides or Overrides()
    if chosen.algorithm is None and not chosen.named:  # the search for a cure tries no others
        chosen = replace(chosen, algorithm=planned.choices()["algorithm"])
    clip = math.inf if planned.plan.clip is None else planned.plan.clip
    (taken,) = clips(planned.problem, Overrides(clip=clip))
    limit = taken.reference.of_a_constant - _SLACK
    return Outlook(planned.problem, chosen, planned.prediction.total, limit)


def require_worthwhile(planned: Planned, overrides: Overrides | None = None) -> None:
    """Refuse a plan whose signal is below its noise, with the cure.

    >>> from shiftdp.training import Logistic
    >>> from shiftdp.training.planning import plan_for
    >>> few = Problem(
    ...     n=60, features=40, loss=Logistic(), feature_bound=1.0, epsilon=0.1, delta=1e-5
    ... )
    >>> require_worthwhile(plan_for(few))
    Traceback (most recent call last):
    ...
    shiftdp._errors.InvalidInput: epsilon=0.1 leaves a model of 60 records no better than a ...
    """
    found = outlook_of(planned, overrides)
    if not found.worthwhile:
        raise InvalidInput("epsilon", found.problem.epsilon, _problem(found), found.cure)


def warn_if_hopeless(planned: Planned, overrides: Overrides | None = None) -> None:
    """The same as a `WeakSignalWarning`."""
    found = outlook_of(planned, overrides)
    if not found.worthwhile:
        warnings.warn(
            f"epsilon={found.problem.epsilon:g} {_problem(found)}; {found.cure}",
            WeakSignalWarning,
            stacklevel=4,
        )


def _problem(found: Outlook) -> str:
    return (
        f"leaves a model of {found.problem.n} records no better than a constant, as its noise is "
        "predicted to be above its signal"
    )


def _upwards(value: float) -> float:
    """Rounded up to two digits.

    >>> _upwards(0.1234), _upwards(1780.0), _upwards(0.2)
    (0.13, 1800.0, 0.2)
    """
    digits = 1 - math.floor(math.log10(value))
    return math.ceil(round(value * 10.0**digits, 9)) / 10.0**digits
