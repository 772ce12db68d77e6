"""From a budget to the value of one parameter: certify, compare, and settle.

Everything that is decided is decided by `certify`. Where that is costly (NoisySGD), a search on
estimates says where to begin; it is never believed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from shiftdp._errors import InvalidInput, OutOfRange, UnmetHypothesis
from shiftdp._roots import settle
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certification import Bounds, certify
from shiftdp.last_iterate.divergence import composed_renyi
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, Run
from shiftdp.last_iterate.theorems.descent import rules_for
from shiftdp.last_iterate.theorems.sampled import accuracy_for
from shiftdp.privacy.budget import Budget, ImpossibleBudget

__all__ = ["Question", "certified"]

Setting = tuple[Run, Geometry]

_RELATIVE, _COSTLY_RELATIVE, _ROUGH_RELATIVE = 1e-7, 5e-7, 2e-3
# below this delta, a Poisson run that `certify` was not told about may fail more often than that
_TUNED = 1e-7
# how far apart estimates are compared: those that search for tau are rugged
_ASIDE = {"best": 1.02, "composition": 1.001}
_CLOSE = 0.3  # in log x, where a parabola through three estimates gives their slope
_SLACK = 0.3  # of the accuracy to which a product is composed: by how much its bound is often off
_SEARCHED: dict[str, tuple[str, ...]] = {
    "best": ("composition", "ours"),
    "composition": ("composition",),
}


def certified(
    run: Run,
    geometry: Geometry,
    bounds: Bounds,
    delta: float | None = None,
    accuracy: float | None = None,
) -> Certificate:
    """`certify(run, geometry, bounds=bounds)`; from 1e-7 downwards, made for that delta."""
    if delta is not None and delta < _TUNED:
        return certify(run, geometry, bounds=bounds, delta=delta, accuracy=accuracy)
    return certify(run, geometry, bounds=bounds, accuracy=accuracy)


@dataclass(frozen=True)
class Question:
    """How far over the budget is the setting that x stands for? Each x is certified once.

    Args:
        budget: what may be spent.
        bounds: as in `certify`.
        parameter: its name, for messages.
        setting: the run and the losses that x stands for.
        value: the number that x stands for, for messages; x itself unless given.
        accuracy: as in `certify`.
    """

    budget: Budget
    bounds: Bounds
    parameter: str
    setting: Callable[[float], Setting]
    value: Callable[[float], float] = float
    accuracy: float | None = None
    _spent: dict[float, float] = field(default_factory=dict, init=False)
    _excess: dict[float, float] = field(default_factory=dict, init=False)
    _rough: dict[float, float] = field(default_factory=dict, init=False)
    _refusals: list[UnmetHypothesis] = field(default_factory=list, init=False)

    # --- one x ---

    def excess(self, x: float) -> float:
        """At most 0 where the budget is met; infinite where no theorem applies."""
        if x not in self._excess:
            self._excess[x] = self._certified(x)
        return self._excess[x]

    def _certified(self, x: float) -> float:
        try:
            certificate = certified(*self.setting(x), self.bounds, self._delta, self.accuracy)
        except UnmetHypothesis as unmet:
            self._refusals.append(unmet)
            return math.inf
        except OutOfRange:
            return math.inf
        self._spent[x] = self.budget.spent(certificate)
        return self.budget.over(self._spent[x], certificate.mu)

    def rough(self, x: float) -> float:
        """The same from estimates where that is quicker; good for a place to begin, no more."""
        if x not in self._rough:
            self._rough[x] = self._estimated(x)
        return self._rough[x]

    def _estimated(self, x: float) -> float:
        try:
            run, geometry = self.setting(x)
        except OutOfRange:
            return math.inf
        if not isinstance(run, NoisySGD) or self._delta is None or self.bounds not in _SEARCHED:
            return self.excess(x)
        found = []
        for rule in rules_for(run):
            if rule.family in _SEARCHED[self.bounds]:
                try:
                    bound = rule.bound(run, geometry, self._delta)
                except UnmetHypothesis:
                    continue
                guess = bound.guess
                if guess is None:
                    found.append(bound.f.epsilon(self._delta))
                else:
                    found.append(guess + _SLACK * (self.accuracy or accuracy_for(guess)))
        return self.budget.over(min(found))

    @property
    def _delta(self) -> float | None:
        return self.budget.at if self.budget.measure == "epsilon" else None

    # --- the boundary ---

    def settle(
        self, start: float, low: float, high: float, slope: float, *, whole: bool = False
    ) -> float:
        """The x next to the boundary that meets the budget; monotone from `low` to `high`.

        The sign of `slope` says where it is met, as in `shiftdp._roots.settle`.
        """
        run, _ = self.setting(start)
        costly = isinstance(run, NoisySGD)
        if costly:
            start, slope = self._beginning(start, low, high, slope, whole)
        found = settle(
            self.excess,
            start,
            low,
            high,
            slope=slope,
            relative=_COSTLY_RELATIVE if costly else _RELATIVE,
            whole=whole,
            trust=costly and self.bounds == "composition",
        )
        if found.meets is None:
            raise self.impossible(found.misses)
        return found.meets

    def _beginning(
        self, start: float, low: float, high: float, slope: float, whole: bool
    ) -> tuple[float, float]:
        """Where the estimates see the boundary, and how steep they are there."""
        smooth = self.bounds == "composition"
        seen: dict[float, float] = {}

        def guide(x: float) -> float:
            seen[x] = self._composed(x) if self.budget.measure == "renyi" else self.rough(x)
            return seen[x]

        place = settle(
            guide, start, low, high,
            slope=slope, relative=_ROUGH_RELATIVE, whole=whole, trust=smooth,
        )  # fmt: skip
        if place.meets is None or (place.misses is None and not smooth):
            return (place.meets or place.misses or start), slope
        x = place.meets
        steep = _steepness(seen, x) if smooth else None
        if steep is None:
            other = min(max(x * _ASIDE.get(self.bounds, 1.02), low), high)
            if whole:
                other = float(max(round(other), x + 1.0))
            rise = guide(other) - guide(x)
            steep = rise / math.log(other / x) if other != x and math.isfinite(rise) else slope
        # estimates are rugged: a slope that is flatter than the least known is not theirs to claim
        return x, steep if steep * slope >= slope * slope else slope

    def _composed(self, x: float) -> float:
        """The excess of composition, of which a Renyi divergence is a sum and no grid is needed."""
        run, geometry = self.setting(x)
        if not isinstance(run, NoisySGD) or math.isinf(run.steps) or self.budget.at is None:
            return self.excess(x)
        return self.budget.over(composed_renyi(run, geometry, self.budget.at))

    def scan(self, points: Sequence[float], *, whole: bool = False) -> float:
        """The x that meets the budget nearest to the first point, as far as the points tell.

        For what is not monotone: the first point that meets it, settled against the one before.
        """
        for meets in (lambda x: self.rough(x) <= 0.0 and self.excess(x) <= 0.0, self._meets):
            # the second time without estimates, which may err
            x = next((point for point in points if meets(point)), None)
            if x is not None:
                break
        else:
            raise self.impossible()
        ahead = list(points[: points.index(x)])
        while ahead and self.excess(ahead[-1]) <= 0.0:
            x = ahead.pop()
        if not ahead:
            return x
        before = ahead[-1]
        slope = self._between(x, before)
        return self.settle(x, min(x, before), max(x, before), slope, whole=whole)

    def _meets(self, x: float) -> bool:
        return self.excess(x) <= 0.0

    def _between(self, meets: float, misses: float) -> float:
        rise = self.excess(misses) - self.excess(meets)
        run = math.log(misses / meets)
        return rise / run if math.isfinite(rise) and rise > 0.0 else math.copysign(1.0, run)

    def impossible(self, end: float | None = None) -> InvalidInput:
        """What to say when no x that was tried meets the budget, up to the end if there is one."""
        possible = [x for x, spent in self._spent.items() if self.budget.promises(spent)]
        if not possible:
            if self._refusals and not self._spent:
                return self._refusals[0]
            return InvalidInput(
                self.budget.measure,
                self.budget.limit,
                f"cannot be met by any {self.parameter}: nothing is kept private",
                "give a larger budget, or change something else",
            )
        # the end, where the next search ends too, though rounding may be kinder elsewhere
        x = (
            end
            if end is not None and end in possible
            else min(possible, key=lambda x: self._spent[x])
        )
        nearest = self.budget.with_limit(self._spent[x])
        return ImpossibleBudget(self.budget, self.parameter, nearest, self.value(x))


def _steepness(seen: dict[float, float], x: float) -> float | None:
    """The slope in log x of the parabola through x and the two points nearest to it, if close."""
    points = [(math.log(x), seen[x])]
    near = sorted((abs(math.log(other / x)), other) for other in seen if other != x)
    points += [(math.log(other), seen[other]) for gap, other in near[:2] if gap < _CLOSE]
    if len(points) < 3 or not all(math.isfinite(value) for _, value in points):
        return None
    (a, at_a), (b, at_b), (c, at_c) = points
    return (at_b - at_a) / (b - a) + (at_c - at_a) / (c - a) - (at_c - at_b) / (c - b)
