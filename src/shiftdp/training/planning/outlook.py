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
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from shiftdp._errors import InvalidInput
from shiftdp.fdp import GaussianTradeoff
from shiftdp.training.descent.entropy import System
from shiftdp.training.planning.candidates import Candidates
from shiftdp.training.planning.planner import Planned, forecast
from shiftdp.training.planning.problem import Algorithm, Overrides, Problem
from shiftdp.training.planning.setting import clips
from shiftdp.training.planning.utility import Reference

_SLACK = 0.025
"""How much less the predicted error has to be than that of a model that has told nothing apart. Set
so that beyond it no model was more than two points better than a constant, on eight tables at
epsilons from 0.001 to 0.1, and the next one was six points better."""

_FURTHER = tuple(1.05**k for k in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32))
"""How many times a first guess of what is enough is tried, until it is."""

_BESIDE = 1.01  # room for what shares a budget with the model, and is not quite Gaussian
_LARGEST_ADVISED = 10.0  # an epsilon beyond is no protection to speak of, and no advice


class WeakSignalWarning(UserWarning):
    """A model is predicted to be no better than a constant: its noise is above its signal."""


class Forecast(Protocol):
    """Whether something can be worth its budget, by public numbers, and the cure if not."""

    @property
    def worthwhile(self) -> bool: ...

    @property
    def given(self) -> float: ...

    @property
    def complaint(self) -> str: ...

    @property
    def cure(self) -> str: ...


@dataclass(frozen=True)
class Outlook:
    """What the planner expects of a plan.

    Args:
        problem: public numbers.
        chosen: what the user has chosen of the run.
        error: the predicted error, as a share of that of a model of zeros.
        limit: from which error on a constant is as good.
        algorithm: that was planned; a cure is guessed for this one.
        asked: the epsilon of all that the model is a part of, if the model has less.

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
    algorithm: Algorithm | None = None
    asked: float | None = None

    @property
    def worthwhile(self) -> bool:
        """Whether the model is predicted to be better than a constant."""
        return self.error < self.limit

    @property
    def given(self) -> float:
        """The epsilon that the user gave."""
        return self.problem.epsilon if self.asked is None else self.asked

    @cached_property
    def records(self) -> int | None:
        """Records that are enough at the same budget; None where no number of them is known."""
        if self.worthwhile:
            return self.problem.n
        times = self._enough(lambda times: replace(self.problem, n=self._records(times)))
        return None if times is None else self._records(times)

    @cached_property
    def epsilon(self) -> float | None:
        """An epsilon that is enough for as many records; None where none is known."""
        if self.worthwhile:
            return self.given
        own = self.problem.epsilon
        times = self._enough(lambda times: replace(self.problem, epsilon=self._epsilon(own, times)))
        if times is None:
            return None
        enough = self._epsilon(own, times)
        if self.asked is None:
            return enough
        delta = self.problem.delta  # what else is in the budget grows with the model's part
        grown = GaussianTradeoff.from_budget(enough, delta).mu
        grown /= GaussianTradeoff.from_budget(own, delta).mu
        return self._epsilon(self.asked, _BESIDE * grown)

    def passes(self, records: int, given: float) -> bool:
        """Whether a model of so many records, with this epsilon instead of `given`, would pass.

        A part of a budget grows with it.
        """
        delta, own = self.problem.delta, self.problem.epsilon
        if given != self.given:
            grown = GaussianTradeoff.from_budget(given, delta).mu / _BESIDE
            grown /= GaussianTradeoff.from_budget(self.given, delta).mu
            own = GaussianTradeoff(GaussianTradeoff.from_budget(own, delta).mu * grown).epsilon(
                delta
            )
        return _passes(replace(self.problem, n=records, epsilon=own), self.chosen)

    def _records(self, times: float) -> int:
        return math.ceil(upwards(self.problem.n * times))

    def _epsilon(self, given: float, times: float) -> float:
        """The epsilon of so many times the mu that another one stands for."""
        delta = self.problem.delta
        mu = GaussianTradeoff.from_budget(given, delta).mu * times
        return upwards(GaussianTradeoff(mu).epsilon(delta))

    def _enough(self, changed: Callable[[float], Problem]) -> float | None:
        """How many times n mu is enough, by the check that found this plan too weak."""
        if not math.isfinite(self._times):
            return None
        tried = (self._times * further for further in _FURTHER)
        return next((times for times in tried if _passes(changed(times), self.chosen)), None)

    @cached_property
    def _times(self) -> float:
        """About how many times n mu would have to be what it is, G(mu) being the budget; infinite
        where that is no cure.

        The noise on scores goes with 1/(n mu), and its square with the error; the other parts stay.
        So a run with error `rest` + `noise` comes to the limit where n mu is the square root of
        noise/(limit - rest) times as large. The best of the listed runs is taken, which need not be
        the one that the planner takes then.
        """
        chosen = self.chosen
        if chosen.noise is not None:
            return math.inf
        if chosen.algorithm is None and not chosen.named:
            chosen = replace(chosen, algorithm=self.algorithm)
        listed = Candidates(self.problem, chosen, System(), "scale")
        least = math.inf
        for name in listed.algorithms():
            for one in listed.of(name):
                rest = one.prediction.total - one.prediction.noise
                if rest < self.limit:
                    least = min(least, math.sqrt(one.prediction.noise / (self.limit - rest)))
        return max(1.0, least)

    @property
    def cure(self) -> str:
        """What to do, in words."""
        return self.cured("fewer features with a smaller feature_bound")

    def cured(self, fewer: str | None) -> str:
        """What to do, in words.

        Args:
            fewer: how the model gets fewer features, which only those who make them can say; None
                if it cannot.
        """
        if self.chosen.noise is not None:
            return "leave the noise to the planner"
        ways = ways_out(self.epsilon, self.records)
        if self.problem.features > 1 and fewer is not None:
            ways.append(fewer)
        given = "give " + ", or ".join(ways or ["more records"])
        chosen = [name for name, value in vars(self.chosen).items() if value not in (None, False)]
        if self.epsilon is None and self.records is None and chosen:
            return f"leave {' and '.join(chosen)} to the planner, or {given}"
        return given

    @property
    def complaint(self) -> str:
        """What is wrong, in words."""
        return (
            f"leaves a model of {self.problem.n} records no better than a constant, as its noise "
            "is predicted to be above its signal"
        )

    def __str__(self) -> str:
        shares = f"{self.error:.3f} of the error of a model of zeros is predicted to be left"
        if self.worthwhile:
            return f"{shares}; a constant leaves {self.limit:.3f}"
        return f"{shares}, which is no better than a constant ({self.limit:.3f}): {self.cure}"


def outlook_of(
    planned: Planned, overrides: Overrides | None = None, *, asked: float | None = None
) -> Outlook:
    """Whether the planner expects this model to be better than a constant, from public numbers.

    Args:
        planned: what `plan_for`, or `plan` of an estimator, gave.
        overrides: what was chosen of the run, if anything; the cure is for the same choices.
        asked: the epsilon of a pipeline that the model is a part of; the cure is one for that.
    """
    clip = math.inf if planned.plan.clip is None else planned.plan.clip
    (taken,) = clips(planned.problem, Overrides(clip=clip))
    found = Outlook(
        planned.problem,
        overrides or Overrides(),
        planned.prediction.total,
        _limit(taken.reference),
        planned.algorithm,
        None if asked == planned.problem.epsilon else asked,
    )
    known: Outlook = vars(planned).setdefault("_outlook", found)
    return known if known == found else found  # a cure is looked for once, and kept with the plan


def _limit(reference: Reference) -> float:
    return reference.of_a_constant - _SLACK


def _passes(problem: Problem, chosen: Overrides) -> bool:
    """Whether what would be planned for this problem is predicted to be better than a constant."""
    try:
        taken = forecast(problem, chosen)
    except InvalidInput:  # nothing can be planned
        return False
    return taken.prediction.total < _limit(taken.clip.reference)


def require_worthwhile(
    planned: Planned, overrides: Overrides | None = None, *, asked: float | None = None
) -> None:
    """Refuse a plan whose signal is below its noise, with the cure; arguments as for `outlook_of`.

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
    refuse(outlook_of(planned, overrides, asked=asked))


