"""From a run and a geometry to the tightest certificate that can be proved."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from shiftdp._checks import LEAST_ACCURACY, LEAST_DELTA, choice, number_in
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp.fdp import GaussianTradeoff, Maximum, Mixture, TradeoffFunction
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.endless import is_endless, require_forgotten, stand_in
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import Visits, schedule_of
from shiftdp.last_iterate.runs import ExponentialMechanism, NoisyCGD, NoisyGD, NoisySGD, Run
from shiftdp.last_iterate.theorems.descent import (
    RULES,
    Bound,
    Family,
    Proof,
    for_every_length,
    proofs_of,
    rules_for,
    solve,
    within_composition,
)
from shiftdp.last_iterate.theorems.sampled import DELTA, tightest
from shiftdp.last_iterate.theorems.sampled_hypotheses import refuse_adjacency

__all__ = ["ROUNDING", "Bounds", "Evaluation", "certify", "evaluate", "mu_by_position"]

Bounds = Literal["best", "paper", "composition"]

ROUNDING = 1e-11
"""Two ways to the same mu are rounded up by different amounts; both are far below this part."""

_FAMILIES: dict[str, tuple[Family, ...]] = {
    "best": ("composition", "paper", "ours"),
    "paper": ("composition", "paper"),
    "composition": ("composition",),
}

# Of NoisySGD the bounds of the paper need not be searched for the best. Where one of them applies,
# Theorem B3 does (at t = 1: composition), and for every tau and split of the noise it is no worse:
# S_p(a, s) dominates G(alpha a) (x) C_p(G(beta s)), without the factor 2 that they have on s.
_SAMPLED_FAMILIES: dict[str, tuple[Family, ...]] = {
    **_FAMILIES,
    "best": ("composition", "ours"),
}


@dataclass(frozen=True)
class Evaluation:
    """All bounds that apply to a run, and why the others do not."""

    found: tuple[Bound, ...]
    refused: tuple[tuple[str, UnmetHypothesis], ...]


def evaluate(
    run: Run, geometry: Geometry, bounds: Bounds = "best", *, delta: float = DELTA
) -> Evaluation:
    """Try every rule of the chosen families; free parameters are chosen to be best at delta."""
    _check(run, geometry, bounds)
    return _evaluate(run, geometry, _FAMILIES[bounds], delta)


def _evaluate_endless(
    run: Run, geometry: Geometry, families: tuple[Family, ...], delta: float
) -> Evaluation:
    """The bounds on the stand-in that hold for every longer run as well."""
    finite = stand_in(run, geometry)
    evaluation = _tried(finite, geometry, families, delta)
    found, refused = [], list(evaluation.refused)
    for bound in evaluation.found:
        try:
            found.append(for_every_length(bound, finite, geometry))
        except UnmetHypothesis as unmet:
            refused.append((bound.name, unmet))
    if not found and "ours" in families and "paper" not in families:
        # Theorem B3 starts from what the stand-in can lead to, if that is below the diameter
        return _evaluate_endless(run, geometry, (*families, "paper"), delta)
    return Evaluation(tuple(found), tuple(refused))


def _evaluate(
    run: Run, geometry: Geometry, families: tuple[Family, ...], delta: float
) -> Evaluation:
    """The bounds on a run of known length: composition limits whatever it can."""
    if is_endless(run):
        return _evaluate_endless(run, geometry, families, delta)
    evaluation = _tried(run, geometry, families, delta)
    found = tuple(within_composition(bound, run, geometry) for bound in evaluation.found)
    return replace(evaluation, found=found)


def _tried(run: Run, geometry: Geometry, families: tuple[Family, ...], delta: float) -> Evaluation:
    found: list[Bound] = []
    refused: list[tuple[str, UnmetHypothesis]] = []
    for rule in rules_for(run):
        if rule.family not in families:
            continue
        try:
            found.append(rule.bound(run, geometry, delta))
        except UnmetHypothesis as unmet:
            refused.append((rule.name, unmet))
    return Evaluation(tuple(found), tuple(refused))


def certify(
    run: Run,
    geometry: Geometry,
    *,
    bounds: Bounds = "best",
    delta: float = DELTA,
    accuracy: float | None = None,
) -> Certificate:
    """The tightest proved bound on what the last iterate of a run reveals.

    Args:
        run: what is run. One without end (`steps` or `epochs` infinite) gets a bound that holds
            however long it is.
        geometry: what is assumed of the losses.
        bounds: `best`, or only those of the `paper`, or only `composition` (which asks nothing of
            the losses but their sensitivity, and so admits any learning rate).
        delta: where a bound with free parameters (NoisySGD) is made to be tightest. What comes
            back is valid at every delta.
        accuracy: how far epsilon may be above the exact value of the bound where it is composed
            numerically (NoisySGD), from 1e-6; about 1e-3 if not given. Closed forms are exact.

    >>> from shiftdp.last_iterate import Geometry, NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    >>> cert = certify(run, geometry)
    >>> cert.bound, round(cert.mu, 3), round(cert.epsilon(delta=1e-5), 3)
    ('Theorem B1', 0.992, 4.339)
    """
    _check(run, geometry, bounds)
    if bounds != "composition" and not isinstance(run, ExponentialMechanism):
        given.require_contractive(run.learning_rate, geometry)
    delta = number_in("delta", delta, LEAST_DELTA, 1.0, open_high=True)
    if accuracy is not None:
        accuracy = number_in("accuracy", accuracy, LEAST_ACCURACY, 1.0)
    # a run without end is proved by a long one, from bounds that hold for every longer one
    shown: Run = stand_in(run, geometry) if is_endless(run) else run
    if isinstance(run, NoisySGD):
        refuse_adjacency(run, geometry)
        evaluation = _evaluate(run, geometry, _SAMPLED_FAMILIES[bounds], delta)
        best = tightest(_found(evaluation), cast(NoisySGD, shown), geometry, delta, accuracy)
    else:
        best = _tightest(_found(_evaluate(run, geometry, _FAMILIES[bounds], delta)))
    f, proofs = best.f, best.proofs
    if not proofs:
        shifts = _proofs(shown, geometry, best, endless=is_endless(run))
        f, proofs = _not_below(f, shifts), shifts
    if is_endless(run):
        require_forgotten(shown, geometry, best.name, proofs)
    return Certificate(run, geometry, best.name, f, best.assumptions, proofs)


def _found(evaluation: Evaluation) -> tuple[Bound, ...]:
    """All bounds; where there is none, the last refusal is raised."""
    if not evaluation.found:
        raise evaluation.refused[-1][1]
    return evaluation.found


def mu_by_position(run: Run, geometry: Geometry) -> dict[int, float]:
    """Theorem B1 for a record in each batch of the epoch, the order of batches being fixed."""
    if not isinstance(run, (NoisyGD, NoisyCGD)):
        raise InvalidInput("run", type(run).__name__, "has no batches", "give NoisyGD or NoisyCGD")
    if run.order == "reshuffled":
        raise InvalidInput(
            "order", run.order, "has no positions: they change each epoch", "give a fixed order"
        )
    given.require_smooth(geometry)
    given.require_contractive(run.learning_rate, geometry)
    positions = range(1, run.batches + 1)
    return {j: solve(schedule_of(run, geometry, Visits("every", j))).mu for j in positions}


def _tightest(found: tuple[Bound, ...]) -> Bound:
    """The best bound; where two agree to rounding the more general one gives its name.

    A mixture (a random order) has no component above composition, nor above a closed form of the
    paper where one applies, and a maximum is built from all that is known: both are best.
    """
    for bound in found:
        if isinstance(bound.f, (Maximum, Mixture)):
            return bound
    least = min((bound.mu for bound in found if bound.mu is not None), default=math.inf)
    for bound in found:
        if bound.family == "ours" and bound.mu is not None and bound.mu <= least * (1 + ROUNDING):
            return bound
    # the second number decides between bounds so good that epsilon is 0
    return min(found, key=lambda bound: (bound.f.epsilon(1e-6), bound.f.advantage()))


def _proofs(run: Run, geometry: Geometry, bound: Bound, *, endless: bool) -> tuple[Proof, ...]:
    """Shifts that prove a closed form of the paper: the optimal ones prove at least as much."""
    if bound.family != "paper" or not isinstance(run, (NoisyGD, NoisyCGD)):
        return ()
    return proofs_of(run, geometry, endless=endless)


def _not_below(f: TradeoffFunction, proofs: tuple[Proof, ...]) -> TradeoffFunction:
    """A closed form of the paper, not below what its shifts prove, both being rounded up."""
    if not isinstance(f, GaussianTradeoff) or not proofs:
        return f
    return GaussianTradeoff(max(f.mu, *(proof.shifts.mu for proof in proofs)))


def _check(run: Run, geometry: Geometry, bounds: str) -> None:
    if type(run) not in RULES:
        known = ", ".join(kind.__name__ for kind in RULES)
        raise InvalidInput("run", run, "is not a run", f"give one of {known}")
    if not isinstance(geometry, Geometry):
        raise InvalidInput("geometry", geometry, "is not a Geometry", "give shiftdp.Geometry(...)")
    choice("bounds", bounds, get_args(Bounds))
