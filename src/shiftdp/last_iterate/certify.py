"""From a run and a geometry to the tightest certificate that can be proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from shiftdp._checks import choice
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp.fdp import GaussianTradeoff, Maximum
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.bounds import RULES, Bound, Family, Proof, proofs_of, rules_for, solve
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import Visits, schedule_of
from shiftdp.last_iterate.runs import ExponentialMechanism, NoisyCGD, NoisyGD, Run

__all__ = ["Bounds", "Evaluation", "certify", "evaluate", "mu_by_position"]

Bounds = Literal["best", "paper", "composition"]

_FAMILIES: dict[str, tuple[Family, ...]] = {
    "best": ("composition", "paper", "ours"),
    "paper": ("composition", "paper"),
    "composition": ("composition",),
}


@dataclass(frozen=True)
class Evaluation:
    """All bounds that apply to a run, and why the others do not."""

    found: tuple[Bound, ...]
    refused: tuple[tuple[str, UnmetHypothesis], ...]


def evaluate(run: Run, geometry: Geometry, bounds: Bounds = "best") -> Evaluation:
    """Try every rule of the chosen families."""
    _check(run, geometry, bounds)
    found: list[Bound] = []
    refused: list[tuple[str, UnmetHypothesis]] = []
    for rule in rules_for(run):
        if rule.family not in _FAMILIES[bounds]:
            continue
        try:
            found.append(rule.apply(run, geometry))
        except UnmetHypothesis as unmet:
            refused.append((rule.name, unmet))
    return Evaluation(tuple(found), tuple(refused))


def certify(run: Run, geometry: Geometry, *, bounds: Bounds = "best") -> Certificate:
    """The tightest proved bound on what the last iterate of a run reveals.

    Args:
        run: what is run.
        geometry: what is assumed of the losses.
        bounds: `best`, or only those of the `paper`, or only `composition` (which asks nothing of
            the losses but their sensitivity, and so admits any learning rate).

    >>> from shiftdp.last_iterate import Geometry, NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    >>> cert = certify(run, geometry)
    >>> cert.bound, round(cert.mu, 3), round(cert.epsilon(delta=1e-5), 3)
    ('Theorem B1', 0.994, 4.339)
    """
    evaluation = evaluate(run, geometry, bounds)
    if bounds != "composition" and not isinstance(run, ExponentialMechanism):
        given.require_contractive(run.learning_rate, geometry)
    if not evaluation.found:
        raise evaluation.refused[-1][1]
    best = _tightest(evaluation.found)
    proofs = best.proofs or _proofs(run, geometry, best)
    return Certificate(run, geometry, best.name, best.f, best.assumptions, proofs)


def mu_by_position(run: Run, geometry: Geometry) -> dict[int, float]:
    """Theorem B1 for a record in each batch of the epoch, the order of batches being fixed."""
    if not isinstance(run, (NoisyGD, NoisyCGD)):
        raise InvalidInput("run", type(run).__name__, "has no batches", "give NoisyGD or NoisyCGD")
    if run.order == "reshuffled":
        raise InvalidInput(
            "order", run.order, "has no positions: they change each epoch", "give a fixed order"
        )
    given.require_contractive(run.learning_rate, geometry)
    positions = range(1, run.batches + 1)
    return {j: solve(schedule_of(run, geometry, Visits("every", j))).mu for j in positions}


def _tightest(found: tuple[Bound, ...]) -> Bound:
    """The best bound; where two agree to rounding the more general one gives its name.

    A bound that is not Gaussian (a random order, several facts at once) was built to be above every
    Gaussian one; this is checked by its worst component.
    """
    ours = [bound for bound in found if bound.family == "ours"]
    gaussian = [bound for bound in found if bound.mu is not None]
    least = min((bound.mu for bound in gaussian if bound.mu is not None), default=float("inf"))
    for bound in ours:
        if bound.mu is not None and bound.mu <= least * (1 + 1e-9):
            f = GaussianTradeoff(min(bound.mu, least))
            return Bound(bound.name, bound.family, f, bound.assumptions, bound.proofs)
        if bound.proofs and max(p.shifts.mu for p in bound.proofs) <= least * (1 + 1e-9):
            return bound
        if isinstance(bound.f, Maximum):
            return bound
    return min(found, key=lambda bound: bound.f.epsilon(1e-6))


def _proofs(run: Run, geometry: Geometry, bound: Bound) -> tuple[Proof, ...]:
    """Shifts that prove a closed form of the paper: the optimal ones prove at least as much."""
    if bound.family != "paper" or not isinstance(run, (NoisyGD, NoisyCGD)):
        return ()
    return proofs_of(run, geometry)


def _check(run: Run, geometry: Geometry, bounds: str) -> None:
    if type(run) not in RULES:
        known = ", ".join(kind.__name__ for kind in RULES)
        raise InvalidInput("run", run, "is not a run", f"give one of {known}")
    if not isinstance(geometry, Geometry):
        raise InvalidInput("geometry", geometry, "is not a Geometry", "give shiftdp.Geometry(...)")
    choice("bounds", bounds, get_args(Bounds))
