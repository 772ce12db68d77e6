"""The free parameters of the bounds on NoisySGD, searched for on estimates.

What a search finds is then a bound like any other, for whatever parameters were found, and is
composed with certified error. Nothing here is used to check a certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._roots import peak
from shiftdp.fdp import TradeoffFunction
from shiftdp.fdp.contour.estimate import estimate_epsilon
from shiftdp.fdp.search.lattice import lattice_epsilon
from shiftdp.fdp.search.sampled_estimates import (
    Pair,
    best_count,
    epsilon_estimates,
    log_moments,
    orders,
    polish,
)
from shiftdp.fdp.tradeoff import DEFAULT_ACCURACY
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD
from shiftdp.last_iterate.schedules.led_together import (
    Groups,
    UnequalSteps,
    all_in_the_last_step,
    group_laws,
    grouped_payments,
)
from shiftdp.last_iterate.theorems.proofs import LEAST_SPLIT, MOST_SPLIT, StochasticProof
from shiftdp.last_iterate.theorems.sampled.shifts import (
    MOST_GROUPS,
    StochasticSteps,
    grouped_shifts,
    last_shift,
    longest,
    participation_up,
    start_distance,
)

_SEARCH_GROUPS = 3  # numbers of groups of equal shifts that are tried
SEARCH_LAWS = 12  # to which unequal steps are rounded, about
# An epsilon is composed to the usual accuracy; a small one to this part of it, though not finer
# than _FINEST, and a large one to no less than _FINE_PART of it.
_COARSE_PART, _FINEST, _FINE_PART = 2e-3, 2e-5, 2e-4
_SECTIONS = 5  # golden sections of the splits, seven of which are then looked at inside
_SPLITS = (0.01, 30.0)  # beta - 1 for the splits beta of the noise that are tried
_HOPELESS = 1.1  # times what another schedule has: no neighbour will better it
_NEIGHBOURS = (1.0, 1.25, 1.1)  # of the best number of steps, tried by closer estimates
_MANY = 20  # steps from which on contour estimates are quick
Payments = Callable[[UnequalSteps, int, int], Groups]
Cumulants = Callable[[Sequence[int], Array], Array]
"""K(theta) of bounds that look back so many steps each: a row for each number of steps."""


@dataclass(frozen=True)
class _Costs:
    """K(theta) of schedules of one run, for the searches."""

    pair: Pair
    p: float
    s: float

    def rows(self, schedules: Sequence[Groups], theta: Array) -> Array:
        a = np.array([a for groups in schedules for a, _ in groups])
        n = np.array([float(n) for groups in schedules for _, n in groups])
        each = log_moments(self.pair, self.p, a, self.s, theta) * n[:, None]
        starts = np.cumsum([0] + [len(groups) for groups in schedules[:-1]])
        return np.asarray(np.add.reduceat(each, starts, axis=0))


def pair_of(run: NoisySGD, geometry: Geometry) -> Pair:
    """Which law a step has."""
    if not run.has_random_sizes:
        return "symmetric"
    return "two_sided" if geometry.adjacency == "replace_one" else "one_sided"


def _guess(costs: _Costs, groups: Groups, delta: float, f: TradeoffFunction | None = None) -> float:
    """An estimate of eps: a rough one, and from its tilt a close one where it can be had.

    Where no lattice is large enough, the contour integral of f is close, if f is given.
    """
    theta = orders(costs.s)
    for _ in range(2):
        eps, at = epsilon_estimates(costs.rows([groups], theta), theta, delta)
        theta = orders(costs.s, float(at[0]))
    rough, tilt = float(eps[0]), float(at[0])
    if costs.p == 1.0 or costs.s == 0.0:
        return rough
    close = lattice_epsilon(costs.pair, costs.p, costs.s, groups, delta, tilt, rough)
    if close is not None and math.isfinite(close):
        return close
    found = None if f is None else _contour(f, delta)
    return rough if found is None else found


def _contour(f: TradeoffFunction, delta: float) -> float | None:
    """An estimate of eps that is as good as exact, of the worse direction; None if refused."""
    worse, failure = f.directions[0].split_failure()
    if failure > 0.0 or not worse.composed:
        return None
    found = estimate_epsilon([(worse, 1)], delta)
    return None if found is None else found.value


def accuracy_for(guess: float) -> float:
    """How narrow an interval is worth its price."""
    if not math.isfinite(guess):
        return DEFAULT_ACCURACY
    fine = min(DEFAULT_ACCURACY, max(_COARSE_PART * guess, _FINEST))
    return min(1.0, max(_FINE_PART * guess, fine))


def composed_guess(
    f: TradeoffFunction,
    run: NoisySGD,
    geometry: Geometry,
    charged: Sequence[tuple[float, int]],
    delta: float,
) -> float:
    """An estimate of epsilon of all steps composed; f is that composition, `charged` its steps."""
    if not charged[-1][0]:
        return 0.0
    if len(charged) > 1:
        guess = _contour(f, delta)
        return _composed_epsilon(f, delta) if guess is None else guess
    ((s, count),) = charged
    costs = _Costs(pair_of(run, geometry), participation_up(run), s)
    return _guess(costs, ((0.0, count),), delta, f)


def rough_composed_epsilon(
    run: NoisySGD, geometry: Geometry, charged: Sequence[tuple[float, int]], delta: float
) -> float:
    """`composed_guess` from cumulants alone, without composing: faster and less accurate."""
    pair, p, none = pair_of(run, geometry), participation_up(run), np.zeros(1)
    largest, epsilon = max(s for s, _ in charged), math.inf
    theta = orders(largest)
    for _ in range(2):
        costs = [n * log_moments(pair, p, none, s, theta) for s, n in charged]
        (epsilon,), (at,) = epsilon_estimates(np.sum(costs, axis=0), theta, delta)
        theta = orders(largest, float(at))
    return float(epsilon)


@lru_cache(maxsize=32)
def _composed_epsilon(f: TradeoffFunction, delta: float) -> float:
    """epsilon of a composition that takes a second; `certify` asks for it twice."""
    return f.epsilon(delta)


def best_split(
    cumulants: Callable[[float], Cumulants],
    rebuilt: Callable[[StochasticProof], TradeoffFunction],
    steps: StochasticSteps,
    most: int,
    delta: float,
) -> tuple[StochasticProof, float]:
    """The best split of the noise, each with its best tau: golden section over log(beta - 1).

    Args:
        cumulants: from beta to the cumulants of the bound.
        rebuilt: from parameters to the bound, for closer estimates.
        steps: the run.
        most: how many steps to look back at most.
        delta: where the bound is to be tightest.
    """
    known: dict[float, tuple[float, int]] = {}

    def cost(u: float) -> float:
        beta = _beta(u)
        if u not in known:
            count, eps = best_count(cumulants(beta), 2.0 * beta * steps.s, most, delta)
            known[u] = eps, count
        return known[u][0]

    low, high = map(math.log, _SPLITS)
    cost(math.log(math.sqrt(2.0) - 1.0))  # the paper's own split
    # for what is met on the way, which `known` keeps
    peak(lambda u: np.array([-cost(float(u[0]))]), np.array([low]), np.array([high]), _SECTIONS)
    u, (guess, count) = min(known.items(), key=lambda item: item[1])

    def precise(u: float, log_count: float) -> float:
        """The contour estimate, infinite where it is refused."""
        T = min(most, max(1, round(math.exp(log_count))))
        f = rebuilt(StochasticProof(steps.steps - T, split=_beta(u)))
        if not f.composed:
            return f.epsilon(delta)
        found = _contour(f, delta)
        return math.inf if found is None else found

    if count >= _MANY:
        (u, log_count), found = polish(precise, (u, math.log(count)))
        if math.isfinite(found):
            guess, count = found, min(most, max(1, round(math.exp(log_count))))
    return StochasticProof(steps.steps - count, split=_beta(u)), guess


def _beta(u: float) -> float:
    """1 + e^u, held to the range of splits."""
    return min(MOST_SPLIT, max(LEAST_SPLIT, 1.0 + math.exp(min(u, 10.0))))


def best_groups(
    run: NoisySGD, geometry: Geometry, steps: StochasticSteps, delta: float
) -> tuple[Groups, float]:
    """The shifts for the best tau >= 1."""
    if steps.c >= 1.0 and not geometry.bounded:
        raise _nothing_forgotten(geometry, steps.c)
    costs = _Costs(pair_of(run, geometry), steps.p, steps.s)

    most = max(1, min(run.steps - 1, longest(steps)))

    def searched(
        schedule: Callable[[float, float, int, int], Groups], rival: float
    ) -> tuple[float, Groups]:
        def shifts(count: int, groups: int) -> Groups:
            return schedule(steps.c, start_distance(steps, run.steps - count), count, groups)

        def cumulants(counts: Sequence[int], theta: Array) -> Array:
            return costs.rows([shifts(T, _SEARCH_GROUPS) for T in counts], theta)

        count, _ = best_count(cumulants, steps.s, most, delta)
        close: dict[int, float] = {}
        for ratio in _NEIGHBOURS:
            for near in {max(1, round(count / ratio)), min(most, round(count * ratio))} - {*close}:
                close[near] = _guess(costs, shifts(near, _SEARCH_GROUPS), delta)
            count = min(close, key=close.__getitem__)
            if close[count] > _HOPELESS * rival:
                break
        groups = shifts(count, MOST_GROUPS)
        return _guess(costs, groups, delta), groups

    found = [searched(grouped_shifts, math.inf)]
    if steps.c < 1.0:
        found.append(searched(last_shift, found[0][0]))
    guess, groups = min(found)
    return groups, guess


def best_scheduled_groups(
    run: NoisySGD,
    geometry: Geometry,
    steps: UnequalSteps,
    delta: float,
    epsilon: Callable[[Groups], float],
) -> tuple[Groups, float]:
    """`best_groups` where steps differ; `epsilon` gives a closer estimate for some shifts."""
    cumulants = _scheduled_cumulants(run, geometry, steps)
    top = float(np.max(steps.sensitivity))
    found: list[tuple[float, Groups]] = []
    for schedule in (grouped_payments, all_in_the_last_step):
        count, _ = best_count(cumulants(schedule), top, steps.longest, delta)
        close: dict[int, float] = {}
        for ratio in _NEIGHBOURS:
            around = {max(1, round(count / ratio)), min(steps.longest, round(count * ratio))}
            for near in around - {*close}:
                close[near] = epsilon(schedule(steps, near, _SEARCH_GROUPS))
            count = min(close, key=close.__getitem__)
            if found and close[count] > _HOPELESS * found[0][0]:
                break
        groups = schedule(steps, count, MOST_GROUPS)
        found.append((epsilon(groups), groups))
    guess, groups = min(found)
    return groups, guess


def rough_scheduled_epsilon(
    run: NoisySGD, geometry: Geometry, steps: UnequalSteps, delta: float
) -> float:
    """A first estimate of what `best_scheduled_groups` will find: nothing is composed for it."""
    cumulants = _scheduled_cumulants(run, geometry, steps)
    top = float(np.max(steps.sensitivity))
    schedules = (grouped_payments, all_in_the_last_step)
    return min(best_count(cumulants(each), top, steps.longest, delta)[1] for each in schedules)


def _scheduled_cumulants(
    run: NoisySGD, geometry: Geometry, steps: UnequalSteps
) -> Callable[[Payments], Cumulants]:
    """K(theta) for each kind of schedule."""
    if not geometry.bounded and float(np.min(steps.weight)) >= 0.0:
        raise _nothing_forgotten(geometry, math.exp(float(np.max(steps.weight)) / run.steps))
    pair, p = pair_of(run, geometry), participation_up(run)

    def rows(schedules: Sequence[Groups], theta: Array) -> Array:
        """K(theta) of each schedule; laws with equal sensitivity are treated together."""
        total = np.zeros((len(schedules), theta.size))
        laws: dict[float, list[tuple[int, float, int]]] = {}
        for row, groups in enumerate(schedules):
            charged = group_laws(steps.sensitivity, groups, SEARCH_LAWS)
            for (a, _), parts in zip(groups, charged, strict=True):
                for s, n in parts:
                    laws.setdefault(s, []).append((row, a, n))
        for s, entries in laws.items():
            shifts = np.array([a for _, a, _ in entries])
            counts = np.array([float(n) for _, _, n in entries])
            each = log_moments(pair, p, shifts, s, theta) * counts[:, None]
            np.add.at(total, [row for row, _, _ in entries], each)
        return total

    def cumulants(schedule: Payments) -> Cumulants:
        return lambda counts, theta: rows(
            [schedule(steps, count, _SEARCH_GROUPS) for count in counts], theta
        )

    return cumulants


def _nothing_forgotten(geometry: Geometry, c: float) -> UnmetHypothesis:
    return UnmetHypothesis(
        "diameter",
        geometry.diameter,
        f"is infinite and the contraction {c:g} is not below 1, so nothing is forgotten",
        "add a ridge, or project onto a bounded set",
    )
