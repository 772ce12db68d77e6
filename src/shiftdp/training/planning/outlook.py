"""Whether a planned model can be better than a constant, and what it would take if not.

The planner predicts the error of its run on a reference problem, as a share of the error of a model
of zeros. On tables whose results are known, models with a predicted error near 1 drown in their
noise: they are no better than the answer that ignores the features, and mostly worse. From where on
is `HOPELESS`, a number that was read off such tables (docs/planner.md). It is a forecast: a table
with very little in it can fail below that number too. Nothing here sees the user's data, so that
asking costs no privacy, and a refusal tells nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp.training.planning.planner import Planned, forecast
from shiftdp.training.planning.problem import Overrides, Problem

HOPELESS = 0.71
"""The predicted error from which on no model was better than a constant by more than two points in
a hundred, on nine tables at epsilons from 0.001 to 0.1."""

_FARTHEST = 2.0**20  # how much more of epsilon, or of records, is asked for at most
_FINE = 1.02  # how exactly what would be enough is found


class WeakSignalWarning(UserWarning):
    """A model is predicted to be no better than a constant: its noise is above its signal."""


@dataclass(frozen=True)
class Outlook:
    """What the planner expects of a plan.

    Args:
        problem: public numbers.
        chosen: what the user has chosen of the run.
        error: the predicted error, as a share of that of a model of zeros.

    >>> from shiftdp.training import Logistic
    >>> from shiftdp.training.planning import plan_for
    >>> few = Problem(
    ...     n=60, features=40, loss=Logistic(), feature_bound=1.0, epsilon=0.1, delta=1e-5
    ... )
    >>> found = outlook(plan_for(few))
    >>> found.worthwhile, found.records > 60, found.epsilon > 0.1
    (False, True, True)
    >>> outlook(plan_for(replace(few, n=100 * found.records))).worthwhile
    True
    """

    problem: Problem
    chosen: Overrides
    error: float

    @property
    def worthwhile(self) -> bool:
        """Whether the model is predicted to be better than a constant."""
        return self.error < HOPELESS

    @cached_property
    def epsilon(self) -> float | None:
        """The least epsilon that would be enough for as many records, to two digits; None where no
        budget is."""
        return self._least("epsilon", lambda value: _upwards(value))

    @cached_property
    def records(self) -> int | None:
        """How many records would be enough at the same budget, to two digits; None where none
        are."""
        found = self._least("n", lambda value: float(math.ceil(_upwards(value))))
        return None if found is None else int(found)

    def __str__(self) -> str:
        at = f"epsilon={self.problem.epsilon:g} with {self.problem.n} records"
        if self.worthwhile:
            return f"{at} leaves {self.error:.2f} of the error of a model of zeros"
        return f"{at} leaves more noise than signal: {self.cure}"

    @property
    def cure(self) -> str:
        """What to do, in words."""
        ways = []
        if self.epsilon is not None:
            ways.append(f"epsilon={self.epsilon:g}")
        if self.records is not None:
            ways.append(f"{self.records} records")
        if self.problem.adjacency == "replace_one":
            ways.append("adjacency='zero_out', which takes half the noise")
        ways.append("fewer features, with a smaller feature_bound")
        return "give " + ", or ".join(ways)

    def _least(self, name: str, rounded: Callable[[float], float]) -> float | None:
        """The least value of a public number that makes the plan worthwhile, rounded upwards."""
        given = float(getattr(self.problem, name))
        if self.worthwhile:
            return given

        def enough(value: float) -> bool:
            exact = math.ceil(value) if name == "n" else value
            changed = replace(self.problem, **{name: exact})
            try:
                return forecast(changed, self.chosen).total < HOPELESS
            except InvalidInput:  # what was chosen of the run does not go with it
                return False

        low, high = given, 2.0 * given
        while not enough(high):
            low, high = high, 2.0 * high
            if high > _FARTHEST * given:
                return None
        while high > _FINE * low:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if enough(middle) else (middle, high)
        return rounded(high)


def outlook(planned: Planned, overrides: Overrides | None = None) -> Outlook:
    """Whether the planner expects this model to be better than a constant, from public numbers.

    Args:
        planned: what `plan_for`, or `plan` of an estimator, gave.
        overrides: what was chosen of the run, if anything; the cure is for the same choices.
    """
    chosen = replace(overrides or Overrides(), **_kept(planned, overrides))
    return Outlook(planned.problem, chosen, planned.prediction.total)


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
    found = outlook(planned, overrides)
    if not found.worthwhile:
        raise InvalidInput("epsilon", found.problem.epsilon, _problem(found), found.cure)


def warn_if_hopeless(planned: Planned, overrides: Overrides | None = None) -> None:
    """The same as a `WeakSignalWarning`."""
    found = outlook(planned, overrides)
    if not found.worthwhile:
        warnings.warn(
            f"epsilon={found.problem.epsilon:g} {_problem(found)}; {found.cure}",
            WeakSignalWarning,
            stacklevel=5,
        )


def _problem(found: Outlook) -> str:
    return (
        f"leaves a model of {found.problem.n} records no better than a constant, as its noise is "
        "predicted to be above its signal"
    )


def _kept(planned: Planned, overrides: Overrides | None) -> dict[str, Any]:
    """The algorithm that was taken: the search for a cure need not list the others."""
    given = overrides or Overrides()
    if given.algorithm is not None or given.named:
        return {}
    return {"algorithm": planned.choices()["algorithm"]}


def _upwards(value: float) -> float:
    """Rounded up to two digits.

    >>> _upwards(0.1234), _upwards(1780.0), _upwards(0.2)
    (0.13, 1800.0, 0.2)
    """
    digits = 1 - math.floor(math.log10(value))
    return math.ceil(round(value * 10.0**digits, 9)) / 10.0**digits
