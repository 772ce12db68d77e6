"""Theorem V4: a person with several records.

Three ways to the same promise, of which `certify` takes the best:

- *together*: all k records in the batch that is worst for one of them. That is Theorem B1 (or a
  formula for it, or composition) with k times the sensitivity;
- *arranged*: no two of them in one batch, or batches in a random order (`schedules.people`);
- *group privacy* of any theorem on one record, 1 - (1 - f)^{o k}: for all samplings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from shiftdp._errors import UnmetHypothesis
from shiftdp.fdp import GaussianTradeoff, Mixture, TradeoffFunction
from shiftdp.fdp.functions.group import GroupTradeoff
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumptions
from shiftdp.last_iterate.endless import holds_for_longer
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import has_one_outcome, has_random_visits
from shiftdp.last_iterate.runs import NoisyCGD, NoisyGD, NoisySGD, Run, one_record, people
from shiftdp.last_iterate.schedules.people import person_outcomes, person_schedule, require_arranged
from shiftdp.last_iterate.theorems.checks import SHIFTS_SLACK, at_least, require, verify_cases
from shiftdp.last_iterate.theorems.closed_forms import DESCENT_PAPER
from shiftdp.last_iterate.theorems.composed_visits import composition_mu
from shiftdp.last_iterate.theorems.derived.delegation import Delegated
from shiftdp.last_iterate.theorems.derived.hypotheses import for_people
from shiftdp.last_iterate.theorems.descent import (
    DESCENT_COMPOSITION,
    ONE_OUTCOME,
    OnDescent,
    is_cyclic,
)
from shiftdp.last_iterate.theorems.proofs import Proof, Proofs
from shiftdp.last_iterate.theorems.theorem import Bound, Claim, Prospect, Theorem

_ANCHOR = "theorem-v4-people-with-several-records"


def scaled_losses(geometry: Geometry, k: int, *, side: float = math.inf) -> Geometry:
    """These losses with k times the sensitivity, rounded up (or down: `side=-inf`)."""
    bound = geometry.gradient_bound
    return replace(
        geometry,
        sensitivity=_times(geometry.sensitivity, k, side),
        gradient_bound=None if bound is None else _times(bound, k, math.inf),
    )


def _times(x: float, k: int, side: float) -> float:
    product = x * k
    if math.isinf(product) or Fraction(product) == Fraction(x) * k:
        return product
    wrong = (Fraction(product) < Fraction(x) * k) == (side > 0.0)
    return math.nextafter(product, side) if wrong else product


# --- all in one batch ---


class _Together(Delegated):
    """k records in one batch: a theorem on noisy gradient descent with k times the sensitivity."""

    runs = NoisyGD, NoisyCGD, NoisySGD
    protects_people = needs_people = True
    place = 100

    def speaks_of(self, run: Any) -> bool:
        together = getattr(run, "arrangement", "anywhere") == "anywhere"
        return together and self.base.applies_to(one_record(run))

    def _base_problem(self, run: Any, geometry: Geometry) -> tuple[Run, Geometry]:
        single = one_record(run)
        if self.contracts and geometry.bounded and not single.sampled:
            self._require_one_worst(single, geometry)
        return single, scaled_losses(geometry, people(run))

    def _require_one_worst(self, run: Any, geometry: Geometry) -> None:
        """With a projection, records in different batches are covered where one batch is the worst.

        What shifts from the diameter prove does not add up.
        """
        if not has_random_visits(run) and not has_one_outcome(run, geometry):
            raise UnmetHypothesis(
                "diameter",
                geometry.diameter,
                "is finite, and it is not known which batch is the worst for several records",
                "rely on group privacy, or give whole epochs of equal steps",
            )

    def _assumed(self, run: Any, hypotheses: Assumptions) -> Assumptions:
        return for_people(run, hypotheses)


# --- no two in one batch, or batches in a random order ---


class _Arranged(OnDescent):
    """Optimal shifts for the worst arrangement, or the mean over where the last record is."""

    name = citation = "Theorem V4"
    anchor = _ANCHOR
    family = "ours"
    runs = (NoisyCGD,)
    protects_people = needs_people = True
    place = 130

    def speaks_of(self, run: Any) -> bool:
        return is_cyclic(run) and (run.arrangement == "one_per_batch" or has_random_visits(run))

    def _bound(self, run: Any, geometry: Geometry) -> Bound:
        return self._gives(run, geometry, self._proofs(run, geometry), endless=False)

    def _proofs(self, run: NoisyCGD, geometry: Geometry) -> tuple[Proof, ...]:
        given.require_smooth(geometry)
        given.require_contractive(run.learning_rate, geometry)
        require_arranged(run, geometry)
        return tuple(
            Proof(
                case.visits,
                case.weight,
                optimal_shifts(person_schedule(run, geometry, case.visits)),
            )
            for case in person_outcomes(run)
        )

    def _gives(
        self, run: NoisyCGD, geometry: Geometry, proofs: Sequence[Proof], *, endless: bool
    ) -> Bound:
        return Bound(self, _function(run, geometry, proofs, endless=endless), tuple(proofs))

    def for_every_length(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        cyclic = cast(NoisyCGD, run)
        proofs = self._proofs(cyclic, geometry)
        self.require_forgotten(run, geometry, proofs)
        return self._gives(cyclic, geometry, proofs, endless=True)

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        """Whether the shifts hold for longer runs, too.

        In an epoch a person's k records move the runs apart by at most k times as much as one, so
        the test for one record is made with k times the sensitivity.
        """
        shifts, losses = Proof.among(proofs), scaled_losses(geometry, people(run))
        cyclic = cast(NoisyCGD, run)
        return bool(shifts) and all(holds_for_longer(cyclic, losses, p.shifts) for p in shifts)

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        return for_people(run, super().hypotheses(run, geometry, proofs))

    def rebuild(
        self, run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        return _function(cast(NoisyCGD, run), geometry, Proof.among(proofs), endless=False)

    def check(self, claim: Claim) -> None:
        """The cases are those of the run, and each is proved by its shifts."""
        run, geometry = cast(NoisyCGD, claim.run), claim.geometry
        given.require_smooth(geometry)
        require_arranged(run, geometry)
        shifts = verify_cases(
            claim.proofs,
            person_outcomes(run),
            lambda visits: person_schedule(run, geometry, visits),
            endless=claim.endless,
        )
        expected = _function(run, geometry, shifts, endless=claim.endless)
        require(
            at_least(claim.f, expected, SHIFTS_SLACK), "it states less than is proved, or another f"
        )


def _function(
    run: NoisyCGD, geometry: Geometry, proofs: Sequence[Proof], *, endless: bool
) -> TradeoffFunction:
    """The worst case of a fixed order; of a random one the mixture, none above composition."""
    if not has_random_visits(run):
        return GaussianTradeoff(max(proof.shifts.mu for proof in proofs))
    most = math.inf
    if not endless and run.arrangement == "one_per_batch":
        most = composition_mu(run, geometry)
    elif not endless:
        most = composition_mu(one_record(run), scaled_losses(geometry, people(run)))
    parts = [GaussianTradeoff(min(proof.shifts.mu, most)) for proof in proofs]
    return Mixture(parts, [proof.weight for proof in proofs])


class _ArrangedComposition(OnDescent):
    """All steps composed, no two records of a person in one of them: mu^2 adds up over batches."""

    name = "Theorem V4 (composition, one per batch)"
    citation = "Theorem V4"
    anchor = _ANCHOR
    family = "composition"
    contracts = False
    projects = False
    runs = (NoisyCGD,)
    protects_people = needs_people = True
    place = 130

    def speaks_of(self, run: Any) -> bool:
        return bool(run.arrangement == "one_per_batch")

    def _bound(self, run: Any, geometry: Geometry) -> Bound:
        mu = composition_mu(run, geometry)
        if math.isinf(mu):
            raise UnmetHypothesis(
                "noise", 0.0, "is that of a step, which composition lets be seen", "use Theorem V4"
            )
        return Bound(self, GaussianTradeoff(mu))

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        return for_people(run, super().hypotheses(run, geometry, proofs))


# --- group privacy ---


class _GroupPrivacy(Delegated):
    """1 - (1 - f)^{o k}, f being what another theorem says of one record. [DRS22, Thm 2.14]"""

    runs = NoisyGD, NoisyCGD, NoisySGD
    protects_people = needs_people = True
    place = 110
    why_above = "group privacy of one record's bound; a person's records hide each other"

    def speaks_of(self, run: Any) -> bool:
        return self.base.applies_to(one_record(run))

    def _base_problem(self, run: Any, geometry: Geometry) -> tuple[Run, Geometry]:
        return one_record(run), geometry

    def _read(self, f: TradeoffFunction, run: Any) -> TradeoffFunction:
        return GroupTradeoff(f, people(run))

    def _written(self, f: TradeoffFunction, run: Any) -> TradeoffFunction:
        fits = isinstance(f, GroupTradeoff) and f.size == people(run)
        require(fits, "the bound is no group privacy of the people of the run")
        return cast(GroupTradeoff, f).base

    def _own(self, bound: Bound, run: Any) -> Bound:
        # an estimate for one record is none for several
        return replace(super()._own(bound, run), guess=None)

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        # what was found is no rival of the base, which is about one record
        return super().prospect(run, geometry, delta, math.inf)

    def _assumed(self, run: Any, hypotheses: Assumptions) -> Assumptions:
        return for_people(run, hypotheses)


def group_privacy(bases: Iterable[Theorem]) -> tuple[Theorem, ...]:
    """Group privacy of each of these theorems."""
    return tuple(
        _GroupPrivacy(base, f"Group privacy of {base.name}", _ANCHOR, "Theorem V4")
        for base in bases
    )


THEOREMS = (
    *(
        _Together(base, f"Theorem V4 ({base.name})", _ANCHOR, "Theorem V4")
        for base in (*DESCENT_COMPOSITION, *DESCENT_PAPER, ONE_OUTCOME)
    ),
    _ArrangedComposition(),
    _Arranged(),
)
