"""Theorem V3: training with a record, then further steps without it.

The run is compared with one that never had the record: the same start, the same further steps. To
Theorem B1 the further steps are steps that move nothing apart, in which noise gathers and distances
contract. Ways to a bound, of which `certify` takes the best:

- optimal shifts for training and further steps together, fixed orders and random ones;
- from the largest distance that training can lead to, for batches drawn without replacement;
- Theorem B7 for batches drawn without replacement: merged with the last step of training, further
  steps are more noise in it;
- any theorem on training itself, after which the further steps are post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import AMPLE, EIGHT_ROUNDINGS
from shiftdp.fdp import GaussianTradeoff, Mixture, TradeoffFunction
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumption, Assumptions
from shiftdp.last_iterate.endless import holds_for_longer
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import has_random_visits
from shiftdp.last_iterate.runs import (
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    Run,
    Training,
    Unlearning,
    people,
)
from shiftdp.last_iterate.schedules.deletion import (
    deletion_outcomes,
    deletion_schedule,
    further_idle,
    require_deletion,
    require_one_prox,
    restart_distance,
)
from shiftdp.last_iterate.theorems.checks import SHIFTS_SLACK, at_least, require, verify_cases
from shiftdp.last_iterate.theorems.derived.delegation import Delegated
from shiftdp.last_iterate.theorems.derived.people import scaled_losses
from shiftdp.last_iterate.theorems.derived.people_hypotheses import for_people
from shiftdp.last_iterate.theorems.hidden import HIDDEN
from shiftdp.last_iterate.theorems.proofs import Proof, Proofs
from shiftdp.last_iterate.theorems.theorem import Bound, Claim, Theorem

_ANCHOR = "theorem-v3-deletion"
_LARGEST_FACTOR = 1e100  # of noise: a larger one would leave a mu that is nothing all the same


def training_of(run: Unlearning) -> Training:
    """What was run, as a run that protects as many records as are deleted."""
    training = run.training
    if people(training) > 1 or run.records == 1:
        return training
    return type(training)(**{**vars(training), "records_per_person": run.records})


def _assumed(run: Unlearning, hypotheses: Assumptions) -> Assumptions:
    """Hypotheses on training, and what a deletion is."""
    several = people(run.training) > 1
    who = "the records of one person are" if several else _counted(run.records)
    more = "".join(f"; after {k} of them, {_counted(r)} deleted" for k, r in run.later_requests)
    rounded = ""
    if run.grid:
        rounded = (
            f"; what training ended with is rounded to a grid of {run.grid:g} in {run.dimension} "
            "dimensions before it goes on, in both runs"
        )
    text = (
        f"{who} deleted after {run.training.steps} steps, and {run.further_steps} further steps "
        f"use nothing of what was deleted{more}; the other run never had it, and is the same "
        f"otherwise; requests do not depend on iterates that were not released{rounded}"
    )
    return (*hypotheses, Assumption("deletion", text))


def _counted(records: int) -> str:
    return "one record is" if records == 1 else f"{records} records are"


# --- optimal shifts ---


class _Deleted(Theorem):
    """Theorem B1 with further steps that move nothing; in a random order the mean."""

    name = citation = "Theorem V3"
    anchor = _ANCHOR
    family = "ours"
    runs = (Unlearning,)
    protects_people = True

    def speaks_of(self, run: Any) -> bool:
        return isinstance(run.training, (NoisyGD, NoisyCGD))

    def _require(self, run: Unlearning, geometry: Geometry) -> None:
        given.require_smooth(geometry)
        given.require_contractive(run.training.learning_rate, geometry)
        given.require_contractive(run.learning_rate, geometry)
        if run.further_steps == 0:
            raise UnmetHypothesis(
                "further_steps", 0, "leaves nothing to forget by", "use the certificate of training"
            )
        random = has_random_visits(cast(Any, run.training))
        if random and (run.records > 1 or run.later_requests):
            raise UnmetHypothesis(
                "order",
                cast(NoisyCGD, run.training).order,
                "is random, and several records are covered in a fixed order",
                "certify each record by itself, or give a fixed order",
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
            given.gaussian_noise(),
            given.hidden_iterates(),
        )
        read = for_people(training, plain) if people(training) > 1 else plain
        return _assumed(run, read)

    def rebuild(
        self, run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        return _function(
            cast(Unlearning, run), [proof for proof in proofs if isinstance(proof, Proof)]
        )

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
        shifts = [proof.shifts for proof in proofs if isinstance(proof, Proof)]
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
    if not has_random_visits(cast(Any, run.training)):
        return GaussianTradeoff(max(proof.shifts.mu for proof in proofs))
    parts = [GaussianTradeoff(proof.shifts.mu) for proof in proofs]
    return Mixture(parts, [proof.weight for proof in proofs])


# --- from the distance ---


class _FromDistance(Theorem):
    """G(c_K z / sd_K), z being the largest distance after training, and c_K and sd_K what K steps
    leave of a distance, and of noise."""

    name = "Theorem V3 (distance)"
    citation = "Theorem V3"
    anchor = _ANCHOR
    family = "ours"
    runs = (Unlearning,)
    protects_people = True

    def speaks_of(self, run: Any) -> bool:
        training = run.training
        return isinstance(training, NoisySGD) and training.sampling == "without_replacement"

    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        run = cast(Unlearning, run)
        training = cast(NoisySGD, run.training)
        given.require_smooth(geometry)
        given.require_contractive(training.learning_rate, geometry)
        given.require_contractive(run.learning_rate, geometry)
        require_one_prox(run, geometry)
        eta, _ = given.require_equal_steps(training.learning_rate, training.noise)
        if run.further_steps == 0 or run.later_requests:
            raise UnmetHypothesis(
                "further_steps",
                run.further_steps,
                "are none, or there are later requests",
                "rely on the certificate of training, or certify each request by itself",
            )
        k = max(run.records, people(training))
        move = eta * geometry.sensitivity / training.batch_size * k * (1.0 + EIGHT_ROUNDINGS)
        c, t = geometry.contraction(eta), training.steps
        if c < 1.0:
            apart = min(move * t, move / (1.0 - c))
        elif c == 1.0:
            apart = move * t
        else:
            apart = math.inf
        distance = min(geometry.diameter, apart)
        if math.isinf(distance):
            raise UnmetHypothesis(
                "diameter", distance, "and distances are not bounded", "give a bounded set"
            )
        slope, _, noise = further_idle(run, geometry)
        if not noise > 0.0:
            raise UnmetHypothesis("noise", noise, "is that of all further steps", "give some")
        distance += restart_distance(run, geometry)
        return Bound(self, GaussianTradeoff(distance * slope / noise * (1.0 + AMPLE)))

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        """s/(1-c) and the diameter bound the distance after any number of steps."""
        training = cast(Unlearning, run).training
        rate = training.learning_rate
        return geometry.bounded or geometry.contraction(cast(float, rate)) < 1.0

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        run = cast(Unlearning, run)
        training = cast(NoisySGD, run.training)
        constraint = (given.constraint(geometry),) if geometry.bounded else ()
        plain = (
            given.smooth_losses(geometry),
            *constraint,
            given.sensitivity(geometry),
            given.adjacency(geometry),
            given.random_batches(training),
            given.gaussian_noise(),
            given.hidden_iterates(),
        )
        read = for_people(training, plain) if people(training) > 1 else plain
        return _assumed(run, read)


# --- Theorem B7, and training alone ---


class _AfterTraining(Delegated):
    """A theorem on training: further steps, which use nothing of the records, only follow it."""

    runs = (Unlearning,)
    protects_people = True

    def speaks_of(self, run: Any) -> bool:
        return not run.later_requests and self.base.applies_to(training_of(run))

    def _asked(self, run: Any, geometry: Geometry) -> tuple[Run, Geometry]:
        return training_of(run), geometry

    def _assumed(self, run: Any, hypotheses: Assumptions) -> Assumptions:
        return _assumed(run, hypotheses)


def after_training(bases: Iterable[Theorem]) -> tuple[Theorem, ...]:
    """Each of these theorems for training that is followed by further steps."""
    return tuple(
        _AfterTraining(base, f"Theorem V3 (after {base.name})", _ANCHOR, "Theorem V3")
        for base in bases
    )


class _Merged(Delegated):
    """Theorem B7 with further steps as noise of the last step: sd sqrt(1 + (sd_K / (c_K sd))^2)."""

    runs = (Unlearning,)

    def speaks_of(self, run: Any) -> bool:
        training = run.training
        plain = isinstance(training, NoisySGD) and training.sampling == "without_replacement"
        single = run.records == 1 and people(training) == 1
        return plain and single and not run.later_requests and not run.grid

    def _asked(self, run: Any, geometry: Geometry) -> tuple[Run, Geometry]:
        given.require_smooth(geometry)
        given.require_contractive(run.learning_rate, geometry)
        require_one_prox(run, geometry)
        training = run.training
        slope, _, noise = further_idle(run, geometry) if run.further_steps else (1.0, 1.0, 0.0)
        if run.further_steps == 0 or math.isinf(training.steps) or slope == 0.0:
            raise UnmetHypothesis(
                "further_steps",
                run.further_steps,
                "are none, or training has no end",
                "use the certificate of training",
            )
        rates = [training.learning_rate, training.noise]
        eta, sigma = (x if isinstance(x, float) else x[-1] for x in rates)
        own = eta * sigma
        factor = math.sqrt(1.0 + (noise / (slope * own)) ** 2) if slope * own > 0.0 else math.inf
        more = sigma * min(factor, _LARGEST_FACTOR) * (1.0 - AMPLE)
        noises = (training.noise,) * training.steps
        if not isinstance(training.noise, float):
            noises = training.noise
        changed = {**vars(training), "noise": (*noises[:-1], more)}
        return NoisySGD(**changed), geometry

    def _assumed(self, run: Any, hypotheses: Assumptions) -> Assumptions:
        return _assumed(run, hypotheses)


DELETION: tuple[Theorem, ...] = (
    *(_Merged(base, f"Theorem V3 ({base.name})", _ANCHOR, "Theorem V3") for base in HIDDEN),
    _FromDistance(),
    _Deleted(),
)
