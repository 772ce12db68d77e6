"""NoisySGD: all steps composed, which asks nothing of the losses but their sensitivity.

With p = b/n and s_k = L/(b sigma_k), batches without replacement compose to

    [BSA24, Thm sgd]  C_p(G(s_1)) (x) ... (x) C_p(G(s_t)).

Poisson sampling has other laws of a step (see `fdp.functions.poisson`), and random allocation is
composed epoch by epoch, with the record's place known or, by Theorem A1, hidden.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from shiftdp._rounding import ROOMY_EXPONENT
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction
from shiftdp.fdp.composition.allocation import FINE as FINE_ALLOCATION
from shiftdp.fdp.composition.allocation import ROUGH as ROUGH_ALLOCATION
from shiftdp.fdp.composition.allocation import AllocatedZeroOut
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.functions.poisson import PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.functions.subsampling import subsample
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisyCGD, NoisySGD, Run
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.composed_visits import composition_mu
from shiftdp.last_iterate.theorems.proofs import Proofs
from shiftdp.last_iterate.theorems.sampled.checks import verify_allocation
from shiftdp.last_iterate.theorems.sampled.on_sampled import ROUGH, Found, OnSampled
from shiftdp.last_iterate.theorems.sampled.search import (
    accuracy_for,
    composed_guess,
    rough_composed_epsilon,
)
from shiftdp.last_iterate.theorems.sampled.shifts import (
    UP,
    Laws,
    allocated_moves,
    charged_steps,
    participation_up,
)
from shiftdp.last_iterate.theorems.theorem import Prospect

_ESTIMATED = 1.01  # times epsilon: what an estimate of it may be too large by, and more
_HARDLY_LESS = 0.8  # of such a deviation: epsilon was not seen to be that of a smaller one
_RARE = 4.0
"""Participations that are expected: with fewer the loss is far from normal, and estimates have been
seen up to 50 times too large; what is composed of so few is composed fast."""
MUCH_ABOVE = 1.5
"""Times the rival: what a rough estimate may be too large by, and more."""


class _Composed(OnSampled):
    """All steps composed, which asks nothing of the losses but their sensitivity."""

    anchor = "composition"
    family = "composition"
    place = 1
    released = True
    contracts = False

    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        f = self.rebuild(run, geometry, (), ROUGH)
        guess = composed_guess(f, run, geometry, charged_steps(run, geometry), delta)
        if _is_rare(run):
            close = self.rebuild(run, geometry, (), accuracy_for(guess))
            guess = min(guess, close.epsilon(delta))
        return None, guess

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        """By cumulants, if noise differs: there may be no quick estimate that is close."""
        run = cast(NoisySGD, run)
        if isinstance(run.noise, float):
            return Prospect.OPEN
        if math.isinf(rival) or not geometry.sensitivity or _is_rare(run):
            return Prospect.COSTLY
        self.require(run, geometry)
        rough = rough_composed_epsilon(run, geometry, charged_steps(run, geometry), delta)
        return Prospect.HOPELESS if rough > MUCH_ABOVE * rival else Prospect.COSTLY

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

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        return Prospect.OPEN

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

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        """By the variance of the likelihood ratios, as if their logarithms were normal."""
        run = cast(NoisySGD, run)
        if math.isinf(rival):
            return Prospect.COSTLY
        self.require(run, geometry)
        variances = [
            n * math.log1p(math.expm1(min(s * s, ROOMY_EXPONENT)) / run.batches)
            for s, n in allocated_moves(run, geometry)
        ]
        typical = GaussianTradeoff(_HARDLY_LESS * math.sqrt(math.fsum(variances)))
        return Prospect.HOPELESS if typical.epsilon(delta) > rival else Prospect.COSTLY

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


def _is_rare(run: NoisySGD) -> bool:
    """Whether a record takes part so seldom that estimates cannot be relied on."""
    return participation_up(run) * run.steps < _RARE


def composition_below(
    run: NoisySGD, geometry: Geometry, epsilon: float, delta: float
) -> TradeoffFunction | None:
    """All steps composed, unless an estimate of its epsilon at delta is above the one given."""
    theorem = _composition_of(run)
    if theorem.prospect(run, geometry, delta, epsilon) == Prospect.HOPELESS:
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


THEOREMS = SAMPLED_COMPOSITION = (_Sgd(), _Poisson(), _RandomAllocation(), _AllocatedPlaces())
