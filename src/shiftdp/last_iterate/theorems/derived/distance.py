"""Theorem V3 from the largest distance that training can lead to, in batches of any order.

After T steps two runs are at most z apart, and K further steps, which move nothing apart, contract
by c_K and leave the noise sd_K: their ends are G(c_K z / sd_K) apart. Steps of training may expand.
With one visit in each of E epochs of l steps,

    z = s max(1, c^{l-1}) (1 + c^l + ... + c^{l(E-1)}),        l = 1 where batches are random,

or the diameter, if that is less; where c <= 1, an unfinished epoch counts as another s. Records
that are deleted later are used in further steps as well, at most one visit a step: their distance,
and the steps that follow *their* deletion, count. What several requests and rounded restarts add to
mu is added up, as payments of Theorem B1 are.
"""

from __future__ import annotations

import math
from typing import Any, cast

from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import AMPLE, GENEROUS, LARGEST_EXPONENT
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumptions
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, Run, Training, Unlearning, people
from shiftdp.last_iterate.schedules.deletion import further_idle, require_one_prox, restart_distance
from shiftdp.last_iterate.theorems.checks import at_least, require
from shiftdp.last_iterate.theorems.derived.hypotheses import (
    ANCHOR,
    deletion_assumed,
    for_people,
    training_of,
)
from shiftdp.last_iterate.theorems.derived.sampled_deletion import losses_within, shared_cap
from shiftdp.last_iterate.theorems.proofs import Proofs, StochasticProof
from shiftdp.last_iterate.theorems.sampled.batch_cap import passed, within_cap
from shiftdp.last_iterate.theorems.sampled.checks import verify_failure
from shiftdp.last_iterate.theorems.theorem import Bound, Claim, Theorem

_UP = 1.0 + AMPLE  # of a quotient, and of powers and logarithms in it
_LEAST_MU = 1e-290  # far above where products underflow, far below what anybody asks for


