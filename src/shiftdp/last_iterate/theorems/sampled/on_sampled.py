"""What theorems on NoisySGD share: a search for free parameters, their proof, and its check."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, cast

from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumption, Assumptions
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, Run, Sampling
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.proofs import Proofs, StochasticProof
from shiftdp.last_iterate.theorems.sampled.checks import verify_constants
from shiftdp.last_iterate.theorems.sampled.search import accuracy_for
from shiftdp.last_iterate.theorems.sampled.shifts import (
    charged_steps,
    participation_up,
    refuse_adjacency,
)
from shiftdp.last_iterate.theorems.theorem import Bound, Claim, Theorem

Found = tuple[Any, float]
"""Free parameters, and an estimate of epsilon with them."""

ROUGH = 1e-3  # accuracy of compositions that are only estimated, for which it does not matter


class OnSampled(Theorem):
    """A theorem on NoisySGD; where it has free parameters, one proof has them."""

    runs = (NoisySGD,)
    proof_type: type[Any] = StochasticProof
    sampling: Sampling | None = "without_replacement"  # None: any
    projects = True  # whether it makes use of a bounded set, where there is one

    def speaks_of(self, run: Any) -> bool:
        return self.sampling in (None, run.sampling)

    def require(self, run: NoisySGD, geometry: Geometry) -> None:
        """Raise `UnmetHypothesis` unless the numbers are those of the theorem."""
        refuse_adjacency(run, geometry)
        if self.contracts:
            given.require_smooth(geometry)
            given.require_contractive(run.learning_rate, geometry)
            if run.has_random_sizes:
                given.require_convex(geometry)

    @abstractmethod
    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        """The free parameters that are best at delta, and an estimate of epsilon there."""

    @abstractmethod
    def check_proof(
        self, run: NoisySGD, geometry: Geometry, proof: Any, failure: float, endless: bool
    ) -> None:
        """Raise `VerificationFailed` unless the parameters are such as the theorem allows."""

    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        run = cast(NoisySGD, run)
        self.require(run, geometry)
        proof, guess = self.search(run, geometry, delta)
        proofs = () if proof is None else (proof,)
        f = self.rebuild(run, geometry, proofs, accuracy_for(guess))
        return Bound(self, f, proofs, guess)

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        run, found = cast(NoisySGD, run), list[Assumption]()
        summing = run.has_random_sizes
        if self.contracts:
            summed = given.summed_losses(geometry, "the sampled sum") if summing else None
            found.append(summed or given.smooth_losses(geometry))
            if geometry.bounded and self.projects:
                found.append(given.constraint(geometry))
        moved = given.record_norm if summing else given.sensitivity
        found += [moved(geometry), given.adjacency(geometry), given.random_batches(run)]
        caps = [proof.cap for proof in proofs if isinstance(proof, self.proof_type)]
        found += [given.batch_cap(cap) for cap in caps if cap is not None]
        return (*found, given.GAUSSIAN_NOISE, given.hidden_iterates(run))

    def check(self, claim: Claim) -> None:
        """The parameters are checked in exact arithmetic, and f must be what they give."""
        run, geometry, f, proofs = cast(NoisySGD, claim.run), claim.geometry, claim.f, claim.proofs
        require(len(proofs) <= 1, "one proof is enough")
        own = all(isinstance(proof, self.proof_type) for proof in proofs)
        require(own, "the proof is of another kind")
        self.require(run, geometry)
        verify_constants(run, geometry, participation_up(run), charged_steps(run, geometry))
        base, failure = f.split_failure()
        proof = proofs[0] if proofs else None
        self.check_proof(run, geometry, proof, failure, claim.endless)
        expected = self.rebuild(run, geometry, proofs, f.accuracy)
        # the probability of a failure was checked; its last digits depend on the machine
        require(base == expected.split_failure()[0], "the bound is not what its proof gives")
