"""Theorem V1 where batches are drawn afresh in each segment between two releases.

Given what was released before, a segment is a run by itself, whose batches do not depend on those
of other segments: batches in an order that is reshuffled each epoch, if releases come at the ends
of epochs, and random ones. So the run is f_1 (x) ... (x) f_R-DP, where f_r is what the best theorem
on the last iterate gives for segment r.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from shiftdp._errors import UnmetHypothesis
from shiftdp.fdp import TradeoffFunction, WithFailure
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.composition.product import compose
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumption, Assumptions
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisyCGD, NoisySGD, Run
from shiftdp.last_iterate.schedules.releases import (
    Segment,
    number_of_releases,
    segments_of,
    too_many,
    within_epochs,
)
from shiftdp.last_iterate.theorems import forms
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.prefix import PrefixProof
from shiftdp.last_iterate.theorems.proofs import AnyProof, Proofs
from shiftdp.last_iterate.theorems.released.joint import positions_apart
from shiftdp.last_iterate.theorems.sampled.search import accuracy_for
from shiftdp.last_iterate.theorems.sampled.shifts import refuse_adjacency
from shiftdp.last_iterate.theorems.theorem import Bound, Claim, Theorem

_MOST_KINDS = 64  # of segments: each is certified by itself, and composed
_FAILURE_UP = 1.0 + 1e-9  # the last digits of a probability depend on the machine
_FAILURE_SAME = 1.0 + 1e-6  # more is the certificate of another run
_COARSER = 3.0  # than the sum of the widths of what is composed


@dataclass(frozen=True)
class SegmentProof(AnyProof):
    """What proves a bound on a segment that is a run by itself: a theorem, by name, and its proofs.

    Theorem V1 for batches that are drawn afresh in each segment; one for each of
    `segments_of(run)`, in their order. A segment has no segments of its own.
    """

    theorem: str
    proofs: Proofs
    form = forms.fields_of({"theorem": forms.WORD, "proofs": forms.listed(forms.PROOF)})
    inside = False

    def to_dict(self) -> dict[str, Any]:
        return {"theorem": self.theorem, "proofs": [proof.to_dict() for proof in self.proofs]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        from shiftdp.last_iterate.theorems.registry import proof_from_dict

        return cls(data["theorem"], tuple(map(proof_from_dict, data["proofs"])))


class _TheoremV1Segments(Theorem):
    """The product over segments of what their last iterates reveal."""

    name = "Theorem V1 (independent segments)"
    citation = "Theorem V1"
    anchor = "theorem-v1-several-releases"
    family = "ours"
    place = 45
    released = needs_releases = True
    proof_type = SegmentProof
    runs = NoisyCGD, NoisySGD

    def speaks_of(self, run: Any) -> bool:
        if run.sampled:
            return bool(run.batch_size < run.n)
        return positions_apart(run)

    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        from shiftdp.last_iterate.certification import certify

        given.require_smooth(geometry)
        segments = _required(run, geometry)
        # the segments may fail, and are tight, at a share of delta each
        share = delta / sum(segment.count for segment in segments)
        found = [certify(segment_run(run, part), geometry, delta=share) for part in segments]
        proofs = tuple(SegmentProof(each.bound, each.proofs) for each in found)
        rough = math.hypot(
            *(
                math.sqrt(part.count) * each.f.epsilon(share)
                for part, each in zip(segments, found, strict=True)
            )
        )
        accuracy = _accuracy(rough, segments, proofs)
        functions = [
            each.f if each.f == f else f  # which remembers what it was asked
            for each, f in zip(found, _functions(run, geometry, proofs, accuracy), strict=True)
        ]
        f = _product(segments, functions, accuracy)
        return Bound(self, f, proofs, f.epsilon(delta))  # which f remembers

    def rebuild(
        self, run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        return _product(segments_of(run), _functions(run, geometry, proofs, accuracy), accuracy)

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        from shiftdp.last_iterate.theorems.registry import theorem_of

        found: list[Assumption] = []
        alone = given.hidden_iterates()
        for segment, proof in zip(segments_of(run), SegmentProof.among(proofs), strict=True):
            theorem, part = theorem_of(proof.theorem), segment_run(run, segment)
            for item in theorem.hypotheses(part, geometry, proof.proofs):
                if item not in found and item != alone:
                    found.append(item)
        return (*found, given.hidden_iterates(run))

    def check(self, claim: Claim) -> None:
        from shiftdp.last_iterate.theorems.registry import theorem_of

        run, geometry, f = claim.run, claim.geometry, claim.f
        segments, proofs = _required(run, geometry), SegmentProof.among(claim.proofs)
        require(len(proofs) == len(claim.proofs), "a proof is of another kind")
        require(len(proofs) == len(segments), "the segments are not those of the run")
        base, failure = f.split_failure()
        functions = _functions(run, geometry, proofs, base.accuracy)
        for segment, proof, part in zip(segments, proofs, functions, strict=True):
            theorem, alone = theorem_of(proof.theorem), segment_run(run, segment)
            require(theorem.applies_to(alone), f"{theorem.name} is not about such a segment")
            theorem.check(Claim(alone, geometry, part, proof.proofs))
        expected, least = _product(segments, functions, base.accuracy, 1.0).split_failure()
        require(base == expected, "the bound is not what its segments give")
        require(least <= failure <= least * _FAILURE_SAME, "it fails as often as not stated")


def segment_run(run: Any, segment: Segment) -> Any:
    """The steps of a segment as a run by itself.

    >>> shape = dict(n=40, batch_size=10, learning_rate=0.1, noise=1.0, order="reshuffled")
    >>> run = NoisyCGD(**shape, epochs=9, releases="epochs")
    >>> segment_run(run, segments_of(run)[0]) == NoisyCGD(**shape, epochs=1)
    True
    """
    shape = {**vars(run), "steps": segment.steps, "releases": None}
    for name in ("learning_rate", "noise"):
        if isinstance(shape[name], tuple):
            shape[name] = shape[name][segment.begin : segment.end]
    return type(run)(**shape)


def _required(run: Run, geometry: Geometry) -> tuple[Segment, ...]:
    """The segments, if they are independent and not too many."""
    if run.sampled:
        refuse_adjacency(run, geometry)
    if run.in_epochs and within_epochs(run):
        where = "sampling" if run.sampled else "order"
        raise UnmetHypothesis(
            "releases",
            f"<{number_of_releases(run)} steps>",
            f"come within epochs, in each of which a record has one place "
            f'({where}="{getattr(run, where)}"): what is before and after a release is not '
            "independent",
            'release at the ends of epochs (releases="epochs"), or rely on composition',
        )
    segments = segments_of(run)
    if len(segments) > _MOST_KINDS:
        raise too_many(len(segments))
    return segments


def _functions(
    run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
) -> list[TradeoffFunction]:
    """What is proved of each segment."""
    from shiftdp.last_iterate.theorems.registry import theorem_of

    return [
        theorem_of(proof.theorem).rebuild(
            segment_run(run, segment), geometry, proof.proofs, accuracy
        )
        for segment, proof in zip(segments_of(run), SegmentProof.among(proofs), strict=True)
    ]


def _accuracy(
    guess: float, segments: tuple[Segment, ...], proofs: tuple[SegmentProof, ...]
) -> float:
    """How narrow the whole is composed: not more than segments that are composed themselves are."""
    own = math.fsum(
        segment.count * part.accuracy
        for segment, proof in zip(segments, proofs, strict=True)
        for part in PrefixProof.among(proof.proofs)
    )
    return min(1.0, max(accuracy_for(guess), _COARSER * own))


def _product(
    segments: tuple[Segment, ...],
    functions: list[TradeoffFunction],
    accuracy: float,
    failure_up: float = _FAILURE_UP,
) -> TradeoffFunction:
    """All segments composed, in each direction by itself where the two differ: the worse counts."""
    parts = [
        f.directions[1].power(segment.count) for segment, f in zip(segments, functions, strict=True)
    ]
    base, failure = compose(parts).split_failure()
    if isinstance(base, Composite):
        base = base.within(accuracy)
    whole = base.worse_direction()
    return WithFailure(whole, min(1.0, failure * failure_up)) if failure else whole


THEOREMS = (_TheoremV1Segments(),)
