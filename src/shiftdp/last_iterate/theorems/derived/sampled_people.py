"""Theorem V4 for random batches: how many of a person's records are in a step is binomial.

Under Poisson sampling each of the k records is drawn independently with probability p, so that the
number N of them in a step is Bin(k, p), and they move it by at most N s. A step is

    zero_out      the pair ( E N(N s, 1), N(0, 1) )
    replace_one   the pair ( E N(-N s, 1), E N(N s, 1) )

which Theorem B7 says of a run of one step, and steps are composed, direction by direction.

*Hidden participation.* Theorem B7 for the whole run needs a law W that is stochastically at least
mu(V), V being the counts of all steps. V is the sum of the patterns V_1 + ... + V_k of the records,
which are independent, and mu(V) <= mu(V_1) + ... + mu(V_k): W may be the sum of k independent laws
of one record. Under random allocation the records are independent as well. (Batches drawn without
replacement are not a product of records: there group privacy remains.)

*The batch cap.* Batches of at most B records contract. That a step has more is made an event of the
n - k records of other people: at least B - k + 1 of them are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import AMPLE, GENEROUS, NOT_ZERO, THREE_ROUNDINGS
from shiftdp.fdp import HiddenReplaceOne, HiddenZeroOut, TradeoffFunction
from shiftdp.interpolation.participation.law import ParticipationLaw
from shiftdp.last_iterate.assumptions import Assumptions
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, Run, one_record, people
from shiftdp.last_iterate.schedules.participation import verify_participation
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.derived.hypotheses import for_people
from shiftdp.last_iterate.theorems.hidden import HiddenProof, hidden_proofs
from shiftdp.last_iterate.theorems.proofs import Proofs
from shiftdp.last_iterate.theorems.sampled.batch_cap import choose_cap, passed, within_cap
from shiftdp.last_iterate.theorems.sampled.checks import verify_failure
from shiftdp.last_iterate.theorems.sampled.composition import product
from shiftdp.last_iterate.theorems.sampled.on_sampled import Found, OnSampled
from shiftdp.last_iterate.theorems.sampled.shifts import (
    charged_steps,
    participation_up,
    step_arrays,
)
from shiftdp.last_iterate.theorems.theorem import Claim

Law = tuple[tuple[float, ...], tuple[float, ...]]
"""Values and their probabilities."""

_ROUGH = 1e-3  # accuracy of a composition that is only estimated
_CELLS = 4096  # of the lattice on which laws of one record are added up
_LIKELY_VALUES, _OTHER_VALUES = 800, 100  # of the sum, where it is likely to be and beyond
_UNLIKELY = 1e-13  # the probability from which on values are not told apart finely
_SHARE = 1e-3  # of delta that is spent on batches beyond the cap


def binomial_law(k: int, p: float, s: float) -> Law:
    """The law of Bin(k, p) s: values, and probabilities of which all but the first are rounded up.

    >>> binomial_law(2, 0.5, 3.0)[0]
    (0.0, 3.0, 6.0)
    """
    values = [i * s * (1.0 + GENEROUS) for i in range(k + 1)]
    weights = _binomial(k, p) * (1.0 + GENEROUS)
    weights[0] = 1.0 - math.fsum(weights[1:].tolist())
    if weights[0] <= 0.0:  # p is almost 1: the tails above the first are 1, up to rounding
        above = np.append(1.0, np.minimum(np.cumsum(weights[:0:-1])[::-1], 1.0))
        weights = above - np.append(above[1:], 0.0)
    kept = [i for i in range(k + 1) if weights[i] > 0.0]
    return tuple(values[i] for i in kept), tuple(weights[kept].tolist())


def _binomial(k: int, p: float) -> Array:
    """P(Bin(k, p) = i), by logarithms, which lose far less than a part of 1e-9; never 0 above 0."""
    if p >= 1.0:
        return np.append(np.zeros(k), 1.0)
    i = np.arange(k + 1)
    log_choose = np.array([math.log(math.comb(k, int(j))) for j in i])
    log_weight = log_choose + i * math.log(p) + (k - i) * math.log1p(-p)
    return np.asarray(np.maximum(np.exp(log_weight), NOT_ZERO))


class _PoissonPeople(OnSampled):
    """All steps composed, a person's records being drawn one by one."""

    name = "Theorem V4 (Poisson composition)"
    citation = "Theorem V4"
    anchor = "theorem-v4-people-with-several-records"
    family = "composition"
    place = 120
    contracts = False
    sampling = "poisson"
    protects_people = needs_people = True

    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        return None, self.rebuild(run, geometry, (), _ROUGH).epsilon(delta)

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        k, p = people(run), participation_up(run)
        laws = [(binomial_law(k, p, s), n) for s, n in charged_steps(run, geometry)]
        if geometry.adjacency == "replace_one":
            return product([(HiddenReplaceOne(*law), n) for law, n in laws], accuracy)
        return product([(HiddenZeroOut(*law), n) for law, n in laws], accuracy).worse_direction()

    def check_proof(
        self, run: NoisySGD, geometry: Geometry, proof: Any, failure: float, endless: bool
    ) -> None:
        require(proof is None and not failure, "composition needs no proof")

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        return for_people(run, super().hypotheses(run, geometry, proofs))


