"""Theorem V3 where batches are random: further steps as noise of the last step of training.

*Merged steps.* Theorems B3, B6 and B7 rest on what Theorem B1 says of a pattern of participations.
K further steps, which move nothing apart, contract by c_K in all and leave the noise sd_K: to
Theorem B1 that is a last step of training with the noise sd sqrt(1 + (sd_K / (c_K sd))^2).

*A rounded restart* moves two points by j = g sqrt(d) at most before step T + 1. Payments add up, so
mu(v) becomes mu(v) + c_K j / sd_K at most, for each pattern v: the law of Theorem B7 is moved by
it, by one half where it counts on both sides.

*Batches of random size.* Contraction needs at most B records in a batch, in all T + K steps: the
probability that there are more is that of training, and that of K steps, together. Further steps
in batches of a fixed size, at most that of training in the mean, never have more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import AMPLE, GENEROUS, NOT_ZERO
from shiftdp.fdp import TradeoffFunction, WithFailure
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumptions
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, Run, Unlearning, people
from shiftdp.last_iterate.schedules.deletion import further_idle, require_one_prox, restart_distance
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.derived.delegation import Delegated
from shiftdp.last_iterate.theorems.derived.hypotheses import ANCHOR, deletion_assumed, training_of
from shiftdp.last_iterate.theorems.derived.sampled_people import affordable_people_cap, same_law
from shiftdp.last_iterate.theorems.hidden import HiddenProof
from shiftdp.last_iterate.theorems.proofs import Proofs
from shiftdp.last_iterate.theorems.sampled.batch_cap import affordable_cap, passed
from shiftdp.last_iterate.theorems.sampled.checks import verify_failure
from shiftdp.last_iterate.theorems.sampled.shifted import SAMPLED_SHIFTED
from shiftdp.last_iterate.theorems.sampled.shifts import capped_smoothness
from shiftdp.last_iterate.theorems.theorem import Bound, Claim, Prospect, Theorem

_MUCH = 1.5  # times the noise of the last step: from there on Theorem B6 gains little
_LONG = 2_000, 20_000  # steps from where on that is not worth its time: with much noise, and always
_MOST_STEPS = 1 << 24  # of training, whose noises are listed; what stands in for no end has more
_MOST_NOISE = 1e30  # a larger one would leave a mu that is nothing all the same


def losses_within(training: Any, geometry: Geometry, cap: int | None) -> Geometry:
    """The losses of a batch of at most `cap` records; a prox only does not expand."""
    if cap is None:
        return geometry
    smooth = capped_smoothness(training, geometry, cap)
    return replace(geometry, smoothness=smooth, prox_convexity=0.0)


def shared_cap(run: Unlearning, geometry: Geometry, delta: float) -> int | None:
    """A batch cap for training and further steps together; None where batches have one size."""
    training = cast(NoisySGD, training_of(run))
    if not training.has_random_sizes:
        return None
    given.require_convex(geometry)
    if people(training) > 1:
        return affordable_people_cap(training, delta, run.further_steps)
    return affordable_cap(training, geometry, delta, run.further_steps)[0]


def is_hidden(theorem: Theorem) -> bool:
    """Whether it rests on a law of mu(V), as Theorem B7 does."""
    return theorem.proof_type is HiddenProof


@lru_cache(maxsize=4)
def merged_run(run: Unlearning, geometry: Geometry, cap: int | None) -> NoisySGD:
    """Training with the noise of the further steps, in batches of at most `cap` records."""
    training = cast(NoisySGD, training_of(run))
    given.require_smooth(geometry)
    given.require_contractive(run.learning_rate, geometry)
    require_one_prox(run, geometry)
    if run.further_steps == 0 or training.steps > _MOST_STEPS:
        raise UnmetHypothesis(
            "further_steps",
            run.further_steps,
            f"are none, or training has no end, or more than {_MOST_STEPS} steps",
            "use the certificate of training",
        )
    slope, _, noise = further_idle(run, losses_within(training, geometry, cap))
    eta, sigma = _last(training.learning_rate), _last(training.noise)
    ratio = noise / (slope * eta) if 0.0 < slope < math.inf else math.nan
    if not ratio < math.inf:
        raise UnmetHypothesis(
            "further_steps",
            run.further_steps,
            "leave nothing of a distance, or let it grow without bound",
            "rely on the distance after training",
        )
    more = min(math.hypot(sigma, ratio), _MOST_NOISE) * (1.0 - AMPLE)
    noises = training.noise
    if isinstance(noises, float):
        noises = (noises,) * training.steps
    changed = {**vars(training), "noise": (*noises[:-1], more)}
    return NoisySGD(**changed if cap is None else {**changed, "batch_cap": cap})


class Merged(Delegated):
    """A theorem on training, with further steps as noise of its last one."""

    runs = (Unlearning,)

    def __init__(self, base: Theorem) -> None:
        super().__init__(base, f"Theorem V3 ({base.name})", ANCHOR, "Theorem V3")
        self.protects_people = True
        self.place = 220 if is_hidden(base) else 230  # as hidden ones are the best, mostly

    def speaks_of(self, run: Any) -> bool:
        if run.later_requests or not run.training.sampled:
            return False
        # shifts of a rounded restart are known for laws of mu(V)
        return (is_hidden(self.base) or not run.grid) and self.base.applies_to(training_of(run))

    def _base_problem(self, run: Any, geometry: Geometry) -> tuple[Run, Geometry]:
        return merged_run(run, geometry, None), geometry

    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        run = cast(Unlearning, run)
        cap = shared_cap(run, geometry, delta)
        asked = merged_run(run, geometry, cap)
        left = delta if cap is None else delta - passed(asked, cap, run.further_steps)
        found = self.base.bound(asked, geometry, left)
        f = self._final(run, geometry, asked, found.f, found.proofs)
        return Bound(self, f, found.proofs, None if run.grid else found.guess)

    def proved(self, bound: Bound, run: Run, geometry: Geometry, *, endless: bool) -> Bound:
        return bound

    def rebuild(
        self, run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        asked = merged_run(cast(Unlearning, run), geometry, _cap_of(proofs))
        f = self.base.rebuild(asked, geometry, proofs, accuracy)
        return self._final(cast(Unlearning, run), geometry, asked, f, proofs)

    def _final(
        self, run: Unlearning, geometry: Geometry, asked: NoisySGD, f: TradeoffFunction, proofs: Any
    ) -> TradeoffFunction:
        """f moved by the rounding of a restart, and the cap of the further steps counted in."""
        inner, failure = f.split_failure()
        cap = _cap_of(proofs)
        if run.grid:
            losses = losses_within(asked, geometry, cap)
            moved = _restart_mu(run, asked, geometry, losses)
            further = tuple(_moved(proof, moved) for proof in proofs)
            inner = self.base.rebuild(asked, geometry, further, f.accuracy).split_failure()[0]
        if cap is not None:
            failure += passed(asked, cap, run.further_steps)
        return WithFailure(inner, min(1.0, failure)) if failure > 0.0 else inner

    def check(self, claim: Claim) -> None:
        """The proof is one of the merged run; what rounding and the cap add is made again."""
        run, geometry, proofs = cast(Unlearning, claim.run), claim.geometry, claim.proofs
        require(not claim.endless, "it is not for runs without end")
        require(len(proofs) == 1, "it has no proof, or several")
        cap = _cap_of(proofs)
        training = cast(NoisySGD, training_of(run))
        require((cap is not None) == training.has_random_sizes, "it has no batch cap, or one")
        require(training.batch_cap in (None, cap), "the batch cap is not that of the run")
        asked = merged_run(run, geometry, cap)
        stated, failure = claim.f.split_failure()
        plain = self.base.rebuild(asked, geometry, proofs, claim.f.accuracy)
        self.base.check(Claim(asked, geometry, plain, proofs, claim.endless))
        inner, least = self._final(run, geometry, asked, plain, proofs).split_failure()
        if cap is not None:
            verify_failure(asked, cap, passed(asked, cap, run.further_steps), run.further_steps)
        # the last digits depend on the machine
        same = -AMPLE / 2.0 * least <= failure - least <= GENEROUS * least
        require(same, "the batch cap fails more often than stated, or less")
        require(
            same_law(stated.to_dict(), inner.to_dict()), "the bound is not what its proof gives"
        )

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        asked = merged_run(cast(Unlearning, run), geometry, _cap_of(proofs))
        return self._assumed(run, self.base.hypotheses(asked, geometry, proofs))

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        """Laws of mu(V) gain the most from a noisy last step; Theorem B6 is for few further steps,
        and Theorem B3 was never seen to be the best."""
        if math.isinf(rival):
            return Prospect.OPEN
        run = cast(Unlearning, run)
        training, easy = cast(Any, run).training, is_hidden(self.base)
        if not easy and (training.steps > _LONG[1] or self.base in SAMPLED_SHIFTED):
            return Prospect.HOPELESS
        merged = merged_run(run, geometry, shared_cap(run, geometry, delta))
        noisy = _last(merged.noise) > _MUCH * _last(training.noise)
        if not easy and noisy and training.steps > _LONG[0]:
            return Prospect.HOPELESS
        return max(self.base.prospect(merged, geometry, delta, rival), Prospect.OPEN)

    def is_met(self, run: Unlearning, geometry: Geometry, delta: float) -> bool:
        """Whether its hypotheses are."""
        try:
            asked = merged_run(run, geometry, shared_cap(run, geometry, delta))
            cast(Any, self.base).require(asked, geometry)
        except UnmetHypothesis:
            return False
        return True

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        return False

    def _assumed(self, run: Any, hypotheses: Assumptions) -> Assumptions:
        return deletion_assumed(run, hypotheses)


def merged_deletion(bases: Iterable[Theorem]) -> tuple[Merged, ...]:
    """Each of these theorems on sampled training, with further steps as noise of its last one."""
    return tuple(map(Merged, bases))


def _cap_of(proofs: Proofs) -> int | None:
    return next((getattr(proof, "cap", None) for proof in proofs), None)


def _last(values: Any) -> float:
    return float(values if isinstance(values, float) else values[-1])


def _restart_mu(run: Unlearning, asked: NoisySGD, geometry: Geometry, losses: Geometry) -> float:
    """What the rounding of a restart adds to each value of a law, so that it is paid for once."""
    slope, _, noise = further_idle(run, losses)
    moved = max(restart_distance(run, losses) * slope / noise * (1.0 + AMPLE), NOT_ZERO)
    both = asked.has_random_sizes and geometry.adjacency == "replace_one"
    return moved / people(asked) / (2.0 if both else 1.0) * (1.0 + AMPLE)


def _moved(proof: Any, by: float) -> HiddenProof:
    mu = tuple((value + by) * (1.0 + AMPLE) for value in proof.mu)
    return replace(cast(HiddenProof, proof), mu=mu)
