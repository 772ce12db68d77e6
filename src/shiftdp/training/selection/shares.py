"""How the budget of a search becomes that of one trial.

The rule: let mu be the largest for which the best of the trials, each G(mu), is within the budget.
A trial whose score is on records of its own has G(mu) for the fit and G(mu) for the score, as each
record takes part in one of them. Otherwise the score has `share` of mu^2, and the fit the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from shiftdp._errors import InvalidInput
from shiftdp._roots import largest
from shiftdp._rounding import AMPLE
from shiftdp.fdp import GaussianTradeoff
from shiftdp.fdp.selection.selected import Selected
from shiftdp.fdp.selection.trials import Trials

_HALVINGS = 24  # of the bracket of mu, which then is known to a part of 1e-7
_TRIES = 8  # each comes closer by the part that the one before was off
_ROOM = 1.0 - 1e-6  # a little below what is aimed at, so that few tries are needed


class TrialBudget(NamedTuple):
    """What a fit may cost, and its score."""

    epsilon: float
    delta: float
    score_mu: float


@lru_cache(maxsize=32)
def trial_mu(trials: Trials, epsilon: float, delta: float) -> float:
    """The largest mu, rounded down, at which the best of trials that are G(mu) is in the budget.

    >>> mu = trial_mu(Trials("negative_binomial", 0.1, 1.0), 1.0, 1e-5)
    >>> 0.17 < mu < GaussianTradeoff.from_budget(1.0, 1e-5).mu
    True
    """

    def fits(mu: float) -> bool:
        best = Selected(GaussianTradeoff(mu), trials.law, trials.rate, trials.shape)
        return bool(best.delta(epsilon) <= delta)

    found = largest(fits, 0.0, GaussianTradeoff.from_budget(epsilon, delta).mu, _HALVINGS)
    if found == 0.0:
        raise InvalidInput(
            "epsilon", epsilon, f"is too little for {trials.mean:.3g} trials at delta={delta:g}",
            "give more, or a smaller n_iter",
        )  # fmt: skip
    return found


def aims(
    trials: Trials, epsilon: float, delta: float, share: float | None
) -> Iterator[Callable[[float], TrialBudget]]:
    """Budgets to try, each a function of what the search cost with the one before.

    A fit is planned at delta over the mean number of trials, which is about where the cost of the
    search depends on it; what may fail there fails with a part of delta.
    """
    mu = trial_mu(trials, epsilon, delta)
    least = delta / trials.mean

    def budget() -> TrialBudget:
        score, fit = mu, mu
        if share is not None:
            score, fit = mu * math.sqrt(share), mu * math.sqrt(1.0 - share)
        found = GaussianTradeoff(fit * (1.0 - AMPLE)).epsilon(least) * (1.0 - AMPLE)
        if found <= 0.0:
            raise InvalidInput(
                "epsilon", epsilon, f"leaves a trial nothing at delta={least:.3g}", "give more"
            )
        return TrialBudget(found, least, score * (1.0 - AMPLE))

    def next_budget(spent: float) -> TrialBudget:
        nonlocal mu
        wanted = GaussianTradeoff.from_budget(epsilon, delta).mu
        mu *= _ROOM * wanted / GaussianTradeoff.from_budget(spent, delta).mu
        return budget()

    yield lambda _: budget()
    for _ in range(_TRIES - 1):
        yield next_budget
