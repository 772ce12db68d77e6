"""Theorem B3: NoisySGD whose last steps lead the two runs together by shifts.

With p = b/n and s_k = L/(b sigma_k), for any tau and any shifts that `sampled.shifts` allows:

    [Theorem B3]  S_p(a_{tau+1}, s) (x) ... (x) S_p(a_t, s).

Under Poisson sampling it needs a batch cap, beyond which a batch counts as a failure.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, cast

from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp.fdp import TradeoffFunction
from shiftdp.fdp.functions.shifted_subsampling import shifted_subsampled
from shiftdp.last_iterate.endless import faded
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, Run
from shiftdp.last_iterate.schedules.led_together import Groups
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.proofs import Proofs, StochasticProof
from shiftdp.last_iterate.theorems.sampled.batch_cap import left_by_cap, within_cap
from shiftdp.last_iterate.theorems.sampled.checks import verify_constants, verify_groups
from shiftdp.last_iterate.theorems.sampled.composition import MUCH_ABOVE, poisson_steps, product
from shiftdp.last_iterate.theorems.sampled.on_sampled import ROUGH, Found, OnSampled
from shiftdp.last_iterate.theorems.sampled.search import (
    SEARCH_LAWS,
    best_groups,
    best_scheduled_groups,
    rough_scheduled_epsilon,
)
from shiftdp.last_iterate.theorems.sampled.shifts import (
    Laws,
    charged_in_groups,
    participation_up,
    shifted_laws,
    starts_from_diameter,
    steps_of,
    unequal_steps,
)
from shiftdp.last_iterate.theorems.theorem import Prospect


class _Led(OnSampled):
    """From tau >= 1 on, shifts lead the two runs together; tau = 0 is composition."""

    anchor = "theorem-b3-the-last-iterate-of-noisysgd"
    family = "ours"
    place = 20

    def require(self, run: NoisySGD, geometry: Geometry) -> None:
        super().require(run, geometry)
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

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        """If steps differ, each trial of the search is composed; the estimate here is not."""
        run = cast(NoisySGD, run)
        if isinstance(run.noise, float) and isinstance(run.learning_rate, float):
            return Prospect.OPEN
        if math.isinf(rival):
            return Prospect.COSTLY
        self.require(run, geometry)
        cap, left = left_by_cap(run, geometry, delta)
        steps = unequal_steps(run, geometry, cap)
        if steps is None:
            return Prospect.COSTLY
        rough = rough_scheduled_epsilon(run, geometry, steps, left)
        return Prospect.HOPELESS if rough > MUCH_ABOVE * rival else Prospect.COSTLY

    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        cap, left = left_by_cap(run, geometry, delta)
        steps = unequal_steps(run, geometry, cap)
        if steps is None:
            groups, guess = best_groups(run, geometry, steps_of(run, geometry, cap), left)
        else:

            def epsilon(groups: Groups) -> float:
                few = shifted_laws(run, geometry, groups, SEARCH_LAWS)
                return self.composed(run, geometry, few, ROUGH).epsilon(left)

            groups, _ = best_scheduled_groups(run, geometry, steps, left, epsilon)
            laws = shifted_laws(run, geometry, groups)
            guess = self.composed(run, geometry, laws, ROUGH).epsilon(left)
        return StochasticProof(run.steps - sum(n for _, n in groups), groups, cap=cap), guess

    @abstractmethod
    def composed(
        self, run: NoisySGD, geometry: Geometry, laws: Laws, accuracy: float
    ) -> TradeoffFunction:
        """The steps after tau."""

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        found = StochasticProof.among(proofs)
        return all(limit_reached(run, geometry, proof, proof.tau) for proof in found)


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
        (proof,) = StochasticProof.among(proofs)
        return self.composed(run, geometry, shifted_laws(run, geometry, proof.groups), accuracy)


class _TheoremB3Poisson(_Led):
    """Theorem B3 under Poisson sampling, where a batch beyond the cap is a failure."""

    name = "Theorem B3 (Poisson)"
    citation = "Theorem B3"
    sampling = "poisson"

    def composed(
        self, run: NoisySGD, geometry: Geometry, laws: Laws, accuracy: float
    ) -> TradeoffFunction:
        return poisson_steps(participation_up(run), geometry, laws, accuracy)

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        (proof,) = StochasticProof.among(proofs)
        f = self.composed(run, geometry, shifted_laws(run, geometry, proof.groups), accuracy)
        return within_cap(f, run, proof.cap, _capped(run, geometry, proof))


def _capped(run: NoisySGD, geometry: Geometry, proof: StochasticProof) -> int:
    """How many steps have to keep to the batch cap."""
    if proof.cap is None:
        raise InvalidInput("cap", None, "is missing", "give a batch cap")
    tau, unequal = proof.tau, unequal_steps(run, geometry, proof.cap)
    if unequal is None:
        apart = starts_from_diameter(steps_of(run, geometry, proof.cap), tau)
    else:
        apart = unequal.starts_from_diameter(tau)
    return run.steps - tau if apart else run.steps


def limit_reached(run: Any, geometry: Geometry, proof: StochasticProof, steps: int) -> bool:
    """Whether the distance after so many steps is at its limit, and no cap can be passed before."""
    each, cap = steps_of(run, geometry, proof.cap), proof.cap
    if starts_from_diameter(each, proof.tau):
        return True
    return (cap is None or cap >= run.n) and faded(each.c, steps)


THEOREMS = SAMPLED_SHIFTED = (_TheoremB3(), _TheoremB3Poisson())
