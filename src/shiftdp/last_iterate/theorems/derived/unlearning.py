"""Theorem V3: training with a record, then further steps without it.

The run is compared with one that never had the record: the same start, the same further steps. To
Theorem B1 the further steps are steps that move nothing apart, in which noise gathers and distances
contract. Ways to a bound, of which `certify` takes the best:

- optimal shifts for training and further steps together, fixed orders and random ones;
- from the largest distance that training can lead to (`distance`);
- Theorems B3, B6 and B7 for random batches: merged with the last step of training, further steps
  are more noise in it (`sampled_deletion`);
- any theorem on training itself, after which the further steps are post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from shiftdp._errors import UnmetHypothesis
from shiftdp.fdp import GaussianTradeoff, Mixture, TradeoffFunction
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumptions
from shiftdp.last_iterate.endless import holds_for_longer
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import has_random_visits
from shiftdp.last_iterate.runs import NoisyCGD, Run, Unlearning, people
from shiftdp.last_iterate.schedules.deletion import (
    deletion_outcomes,
    deletion_schedule,
    further_idle,
    one_by_one,
    require_deletion,
)
from shiftdp.last_iterate.theorems.checks import SHIFTS_SLACK, at_least, require, verify_cases
from shiftdp.last_iterate.theorems.derived.delegation import Delegated
from shiftdp.last_iterate.theorems.derived.hypotheses import (
    ANCHOR,
    deletion_assumed,
    for_people,
    training_of,
)
from shiftdp.last_iterate.theorems.derived.people import scaled_losses
from shiftdp.last_iterate.theorems.derived.sampled_deletion import is_hidden, merged_deletion
from shiftdp.last_iterate.theorems.derived.sampled_people import HIDDEN_PEOPLE
from shiftdp.last_iterate.theorems.hidden import HIDDEN
from shiftdp.last_iterate.theorems.prefix import PREFIX
from shiftdp.last_iterate.theorems.proofs import Proof, Proofs
from shiftdp.last_iterate.theorems.sampled.shifted import SAMPLED_SHIFTED
from shiftdp.last_iterate.theorems.theorem import Bound, Claim, Prospect, Theorem

# --- optimal shifts ---

_HARDLY = 1.0  # (1 - c) t up to which laws of steps that do not contract may be the tightest


class _Deleted(Theorem):
    """Theorem B1 with further steps that move nothing; in a random order the mean."""

    name = citation = "Theorem V3"
    anchor = ANCHOR
    family = "ours"
    place = 210
    runs = (Unlearning,)
    proof_type = Proof
    protects_people = True

    def speaks_of(self, run: Any) -> bool:
        return bool(run.training.in_turn)

    def _require(self, run: Unlearning, geometry: Geometry) -> None:
        given.require_smooth(geometry)
        given.require_contractive(run.training.learning_rate, geometry)
        given.require_contractive(run.learning_rate, geometry)
        if run.further_steps == 0:
            raise UnmetHypothesis(
                "further_steps", 0, "leaves nothing to forget by", "use the certificate of training"
            )
        require_deletion(run, geometry)

    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        run = cast(Unlearning, run)
        self._require(run, geometry)
        proofs = tuple(
            Proof(
                case.visits,
                case.weight,
                optimal_shifts(deletion_schedule(run, geometry, case.visits)),
            )
            for case in deletion_outcomes(run, geometry)
        )
        return Bound(self, _function(run, proofs), proofs)

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        run = cast(Unlearning, run)
        training = cast(NoisyCGD, run.training)
        constraint = (given.constraint(geometry),) if geometry.bounded else ()
        plain = (
            given.batch_losses(geometry, training),
            *constraint,
            given.sensitivity(geometry),
            given.adjacency(geometry),
            *given.batches_used(training),
            given.GAUSSIAN_NOISE,
            given.hidden_iterates(),
        )
        read = for_people(training, plain) if people(training) > 1 else plain
        return deletion_assumed(run, read)

    def rebuild(
        self, run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        return _function(cast(Unlearning, run), Proof.among(proofs))

    def check(self, claim: Claim) -> None:
        """The cases are those of the run, and each is proved by its shifts."""
        run, geometry = cast(Unlearning, claim.run), claim.geometry
        self._require(run, geometry)
        shifts = verify_cases(
            claim.proofs,
            deletion_outcomes(run, geometry),
            lambda visits: deletion_schedule(run, geometry, visits),
            endless=claim.endless,
        )
        expected = _function(run, shifts)
        fits = at_least(claim.f, expected, SHIFTS_SLACK)
        require(fits, "it states less than is proved, or another function")

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        """What is forgotten in training alone is forgotten: further steps only contract more.

        mu is smaller, though, so that it is asked of mu before them: that of the distance.
        """
        run = cast(Unlearning, run)
        shifts = [proof.shifts for proof in Proof.among(proofs)]
        slope, _, noise = further_idle(run, geometry)
        losses = scaled_losses(geometry, max(run.records, people(run.training)))
        training = cast(NoisyCGD, run.training)
        if not shifts or not slope or run.later_requests:
            return False
        # mu of a start at distance z is slope z / noise at most: compare like with like
        eta = training.learning_rate
        scale = noise / slope / (float(eta) * float(training.noise))  # type: ignore[arg-type]
        return all(
            holds_for_longer(training, losses, replace(each, mu=each.mu * scale)) for each in shifts
        )


def _function(run: Unlearning, proofs: Sequence[Proof]) -> TradeoffFunction:
    if one_by_one(run) or not has_random_visits(cast(Any, run.training)):
        return GaussianTradeoff(max(proof.shifts.mu for proof in proofs))
    parts = [GaussianTradeoff(proof.shifts.mu) for proof in proofs]
    return Mixture(parts, [proof.weight for proof in proofs])


# --- training alone ---


class AfterTraining(Delegated):
    """A theorem on training: further steps, which use nothing of the records, only follow it."""

    runs = (Unlearning,)
    protects_people = True
    place = 240
    why_above = "the bound is that of training: the further steps are not counted"

    def speaks_of(self, run: Any) -> bool:
        return not run.later_requests and self.base.applies_to(training_of(run))

    def _base_problem(self, run: Any, geometry: Geometry) -> tuple[Run, Geometry]:
        return training_of(run), geometry

    def _assumed(self, run: Any, hypotheses: Assumptions) -> Assumptions:
        return deletion_assumed(run, hypotheses)

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        """Theorem B7 was never seen to gain from leaving out further steps, but for equal steps."""
        run = cast(Unlearning, run)
        merged = _MERGED.get(self.base) if is_hidden(self.base) else None
        if merged is not None and _best_if_equal(training_of(run), geometry):
            merged = None
        if merged is not None and math.isfinite(rival) and merged.is_met(run, geometry, delta):
            return Prospect.HOPELESS
        return super().prospect(run, geometry, delta, rival)


def _best_if_equal(training: Any, geometry: Geometry) -> bool:
    """Whether laws for equal steps are tighter than others, which further steps make of them.

    So they are in a bounded set [Lemma C4], and where steps hardly contract [Theorems C6 and C7].
    """
    eta = training.learning_rate
    if not isinstance(eta, float) or not isinstance(training.noise, float):
        return False
    less = min(eta * geometry.strong_convexity, 2.0 - eta * geometry.smoothness)
    return geometry.bounded or less * training.steps <= _HARDLY


_MERGED = {
    item.base: item
    for item in merged_deletion((*HIDDEN, *HIDDEN_PEOPLE, *SAMPLED_SHIFTED, *PREFIX))
}


def after_training(bases: Iterable[Theorem]) -> tuple[Theorem, ...]:
    """Each of these theorems for training that is followed by further steps."""
    return tuple(
        AfterTraining(base, f"Theorem V3 (after {base.name})", ANCHOR, "Theorem V3")
        for base in bases
    )


THEOREMS = (_Deleted(), *_MERGED.values())
