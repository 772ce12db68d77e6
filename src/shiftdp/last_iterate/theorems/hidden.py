"""Theorem B7: NoisySGD where nobody learns in which steps a record took part. Nothing is composed.

Let mu(v) be what Theorem B1 gives for a record that takes part in the steps of the pattern v, and W
any law that is stochastically at least mu(V), or in the order of Theorem C8. The last iterate is
f-DP with

    without replacement, replace_one   f = HiddenExchange(W), or everything revealed: E G(W)
    Poisson, zero_out                  f = the worse direction of HiddenZeroOut(W)
    Poisson, replace_one               f = HiddenReplaceOne(W)
    random allocation, zero_out        f = the worse direction of HiddenZeroOut(W)

W is found by `interpolation.participation`; a certificate states it, and how finely it was rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np

from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import ROOMY_EXPONENT
from shiftdp.fdp import GaussianTradeoff, Mixture, TradeoffFunction
from shiftdp.fdp.functions.hidden import HiddenExchange, HiddenReplaceOne, HiddenZeroOut
from shiftdp.fdp.pairs.mean_guesses import guess_backward, guess_forward, guess_two_sided
from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.interpolation.participation.ages import equal_ages
from shiftdp.interpolation.participation.law import Grid, ParticipationLaw
from shiftdp.interpolation.participation.start import MOST_FOLLOWED
from shiftdp.interpolation.participation.sticks import Sticks
from shiftdp.last_iterate.endless import faded
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, Run
from shiftdp.last_iterate.schedules.participation import (
    begins_within_set,
    fine_participation_law,
    followed_steps,
    law_tail,
    participation_law,
    rough_participation_law,
    verify_participation,
)
from shiftdp.last_iterate.schedules.prefix import ROUGH_PREFIX, best_prefix, rough_epsilon
from shiftdp.last_iterate.schedules.prefix_steps import prefix_steps
from shiftdp.last_iterate.theorems import forms
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.proofs import AnyProof, Proofs
from shiftdp.last_iterate.theorems.sampled.batch_cap import left_by_cap, within_cap
from shiftdp.last_iterate.theorems.sampled.checks import verify_failure
from shiftdp.last_iterate.theorems.sampled.on_sampled import Found, OnSampled
from shiftdp.last_iterate.theorems.sampled.search import pair_of
from shiftdp.last_iterate.theorems.sampled.shifts import (
    StepArrays,
    participation_up,
    step_arrays,
)
from shiftdp.last_iterate.theorems.theorem import Prospect

_MOST_GROWTH = ROOMY_EXPONENT / 2.0  # of the logarithm of a distance over the whole run
_TYPICAL = 0.85  # of the root of the mean of mu^2: no bound was seen to be below that of G of it
_SEVERAL = 3.0  # participations that are still felt, in the mean
# times an estimate of Theorem B6, and so much more: then a law that is up to a part of .1 too large
# shows that B6 is the better bound
_ROUGHLY = 1.1, 0.02
_HARDLY = 0.55  # (1 - c) t up to which c = 1, being rounded less, is at least as tight a bound


@dataclass(frozen=True)
class HiddenProof(AnyProof):
    """What proves a bound by Theorem B7: a law that dominates mu(V), and how it was found.

    Args:
        mu: the values of the law, rising.
        weight: their probabilities.
        revealed: whether the bound is the one that holds even if the pattern is told.
        contracting: whether the contraction of the steps was used; else 1 stands in for it.
        followed: of how many last steps the participation was followed: all, or those since when
            the runs were apart by the diameter at most [Lemma C4], or by a line [Theorem C6].
        grid: on which it was computed, and can be again; None where mu(V) is as good as 0.
        tail: the delta for which it was: rarer things were not told apart.
        cap: B, the largest batch that is covered where batches have random sizes; else None.
    """

    mu: tuple[float, ...]
    weight: tuple[float, ...]
    revealed: bool
    contracting: bool
    followed: int
    grid: Grid | Sticks | None
    tail: float
    cap: int | None = None
    form = forms.fields_of(
        {
            "mu": forms.listed(forms.NOT_NEGATIVE, 1),
            "weight": forms.listed(forms.SHARE, 1),
            "revealed": forms.BOOLEAN,
            "contracting": forms.BOOLEAN,
            "followed": forms.COUNT,
            "grid": forms.either(
                forms.fields_of(
                    {
                        "starts": forms.listed(forms.INDEX, 1),
                        "unit": forms.POSITIVE,
                        "tick": forms.POSITIVE,
                        "values": forms.COUNT,
                        "cap": forms.COUNT,
                        "slopes": forms.listed(forms.INDEX, 1),
                        "cell": forms.POSITIVE,
                        "cells": forms.COUNT,
                    }
                ),
                forms.fields_of(
                    {
                        "mesh": forms.POSITIVE,
                        "cells": forms.COUNT,
                        "tilt": forms.POSITIVE,
                        "last": forms.POSITIVE,
                    }
                ),
                forms.NULL,
            ),
            "tail": forms.POSITIVE,
            "cap": forms.either(forms.COUNT, forms.NULL),
        }
    )

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "grid": None if self.grid is None else vars(self.grid)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        fields = forms.typed(data, cls.form)
        if fields["grid"] is not None:
            fields["grid"] = (Sticks if "mesh" in fields["grid"] else Grid)(**fields["grid"])
        return cls(**fields)


class _TheoremB7(OnSampled):
    """Hidden participation: one law, one integral or one pair of mixtures."""

    name = citation = "Theorem B7"
    anchor = "theorem-b7-hidden-participation"
    family = "ours"
    place = 30
    proof_type = HiddenProof
    sampling = None

    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        cap, left = left_by_cap(run, geometry, delta)
        found = [
            (self._function(run, geometry, proof, revealed=proof.revealed).epsilon(left), proof)
            for proof in hidden_proofs(run, geometry, cap, left)
        ]
        epsilon, proof = min(found, key=lambda each: each[0])
        return proof, epsilon

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        """By the mean of mu(V)^2, about that of the mean path and of lone participations.

        Where that does not decide, by a law that is rounded more coarsely. Theorem B6 is a rival as
        well, by an estimate.
        """
        run = cast(NoisySGD, run)
        if run.in_epochs or math.isinf(rival):
            return Prospect.OPEN
        self.require(run, geometry)
        cap, left = left_by_cap(run, geometry, delta)
        steps = step_arrays(run, geometry, cap)
        if geometry.bounded or not geometry.sensitivity:
            return Prospect.OPEN
        if not steps.equal or not 0.0 < float(steps.c) <= 1.0:
            return Prospect.OPEN
        ages = equal_ages(steps.p, float(steps.c), float(steps.s), float(steps.sd), steps.steps)
        if ages.mean >= _SEVERAL * float(steps.s):  # what is rarer is no matter of means
            chance = ages.participation * (1.0 - ages.participation)
            lone = float(np.sum(ages.count * chance * ages.jump**2 / ages.clock))
            typical = math.sqrt(ages.hull + lone)
            if GaussianTradeoff(_TYPICAL * typical).epsilon(delta) > rival:
                return Prospect.HOPELESS
        if float(steps.c) == 1.0 or _hardly_contracts(steps, run):
            return Prospect.OPEN  # Theorem B6 needs steps that forget
        law = rough_participation_law(run, steps, delta=law_tail(left))
        rough = self._function(run, geometry, law).epsilon(left)
        most = _ROUGHLY[0] * _by_prefix(run, geometry, cap, left, rough) + _ROUGHLY[1]
        return Prospect.HOPELESS if rough > most else Prospect.OPEN

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        (proof,) = HiddenProof.among(proofs)
        f = self._function(run, geometry, proof, revealed=proof.revealed)
        return within_cap(f, run, proof.cap, run.steps)

    def _function(
        self,
        run: NoisySGD,
        geometry: Geometry,
        law: HiddenProof | ParticipationLaw,
        *,
        revealed: bool = False,
    ) -> TradeoffFunction:
        """f of a law, as in the table above."""
        mu, weight = law.mu, law.weight
        if revealed:
            return Mixture([GaussianTradeoff(each) for each in mu], weight)
        if not run.has_random_sizes:
            return HiddenExchange(mu, weight)
        if geometry.adjacency == "replace_one":
            return HiddenReplaceOne(mu, weight)
        return HiddenZeroOut(mu, weight).worse_direction()

    def check_proof(
        self, run: NoisySGD, geometry: Geometry, proof: Any, failure: float, endless: bool
    ) -> None:
        require(proof is not None, "it has no law")
        require(proof.cap is not None or not run.has_random_sizes, "it has no batch cap")
        require(run.batch_cap in (None, proof.cap), "the batch cap is not that of the run")
        require(not (proof.revealed and run.has_random_sizes), "it reveals what is not")
        verify_participation(
            run,
            geometry,
            step_arrays(run, geometry, proof.cap),
            contracting=proof.contracting,
            followed=proof.followed,
            delta=proof.tail,
            law=ParticipationLaw(proof.mu, proof.weight),
            grid=proof.grid,
            revealed=proof.revealed,
        )
        verify_failure(run, proof.cap, failure, run.steps)
        require(not endless or self.forgets(run, geometry, (proof,)), "older steps count, too")

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        run = cast(NoisySGD, run)
        (proof,) = HiddenProof.among(proofs)
        steps = step_arrays(run, geometry, proof.cap)
        uncapped = proof.cap is None or proof.cap >= run.n
        if proof.followed < run.steps and begins_within_set(run, geometry, steps):
            # the start is any distance in the set, not one that is gathered from 0 on
            return uncapped and run.steps - proof.followed > MOST_FOLLOWED
        return uncapped and proof.contracting and steps.equal and faded(float(steps.c), run.steps)


def hidden_proofs(
    run: NoisySGD, geometry: Geometry, cap: int | None, delta: float
) -> Iterator[HiddenProof]:
    """One law, hidden and, without replacement, revealed: neither is always the better one."""
    steps, shape = _followed(run, geometry, cap)
    tail = law_tail(delta)
    for revealed in (False,) if run.has_random_sizes else (False, True):
        found: dict[str, Any] = {**shape, "delta": tail, "revealed": revealed}
        law, grid = participation_law(run, geometry, steps, **found)
        yield HiddenProof(
            mu=law.mu,
            weight=law.weight,
            revealed=revealed,
            **shape,
            grid=grid,
            tail=tail,
            cap=cap,
        )


def hidden_estimate(run: NoisySGD, geometry: Geometry, delta: float) -> float:
    """About the epsilon of Theorem B7: it steers searches among amounts of noise, and is no bound.

    Raises `UnmetHypothesis` as the theorem does.
    """
    (theorem,) = HIDDEN
    theorem.require(run, geometry)
    cap, left = left_by_cap(run, geometry, delta)
    steps, shape = _followed(run, geometry, cap)
    law, _ = fine_participation_law(run, geometry, steps, **shape, delta=law_tail(left))
    values, at = MeanLaw.of(law.mu, law.weight), np.array([left])
    if not run.has_random_sizes:
        return float(guess_forward(values, at, capped=True).epsilon[0])
    if geometry.adjacency == "replace_one":
        return float(guess_two_sided(values, at).epsilon[0])
    return max(float(guess(values, at).epsilon[0]) for guess in (guess_forward, guess_backward))


def _followed(
    run: NoisySGD, geometry: Geometry, cap: int | None
) -> tuple[StepArrays, dict[str, Any]]:
    """The steps, and which of them a law is made of."""
    steps = step_arrays(run, geometry, cap)
    _require_moderate(steps, run)
    contracting = not _hardly_contracts(steps, run)
    followed = followed_steps(run, geometry, steps, contracting=contracting)
    return steps, {"contracting": contracting, "followed": followed}


def _by_prefix(
    run: NoisySGD, geometry: Geometry, cap: int | None, delta: float, rival: float
) -> float:
    """About what Theorem B6 gives; infinity if that is no rival, or not for such a run."""
    if run.steps < 2 or participation_up(run) >= 1.0:
        return math.inf
    try:
        steps = prefix_steps(run, geometry, cap)
    except UnmetHypothesis:
        return math.inf
    pair = pair_of(run, geometry)
    if steps.crowded(rival) or rough_epsilon(pair, steps, delta) > ROUGH_PREFIX * rival:
        return math.inf
    return best_prefix(pair, steps, delta)[2]


def _require_moderate(steps: StepArrays, run: NoisySGD) -> None:
    """Refuse steps that expand, if they do so beyond the range of floats."""
    growth = np.log(np.maximum(steps.c, 1.0))
    if float(np.sum(growth)) * (steps.steps if steps.equal else 1) <= _MOST_GROWTH:
        return
    largest = run.learning_rate if isinstance(run.learning_rate, float) else max(run.learning_rate)
    raise UnmetHypothesis(
        "learning_rate",
        largest,
        f"lets a step expand distances by a factor of {float(np.max(steps.c)):.6g}, in the largest "
        f"batch that is covered, so that nothing is left to prove after {steps.steps} steps",
        "lower it, give larger batches, or rely on composition",
    )


def _hardly_contracts(steps: StepArrays, run: NoisySGD) -> bool:
    """Whether the bound uses 1 in the place of c.

    With x = (1 - c) t that costs a part of x^2/24 of mu, where many take part, and less where few
    do; unequal jumps, rounded up to a lattice, cost about a part of 0.015.
    """
    independent = not run.in_epochs and not math.isfinite(steps.diameter)
    if not (steps.equal and independent):
        return False
    return 0.0 < (1.0 - float(steps.c)) * steps.steps <= _HARDLY


THEOREMS = HIDDEN = (_TheoremB7(),)