def refuse(found: Forecast) -> None:
    """Refuse what is not worth its budget, with the cure."""
    if not found.worthwhile:
        raise InvalidInput("epsilon", found.given, found.complaint, found.cure)


def warn_if_hopeless(
    planned: Planned,
    overrides: Overrides | None = None,
    *,
    stacklevel: int = 4,
) -> None:
    """Warn (`WeakSignalWarning`) of a plan that `require_worthwhile` would refuse."""
    warn(outlook_of(planned, overrides), stacklevel=stacklevel)


def warn(found: Forecast, *, stacklevel: int) -> None:
    """A `WeakSignalWarning` of what is not worth its budget, with the cure.

    Args:
        found: the forecast.
        stacklevel: how far up the line is that caused it, 1 being the caller of this.
    """
    if not found.worthwhile:
        warnings.warn(
            f"epsilon={found.given:g} {found.complaint}; {found.cure}",
            WeakSignalWarning,
            stacklevel=stacklevel + 1,
        )


def ways_out(epsilon: float | None, records: int | None) -> list[str]:
    """What would be enough, in words; an epsilon that protects nobody is not among it."""
    ways = []
    if epsilon is not None and epsilon <= _LARGEST_ADVISED:
        ways.append(f"epsilon={epsilon:g}")
    if records is not None:
        ways.append(f"{records} records")
    return ways


def upwards(value: float) -> float:
    """Rounded up to two digits.

    >>> upwards(0.1234), upwards(1780.0), upwards(0.2)
    (0.13, 1800.0, 0.2)
    """
    digits = 1 - math.floor(math.log10(value))
    return math.ceil(round(value * 10.0**digits, 9)) / 10.0**digits
