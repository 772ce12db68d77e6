"""From a run and a geometry to the tightest certificate that can be proved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from shiftdp._checks import LEAST_ACCURACY, LEAST_DELTA, choice, count, number_in
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.endless import stand_in
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import (
    Run,
    Unlearning,
    has_releases,
    people,
)
from shiftdp.last_iterate.schedules.releases import first_releases, segments_of
from shiftdp.last_iterate.schedules.segments import segment_schedules
from shiftdp.last_iterate.schedules.visits import Visits, schedules_of
from shiftdp.last_iterate.theorems.derived.unlearning import AfterTraining
from shiftdp.last_iterate.theorems.descent import solve
from shiftdp.last_iterate.theorems.own import own_bound, own_theorems
from shiftdp.last_iterate.theorems.registry import THEOREMS, family_of
from shiftdp.last_iterate.theorems.released.joint import joint_mu
from shiftdp.last_iterate.theorems.sampled.shifts import refuse_adjacency
from shiftdp.last_iterate.theorems.theorem import DELTA, Bound, Family, Prospect, Theorem

Bounds = Literal["best", "paper", "composition"]

ROUNDING = 1e-11
"""Two ways to the same mu are rounded up by different amounts; both are far below this part."""

_DECIDING_DELTA = 1e-6  # at which bounds that are not Gaussian are compared
_TIED, _DEEPER = 1e-4, 1e-4  # epsilons so close are told apart at this part of delta
_CLOSE = 0.05, 0.02  # estimates nearer than this part, or this much, are decided by certified ones

_FAMILIES: dict[str, tuple[Family, ...]] = {
    "best": ("composition", "paper", "ours"),
    "paper": ("composition", "paper"),
    "composition": ("composition",),
}


@dataclass(frozen=True)
class Evaluation:
    """All bounds that apply to a run, and the theorems that do not, with the reason."""

    found: tuple[Bound, ...]
    refused: tuple[tuple[str, UnmetHypothesis], ...]


def evaluate(
    run: Run, geometry: Geometry, bounds: Bounds = "best", *, delta: float = DELTA
) -> Evaluation:
    """Try every theorem of the chosen families; free parameters are chosen to be best at delta."""
    _check(run, geometry, bounds)
    shown: Run = stand_in(run, geometry) if run.endless else run
    return _tried(_known(run, bounds), shown, geometry, delta, endless=run.endless)


def bound_by(theorem: Theorem, run: Run, geometry: Geometry, delta: float) -> Bound:
    """What one theorem gives for a run, or `UnmetHypothesis`."""
    given.refuse_released_prox(run, geometry)
    if not theorem.applies_to(run):
        raise UnmetHypothesis(
            "run", type(run).__name__, f"is not what {theorem.name} is about", "use another theorem"
        )
    if run.endless:
        shown = stand_in(run, geometry)
        return own_bound(theorem, theorem.for_every_length(shown, geometry, delta))
    return own_bound(theorem, theorem.bound(run, geometry, delta))


def _known(run: Run, bounds: Bounds) -> list[Theorem]:
    """The theorems of the chosen families on such runs."""
    families = _FAMILIES[bounds]
    return [item for item in THEOREMS if item.family in families and item.applies_to(run)]


def _tried(
    theorems: Sequence[Theorem],
    run: Run,
    geometry: Geometry,
    delta: float,
    *,
    endless: bool,
    for_the_best: bool = False,
) -> Evaluation:
    """What every theorem gives or, where only the best counts, those that may still give it."""
    found: list[Bound] = []
    refused: dict[str, UnmetHypothesis] = {}
    unbeaten = False
    ours = any(item.family == "ours" for item in theorems)  # else nothing contains another

    def prospect(theorem: Theorem, rival: float = math.inf) -> Prospect:
        if not for_the_best:
            return Prospect.OPEN
        asked = theorem.prospect(run, geometry, delta, rival)
        return asked if ours or asked != Prospect.CONTAINED else Prospect.OPEN

    for theorem in sorted(theorems, key=prospect):
        apply = theorem.for_every_length if endless else theorem.bound
        rival = min((bound.guess for bound in found if bound.guess is not None), default=math.inf)
        try:
            hope = prospect(theorem, rival)
            if unbeaten and hope != Prospect.UNBEATEN:
                break
            if hope == Prospect.HOPELESS or (found and hope == Prospect.CONTAINED):
                continue
            found.append(own_bound(theorem, apply(run, geometry, delta)))
            unbeaten = hope == Prospect.UNBEATEN
        except UnmetHypothesis as unmet:
            refused[theorem.name] = unmet
    listed = ((item.name, refused[item.name]) for item in theorems if item.name in refused)
    return Evaluation(tuple(found), tuple(listed))


def certify(
    run: Run,
    geometry: Geometry,
    *,
    bounds: Bounds = "best",
    delta: float = DELTA,
    accuracy: float | None = None,
    theorems: Iterable[Theorem] = (),
) -> Certificate:
    """The tightest proved bound on what a run reveals: its last iterate, or all that it releases.

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
        theorems: your own, which are tried as well (see docs/theorems.md). A certificate by one of
            them says so, and its `kind` is `conditional`.

    >>> from shiftdp.last_iterate import Geometry, NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    >>> cert = certify(run, geometry)
    >>> cert.bound, round(cert.mu, 3), round(cert.epsilon(delta=1e-5), 3)
    ('Theorem B1', 0.992, 4.339)
    """
    _check(run, geometry, bounds)
    own = [item for item in own_theorems(theorems) if item.applies_to(run)]
    if bounds != "composition" and not run.one_draw:
        given.require_contractive(run.learning_rate, geometry)
    delta = number_in("delta", delta, LEAST_DELTA, 1.0, open_high=True)
    if accuracy is not None:
        accuracy = number_in("accuracy", accuracy, LEAST_ACCURACY, 1.0)
    if run.sampled:
        refuse_adjacency(run, geometry)
    endless = run.endless
    # a run without end is proved by a long one, from bounds that hold for every longer one
    shown: Run = stand_in(run, geometry) if endless else run
    known = _known(run, bounds)
    evaluation = _tried(known, shown, geometry, delta, endless=endless, for_the_best=True)
    best = (
        [tightest(evaluation.found, shown, geometry, delta, accuracy)] if evaluation.found else []
    )
    users = _tried(own, shown, geometry, delta, endless=endless)
    rivals = (*best, *users.found)
    if not rivals:
        refused = (*evaluation.refused, *users.refused)
        if not refused:
            raise UnmetHypothesis(
                "bounds", bounds, f"has no theorem on {type(run).__name__}", 'give bounds="best"'
            )
        raise refused[-1][1]
    bound = rivals[0] if len(rivals) == 1 else min(rivals, key=lambda each: each.f.epsilon(delta))
    theorem = bound.theorem
    bound = own_bound(theorem, theorem.proved(bound, shown, geometry, endless=endless))
    if endless:
        theorem.require_forgotten(shown, geometry, bound.proofs)
    return certificate_of(bound, run, geometry)


def certificate_of(bound: Bound, run: Run, geometry: Geometry) -> Certificate:
    """The certificate of a run by one bound, with the hypotheses of its theorem."""
    theorem, proofs = bound.theorem, bound.proofs
    shown = stand_in(run, geometry) if run.endless else run
    hypotheses = theorem.hypotheses(shown, geometry, proofs)
    if family_of(theorem.name) == "user":
        hypotheses += (given.trusted_theorem(theorem.name, theorem.citation),)
    return Certificate(run, geometry, theorem.name, bound.f, hypotheses, proofs)


def deletion_certificates(
    run: Unlearning, geometry: Geometry, delta: float
) -> Iterator[Certificate]:
    """What theorems on deletion give, the quickest first, without those on training alone.

    One that a quick look finds to be worse than what came before is left out.
    """
    given.require_contractive(run.learning_rate, geometry)
    shown = cast(Unlearning, stand_in(run, geometry) if run.endless else run)
    rival = math.inf
    for theorem in reversed(THEOREMS):
        if isinstance(theorem, AfterTraining) or not theorem.applies_to(run):
            continue
        try:
            if theorem.prospect(shown, geometry, delta, rival) == Prospect.HOPELESS:
                continue
            apply = theorem.for_every_length if run.endless else theorem.bound
            bound = apply(shown, geometry, delta)
        except UnmetHypothesis:
            continue
        rival = min(rival, bound.f.epsilon(delta))
        yield certificate_of(bound, run, geometry)


def mu_by_position(run: Run, geometry: Geometry) -> dict[int, float]:
    """Theorem B1 for a record in each batch of the epoch, the order of batches being fixed."""
    given.refuse_released_prox(run, geometry)
    run = run.window
    if not run.in_turn:
        raise InvalidInput("run", type(run).__name__, "has no batches", "give NoisyGD or NoisyCGD")
    if people(run) > 1:
        raise InvalidInput(
            "records_per_person", people(run), "have no one position", "ask it of one record"
        )
    if run.order == "reshuffled":
        raise InvalidInput(
            "order", run.order, "has no positions: they change each epoch", "give a fixed order"
        )
    given.require_smooth(geometry)
    given.require_contractive(run.learning_rate, geometry)
    positions = range(1, run.batches + 1)
    cases = [Visits("every", j) for j in positions]
    if not has_releases(run):
        schedules = schedules_of(run, geometry, cases)
        return {j: solve(schedule).mu for j, schedule in zip(positions, schedules, strict=True)}
    segments, found = segments_of(run), segment_schedules(run, geometry, cases)
    return {
        j: joint_mu(segments, [solve(schedule).mu for schedule in schedules])
        for j, schedules in zip(positions, found, strict=True)
    }


def first_releases_of(certificate: Certificate, number: int) -> Certificate:
    """The certificate of the first so many releases of a run, by theorems of the same families.

    What is assumed of a training loop, and its record, are those of the whole run.
    """
    number = count("i", number, 1)
    if certificate.run.streams:
        return certificate  # which is that of all releases, and of each
    if not has_releases(certificate.run) and number == 1:
        return certificate
    run = first_releases(certificate.run, number)
    if run is certificate.run:
        return certificate
    composed = family_of(certificate.bound) == "composition"
    bounds: Bounds = "composition" if composed else "best"
    found = certify(run, certificate.geometry, bounds=bounds)
    about_loop = (*given.LOOP_ASSUMPTIONS.values(), given.seeded_noise())
    kept = tuple(item for item in certificate.assumptions if item in about_loop)
    return replace(found, assumptions=found.assumptions + kept, training=certificate.training)


def tightest(
    found: Sequence[Bound],
    run: Run,
    geometry: Geometry,
    delta: float,
    accuracy: float | None = None,
) -> Bound:
    """The best of some bounds on a run; those that are costly are composed to an accuracy.

    Of closed forms: where two agree to rounding the more general one gives its name.
    """
    if len(found) == 1 and accuracy is None:
        return found[0]
    if any(bound.guess is not None for bound in found):
        return _tightest_composed(found, run, geometry, delta, accuracy)
    least = min((bound.mu for bound in found if bound.mu is not None), default=math.inf)
    ours = [bound for bound in found if bound.family == "ours"]
    for bound in ours if all(each.mu is not None for each in ours) else ():
        if bound.mu is not None and bound.mu <= least * (1 + ROUNDING):
            return bound
    # the second number decides between bounds so good that epsilon is 0
    return min(found, key=lambda bound: (bound.f.epsilon(_DECIDING_DELTA), bound.f.advantage()))


def _tightest_composed(
    found: Sequence[Bound], run: Run, geometry: Geometry, delta: float, accuracy: float | None
) -> Bound:
    """Only those whose estimates are close are composed; a tie is decided at a smaller delta."""
    guesses = [bound.f.epsilon(delta) if bound.guess is None else bound.guess for bound in found]
    part, much = _CLOSE
    limit = min(guesses) * (1.0 + part) + much
    close = [bound for bound, guess in zip(found, guesses, strict=True) if guess <= limit]
    if accuracy is not None:
        close = [_composed_to(bound, run, geometry, accuracy) for bound in close]
    epsilons = [bound.f.epsilon(delta) for bound in close]
    least = min(epsilons)
    alike = least * (1.0 + _TIED)
    best = [bound for bound, epsilon in zip(close, epsilons, strict=True) if epsilon <= alike]
    if len(best) == 1:
        return best[0]
    if least > 0.0:
        deeper = max(delta * _DEEPER, LEAST_DELTA)
        return min(best, key=lambda bound: bound.f.epsilon(deeper))
    # bounds so good that epsilon is 0 differ in their advantage, which is costly as well
    return min(best, key=lambda bound: bound.f.advantage())


def _composed_to(bound: Bound, run: Run, geometry: Geometry, accuracy: float) -> Bound:
    if bound.guess is None:
        return bound
    return replace(bound, f=bound.theorem.rebuild(run, geometry, bound.proofs, accuracy))


def require_run(run: object) -> None:
    """Refuse what is no run: whoever is handed one checks this before asking anything of it."""
    kinds = get_args(Run)
    if type(run) not in kinds:
        known = ", ".join(kind.__name__ for kind in kinds)
        raise InvalidInput("run", run, "is not a run", f"give one of {known}")


def _check(run: Run, geometry: Geometry, bounds: str) -> None:
    require_run(run)
    if not isinstance(geometry, Geometry):
        raise InvalidInput("geometry", geometry, "is not a Geometry", "give shiftdp.Geometry(...)")
    choice("bounds", bounds, get_args(Bounds))
    given.refuse_released_prox(run, geometry)