def largest_distance(training: Training, losses: Geometry) -> float:
    """z of one record, without a projection, rounded up.

    >>> from shiftdp.last_iterate.runs import NoisyGD
    >>> descent = NoisyGD(n=10, steps=3, learning_rate=1.0, noise=1.0)
    >>> round(
    ...     largest_distance(descent, Geometry(strong_convexity=-1, smoothness=1, sensitivity=1)), 9
    ... )
    0.7
    """
    eta, _ = given.require_equal_steps(training.learning_rate, training.noise)
    l = training.batches if training.in_turn else 1  # noqa: E741
    c, epochs = losses.contraction(eta), -(-training.steps // l)
    move = eta * losses.sensitivity / _divisor(training) * _UP
    if c == 1.0:
        return move * epochs * _UP
    rate = l * math.log(c) if c > 0.0 else -math.inf  # of an epoch
    if c > 1.0:
        if rate * epochs + rate > LARGEST_EXPONENT:
            return math.inf
        earliest = math.exp(rate - math.log(c))
        return move * earliest * math.expm1(rate * epochs) / math.expm1(rate) * (1.0 + GENEROUS)
    # a visit in an unfinished epoch may come right after that of the last whole one
    unfinished = 1 if training.steps % l else 0
    whole = epochs - unfinished
    grown = math.expm1(rate * whole) / math.expm1(rate) if whole else 0.0
    return move * (min(grown, whole) + unfinished) * (1.0 + GENEROUS)


def _divisor(training: Training) -> float:
    if training.full_batches:
        return float(training.n)
    if training.in_turn:
        return float(min(training.divisor_of(1), training.divisor_of(training.batches)))
    return float(training.batch_size)


class _FromDistance(Theorem):
    """G(c_K z / sd_K), and the sum over several requests."""

    name = "Theorem V3 (distance)"
    citation = "Theorem V3"
    anchor = ANCHOR
    family = "ours"
    place = 200
    runs = (Unlearning,)
    proof_type = StochasticProof
    protects_people = True
    why_above = "the bound knows how far the two runs may be apart, and not how likely that is"

    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        run = cast(Unlearning, run)
        self._require(run, geometry)
        cap = None
        if run.training.sampled:
            cap = shared_cap(run, geometry, delta)
        proofs = () if cap is None else (StochasticProof(tau=run.training.steps, cap=cap),)
        return Bound(self, self._function(run, geometry, cap), proofs)

    def _require(self, run: Unlearning, geometry: Geometry) -> None:
        given.require_smooth(geometry)
        given.require_contractive(run.learning_rate, geometry)
        require_one_prox(run, geometry)
        last = run.later_requests[-1][0] if run.later_requests else 0
        if run.further_steps == last:
            raise UnmetHypothesis(
                "further_steps",
                run.further_steps,
                "leave no step after the last request",
                "give more, or use the certificate of training",
            )

    def _function(self, run: Unlearning, geometry: Geometry, cap: int | None) -> TradeoffFunction:
        training = training_of(run)
        losses = losses_within(training, geometry, cap)
        apart = largest_distance(training, losses)
        mu, free = 0.0, True  # of the contraction of training, which a batch cap is for
        for after, records in _requests(run):
            together = (apart + _moved_later(run, losses, after)) * records
            free = free and geometry.diameter <= together
            mu += _left(run, losses, min(geometry.diameter, together), after)
        for after in {after for after, _ in _requests(run)}:
            mu += _left(run, losses, restart_distance(run, losses), after)
        if math.isinf(mu):
            raise UnmetHypothesis(
                "learning_rate",
                training.learning_rate,
                "lets training carry two models apart without a bound",
                "give a bounded set, or train with a smaller one",
            )
        f: TradeoffFunction = GaussianTradeoff(mu * _UP)
        steps = run.further_steps + (0 if free else training.steps)
        return within_cap(f, cast(NoisySGD, training), cap, steps)

    def rebuild(
        self, run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        return self._function(cast(Unlearning, run), geometry, _cap_of(proofs))

    def check(self, claim: Claim) -> None:
        """The formula is evaluated again; how often the cap is passed has digits of its own."""
        run, geometry = cast(Unlearning, claim.run), claim.geometry
        self._require(run, geometry)
        cap, training = _cap_of(claim.proofs), training_of(run)
        random = training.sampled and training.has_random_sizes
        require(len(claim.proofs) == int(random), "it has no batch cap, or one")
        if random:
            given.require_convex(geometry)
            own = cast(NoisySGD, training)
            require(cap is not None and own.batch_cap in (None, cap), "the cap is not of the run")
        expected, least = self._function(run, geometry, cap).split_failure()
        stated, failure = claim.f.split_failure()
        if cap is not None and least:
            free = least == passed(cast(NoisySGD, training), cap, run.further_steps)
            steps = run.further_steps + (0 if free else training.steps)
            verify_failure(cast(NoisySGD, training), cap, failure, steps)
        require(bool(failure) == bool(least), "the batch cap fails more often, or less")
        require(at_least(stated, expected), f"the bound is not what {self.name} gives")
        require(not claim.endless or self.forgets(run, geometry, claim.proofs), "steps count on")

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        """s/(1-c) and the diameter bound the distance after any number of steps."""
        training, cap = cast(Unlearning, run).training, _cap_of(proofs)
        if geometry.bounded:
            return cap is None or cap >= training.n
        rate = training.learning_rate
        fits = cap is None or cap >= training.n
        losses = losses_within(training, geometry, cap)
        return fits and isinstance(rate, float) and losses.contraction(rate) < 1.0

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        run = cast(Unlearning, run)
        training = cast(Any, run.training)
        constraint = (given.constraint(geometry),) if geometry.bounded else ()
        random = training.sampled
        cap = _cap_of(proofs)
        if cap is not None:
            losses = given.summed_losses(geometry, "the sampled sum")
        elif random:
            losses = given.smooth_losses(geometry)
        else:
            losses = given.batch_losses(geometry, training)
        used = (given.random_batches(training),) if random else given.batches_used(training)
        capped = () if cap is None else (given.batch_cap(cap),)
        plain = (
            losses,
            *constraint,
            given.sensitivity(geometry),
            given.adjacency(geometry),
            *used,
            *capped,
            given.GAUSSIAN_NOISE,
            given.hidden_iterates(),
        )
        read = for_people(training, plain) if people(training) > 1 else plain
        return deletion_assumed(run, read)


def _requests(run: Unlearning) -> tuple[tuple[int, int], ...]:
    """After how many further steps how many records were deleted, those of a person together."""
    k = people(run.training)
    return ((0, max(run.records, k)), *((after, r * k) for after, r in run.later_requests))


def _moved_later(run: Unlearning, losses: Geometry, after: int) -> float:
    """How far further steps move a record apart that is used in so many of them, at most."""
    if after == 0:
        return 0.0
    rate = run.learning_rate
    rates = (rate,) if isinstance(rate, float) else rate[:after]
    c = max(map(losses.contraction, rates))
    if c > 1.0:
        return math.inf
    steps = min(float(after), 1.0 / (1.0 - c)) if c < 1.0 else float(after)
    divisor = _divisor(run.training)
    if run.training.full_batches:  # the mean of the records that are left
        divisor = max(1.0, divisor - sum(records for _, records in _requests(run)))
    return max(rates) * losses.sensitivity / divisor * steps * (1.0 + GENEROUS)


def _left(run: Unlearning, losses: Geometry, distance: float, after: int) -> float:
    """mu of a distance before the further steps from `after` on."""
    if not distance:
        return 0.0
    slope, _, noise = further_idle(run, losses, after)
    if not noise > 0.0:
        raise UnmetHypothesis("noise", noise, "is that of all further steps", "give some")
    # what underflows is not 0
    return max(distance * slope / noise * _UP, _LEAST_MU) if slope else 0.0


def _cap_of(proofs: Proofs) -> int | None:
    return next((proof.cap for proof in StochasticProof.among(proofs)), None)


THEOREMS = (_FromDistance(),)