# --- hidden participation ---


def summed_law(mu: Sequence[float], weight: Sequence[float], k: int) -> Law:
    """A law that is stochastically at least the sum of k independent draws from a law.

    Values are rounded up to a lattice, so that sums are on it, and those to a coarser one. All
    probabilities above the first are rounded up.

    >>> values, weights = summed_law((0.0, 1.0), (0.75, 0.25), 2)
    >>> values, [round(w, 6) for w in weights]
    ((0.0, 1.0, 2.0), [0.5625, 0.375, 0.0625])
    """
    largest = float(mu[-1])
    if largest == 0.0 or k == 1:
        return tuple(mu), tuple(weight)
    unit = largest / _CELLS
    cell = np.ceil(np.asarray(mu) / unit * (1.0 - THREE_ROUNDINGS)).astype(np.int64)
    one: Array = np.bincount(cell, np.asarray(weight), _CELLS + 1).astype(np.float64)
    density = np.ones(1)
    for _ in range(k):
        density = _convolved(density, one)
    density[-1] += NOT_ZERO  # for products that underflow
    # narrow cells where the sum is likely to be, wide ones beyond
    tail = np.cumsum(density[::-1])[::-1]
    likely = max(int(np.count_nonzero(tail >= _UNLIKELY)) - 1, 1)
    width = -(-likely // _LIKELY_VALUES)
    rest = -(-(density.size - 1 - likely) // _OTHER_VALUES)
    ends = np.unique(
        np.concatenate(
            [
                np.arange(0, likely + width, width),
                np.arange(likely + width, density.size, max(rest, 1)),
            ]
        )
    )
    ends = np.append(ends[ends < density.size - 1], density.size - 1)
    sums = np.add.reduceat(density, np.append(0, ends[:-1] + 1)) * (1.0 + GENEROUS)
    values = (ends * unit * (1.0 + GENEROUS)).tolist()
    weights = sums.tolist()
    while len(weights) > 1 and (first := 1.0 - math.fsum(weights[1:])) <= 0.0:
        del values[0], weights[0]  # the others are all there is, up to rounding
    weights[0] = first if len(weights) > 1 else 1.0
    kept = [i for i, w in enumerate(weights) if w > 0.0]
    return tuple(values[i] for i in kept), tuple(weights[i] for i in kept)


def _convolved(density: Array, one: Array) -> Array:
    """`np.convolve`, by a sum over the cells of `one` that are not empty: some hundred of 4,096."""
    found = np.zeros(density.size + one.size - 1)
    room = np.empty(density.size)
    for place in np.flatnonzero(one):
        np.multiply(density, one[place], out=room)
        found[place : place + density.size] += room
    return found


class _HiddenPeople(OnSampled):
    """Theorem B7 with the sum of k independent laws of one record."""

    name = "Theorem V4 (hidden)"
    citation = "Theorem V4"
    anchor = "theorem-v4-people-with-several-records"
    family = "ours"
    place = 120
    proof_type = HiddenProof
    protects_people = needs_people = True

    def speaks_of(self, run: Any) -> bool:
        return bool(run.has_random_sizes)

    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        cap = affordable_people_cap(run, delta)
        failure = passed(run, cap, run.steps)
        left = (delta - failure) / (1.0 - failure)
        (proof,) = hidden_proofs(one_record(run), geometry, cap, left)
        return proof, _hidden(run, geometry, proof).epsilon(left)

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        (proof,) = HiddenProof.among(proofs)
        return within_cap(_hidden(run, geometry, proof), run, proof.cap, run.steps)

    def check(self, claim: Claim) -> None:
        """The law of one record is checked as for Theorem B7; the sum is made again."""
        run, geometry, proofs = cast(NoisySGD, claim.run), claim.geometry, claim.proofs
        self.require(run, geometry)
        require(not claim.endless, "it is not for runs without end")
        require(len(proofs) == 1 and isinstance(proofs[0], HiddenProof), "it has no law")
        base, failure = claim.f.split_failure()
        self.check_proof(run, geometry, proofs[0], failure, claim.endless)
        # sums of the same numbers differ in their last digits from machine to machine
        expected = self.rebuild(run, geometry, proofs, base.accuracy).split_failure()[0]
        same = same_law(base.to_dict(), expected.to_dict())
        require(same, "the bound is not what its proof gives")

    def check_proof(
        self, run: NoisySGD, geometry: Geometry, proof: Any, failure: float, endless: bool
    ) -> None:
        require(proof.cap is not None and not proof.revealed, "it has no batch cap, or is revealed")
        require(run.batch_cap in (None, proof.cap), "the batch cap is not that of the run")
        single = one_record(run)
        verify_participation(
            single,
            geometry,
            step_arrays(single, geometry, proof.cap),
            contracting=proof.contracting,
            followed=proof.followed,
            delta=proof.tail,
            law=ParticipationLaw(proof.mu, proof.weight),
            grid=proof.grid,
        )
        verify_failure(run, proof.cap, failure, run.steps)

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        return for_people(run, super().hypotheses(run, geometry, proofs))


def _hidden(run: NoisySGD, geometry: Geometry, proof: HiddenProof) -> TradeoffFunction:
    law = summed_law(proof.mu, proof.weight, people(run))
    if geometry.adjacency == "replace_one":
        return HiddenReplaceOne(*law)
    return HiddenZeroOut(*law).worse_direction()


def affordable_people_cap(run: NoisySGD, delta: float, more: int = 0) -> int:
    """The cap of the run, or one that hardly costs anything; `more` steps of others are counted."""
    k, p, cap = people(run), participation_up(run), run.batch_cap
    apart, steps = not run.in_epochs, run.steps + more
    if cap is None:
        cap = k - 1 + choose_cap(run.n - k + 1, p, steps, _SHARE * delta, independent=apart)
    failure = passed(run, cap, steps)
    if not failure < delta:
        raise UnmetHypothesis(
            "batch_cap",
            cap,
            f"is passed with probability {failure:.2g}, more than delta={delta:g}",
            "give a larger one",
        )
    return cap


def same_law(stated: Any, derived: Any) -> bool:
    """Equal, but for the last digits of probabilities."""
    if isinstance(derived, dict) and isinstance(stated, dict):
        keys = stated.keys() == derived.keys()
        return keys and all(same_law(stated[key], derived[key]) for key in derived)
    if isinstance(derived, list) and isinstance(stated, list):
        pairs = zip(stated, derived, strict=False)
        return len(stated) == len(derived) and all(same_law(*pair) for pair in pairs)
    if isinstance(derived, float) and isinstance(stated, float):
        return abs(stated - derived) <= AMPLE * derived
    return bool(stated == derived)


HIDDEN_PEOPLE = (_HiddenPeople(),)
THEOREMS = (_PoissonPeople(), *HIDDEN_PEOPLE)
