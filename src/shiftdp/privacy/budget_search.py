"""From a budget to the value of one parameter at which a run just meets it.

Whether a value meets the budget is always decided by `certify`. Where that is slow (NoisySGD) the
search runs on quick estimates of epsilon first. They only say where certification begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from shiftdp._errors import InvalidInput, OutOfRange, UnmetHypothesis
from shiftdp._roots import sign_change
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certification import Bounds, certify
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import Run
from shiftdp.last_iterate.theorems.registry import THEOREMS
from shiftdp.last_iterate.theorems.sampled.composition import composed_renyi
from shiftdp.last_iterate.theorems.sampled.search import accuracy_for
from shiftdp.last_iterate.theorems.theorem import Prospect, Theorem
from shiftdp.privacy.budget import Budget, ImpossibleBudget

_RELATIVE = 1e-7
"""How close the answer is to a value that fails, as a part of it."""
_SLOW_RELATIVE = 5e-7
"""How close the answer is to one that fails where each certificate takes long."""
_ESTIMATED_RELATIVE = 2e-3
"""How close the search on estimates gets, which are no better than this."""
_TUNED_DELTA = 1e-7
"""Below it a certificate is made for the delta of the budget. One that is made for the usual delta
may allow a larger batch to occur (Poisson sampling) with a probability above the one asked for.
"""
_SECOND_POINT = {"best": 1.02, "paper": 1.02, "composition": 1.001}
"""The slope of the estimates is taken between x and this many times x. Those of `best` have small
jumps, where the shifts begin at another step: there the two points are farther apart.
"""
_TYPICAL_ERROR = 0.3
"""By how much a certified epsilon usually exceeds its estimate, as a part of the accuracy."""
_ESTIMATED: dict[str, tuple[str, ...]] = {
    "best": ("composition", "ours"),
    "composition": ("composition",),
}
"""The families of theorems that have estimates, by `bounds`; those of the paper have none."""


def certify_at(
    run: Run,
    geometry: Geometry,
    bounds: Bounds,
    delta: float | None = None,
    accuracy: float | None = None,
) -> Certificate:
    """`certify(run, geometry, bounds=bounds)`, or below 1e-7 the certificate for this delta."""
    if delta is not None and delta < _TUNED_DELTA:
        return certify(run, geometry, bounds=bounds, delta=delta, accuracy=accuracy)
    return certify(run, geometry, bounds=bounds, accuracy=accuracy)


@dataclass(frozen=True)
class BudgetSearch:
    """Looks for the number x at which a run just meets a budget. Each x is certified once.

    Args:
        budget: what the run may cost.
        bounds: as in `certify`.
        accuracy: as in `certify`.
        parameter: what is looked for, by its name in messages.
        setting: the run and the losses for a given x.
        value: the value of the parameter for a given x, for messages; x itself unless given.
    """

    budget: Budget
    bounds: Bounds
    accuracy: float | None
    parameter: str
    setting: Callable[[float], tuple[Run, Geometry]]
    value: Callable[[float], float] = float
    _costs: dict[float, float] = field(default_factory=dict, init=False)
    _excess: dict[float, float] = field(default_factory=dict, init=False)
    _estimates: dict[float, float] = field(default_factory=dict, init=False)
    _refusals: list[UnmetHypothesis] = field(default_factory=list, init=False)

    def excess(self, x: float) -> float:
        """How far x is over the budget (see `Budget.excess`); infinite where no theorem applies."""
        if x not in self._excess:
            self._excess[x] = self._certified_excess(x)
        return self._excess[x]

    def met(self, x: float) -> bool:
        """Whether the certificate for x meets the budget."""
        return self.excess(x) <= 0.0

    def _certified_excess(self, x: float) -> float:
        try:
            certificate = certify_at(*self.setting(x), self.bounds, self._delta, self.accuracy)
        except UnmetHypothesis as unmet:
            self._refusals.append(unmet)
            return math.inf
        except OutOfRange:
            return math.inf
        self._costs[x] = self.budget.cost(certificate)
        return self.budget.over(self._costs[x], certificate.mu)

    def _estimated_excess(self, x: float) -> float:
        """`excess` from estimates of epsilon; from the certificate where there are none."""
        if x not in self._estimates:
            try:
                run, geometry = self.setting(x)
            except OutOfRange:
                return math.inf
            known = run.sampled and self._delta is not None
            if not (known and self.bounds in _ESTIMATED):
                return self.excess(x)
            epsilon = self._estimated_epsilon(run, geometry)
            if epsilon is None:
                return self.excess(x)  # which keeps the reason
            self._estimates[x] = self.budget.over(epsilon)
        return self._estimates[x]

    def _estimated_epsilon(self, run: Run, geometry: Geometry) -> float | None:
        """The least estimate of all theorems; None if no theorem speaks of the run."""
        delta = self._delta or 0.0
        found: list[float] = []
        known = [
            theorem
            for theorem in THEOREMS
            if theorem.family in _ESTIMATED[self.bounds] and theorem.applies_to(run)
        ]

        def hope(theorem: Theorem, rival: float = math.inf) -> Prospect:
            return theorem.prospect(run, geometry, delta, rival)

        for theorem in sorted(known, key=lambda item: hope(item) == Prospect.COSTLY):
            try:
                if found and hope(theorem, min(found)) == Prospect.HOPELESS:
                    continue
                bound = theorem.bound(run, geometry, delta)
            except UnmetHypothesis:
                continue
            guess = bound.guess
            if guess is None:
                found.append(bound.f.epsilon(delta))
            else:
                found.append(guess + _TYPICAL_ERROR * (self.accuracy or accuracy_for(guess)))
        return min(found, default=None)

    def _composed_excess(self, x: float) -> float:
        """`excess` of composition, whose Renyi divergence is quick: a sum over the steps."""
        run, geometry = self.setting(x)
        if not run.sampled or math.isinf(run.steps) or self.budget.at is None:
            return self.excess(x)
        return self.budget.over(composed_renyi(run, geometry, self.budget.at))

    @property
    def _delta(self) -> float | None:
        return self.budget.at if self.budget.measure == "epsilon" else None

    def boundary(
        self, start: float, low: float, high: float, slope: float, *, whole: bool = False
    ) -> float:
        """The least private x from `low` to `high` that meets the budget; monotone in between.

        Args:
            start: where to begin.
            slope: a guess of how `excess` grows with log x; the budget is met at small x if it is
                positive, and at large x if it is negative.
            whole: whether x is a whole number.
        """
        slow = self.setting(start)[0].sampled
        if slow:
            start, slope = self._estimated_boundary(start, low, high, slope, whole)
        found = sign_change(
            self.excess,
            start,
            low,
            high,
            slope=slope,
            relative=_SLOW_RELATIVE if slow else _RELATIVE,
            whole=whole,
            trust=slow and self.bounds == "composition",
        )
        if found.meets is None:
            raise self._impossible(found.misses)
        return found.meets

    def _estimated_boundary(
        self, start: float, low: float, high: float, slope: float, whole: bool
    ) -> tuple[float, float]:
        """Where the estimates put the boundary, and their slope there."""
        smooth = self.bounds == "composition"
        renyi = self.budget.measure == "renyi"
        estimate = self._composed_excess if renyi else self._estimated_excess
        found = sign_change(
            estimate,
            start,
            low,
            high,
            slope=slope,
            relative=_ESTIMATED_RELATIVE,
            whole=whole,
            trust=smooth,
        )
        if found.meets is None or (found.misses is None and not smooth):
            return (found.meets or found.misses or start), slope
        x = found.meets
        other = min(max(x * _SECOND_POINT[self.bounds], low), high)
        if whole:
            other = float(max(round(other), x + 1.0))
        rise = estimate(other) - estimate(x)
        steep = rise / math.log(other / x) if other != x and math.isfinite(rise) else slope
        # between two jumps estimates may look flatter than the excess can be
        return x, steep if steep * slope >= slope * slope else slope

    def first_met(self, points: Sequence[float], *, whole: bool = False) -> float:
        """The x nearest to the first point that meets the budget, as far as the points show it.

        For a parameter in which privacy is not monotone: the first of the points that meets the
        budget is found, then the boundary between it and the point before.
        """
        x = next((x for x in points if self._estimated_excess(x) <= 0.0 and self.met(x)), None)
        if x is None:  # estimates may err
            x = next((x for x in points if self.met(x)), None)
        if x is None:
            raise self._impossible()
        ahead = list(points[: points.index(x)])
        while ahead and self.met(ahead[-1]):
            x = ahead.pop()
        if not ahead:
            return x
        before = ahead[-1]
        rise, distance = self.excess(before) - self.excess(x), math.log(before / x)
        known = math.isfinite(rise) and rise > 0.0
        slope = rise / distance if known else math.copysign(1.0, distance)
        return self.boundary(x, min(x, before), max(x, before), slope, whole=whole)

    def _impossible(self, end: float | None = None) -> InvalidInput:
        """What to raise where no x meets the budget; `end` is the most private end of the range."""
        possible = [x for x, cost in self._costs.items() if self.budget.promises(cost)]
        if not possible:
            if self._refusals and not self._costs:
                return self._refusals[0]
            return InvalidInput(
                self.budget.measure,
                self.budget.limit,
                f"cannot be met by any {self.parameter}: nothing is kept private",
                "give a larger budget, or change something else",
            )
        # a search for the budget that is named here ends at the same end
        x = end if end in possible else min(possible, key=lambda x: self._costs[x])
        nearest = self.budget.with_limit(self._costs[x])
        return ImpossibleBudget(self.budget, self.parameter, nearest, self.value(x))
