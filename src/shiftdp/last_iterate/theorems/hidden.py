"""Theorem B7: NoisySGD where nobody learns in which steps a record took part. Nothing is composed.

Let mu(v) be what Theorem B1 gives for a record that takes part in the steps of the pattern v, and W
any law that is stochastically at least mu(V). The last iterate is f-DP with

    without replacement, replace_one   f = HiddenExchange(W), or everything revealed: E G(W)
    Poisson, zero_out                  f = the worse direction of HiddenZeroOut(W)
    Poisson, replace_one               f = HiddenReplaceOne(W)
    random allocation, zero_out        f = the worse direction of HiddenZeroOut(W)

W is found by `interpolation.participation`; a certificate states it, and how finely it was rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

import numpy as np

from shiftdp._checks import LEAST_DELTA, Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import GENEROUS, ROOMY_EXPONENT
from shiftdp.fdp import GaussianTradeoff, Mixture, TradeoffFunction, WithFailure
from shiftdp.fdp.functions.hidden import HiddenExchange, HiddenReplaceOne, HiddenZeroOut
from shiftdp.fdp.functions.law_coarsening import coarsened
from shiftdp.interpolation.participation.ages import Ages, ages_of_steps, equal_ages
from shiftdp.interpolation.participation.allocation import FINE, Allocation, allocation_law
from shiftdp.interpolation.participation.law import (
    ParticipationLaw,
    dominating_law,
    resolution_for,
)
from shiftdp.interpolation.participation.path import Resolution
from shiftdp.interpolation.participation.start import bounded_ages, cut_ages
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.endless import faded
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, Run
from shiftdp.last_iterate.theorems.batch_cap import affordable_cap, cap_failure
from shiftdp.last_iterate.theorems.checks import require, verify_failure
from shiftdp.last_iterate.theorems.proofs import HiddenProof, Proofs
from shiftdp.last_iterate.theorems.sampled import Found, OnSampled
from shiftdp.last_iterate.theorems.sampled_shifts import (
    StepArrays,
    participation_up,
    step_arrays,
)

__all__ = ["HIDDEN"]

_MOST_ATOMS = 500  # of the law in a certificate: they cost two thousandths of epsilon at most
_MOST_GROWTH = ROOMY_EXPONENT / 2.0  # of the logarithm of a distance over the whole run
_ROOM = 1e-6  # by which a law is larger than computed, as a part of each tail ...
_ROOM_BELOW = 1e-4  # ... and as a part of delta
_LEAST_RATIO = 1.02  # of clocks and slopes in a proof: finer ones would take minutes ...
_MOST_LEVELS, _MOST_VALUES, _MOST_CELLS = 4000, 100, 4000  # ... and so would more of these
_MOST_WORK = 1.2e9  # ... and their product: seconds of work
_MOST_STEPS = 1 << 24  # that are listed one by one
_PER_OCTAVE = 2  # amounts of noise at which a cut is looked for
_TYPICAL = 0.85  # of the root of the mean of mu^2: no bound was seen to be below that of G of it
_SEVERAL = 3.0  # participations that are still felt, in the mean
_HARDLY = 2.0  # (1 - c) t up to which c = 1 may be the tighter bound, being rounded less
_DIGITS = 2.0**40  # to which a schedule is the same one with another amount of noise


class _TheoremB7(OnSampled):
    """Hidden participation: one law, one integral or one pair of mixtures."""

    name = citation = "Theorem B7"
    anchor = "theorem-b7-hidden-participation"
    family = "ours"
    proof = HiddenProof

    def speaks_of(self, run: Any) -> bool:
        return True

    def require(self, run: NoisySGD, geometry: Geometry) -> None:
        super().require(run, geometry)
        given.require_smooth(geometry)
        given.require_contractive(run.learning_rate, geometry)
        if run.has_random_sizes:
            given.require_convex(geometry)

    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        cap, left = None, delta
        if run.has_random_sizes:
            cap, failure = affordable_cap(run, participation_up(run), delta)
            left = (delta - failure) / (1.0 - failure)
        found = [
            (self._function(run, geometry, proof).epsilon(left), proof)
            for proof in _proofs(run, geometry, cap, left)
        ]
        epsilon, proof = min(found, key=lambda each: each[0])
        return proof, epsilon

    def hopeless(self, run: Run, geometry: Geometry, delta: float, rival: float) -> bool:
        """By the mean of mu(V)^2, about that of the mean path and of lone participations."""
        run = cast(NoisySGD, run)
        if run.sampling == "random_allocation" or math.isinf(rival):
            return False
        self.require(run, geometry)
        steps = step_arrays(run, geometry)
        if geometry.bounded or not steps.equal or not 0.0 < float(steps.c) <= 1.0 or not steps.s:
            return False
        ages = equal_ages(steps.p, float(steps.c), float(steps.s), float(steps.sd), steps.steps)
        if ages.mean < _SEVERAL * float(steps.s):
            return False  # what is rare is no matter of means
        chance = ages.participation * (1.0 - ages.participation)
        lone = float(np.sum(ages.count * chance * ages.jump**2 / ages.clock))
        typical = math.sqrt(ages.hull + lone)
        return GaussianTradeoff(_TYPICAL * typical).epsilon(delta) > rival

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        (proof,) = (proof for proof in proofs if isinstance(proof, HiddenProof))
        f = self._function(run, geometry, proof)
        failure = _beyond_cap(run, proof)
        return WithFailure(f, failure) if failure > 0.0 else f

    def _function(self, run: NoisySGD, geometry: Geometry, proof: HiddenProof) -> TradeoffFunction:
        law = proof.mu, proof.weight
        if proof.revealed:
            return Mixture([GaussianTradeoff(mu) for mu in proof.mu], proof.weight)
        if run.sampling == "without_replacement":
            return HiddenExchange(*law)
        if geometry.adjacency == "replace_one":
            return HiddenReplaceOne(*law)
        return HiddenZeroOut(*law).worse_direction()

    def check_proof(
        self, run: NoisySGD, geometry: Geometry, proof: Any, failure: float, endless: bool
    ) -> None:
        require(proof is not None, "it has no law")
        require(proof.cap is not None or not run.has_random_sizes, "it has no batch cap")
        require(run.batch_cap in (None, proof.cap), "the batch cap is not that of the run")
        verify_law(run, geometry, proof)
        verify_failure(run, proof.cap, failure, run.steps)
        require(not endless or self.forgets(run, geometry, (proof,)), "older steps count, too")

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        run = cast(NoisySGD, run)
        (proof,) = (proof for proof in proofs if isinstance(proof, HiddenProof))
        if proof.followed < run.steps:
            return proof.cap is None or proof.cap >= run.n
        steps = step_arrays(run, geometry, proof.cap)
        uncapped = proof.cap is None or proof.cap >= run.n
        return uncapped and proof.contracting and steps.equal and faded(float(steps.c), run.steps)


def _proofs(
    run: NoisySGD, geometry: Geometry, cap: int | None, delta: float
) -> Iterator[HiddenProof]:
    """The laws that may be best: with the contraction, and with 1 in its place where that is near.

    Each is tried hidden and, without replacement, revealed: neither is always the better one.
    """
    steps = step_arrays(run, geometry, cap)
    _require_moderate(steps, run)
    for contracting in (True, False) if _hardly_contracts(steps, run) else (True,):
        followed = _best_cut(run, geometry, steps, delta)
        law, resolution = _law(run, steps, contracting, followed, delta)
        for revealed in (False, True) if run.sampling == "without_replacement" else (False,):
            yield HiddenProof(
                mu=law.mu,
                weight=law.weight,
                revealed=revealed,
                contracting=contracting,
                followed=followed,
                **vars(resolution),
                tail=delta,
                cap=cap,
            )


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
    independent = run.sampling != "random_allocation" and not math.isfinite(steps.diameter)
    return steps.equal and independent and 0.0 < (1.0 - steps.c) * steps.steps <= _HARDLY


# --- bounded sets ---


def _best_cut(run: NoisySGD, geometry: Geometry, steps: StepArrays, delta: float) -> int:
    """How many last steps to follow: all, or those since the runs were a diameter apart at most.

    Where the record is exchanged under Poisson sampling, two patterns move the two runs apart, and
    no use is made of the diameter.
    """
    both = run.sampling == "poisson" and geometry.adjacency == "replace_one"
    if both or run.sampling == "random_allocation" or not _cut_helps(steps):
        return run.steps
    ratio = float(steps.s) / float(steps.sd)
    # the best cut hardly changes with the noise: it is looked for at a few amounts of it
    near = 2.0 ** (round(math.log2(ratio) * _PER_OCTAVE) / _PER_OCTAVE)
    width = steps.diameter / float(steps.s)
    return _cut(steps.p, float(steps.c), near, steps.steps, width, run.sampling, delta)


def _cut_helps(steps: StepArrays) -> bool:
    if not (steps.equal and float(steps.c) <= 1.0 and math.isfinite(steps.diameter)):
        return False
    c = float(steps.c)
    farthest = float(steps.s) * min(steps.steps, 1.0 / (1.0 - c) if c < 1.0 else math.inf)
    return steps.diameter < farthest


@lru_cache(maxsize=32)
def _cut(
    p: float, c: float, s: float, steps: int, width: float, sampling: str, delta: float
) -> int:
    function = HiddenExchange if sampling == "without_replacement" else HiddenZeroOut

    def cost(law: ParticipationLaw) -> float:
        return function(law.mu, law.weight).epsilon(delta)

    ages = bounded_ages(p, c, s, 1.0, steps, width * s, cost=cost, delta=delta)
    return min(steps, round(float(np.sum(ages.count))))


# --- laws ---


def _law(
    run: NoisySGD,
    steps: StepArrays,
    contracting: bool,
    followed: int,
    delta: float,
    resolution: Resolution | None = None,
) -> tuple[ParticipationLaw, Resolution]:
    """mu(V) is proportional to the displacements over the noise: one law serves all noises.

    As a certificate has it, or, with a resolution, as it comes.
    """
    allocated = run.batches if run.sampling == "random_allocation" else None
    if not np.any(steps.s):
        return ParticipationLaw((0.0,), (1.0,)), resolution or FINE
    if steps.equal:
        s, sd = float(steps.s), float(steps.sd)
        # 1 may stand in for a contraction, never for an expansion [Lemma C0b]
        c = float(steps.c) if contracting else max(1.0, float(steps.c))
        width = steps.diameter / s if followed < run.steps else math.inf
        shape = (steps.p, c, steps.steps, followed, width, allocated)
        law, found = _equal_law(*shape, delta, resolution)
    else:
        s, sd = float(steps.s[-1]), float(steps.sd[-1])  # type: ignore[index]
        parts = (steps.c, _few_digits(steps.s / s, 1.0), _few_digits(steps.sd / sd, -1.0))
        schedule = tuple(np.asarray(part, dtype=np.float64).tobytes() for part in parts)
        law, found = _scheduled_law(steps.p, schedule, allocated, delta, resolution)
    scale = s / sd * (1.0 + GENEROUS)
    mu = [scale * value for value in law.mu]
    if resolution is None:
        return ParticipationLaw(*coarsened(mu, law.weight, _MOST_ATOMS)), found
    return ParticipationLaw(tuple(mu), law.weight), found


@lru_cache(maxsize=32)
def _equal_law(
    p: float,
    c: float,
    steps: int,
    followed: int,
    width: float,
    batches: int | None,
    delta: float,
    resolution: Resolution | None,
) -> tuple[ParticipationLaw, Resolution]:
    if c > 1.0 or batches is not None:
        ones = np.ones(_countable(steps))
        ages = ages_of_steps(p * ones, c * ones, ones, ones, batches or 1)
    elif followed < steps:
        ages = cut_ages(p, c, 1.0, 1.0, steps, width, followed)
    else:
        ages = equal_ages(p, c, 1.0, 1.0, steps)
    return _written(ages, batches, delta, resolution)


@lru_cache(maxsize=32)
def _scheduled_law(
    p: float,
    schedule: tuple[bytes, ...],
    batches: int | None,
    delta: float,
    resolution: Resolution | None,
) -> tuple[ParticipationLaw, Resolution]:
    c, s, sd = (np.frombuffer(part) for part in schedule)
    ages = ages_of_steps(np.full(len(c), p), c, s, sd, batches or 1)
    return _written(ages, batches, delta, resolution)


def _countable(steps: int) -> int:
    if steps > _MOST_STEPS:
        raise UnmetHypothesis(
            "steps",
            steps,
            f"are too many to be treated one by one (at most {_MOST_STEPS})",
            "give fewer, or rely on composition",
        )
    return steps


def _written(
    ages: Ages, batches: int | None, delta: float, stated: Resolution | None
) -> tuple[ParticipationLaw, Resolution]:
    """The law as it was computed, or, for a certificate, with room for other roundings.

    Another machine rounds sums differently, and what verifies a law may find it a little larger.
    """
    resolution = stated or (resolution_for(ages) if batches is None else FINE)
    if batches is None:
        law = dominating_law(ages, delta=delta, resolution=resolution)
    else:
        law = allocation_law(Allocation(ages, batches), delta=delta, resolution=resolution)
    if stated is not None:
        return law, stated
    above = np.cumsum(law.weight[::-1])[::-1] * (1.0 + _ROOM) + _ROOM_BELOW * delta
    above = np.minimum(above, 1.0)
    weight = above - np.append(above[1:], 0.0)
    weight[0] += 1.0 - above[0]
    kept = weight > 0.0
    values = np.array(law.mu)[kept].tolist()
    return ParticipationLaw(tuple(values), tuple(weight[kept].tolist())), resolution


def _few_digits(values: Array, side: float) -> Array:
    """So that a schedule is the same one after all its noises were multiplied by one number."""
    mantissa, exponent = np.frexp(values)
    rounded = np.ldexp(np.round(mantissa * _DIGITS) / _DIGITS, exponent)
    return np.asarray(rounded * (1.0 + side * 2.0 / _DIGITS))


def _beyond_cap(run: NoisySGD, proof: HiddenProof) -> float:
    if proof.cap is None:
        return 0.0
    apart = run.sampling != "random_allocation"
    return cap_failure(run.n, participation_up(run), proof.cap, run.steps, independent=apart)


def _moderate(resolution: Resolution) -> bool:
    """Whether a law that is computed so finely takes seconds at most."""
    finer = (resolution.ratio - 1.0) * (resolution.rung - 1.0)
    return (
        resolution.cells * resolution.levels <= _MOST_WORK * finer
        and resolution.ratio >= _LEAST_RATIO
        and 1 <= resolution.levels <= _MOST_LEVELS
        and 1 <= resolution.values <= _MOST_VALUES
        and resolution.rung >= _LEAST_RATIO
        and 1 <= resolution.cells <= _MOST_CELLS
    )


def verify_law(run: NoisySGD, geometry: Geometry, proof: HiddenProof) -> None:
    """Raise unless the law dominates mu(V): it is computed again as finely as stated."""
    mu, weight = np.array(proof.mu), np.array(proof.weight)
    require(len(mu) == len(weight) <= _MOST_ATOMS, "the law has too many values")
    require(bool(np.all(np.diff(mu) > 0.0) and mu[0] >= 0.0), "the values do not rise")
    require(bool(np.all(weight > 0.0)), "a weight is not positive")
    require(abs(float(np.sum(weight)) - 1.0) <= GENEROUS, "the weights do not add up to 1")
    steps = step_arrays(run, geometry, proof.cap)
    require(
        proof.contracting or bool(np.all(np.asarray(steps.c) <= 1.0)),
        "the steps expand, and 1 stands in for that",
    )
    require(proof.contracting or steps.equal, "1 stands in for unequal contractions")
    cut = run.steps if proof.followed >= run.steps or not _cut_helps(steps) else proof.followed
    both = run.sampling != "without_replacement" and geometry.adjacency == "replace_one"
    require(cut == run.steps or not both, "no use can be made of the diameter")
    require(proof.followed == cut >= 1, "it does not follow the steps of the run")
    require(proof.revealed <= (run.sampling == "without_replacement"), "nothing is to be revealed")
    require(LEAST_DELTA <= proof.tail < 1.0, "it is made for no delta")
    resolution = Resolution(proof.ratio, proof.levels, proof.values, proof.rung, proof.cells)
    require(_moderate(resolution), "it would take too long to compute it again")
    again, _ = _law(run, steps, proof.contracting, proof.followed, proof.tail, resolution)
    above = np.cumsum(weight[::-1])[::-1]
    beyond = np.cumsum(again.weight[::-1])[::-1]
    first_above = np.searchsorted(again.mu, mu, side="right")
    derived = np.append(beyond, 0.0)[first_above]
    require(
        bool(np.all(np.append(above[1:], 0.0) >= derived)),
        "the law is exceeded with a larger probability than stated",
    )


HIDDEN = (_TheoremB7(),)
