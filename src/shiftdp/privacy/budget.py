"""What a run may cost: one number of one kind, and what a certificate costs in that measure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal, TypedDict, get_args

from shiftdp._checks import GREATEST_ORDER, LEAST_DELTA, number_in
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp._rounding import NOT_ZERO
from shiftdp.fdp.pairs.gaussian_profile import gaussian_mu
from shiftdp.last_iterate.certificate import Certificate

Measure = Literal["epsilon", "mu", "renyi", "advantage", "tpr"]


class BudgetKeywords(TypedDict, total=False):
    """The keywords of a budget: exactly one of the five kinds, with what it is measured at.

    `epsilon` with `delta`; `mu`; `renyi` with `order`; `advantage`; `tpr` with `fpr`.
    """

    epsilon: float
    delta: float
    mu: float
    renyi: float
    order: float
    advantage: float
    tpr: float
    fpr: float


@dataclass(frozen=True)
class Budget:
    """A limit on what the last iterate may reveal; make one with `budget_of`.

    `at` is delta for epsilon, the order for a Renyi divergence, the FPR for a TPR; else None.

    >>> budget_of(epsilon=1.0, delta=1e-5)
    Budget(epsilon=1.0, delta=1e-05)
    """

    measure: Measure
    limit: float
    at: float | None = None

    def cost(self, certificate: Certificate) -> float:
        """What the certificate proves, in the measure of this budget."""
        return _COST[self.measure](certificate, self.at or 0.0)

    def met(self, certificate: Certificate) -> bool:
        """Whether the certificate proves no more than the limit."""
        return self.cost(certificate) <= self.limit

    def excess(self, certificate: Certificate) -> float:
        """How far over the limit: log(mu / mu_limit), by the mu of Gaussians that cost as much.

        At most 0 exactly where the budget is met. It is nearly linear in the logarithm of the
        noise, which makes secants converge quickly.
        """
        return self.over(self.cost(certificate), certificate.mu)

    def over(self, cost: float, mu: float | None = None) -> float:
        """`excess` from the cost of a certificate, and from its mu if it has one."""
        own, allowed = self.mu(cost) if mu is None else mu, self.mu(self.limit)
        if 0.0 < own < math.inf and allowed > 0.0:
            guide = math.log(own) - math.log(allowed)
        else:
            guide = math.inf if own > allowed else -math.inf
        return min(guide, 0.0) if cost <= self.limit else max(guide, NOT_ZERO)

    def mu(self, value: float) -> float:
        """The mu of the Gaussian for which this measure has the given value."""
        return _AS_MU[self.measure](value, self.at or 0.0)

    def promises(self, limit: float) -> bool:
        """Whether a budget with this limit promises anything: finite, or below 1 for a rate."""
        return limit < _TOP.get(self.measure, math.inf)

    def with_limit(self, limit: float) -> Budget:
        return replace(self, limit=limit)

    def __str__(self) -> str:
        text = f"{self.measure}={self.limit:.6g}"
        return text if self.at is None else f"{text} at {_AT[self.measure]}={self.at:g}"

    def __repr__(self) -> str:
        rest = "" if self.at is None else f", {_AT[self.measure]}={self.at!r}"
        return f"Budget({self.measure}={self.limit!r}{rest})"


class ImpossibleBudget(UnmetHypothesis):
    """No value of the parameter meets the budget; `nearest` is the least budget that some does."""

    def __init__(self, budget: Budget, parameter: str, nearest: Budget, at: float) -> None:
        super().__init__(
            budget.measure,
            budget.limit,
            f"cannot be met by any {parameter}: the nearest possible budget is {nearest}, met by "
            f"{parameter}={at:.6g}",
            f"give {budget.measure}={nearest.limit!r} or more, or change something else",
        )
        self.nearest = nearest


def budget_of(
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    renyi: float | None = None,
    order: float | None = None,
    advantage: float | None = None,
    tpr: float | None = None,
    fpr: float | None = None,
    **others: float,
) -> Budget:
    """The budget that these keywords mean; `others` are refused by name.

    >>> budget_of(tpr=0.05, fpr=0.01), budget_of(mu=1.0)
    (Budget(tpr=0.05, fpr=0.01), Budget(mu=1.0))
    >>> budget_of(epsilon=1.0)
    Traceback (most recent call last):
    ...
    shiftdp._errors.InvalidInput: delta=None is missing: a budget on epsilon is one at a delta; \
give delta
    """
    for strange, asked in others.items():
        remedy = "give epsilon with delta, mu, renyi with order, advantage, or tpr with fpr"
        raise InvalidInput(strange, asked, "is no part of a budget", remedy)
    given: dict[str, float | None] = {
        "epsilon": epsilon,
        "mu": mu,
        "renyi": renyi,
        "advantage": advantage,
        "tpr": tpr,
    }
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise InvalidInput(
            "budget",
            tuple(chosen),
            "is not one of " + ", ".join(get_args(Measure)),
            "give exactly one, such as epsilon=1.0 with delta=1e-5",
        )
    measure: Measure = chosen[0]  # type: ignore[assignment]
    measured_at = {"delta": delta, "order": order, "fpr": fpr}
    needed = _AT.get(measure)
    for name, value in measured_at.items():
        if value is not None and name != needed:
            raise InvalidInput(name, value, f"says nothing about {measure}", "leave it out")
        if value is None and name == needed:
            raise InvalidInput(
                name,
                value,
                f"is missing: a budget on {measure} is one at {_ARTICLE[name]}",
                f"give {name}",
            )
    limit = number_in(measure, given[measure], 0.0, _TOP.get(measure, math.inf), open_high=True)
    if needed is None:
        return Budget(measure, limit)
    return Budget(measure, limit, number_in(needed, measured_at[needed], **_RANGE[needed]))


_AT = {"epsilon": "delta", "renyi": "order", "tpr": "fpr"}
_ARTICLE = {"delta": "a delta", "order": "an order", "fpr": "an fpr"}
_RANGE: dict[str, dict[str, Any]] = {
    "delta": {"low": LEAST_DELTA, "high": 1.0, "open_high": True},
    "order": {"low": 1.0, "high": GREATEST_ORDER, "open_low": True},
    "fpr": {"low": 0.0, "high": 1.0, "open_low": True, "open_high": True},
}
_TOP = {"advantage": 1.0, "tpr": 1.0}


_COST: dict[str, Callable[[Certificate, float], float]] = {
    "epsilon": lambda certificate, delta: certificate.epsilon(delta),
    "mu": lambda certificate, _: certificate.f.implied_mu(),
    "renyi": lambda certificate, order: certificate.renyi(order),
    "advantage": lambda certificate, _: certificate.advantage(),
    "tpr": lambda certificate, fpr: certificate.tpr(fpr),
}


def _quantile(p: float) -> float:
    if p <= 0.0:
        return -math.inf
    return math.inf if p >= 1.0 else NormalDist().inv_cdf(p)


_AS_MU: dict[str, Callable[[float, float], float]] = {
    "epsilon": lambda epsilon, delta: gaussian_mu(epsilon, delta),
    "mu": lambda mu, _: mu,
    "renyi": lambda renyi, order: math.sqrt(2.0 * renyi / order),
    "advantage": lambda advantage, _: 2.0 * _quantile(0.5 + 0.5 * advantage),
    "tpr": lambda tpr, fpr: max(0.0, _quantile(tpr) - _quantile(fpr)),
}
