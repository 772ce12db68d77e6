"""The bounds on NoisySGD: the paper's, and Theorem B3, each with its free parameters optimised.

The formulas are in `stochastic_laws`. Searches run on estimates; what they find is then a bound
like any other, for whatever parameters were found, and is composed with certified error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp.fdp import Minimum, TradeoffFunction
from shiftdp.fdp.composition.composite import Composite
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
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.sampled_run import NoisySGD
from shiftdp.last_iterate.theorems.batch_cap import choose_cap
from shiftdp.last_iterate.theorems.bound import Bound, Family, Rule
from shiftdp.last_iterate.theorems.sampled_hypotheses import (
    refuse_adjacency,
    require_contraction,
    require_convex,
    require_fixed_size,
    require_steps,
    stochastic_hypotheses,
)
from shiftdp.last_iterate.theorems.sampled_laws import (
    beyond_cap,
    capped_steps,
    other_split,
    rebuild,
    series_tail,
)
from shiftdp.last_iterate.theorems.sampled_shifts import (
    LEAST_SPLIT,
    MOST_GROUPS,
    MOST_SPLIT,
    StochasticProof,
    StochasticSteps,
    grouped_shifts,
    last_shift,
    longest,
    start_distance,
    steps_of,
)

__all__ = ["DELTA", "STOCHASTIC_RULES", "accuracy_for", "tightest"]

DELTA = 1e-5
"""Where bounds with free parameters are made to be tightest, unless told otherwise."""

_CAP_SHARE = 1e-3  # of delta that is spent on batches beyond the cap
_CLOSE = 0.05, 0.02  # estimates nearer than this part, or this much, are decided by certified ones
_SEARCH_GROUPS = 3
_HOPELESS = 1.1  # times what another schedule has: no neighbour will better it
_NEIGHBOURS = (1.0, 1.25, 1.1)  # of the best number of steps, tried by closer estimates
_MANY = 20  # steps from which on contour estimates are quick
Groups = Sequence[tuple[float, int]]
Schedule = tuple[tuple[float, int], ...]


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


def _costs(run: NoisySGD, geometry: Geometry, steps: StochasticSteps) -> _Costs:
    if run.sampling == "without_replacement":
        return _Costs("symmetric", steps.p, steps.s)
    pair: Pair = "two_sided" if geometry.adjacency == "replace_one" else "one_sided"
    return _Costs(pair, steps.p, steps.s)


def _guess(costs: _Costs, groups: Groups, delta: float) -> float:
    """An estimate of eps: a rough one, and from its tilt a close one where it can be had."""
    theta = orders(costs.s)
    for _ in range(2):
        eps, at = epsilon_estimates(costs.rows([groups], theta), theta, delta)
        theta = orders(costs.s, float(at[0]))
    rough, tilt = float(eps[0]), float(at[0])
    if costs.p == 1.0 or costs.s == 0.0:
        return rough
    close = lattice_epsilon(costs.pair, costs.p, costs.s, groups, delta, tilt, rough)
    return rough if close is None or not math.isfinite(close) else close


def _contour(f: TradeoffFunction, delta: float) -> float | None:
    """An estimate of eps that is as good as exact, of the worse direction; None if refused."""
    worse = f.components[0] if isinstance(f, Minimum) else f
    if not isinstance(worse, Composite):
        return None
    found = estimate_epsilon(worse.factors, delta)
    return None if found is None else found.value


def accuracy_for(guess: float) -> float:
    """How narrow an interval is worth its price."""
    if not math.isfinite(guess):
        return 1e-3
    return min(1.0, max(2e-4 * guess, min(1e-3, max(2e-3 * guess, 2e-5))))


# --- rules ---


def _composition(run: NoisySGD, geometry: Geometry, delta: float) -> Bound:
    """[BSA24, Thm sgd], or the same for Poisson sampling; it asks nothing of the losses."""
    refuse_adjacency(run, geometry)
    name = "Poisson (composition)" if run.sampling == "poisson" else "Thm sgd (composition)"
    steps = steps_of(run, geometry)
    guess = _contour(rebuild(name, run, geometry, None, 1e-3), delta) if steps.s else 0.0
    if guess is None:
        guess = _guess(_costs(run, geometry, steps), [(0.0, run.steps)], delta)
    f = rebuild(name, run, geometry, None, accuracy_for(guess))
    return Bound(name, "composition", f, stochastic_hypotheses(name, run, geometry), guess=guess)


def _strongly_convex(run: NoisySGD, geometry: Geometry, delta: float) -> Bound:
    """[BSA24, Thm sgd-sc] with the best tau and split."""
    refuse_adjacency(run, geometry)
    require_fixed_size(run)
    require_contraction(run, geometry)
    require_convex(geometry)
    steps = steps_of(run, geometry)
    if not steps.c < 1.0:
        raise UnmetHypothesis(
            "strong_convexity",
            geometry.strong_convexity,
            f"with this learning rate gives contraction {steps.c:g}, not below 1",
            "add a ridge, or lower the learning rate below 2/smoothness",
        )
    zero = np.zeros(1)

    def cumulants(beta: float) -> Callable[[Sequence[int], Array], Array]:
        alpha = other_split(beta)

        def rows(counts: Sequence[int], theta: Array) -> Array:
            each = log_moments("symmetric", steps.p, zero, 2.0 * steps.s, theta)[0]
            once = log_moments("symmetric", steps.p, zero, 2.0 * beta * steps.s, theta)[0]
            gaps = np.array([2.0 * alpha * series_tail(steps, T) for T in counts])
            gauss = 0.5 * theta * (theta + 1.0) * np.square(gaps)[:, None]
            return np.asarray(gauss + once + np.array(counts, dtype=float)[:, None] * each)

        return rows

    most = min(run.steps, max(1, longest(steps)))
    return _split_bound("Thm sgd-sc", run, geometry, delta, cumulants, most, steps.s)


def _constrained(run: NoisySGD, geometry: Geometry, delta: float) -> Bound:
    """[BSA24, Thm sgd-proj] with the best tau and split."""
    refuse_adjacency(run, geometry)
    require_fixed_size(run)
    require_contraction(run, geometry)
    require_convex(geometry)
    if not geometry.bounded:
        raise UnmetHypothesis(
            "diameter", geometry.diameter, "is infinite", "project onto a bounded set"
        )
    steps = steps_of(run, geometry)
    zero = np.zeros(1)

    def cumulants(beta: float) -> Callable[[Sequence[int], Array], Array]:
        alpha = other_split(beta)

        def rows(counts: Sequence[int], theta: Array) -> Array:
            each = log_moments("symmetric", steps.p, zero, 2.0 * beta * steps.s, theta)[0]
            T = np.array(counts, dtype=float)[:, None]
            gauss = 0.5 * theta * (theta + 1.0) * (alpha * steps.diameter) ** 2 / T
            return np.asarray(gauss + T * each)

        return rows

    return _split_bound("Thm sgd-proj", run, geometry, delta, cumulants, run.steps, steps.s)


def _split_bound(
    name: str,
    run: NoisySGD,
    geometry: Geometry,
    delta: float,
    cumulants: Callable[[float], Callable[[Sequence[int], Array], Array]],
    most: int,
    s: float,
) -> Bound:
    """The best split of the noise, each with its best tau: golden section over log(beta - 1)."""
    known: dict[float, tuple[float, int]] = {}

    def cost(u: float) -> float:
        beta = _beta(u)
        if u not in known:
            count, eps = best_count(cumulants(beta), 2.0 * beta * s, most, delta)
            known[u] = eps, count
        return known[u][0]

    low, high = math.log(0.01), math.log(30.0)
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    cost(math.log(math.sqrt(2.0) - 1.0))  # the paper's own split
    for _ in range(6):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if cost(left) <= cost(right):
            high = right
        else:
            low = left
    u, (guess, count) = min(known.items(), key=lambda item: item[1])

    def precise(u: float, log_count: float) -> float:
        """The contour estimate, infinite where it is refused."""
        T = min(most, max(1, round(math.exp(log_count))))
        proof = StochasticProof(run.steps - T, split=_beta(u))
        f = rebuild(name, run, geometry, proof, 1e-3)
        if not isinstance(f, Composite):
            return f.epsilon(delta)
        found = _contour(f, delta)
        return math.inf if found is None else found

    if count >= _MANY:
        (u, log_count), found = polish(precise, (u, math.log(count)))
        if math.isfinite(found):
            guess, count = found, min(most, max(1, round(math.exp(log_count))))
    proof = StochasticProof(run.steps - count, split=_beta(u))
    f = rebuild(name, run, geometry, proof, accuracy_for(guess))
    hypotheses = stochastic_hypotheses(name, run, geometry)
    return Bound(name, "paper", f, hypotheses, (proof,), guess)


def _beta(u: float) -> float:
    """1 + e^u, held to the range of splits."""
    return min(MOST_SPLIT, max(LEAST_SPLIT, 1.0 + math.exp(min(u, 10.0))))


def _shifted(run: NoisySGD, geometry: Geometry, delta: float) -> Bound:
    """Theorem B3 with the best tau >= 1; tau = 0 is composition."""
    refuse_adjacency(run, geometry)
    require_contraction(run, geometry)
    require_steps(run)
    if run.sampling == "poisson":
        return _shifted_poisson(run, geometry, delta)
    steps = steps_of(run, geometry)
    groups, guess = _best_groups(run, geometry, steps, delta)
    proof = StochasticProof(run.steps - sum(n for _, n in groups), groups)
    name = "Theorem B3"
    f = rebuild(name, run, geometry, proof, accuracy_for(guess))
    return Bound(name, "ours", f, stochastic_hypotheses(name, run, geometry), (proof,), guess)


def _shifted_poisson(run: NoisySGD, geometry: Geometry, delta: float) -> Bound:
    require_convex(geometry)
    p = run.participation
    cap = run.batch_cap
    if cap is None:
        cap = choose_cap(run.n, steps_of(run, geometry).p, run.steps, _CAP_SHARE * delta)
    steps = capped_steps(run, geometry, cap)
    failure = beyond_cap(run, steps, cap, 0)
    if not failure < delta:
        raise UnmetHypothesis(
            "batch_cap",
            cap,
            f"is passed with probability {failure:.2g}, more than delta={delta:g}",
            f"give at least {choose_cap(run.n, p, run.steps, _CAP_SHARE * delta)}",
        )
    groups, guess = _best_groups(run, geometry, steps, (delta - failure) / (1.0 - failure))
    proof = StochasticProof(run.steps - sum(n for _, n in groups), groups, cap=cap)
    name = "Theorem B3 (Poisson)"
    f = rebuild(name, run, geometry, proof, accuracy_for(guess))
    hypotheses = stochastic_hypotheses(name, run, geometry, cap)
    return Bound(name, "ours", f, hypotheses, (proof,), guess)


def _best_groups(
    run: NoisySGD, geometry: Geometry, steps: StochasticSteps, delta: float
) -> tuple[tuple[tuple[float, int], ...], float]:
    """The shifts for the best tau >= 1."""
    if steps.c >= 1.0 and not geometry.bounded:
        raise UnmetHypothesis(
            "diameter",
            geometry.diameter,
            f"is infinite and the contraction {steps.c:g} is not below 1, so nothing is forgotten",
            "add a ridge, or project onto a bounded set",
        )
    costs = _costs(run, geometry, steps)

    most = max(1, min(run.steps - 1, longest(steps)))

    def searched(
        schedule: Callable[[float, float, int, int], Schedule], rival: float
    ) -> tuple[float, Schedule]:
        def shifts(count: int, groups: int) -> Schedule:
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


def tightest(
    found: Sequence[Bound],
    run: NoisySGD,
    geometry: Geometry,
    delta: float,
    accuracy: float | None = None,
) -> Bound:
    """The bound with the least epsilon at delta, composed to an accuracy if that is given.

    Only those whose estimates are close are composed; on a tie the simpler theorem gives its name.
    """
    guesses = [bound.f.epsilon(delta) if bound.guess is None else bound.guess for bound in found]
    part, much = _CLOSE
    limit = min(guesses) * (1.0 + part) + much
    close = [bound for bound, guess in zip(found, guesses, strict=True) if guess <= limit]
    settled = [_settled(bound, run, geometry, delta, accuracy) for bound in close]
    # the second number decides between bounds so good that epsilon is 0
    return min(
        settled, key=lambda pair: (pair[1], pair[0].f.advantage() if len(settled) > 1 else 0.0)
    )[0]


def _settled(
    bound: Bound, run: NoisySGD, geometry: Geometry, delta: float, asked: float | None
) -> tuple[Bound, float]:
    """The bound composed, to the accuracy that was asked for."""
    proof = bound.proofs[0] if bound.proofs else None
    if (
        bound.guess is not None
        and asked is not None
        and (proof is None or isinstance(proof, StochasticProof))
    ):
        bound = replace(bound, f=rebuild(bound.name, run, geometry, proof, asked))
    return bound, bound.f.epsilon(delta)


def _rule(name: str, family: Family, aim: Callable[[NoisySGD, Geometry, float], Bound]) -> Rule:
    return Rule(name, family, lambda run, geometry: aim(run, geometry, DELTA), aim)


STOCHASTIC_RULES = (
    _rule("composition", "composition", _composition),
    _rule("strongly convex", "paper", _strongly_convex),
    _rule("constrained", "paper", _constrained),
    _rule("shifted interpolation", "ours", _shifted),
)
