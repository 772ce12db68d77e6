"""Theorem V1: several iterates of noisy gradient descent with full or cyclic batches.

If the iterates after the steps t_1 < ... < t_R are released, they are together
G(sqrt(mu_1^2 + ... + mu_R^2))-DP, mu_r being that of Theorem B1 on the steps t_{r-1} + 1 to t_r,
started together. The record has one position in all segments: the worst one counts in a fixed
order, and in one that is shuffled once each has its probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from shiftdp._errors import UnmetHypothesis
from shiftdp.fdp import GaussianTradeoff, Mixture, TradeoffFunction
from shiftdp.fdp.composition.product import Product
from shiftdp.interpolation.schedule import PeriodicSchedule
from shiftdp.interpolation.shifts import Shifts
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import are_outcomes, has_random_visits, outcomes
from shiftdp.last_iterate.runs import NoisyCGD, NoisyGD, NoisySGD, Run
from shiftdp.last_iterate.schedules.releases import Segment, segments_of, too_many
from shiftdp.last_iterate.schedules.segments import segment_schedules
from shiftdp.last_iterate.schedules.visits import BatchRun, StepSchedule, Visits, has_equal_steps
from shiftdp.last_iterate.theorems import forms
from shiftdp.last_iterate.theorems.checks import SHIFTS_SLACK, at_least, require, verify_stated_mu
from shiftdp.last_iterate.theorems.composed_visits import composition_mu
from shiftdp.last_iterate.theorems.descent import OnDescent, descent_of, sharpened, solve
from shiftdp.last_iterate.theorems.proofs import (
    SHIFTS,
    AnyProof,
    Proofs,
    outcome_form,
    outcome_from_dict,
    outcome_to_dict,
)
from shiftdp.last_iterate.theorems.theorem import Bound, Claim

_MOST_PARTS, _MOST_UNEQUAL = 50_000, 20_000  # segments times positions, some seconds


@dataclass(frozen=True)
class ReleasesProof(AnyProof):
    """Shifts that prove a bound for one outcome of a run with several releases. Theorem V1.

    `segments` has shifts for each of `segments_of(run)`, in their order.
    """

    visits: Visits
    weight: float
    segments: tuple[Shifts, ...]
    form = outcome_form(segments=forms.listed(SHIFTS, 1))

    def to_dict(self) -> dict[str, Any]:
        shifts = [part.to_dict() for part in self.segments]
        return {**outcome_to_dict(self.visits, self.weight), "segments": shifts}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(*outcome_from_dict(data), tuple(map(Shifts.from_dict, data["segments"])))


class _TheoremV1(OnDescent):
    """The segments between releases, each by Theorem B1, for one position of the record."""

    name = citation = "Theorem V1"
    anchor = "theorem-v1-several-releases"
    family = "ours"
    place = 45
    released = needs_releases = True
    proof_type = ReleasesProof
    runs = NoisyGD, NoisyCGD, NoisySGD

    def speaks_of(self, run: Any) -> bool:
        if run.sampled:
            return bool(run.batch_size == run.n)
        return not positions_apart(run)

    def _bound(self, run: BatchRun, geometry: Geometry) -> Bound:
        given.require_smooth(geometry)
        given.require_contractive(run.learning_rate, geometry)
        proofs = _proofs(run, geometry)
        return Bound(self, _given_by(run, geometry, proofs), proofs)

    def rebuild(
        self, run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        return _given_by(descent_of(run, geometry), geometry, ReleasesProof.among(proofs))

    def check(self, claim: Claim) -> None:
        run, geometry = descent_of(claim.run, claim.geometry), claim.geometry
        proofs = ReleasesProof.among(claim.proofs)
        require(bool(proofs), "it carries no shifts")
        require(len(proofs) == len(claim.proofs), "a proof is of another kind")
        stated = [(proof.visits, proof.weight) for proof in proofs]
        require(are_outcomes(run, geometry, stated), "the outcomes are not those of the run")
        number = len(segments_of(run))
        cases = segment_schedules(run, geometry, [visits for visits, _ in stated])
        for schedules, proof in zip(cases, proofs, strict=True):
            require(len(proof.segments) == number, "the segments are not those of the run")
            for schedule, shifts in zip(schedules, proof.segments, strict=True):
                verify_stated_mu(schedule, shifts)
        proved = _given_by(run, geometry, proofs)
        if isinstance(proved, GaussianTradeoff):
            require(claim.f == proved, "mu is not what is proved")
        else:
            enough = at_least(claim.f, proved, SHIFTS_SLACK)
            require(enough, "a component states less than is proved, or it is another mixture")


def positions_apart(run: BatchRun) -> bool:
    """Whether the record's positions in different epochs are drawn independently."""
    return run.order == "reshuffled" and has_random_visits(run)


def joint_mu(segments: Sequence[Segment], each: Sequence[float]) -> float:
    """sqrt(sum_r mu_r^2), the least float above; a segment counts as often as there are like it.

    >>> joint_mu([Segment(0, 5, count=3), Segment(15, 5)], [1.0, 1.0])
    2.0
    """
    product = Product()
    for segment, mu in zip(segments, each, strict=True):
        product.gaussian(mu, segment.count)
    return product.mu if product.gaussians else 0.0


def _proofs(run: BatchRun, geometry: Geometry) -> tuple[ReleasesProof, ...]:
    """The best shifts of each segment for each outcome that matters."""
    cases, segments = list(outcomes(run, geometry)), segments_of(run)
    most = _MOST_PARTS if has_equal_steps(run) else _MOST_UNEQUAL
    if len(cases) * len(segments) > most:
        raise too_many(len(segments))
    known: dict[StepSchedule, Shifts] = {}

    def solved(schedule: StepSchedule, segment: Segment) -> Shifts:
        if isinstance(schedule, PeriodicSchedule):  # many segments are alike
            if schedule not in known:
                known[schedule] = sharpened(schedule, solve(schedule))
            return known[schedule]
        try:
            return solve(schedule)
        except UnmetHypothesis as unmet:
            raise _without_noise(segment, unmet) from unmet

    found = segment_schedules(run, geometry, [case.visits for case in cases])
    return tuple(
        ReleasesProof(case.visits, case.weight, tuple(map(solved, schedules, segments)))
        for case, schedules in zip(cases, found, strict=True)
    )


def _without_noise(segment: Segment, unmet: UnmetHypothesis) -> UnmetHypothesis:
    if unmet.name != "noise":
        return unmet
    return UnmetHypothesis(
        "noise",
        0.0,
        f"is the noise of the last steps before the release after step {segment.end}: what a "
        "record does there is released as it is",
        f"give noise to step {segment.end}",
    )


def _given_by(
    run: BatchRun, geometry: Geometry, proofs: Sequence[ReleasesProof]
) -> TradeoffFunction:
    """The worst outcome in a fixed order, else their mixture; none is above composition.

    Only groups of positions may be above it by more than rounding.
    """
    segments, random = segments_of(run), has_random_visits(run)
    each = [joint_mu(segments, [part.mu for part in proof.segments]) for proof in proofs]
    most = composition_mu(run, geometry) if random or has_equal_steps(run) else math.inf
    if not random:
        return GaussianTradeoff(min(most, max(each)))
    parts = [GaussianTradeoff(min(mu, most)) for mu in each]
    return Mixture(parts, [proof.weight for proof in proofs])


THEOREMS = (_TheoremV1(),)
