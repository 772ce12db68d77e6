"""Theorem B6: NoisySGD in two parts, a prefix that fills a leaky bucket and the steps after it.

Up to step tau two runs come apart by z, which grows when the record takes part, shrinks with every
step, and of which a part may be paid off; the steps after tau lead them together by shifts in
proportion to z. Given z the run is f_z-DP,

    f_z = G(what was paid) (x) S_p(z u_{tau+1}, s) (x) ... (x) S_p(z u_t, s),

and as it is not told in which steps of the prefix the record took part, neither is z:

    without replacement, replace_one   f = HiddenMixture of the f_z, neither measure shared
    Poisson, zero_out                  f = the worse direction of that with the second one shared
    Poisson, replace_one               f = the mean of the f_z (two patterns; z is told)

The law of z is found by `interpolation.bucket`; a certificate states it in a few values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, cast

from shiftdp._checks import LEAST_ACCURACY
from shiftdp._errors import UnmetHypothesis
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction
from shiftdp.fdp.composition.hidden_mixture import HiddenMixture, Shared
from shiftdp.fdp.functions.poisson import PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.functions.shifted_subsampling import shifted_subsampled
from shiftdp.fdp.search.sampled_estimates import Pair
from shiftdp.interpolation.bucket.chain import BucketGrid
from shiftdp.interpolation.bucket.verification import verify_bucket
from shiftdp.last_iterate.endless import faded
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, Run
from shiftdp.last_iterate.schedules.led_verification import verify_scheduled_prefix
from shiftdp.last_iterate.schedules.prefix import (
    ROUGH_PREFIX,
    best_prefix,
    prefix_law,
    rough_epsilon,
)
from shiftdp.last_iterate.schedules.prefix_steps import (
    EqualPrefix,
    PrefixSteps,
    ScheduledPrefix,
    prefix_steps,
)
from shiftdp.last_iterate.theorems import forms
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.proofs import AnyProof, Proofs
from shiftdp.last_iterate.theorems.sampled.batch_cap import left_by_cap, within_cap
from shiftdp.last_iterate.theorems.sampled.checks import (
    verify_constants,
    verify_failure,
    verify_led_from_one,
)
from shiftdp.last_iterate.theorems.sampled.composition import product
from shiftdp.last_iterate.theorems.sampled.on_sampled import Found, OnSampled
from shiftdp.last_iterate.theorems.sampled.search import accuracy_for
from shiftdp.last_iterate.theorems.sampled.shifts import (
    UP,
    Laws,
    charged_in_groups,
    participation_up,
    shifted_laws,
    steps_of,
)
from shiftdp.last_iterate.theorems.theorem import Bound, Prospect

Step = Callable[[float, float, float], TradeoffFunction]
"""The law of a step from p, its shift and what the record moves it by."""

_FOUND = (
    1.15  # an estimate with few values of the law was never above so many times what is certified
)
_GROUPS, _COARSER = 3, 3.0  # of shifts, and times the usual accuracy: more costs, and hardly helps
_LAWS = 16  # of steps that differ, after the prefix: each is composed for each value of a law
_MOST_VALUES = 64  # of a law: each is a composition
_RARE = 1e-9  # the probability of a filling that need not be composed
_SURELY = 4  # times the steps after which a distance has faded: beyond the digits of a check


@dataclass(frozen=True)
class PrefixProof(AnyProof):
    """What proves a bound by Theorem B6: a law that dominates the bucket, and what follows it.

    Distances are in units of the noise that the last step adds to the iterate.

    Args:
        tau: steps of the prefix.
        rate: what step k pays at most is rate * c_{k+1} ... c_tau * sd_k^2.
        values: of the law of the bucket after tau steps, rising.
        weights: their probabilities.
        grid: on which it was computed, and can be again.
        groups: shifts for a distance of 1 at tau, in units of the noise of each step, and number of
            steps, from step tau + 1 to t.
        accuracy: to which the steps after tau are composed.
        cap: B, the largest batch that is covered where batches have random sizes; else None.
    """

    tau: int
    rate: float
    values: tuple[float, ...]
    weights: tuple[float, ...]
    grid: BucketGrid
    groups: tuple[tuple[float, int], ...]
    accuracy: float
    cap: int | None = None
    form = forms.fields_of(
        {
            "tau": forms.COUNT,
            "rate": forms.NOT_NEGATIVE,
            "values": forms.listed(forms.NOT_NEGATIVE, 1),
            "weights": forms.listed(forms.SHARE, 1),
            "grid": forms.fields_of(
                {
                    "mesh": forms.POSITIVE,
                    "cells": forms.COUNT,
                    "blocks": forms.listed(forms.COUNT, 1),
                }
            ),
            "groups": forms.listed(forms.pair(forms.NOT_NEGATIVE, forms.COUNT), 1),
            "accuracy": forms.ACCURACY,
            "cap": forms.either(forms.COUNT, forms.NULL),
        }
    )

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "grid": vars(self.grid)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        fields = forms.typed(data, cls.form)
        return cls(**{**fields, "grid": BucketGrid(**fields["grid"])})


class _TheoremB6(OnSampled):
    """A leaky bucket, then steps that lead together what it holds."""

    name = citation = "Theorem B6"
    anchor = "theorem-b6-a-hidden-prefix"
    family = "ours"
    place = 31
    proof_type = PrefixProof

    def speaks_of(self, run: Any) -> bool:
        return not run.in_epochs

    def require(self, run: NoisySGD, geometry: Geometry) -> None:
        super().require(run, geometry)
        if run.steps < 2 or participation_up(run) >= 1.0 or not geometry.sensitivity:
            raise UnmetHypothesis(
                "run",
                f"{run.steps} steps of {run.batch_size} out of {run.n} records",
                "has no prefix in which a record may or may not take part",
                "use composition, or Theorem B1 for full batches",
            )

    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        cap, left = left_by_cap(run, geometry, delta)
        steps = prefix_steps(run, geometry, cap)
        last, rate, guess = best_prefix(_kind(run, geometry)[1], steps, left)
        prefix = prefix_law(steps, last, rate, left)
        proof = PrefixProof(
            tau=run.steps - last,
            rate=rate,
            values=prefix.values,
            weights=prefix.weights,
            grid=prefix.grid,
            groups=steps.shifts(last, _GROUPS),
            accuracy=min(1.0, _COARSER * accuracy_for(guess)),
            cap=cap,
        )
        return proof, guess

    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        found = super().bound(run, geometry, delta)
        return replace(found, guess=found.f.epsilon(delta))  # which f remembers

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        """By how many participations are felt; else by an estimate for the usual prefix, and if
        that is close, by one for the best."""
        if math.isinf(rival):
            return Prospect.OPEN
        run = cast(NoisySGD, run)
        self.require(run, geometry)
        cap, left = left_by_cap(run, geometry, delta)
        steps, (_, pair, _) = prefix_steps(run, geometry, cap), _kind(run, geometry)
        hopeless = (
            steps.crowded(rival)
            or rough_epsilon(pair, steps, left) > ROUGH_PREFIX * rival
            or best_prefix(pair, steps, left)[2] > _FOUND * rival
        )
        return Prospect.HOPELESS if hopeless else Prospect.OPEN

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        (proof,) = PrefixProof.among(proofs)
        steps = prefix_steps(run, geometry, proof.cap)
        paid = steps.bucket(run.steps - proof.tau, proof.rate).payments
        laws = shifted_laws(run, geometry, proof.groups, _LAWS)
        step, _, shared = _kind(run, geometry)
        parts = [_part(step, steps.p, laws, proof.accuracy, z, paid) for z in proof.values]
        if proof.weights[-1] <= _RARE:  # the fullest bucket: a Gaussian will do
            parts[-1] = GaussianTradeoff(parts[-1]._gaussian_below()[0])
        f = HiddenMixture(parts, proof.weights, shared).worse_direction()
        return within_cap(f, run, proof.cap, run.steps)

    def check_proof(
        self, run: NoisySGD, geometry: Geometry, proof: Any, failure: float, endless: bool
    ) -> None:
        require(proof is not None, "it has no law")
        require(run.batch_cap in (None, proof.cap), "the batch cap is not that of the run")
        require(proof.cap is None or proof.cap >= 1, "the batch cap admits no batch")
        require(len(proof.values) <= _MOST_VALUES, "the law has too many values")
        require(LEAST_ACCURACY <= proof.accuracy <= 1.0, "nothing is composed to this accuracy")
        _verify_steps(run, geometry, prefix_steps(run, geometry, proof.cap), proof)
        verify_failure(run, proof.cap, failure, run.steps)
        require(not endless or self.forgets(run, geometry, (proof,)), "older steps count, too")

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        """Whether what steps before the blocks can add has reached its limit."""
        run = cast(NoisySGD, run)
        (proof,) = PrefixProof.among(proofs)
        older = proof.tau - sum(proof.grid.blocks)
        uncapped = proof.cap is None or proof.cap >= run.n
        if not isinstance(run.learning_rate, float) or not isinstance(run.noise, float):
            return False
        return uncapped and faded(steps_of(run, geometry, proof.cap).c, older / _SURELY)


def _part(
    step: Step, p: float, laws: Laws, accuracy: float, z: float, paid: float
) -> TradeoffFunction:
    """f_z of Theorem B6 (see above): what was paid, composed with the steps after the prefix."""
    steps: list[tuple[TradeoffFunction, int]] = [(step(p, z * a * UP, s), n) for a, s, n in laws]
    return product([(GaussianTradeoff(paid), 1), *steps], accuracy)


def _verify_steps(
    run: NoisySGD, geometry: Geometry, steps: PrefixSteps, proof: PrefixProof
) -> None:
    """Raise unless the law dominates the bucket, and the shifts close it."""
    if isinstance(steps, ScheduledPrefix):
        verify_scheduled_prefix(run, geometry, steps, proof)
        end = proof.tau
        charged = charged_in_groups(run, geometry, proof.groups, _LAWS)
        for (_, n), each in zip(proof.groups, charged, strict=True):
            verify_constants(run, geometry, steps.p, each, slice(end, end + n))
            end += n
    elif isinstance(steps, EqualPrefix):
        verify_led_from_one(run, geometry, steps.steps, proof)
        bucket = steps.bucket(run.steps - proof.tau, proof.rate)
        verify_bucket(bucket, proof.grid, proof.values, proof.weights)


def _kind(run: NoisySGD, geometry: Geometry) -> tuple[Step, Pair, Shared]:
    """The tradeoff function of a step, the name of its pair in estimates, and `shared`.

    `shared` says how the f_z are mixed, as in the table above: which of the two measures does not
    depend on z, or "told" if z is revealed.
    """
    if not run.has_random_sizes:
        return shifted_subsampled, "symmetric", "neither"
    if geometry.adjacency == "replace_one":
        return PoissonReplaceOne, "two_sided", "told"
    return PoissonZeroOut, "one_sided", "second"


THEOREMS = PREFIX = (_TheoremB6(),)
