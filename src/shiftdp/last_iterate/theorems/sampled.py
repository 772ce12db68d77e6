"""NoisySGD: composition and Theorem B3, with its free parameters.

With p = b/n and s_k = L/(b sigma_k), for any tau and any shifts that `sampled_shifts` allows:

    [BSA24, Thm sgd]  C_p(G(s_1)) (x) ... (x) C_p(G(s_t))
    [Theorem B3]      S_p(a_{tau+1}, s) (x) ... (x) S_p(a_t, s)

Poisson sampling has other laws of a step (see `fdp.functions.poisson`) and needs a batch cap as
soon as contraction is used. Random allocation is composed epoch by epoch.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, cast

from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp._rounding import ROOMY_EXPONENT
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction, WithFailure
from shiftdp.fdp.composition.allocation import FINE as FINE_ALLOCATION
from shiftdp.fdp.composition.allocation import ROUGH as ROUGH_ALLOCATION
from shiftdp.fdp.composition.allocation import AllocatedZeroOut
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.functions.poisson import PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.functions.shifted_subsampling import shifted_subsampled
from shiftdp.fdp.functions.subsampling import subsample
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumption, Assumptions
from shiftdp.last_iterate.endless import faded
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisyCGD, NoisySGD, Run, Sampling
from shiftdp.last_iterate.schedules.led_together import Groups
from shiftdp.last_iterate.theorems.batch_cap import cap_failure, left_by_cap
from shiftdp.last_iterate.theorems.checks import (
    require,
    verify_allocation,
    verify_constants,
    verify_groups,
)
from shiftdp.last_iterate.theorems.descent import composition_mu
from shiftdp.last_iterate.theorems.proofs import (
    Proofs,
    StochasticProof,
)
from shiftdp.last_iterate.theorems.sampled_search import (
    SEARCH_LAWS,
    accuracy_for,
    best_groups,
    best_scheduled_groups,
    composed_guess,
    rough_composed_epsilon,
    rough_scheduled_epsilon,
)
from shiftdp.last_iterate.theorems.sampled_shifts import (
    UP,
    Laws,
    allocated_moves,
    capped_steps,
    charged_in_groups,
    charged_steps,
    participation_up,
    refuse_adjacency,
    shifted_laws,
    starts_from_diameter,
    unequal_steps,
)
from shiftdp.last_iterate.theorems.theorem import Bound, Claim, Theorem

Found = tuple[Any, float]
"""Free parameters, and an estimate of epsilon with them."""

ROUGH = 1e-3  # accuracy of compositions that are only estimated, for which it does not matter


_ESTIMATED = 1.01  # times epsilon: what an estimate of it may be too large by, and more
_HARDLY_LESS = 0.8  # of such a deviation: epsilon was not seen to be that of a smaller one
_HOPELESS = 1.5  # times the rival: what a rough estimate may be too large by, and more


class OnSampled(Theorem):
    """A theorem on NoisySGD; where it has free parameters, one proof has them.

    `proof` is the class of that proof.
    """

    runs = (NoisySGD,)
    proof: type[Any] = StochasticProof
    sampling: Sampling = "without_replacement"
    projects = True  # whether it makes use of a bounded set, where there is one

    def speaks_of(self, run: Any) -> bool:
        return bool(run.sampling == self.sampling)

    def require(self, run: NoisySGD, geometry: Geometry) -> None:
        """Raise `UnmetHypothesis` unless the numbers are those of the theorem."""
        refuse_adjacency(run, geometry)

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
        caps = [proof.cap for proof in proofs if isinstance(proof, self.proof)]
        found += [given.batch_cap(cap) for cap in caps if cap is not None]
        return (*found, given.gaussian_noise(), given.hidden_iterates(run))

    def check(self, claim: Claim) -> None:
        """The parameters are checked in exact arithmetic, and f must be what they give."""
        run, geometry, f, proofs = cast(NoisySGD, claim.run), claim.geometry, claim.f, claim.proofs
        require(len(proofs) <= 1, "one proof is enough")
        require(
            all(isinstance(proof, self.proof) for proof in proofs), "the proof is of another kind"
        )
        self.require(run, geometry)
        verify_constants(run, geometry, participation_up(run), charged_steps(run, geometry))
        base, failure = f.split_failure()
        proof = proofs[0] if proofs else None
        self.check_proof(run, geometry, proof, failure, claim.endless)
        expected = self.rebuild(run, geometry, proofs, f.accuracy)
        # the probability of a failure was checked; its last digits depend on the machine
        require(base == expected.split_failure()[0], "the bound is not what its proof gives")


# --- composition ---


class _Composed(OnSampled):
    """All steps composed, which asks nothing of the losses but their sensitivity."""

    anchor = "composition"
    family = "composition"
    released = True
    contracts = False

    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        f = self.rebuild(run, geometry, (), ROUGH)
        return None, composed_guess(f, run, geometry, charged_steps(run, geometry), delta)

    def costly(self, run: Run) -> bool:
        """Where noise differs: there may be no quick estimate that is close."""
        return not isinstance(cast(NoisySGD, run).noise, float)

    def hopeless(self, run: Run, geometry: Geometry, delta: float, rival: float) -> bool:
        """By cumulants, if noise differs."""
        run = cast(NoisySGD, run)
        if not self.costly(run) or math.isinf(rival) or not geometry.sensitivity:
            return False
        self.require(run, geometry)
        charged = charged_steps(run, geometry)
        return rough_composed_epsilon(run, geometry, charged, delta) > _HOPELESS * rival

    def check_proof(
        self, run: NoisySGD, geometry: Geometry, proof: Any, failure: float, endless: bool
    ) -> None:
        require(proof is None and not failure, "composition needs no proof")


class _Sgd(_Composed):
    """C_p(G(s_1)) (x) ... (x) C_p(G(s_t))."""

    name = "Thm sgd (composition)"
    citation = "[BSA24, Thm sgd]"

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        p = participation_up(run)
        return product([(subsampled(p, s), n) for s, n in charged_steps(run, geometry)], accuracy)


class _Poisson(_Composed):
    """All steps composed under Poisson sampling; zero-out in the worse of its two directions."""

    name = "Poisson (composition)"
    citation = "Poisson sampling"
    sampling = "poisson"

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        laws = [(0.0, s, n) for s, n in charged_steps(run, geometry)]
        return poisson_steps(participation_up(run), geometry, laws, accuracy)


class _RandomAllocation(_Composed):
    """G(sqrt(sum over epochs of the largest s_k^2)): one visit an epoch, its place revealed.

    To one record that is as if batches of fixed size were reshuffled each epoch.
    """

    name = "Random allocation (composition)"
    citation = "Random allocation"
    sampling = "random_allocation"

    def costly(self, run: Run) -> bool:
        return False

    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        return None, self.rebuild(run, geometry, (), ROUGH).epsilon(delta)

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        shape = {**vars(run), "order": "reshuffled", "last_batch": "divide_by_b"}
        del shape["sampling"], shape["batch_cap"]
        return GaussianTradeoff(composition_mu(NoisyCGD(**shape), geometry))


class _AllocatedPlaces(_Composed):
    """The product over epochs of ((1/l) sum_i N(s e_i, I), N(0, I)), in the worse direction.

    The place of the record in each epoch stays a secret, though all iterates are seen. Of an epoch
    whose steps differ the largest move counts.
    """

    name = "Theorem A1 (composition)"
    citation = "Theorem A1"
    anchor = "theorem-a1-random-allocation-all-iterates"
    sampling = "random_allocation"

    def costly(self, run: Run) -> bool:
        return True

    def hopeless(self, run: Run, geometry: Geometry, delta: float, rival: float) -> bool:
        """By the variance of the likelihood ratios, as if their logarithms were normal."""
        run = cast(NoisySGD, run)
        self.require(run, geometry)
        variances = [
            n * math.log1p(math.expm1(min(s * s, ROOMY_EXPONENT)) / run.batches)
            for s, n in allocated_moves(run, geometry)
        ]
        typical = GaussianTradeoff(_HARDLY_LESS * math.sqrt(math.fsum(variances)))
        return typical.epsilon(delta) > rival

    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        """By two coarse grids: what a grid adds falls with the square of its mesh."""
        coarse, finer = (
            self._composed(run, geometry, fineness, ROUGH).epsilon(delta)
            for fineness in (2.0 * ROUGH_ALLOCATION, ROUGH_ALLOCATION)
        )
        return None, max(finer - (coarse - finer) / 3.0, 0.0) if coarse < math.inf else finer

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        return self._composed(run, geometry, FINE_ALLOCATION, accuracy)

    def check_proof(
        self, run: NoisySGD, geometry: Geometry, proof: Any, failure: float, endless: bool
    ) -> None:
        super().check_proof(run, geometry, proof, failure, endless)
        verify_allocation(run, geometry, allocated_moves(run, geometry))

    def _composed(
        self, run: NoisySGD, geometry: Geometry, fineness: float, accuracy: float
    ) -> TradeoffFunction:
        parts = [
            (AllocatedZeroOut(s, run.batches, fineness), n)
            for s, n in allocated_moves(run, geometry)
        ]
        return product(parts, accuracy).worse_direction()


def composition_below(
    run: NoisySGD, geometry: Geometry, epsilon: float, delta: float
) -> TradeoffFunction | None:
    """All steps composed, unless an estimate of its epsilon at delta is above the one given."""
    theorem = _composition_of(run)
    if theorem.hopeless(run, geometry, delta, epsilon):
        return None
    _, guess = theorem.search(run, geometry, delta)
    if guess >= epsilon * _ESTIMATED:
        return None
    return theorem.rebuild(run, geometry, (), accuracy_for(guess))


def composed_renyi(run: NoisySGD, geometry: Geometry, order: float) -> float:
    """The Renyi divergence of all steps composed, in the worse direction.

    (That of the function min{g, g^-1}** itself is larger than both.)
    """
    f = _composition_of(run).rebuild(run, geometry, (), ROUGH)
    return max(part.renyi(order) for part in {*f.directions})


def _composition_of(run: NoisySGD) -> _Composed:
    """The tightest: the last one that applies."""
    return next(theorem for theorem in reversed(SAMPLED_COMPOSITION) if theorem.applies_to(run))


# --- Theorem B3 ---


class _Led(OnSampled):
    """From tau >= 1 on, shifts lead the two runs together; tau = 0 is composition."""

    anchor = "theorem-b3-the-last-iterate-of-noisysgd"
    family = "ours"

    def require(self, run: NoisySGD, geometry: Geometry) -> None:
        super().require(run, geometry)
        given.require_smooth(geometry)
        given.require_contractive(run.learning_rate, geometry)
        if run.steps < 2:
            raise UnmetHypothesis(
                "steps", run.steps, "leaves nothing to look back on", "use composition"
            )

    def check_proof(
        self, run: NoisySGD, geometry: Geometry, proof: Any, failure: float, endless: bool
    ) -> None:
        require(proof is not None and proof.split is None, "it has no shifts")
        require(run.batch_cap in (None, proof.cap), "the batch cap is not that of the run")
        require(proof.cap is None or proof.cap >= 1, "the batch cap admits no batch")
        verify_groups(run, geometry, proof, failure, endless=endless)
        end = proof.tau
        for (_, n), charged in zip(
            proof.groups, charged_in_groups(run, geometry, proof.groups), strict=True
        ):
            verify_constants(run, geometry, participation_up(run), charged, slice(end, end + n))
            end += n

    def costly(self, run: Run) -> bool:
        """Whether steps differ: each trial of the search is composed then."""
        run = cast(NoisySGD, run)
        return not (isinstance(run.noise, float) and isinstance(run.learning_rate, float))

    def hopeless(self, run: Run, geometry: Geometry, delta: float, rival: float) -> bool:
        """If steps differ, decide by an estimate for which nothing is composed."""
        run = cast(NoisySGD, run)
        self.require(run, geometry)
        if not self.costly(run) or math.isinf(rival):
            return False
        cap, left = left_by_cap(run, geometry, delta)
        steps = unequal_steps(run, geometry, cap)
        if steps is None:
            return False
        return rough_scheduled_epsilon(run, geometry, steps, left) > _HOPELESS * rival

    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        cap, left = left_by_cap(run, geometry, delta)
        return self.led(run, geometry, left, cap)

    def led(self, run: NoisySGD, geometry: Geometry, delta: float, cap: int | None = None) -> Found:
        """The best shifts at delta, and an estimate of epsilon with them."""
        steps = unequal_steps(run, geometry, cap)
        if steps is None:
            groups, guess = best_groups(run, geometry, capped_steps(run, geometry, cap), delta)
        else:

            def epsilon(groups: Groups) -> float:
                few = shifted_laws(run, geometry, groups, SEARCH_LAWS)
                return self.composed(run, geometry, few, ROUGH).epsilon(delta)

            groups, _ = best_scheduled_groups(run, geometry, steps, delta, epsilon)
            laws = shifted_laws(run, geometry, groups)
            guess = self.composed(run, geometry, laws, ROUGH).epsilon(delta)
        return StochasticProof(run.steps - sum(n for _, n in groups), groups, cap=cap), guess

    @abstractmethod
    def composed(
        self, run: NoisySGD, geometry: Geometry, laws: Laws, accuracy: float
    ) -> TradeoffFunction:
        """The steps after tau."""

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        return all(limit_reached(run, geometry, proof, proof.tau) for proof in parameters(proofs))


class _TheoremB3(_Led):
    """S_p(a_{tau+1}, s) (x) ... (x) S_p(a_t, s)."""

    name = citation = "Theorem B3"

    def composed(
        self, run: NoisySGD, geometry: Geometry, laws: Laws, accuracy: float
    ) -> TradeoffFunction:
        p = participation_up(run)
        return product([(shifted_subsampled(p, a, s), n) for a, s, n in laws], accuracy)

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        (proof,) = parameters(proofs)
        return self.composed(run, geometry, shifted_laws(run, geometry, proof.groups), accuracy)


class _TheoremB3Poisson(_Led):
    """Theorem B3 under Poisson sampling, where a batch beyond the cap is a failure."""

    name = "Theorem B3 (Poisson)"
    citation = "Theorem B3"
    sampling = "poisson"

    def require(self, run: NoisySGD, geometry: Geometry) -> None:
        super().require(run, geometry)
        given.require_convex(geometry)

    def composed(
        self, run: NoisySGD, geometry: Geometry, laws: Laws, accuracy: float
    ) -> TradeoffFunction:
        return poisson_steps(participation_up(run), geometry, laws, accuracy)

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        (proof,) = parameters(proofs)
        f = self.composed(run, geometry, shifted_laws(run, geometry, proof.groups), accuracy)
        failure = beyond_cap(run, geometry, proof)
        return WithFailure(f, failure) if failure > 0.0 else f


def poisson_steps(p: float, geometry: Geometry, laws: Laws, accuracy: float) -> TradeoffFunction:
    """Steps under Poisson sampling; zero-out is composed in each direction: the worse counts."""
    if geometry.adjacency == "replace_one":
        return product([(PoissonReplaceOne(p, a, s), n) for a, s, n in laws], accuracy)
    there = product([(PoissonZeroOut(p, a, s), n) for a, s, n in laws], accuracy)
    return there.worse_direction()


def product(parts: Sequence[tuple[TradeoffFunction, int]], accuracy: float) -> TradeoffFunction:
    """The composition: a Gaussian or a single step where it is one, else numerical."""
    factors: dict[TradeoffFunction, int] = {}
    gaussians: list[tuple[float, int]] = []
    for f, n in parts:
        mu = f.gdp_mu
        if mu is None:
            factors[f] = factors.get(f, 0) + n
        elif mu > 0.0:
            gaussians.append((mu, n))
    if not factors:
        mu = math.hypot(*(mu * math.sqrt(n) for mu, n in gaussians)) if gaussians else 0.0
        return GaussianTradeoff(mu * UP)
    if not gaussians and list(factors.values()) == [1]:
        return next(iter(factors))
    known = ((GaussianTradeoff(mu), n) for mu, n in gaussians)
    return Composite((*known, *factors.items()), accuracy)


def subsampled(p: float, mu: float) -> TradeoffFunction:
    return GaussianTradeoff(0.0) if mu == 0.0 else subsample(GaussianTradeoff(mu), p)


def beyond_cap(run: NoisySGD, geometry: Geometry, proof: StochasticProof) -> float:
    """The probability that the batch cap is passed in a step that counts."""
    if proof.cap is None:
        raise InvalidInput("cap", None, "is missing", "give a batch cap")
    tau, unequal = proof.tau, unequal_steps(run, geometry, proof.cap)
    if unequal is None:
        apart = starts_from_diameter(capped_steps(run, geometry, proof.cap), tau)
    else:
        apart = unequal.starts_from_diameter(tau)
    count = run.steps - tau if apart else run.steps
    return cap_failure(run.n, participation_up(run), proof.cap, count)


def parameters(proofs: Proofs) -> list[StochasticProof]:
    return [proof for proof in proofs if isinstance(proof, StochasticProof)]


def limit_reached(run: Any, geometry: Geometry, proof: StochasticProof, steps: int) -> bool:
    """Whether the distance after so many steps is at its limit, and no cap can be passed before."""
    each, cap = capped_steps(run, geometry, proof.cap), proof.cap
    if starts_from_diameter(each, proof.tau):
        return True
    return (cap is None or cap >= run.n) and faded(each.c, steps)


SAMPLED_COMPOSITION = (_Sgd(), _Poisson(), _RandomAllocation(), _AllocatedPlaces())
SAMPLED_SHIFTED = (_TheoremB3(), _TheoremB3Poisson())
