"""Noisy gradient descent with full or cyclic batches: composition, and Theorems B1 and B4.

Langevin Monte Carlo is such a run [BSA24, Prop lmc], and so is NoisySGD whose batches
have all records, and each window of a stream.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shiftdp._errors import UnmetHypothesis
from shiftdp.fdp import GaussianTradeoff, Mixture, TradeoffFunction
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.reshuffled import ReshuffledSchedule, optimal_shifts_reshuffled
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.interpolation.shifts import Shifts, optimal_shifts
from shiftdp.interpolation.verification_equal_steps import proved_mu_of_equal_steps
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumptions
from shiftdp.last_iterate.endless import holds_for_longer, stand_in
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import has_one_outcome, outcomes
from shiftdp.last_iterate.runs import LangevinMC, NoisyCGD, NoisyGD, NoisySGD, NoisyStream, Run
from shiftdp.last_iterate.schedules.visits import (
    BatchRun,
    StepSchedule,
    has_equal_steps,
    schedule_of,
    schedules_of,
)
from shiftdp.last_iterate.theorems.checks import SHIFTS_SLACK, at_least, require, verify_shifts
from shiftdp.last_iterate.theorems.composed_visits import composition_mu
from shiftdp.last_iterate.theorems.proofs import AnyProof, Proof, Proofs
from shiftdp.last_iterate.theorems.sampled.shifts import refuse_adjacency
from shiftdp.last_iterate.theorems.theorem import Bound, Claim, Prospect, Theorem


class OnDescent(Theorem):
    """A theorem on noisy gradient descent."""

    runs: tuple[type[Run], ...] = (NoisyGD, NoisyCGD, LangevinMC)
    proof_type: type[AnyProof] = Proof
    cyclic: bool | None = None  # whether an epoch has several batches, or one; None: either
    projects = True  # whether it makes use of a bounded set, where there is one

    def speaks_of(self, run: Run) -> bool:
        return self.cyclic is None or is_cyclic(run) == self.cyclic

    @abstractmethod
    def _bound(self, run: BatchRun, geometry: Geometry) -> Bound:
        """What it gives for a run with an end."""

    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        descent = descent_of(run, geometry)
        if math.isinf(descent.steps):  # of Langevin, the stationary law
            return self.for_every_length(stand_in(descent, geometry), geometry, delta)
        return self._bound(descent, geometry)

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        descent = descent_of(run, geometry)
        losses = (given.batch_losses(geometry, descent),) if self.contracts else ()
        projected = geometry.bounded and self.projects
        constraint = (given.constraint(geometry),) if projected else ()
        if run.streams:
            batches = given.stream_batches(run)
        else:
            batches = given.batches_used(descent)
        return (
            *losses,
            *constraint,
            given.sensitivity(geometry),
            given.adjacency(geometry, run),
            *batches,
            given.GAUSSIAN_NOISE,
            given.hidden_iterates(run),
        )

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        descent = descent_of(run, geometry)
        shifts = Proof.among(proofs)
        by_shifts = bool(proofs) and len(shifts) == len(proofs)
        return by_shifts and all(holds_for_longer(descent, geometry, p.shifts) for p in shifts)

    def verified(self, claim: Claim) -> tuple[BatchRun, tuple[Proof, ...]]:
        """The descent that the shifts of a claim are about, and the shifts, which are checked."""
        descent, endless = descent_of(claim.run, claim.geometry), claim.endless
        if math.isinf(descent.steps):
            descent, endless = stand_in(descent, claim.geometry), True
            self.require_forgotten(descent, claim.geometry, claim.proofs)
        return descent, verify_shifts(descent, claim.geometry, claim.proofs, endless=endless)


def is_cyclic(run: Run) -> bool:
    """Whether it takes several batches to use every record."""
    return run.batches_per_release > 1 if run.streams else run.in_turn and run.batches > 1


def descent_of(run: Any, geometry: Geometry) -> Any:
    """The noisy gradient descent that a run is."""
    if isinstance(run, LangevinMC):
        return run.as_descent(run.steps)
    if run.streams:
        return run.window
    if run.sampled:
        refuse_adjacency(run, geometry)
        return NoisyGD(
            n=run.n,
            steps=run.steps,
            learning_rate=run.learning_rate,
            noise=run.noise,
            releases=run.releases,
        )
    return run


# --- composition ---


@dataclass(frozen=True)
class _Composition(OnDescent):
    """G(sqrt(sum over visits of (L / (b sigma_k))^2)): every iterate could be published."""

    name: str
    citation: str
    cyclic: bool
    runs = (*OnDescent.runs, NoisyStream)
    anchor = "composition"
    family = "composition"
    place = 0
    released = True
    contracts = False
    projects = False

    def _bound(self, run: BatchRun, geometry: Geometry) -> Bound:
        mu = composition_mu(run, geometry)
        if math.isinf(mu) and not isinstance(run.noise, float) and 0.0 in run.noise:
            raise UnmetHypothesis(
                "noise",
                0.0,
                f"is the noise of step {run.noise.index(0.0) + 1}, and composition lets every "
                "iterate be seen",
                "use Theorem B1, by which only the last one is seen, or give noise to each step",
            )
        return Bound(self, GaussianTradeoff(mu))


# --- Theorems B1 and B4 ---


class _Shifted(OnDescent):
    """Optimal shifts for each outcome that matters.

    `mixes`: whether it is for an order in which several outcomes have a probability each. `instead`
    says why other orders are refused, and which theorem is for them.
    """

    family = "ours"
    place = 40
    mixes: bool
    instead: tuple[str, str]

    @abstractmethod
    def _gives(
        self, run: BatchRun, geometry: Geometry, proofs: tuple[Proof, ...], *, endless: bool
    ) -> Bound:
        """The bound that these shifts prove."""

    def _bound(self, run: BatchRun, geometry: Geometry) -> Bound:
        return self._gives(run, geometry, self._proofs(run, geometry), endless=False)

    def _proofs(self, run: BatchRun, geometry: Geometry) -> tuple[Proof, ...]:
        given.require_smooth(geometry)
        given.require_contractive(run.learning_rate, geometry)
        if self.mixes == (run.order == "fixed" or has_one_outcome(run, geometry)):
            raise UnmetHypothesis("order", run.order, *self.instead)
        return proofs_of(run, geometry)

    def for_every_length(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        """The best shifts, if they hold for every longer run too; else the best from the diameter.

        The diameter bounds the distance of the two runs at any time, however long they are.
        """
        descent = descent_of(run, geometry)
        proofs = self._proofs(descent, geometry)
        bound = self._gives(descent, geometry, proofs, endless=True)
        if geometry.sensitivity > 0.0:
            shifts = Proof.among(bound.proofs)
            longer = tuple(_solve_for_every_length(descent, geometry, old) for old in shifts)
            if any(new is not old for new, old in zip(longer, shifts, strict=True)):
                bound = self._gives(descent, geometry, longer, endless=True)
        self.require_forgotten(descent, geometry, bound.proofs)
        return bound


class _TheoremB1(_Shifted):
    """The worst outcome counts."""

    name = citation = "Theorem B1"
    anchor = "theorem-b1-optimal-shifts-are-an-isotonic-regression"

    runs = NoisyGD, NoisyCGD, LangevinMC, NoisySGD
    mixes = False
    instead = "is random, so that each position counts", "use Theorem B4"

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        """Unbeaten where all steps are equal and none expands.

        Composition is the choice of shifts that undoes each visit at once, and closed forms are
        other choices: the best one is at most a rounding of 1e-11 above theirs.
        """
        if not run.in_turn or not isinstance(run.learning_rate, float):
            return Prospect.OPEN
        unbeaten = has_equal_steps(run) and geometry.contraction(run.learning_rate) <= 1.0
        return Prospect.UNBEATEN if unbeaten else Prospect.OPEN

    def speaks_of(self, run: Run) -> bool:
        return not run.sampled or run.batch_size == run.n

    def _gives(
        self, run: BatchRun, geometry: Geometry, proofs: tuple[Proof, ...], *, endless: bool
    ) -> Bound:
        # equal steps are verified at little cost, and need not be stated with the solver's margin
        if has_equal_steps(run):
            schedules = schedules_of(run, geometry, [proof.visits for proof in proofs])
            proofs = tuple(
                replace(proof, shifts=sharpened(schedule, proof.shifts))
                for proof, schedule in zip(proofs, schedules, strict=True)
            )
        return Bound(self, _worst(proofs), proofs)

    def rebuild(
        self, run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        return _worst(Proof.among(proofs))

    def check(self, claim: Claim) -> None:
        descent, shifts = self.verified(claim)
        require(descent.order == "fixed" or len(shifts) == 1, "the bound is no mixture")
        require(claim.f == _worst(shifts), "mu is not what is proved")


class _TheoremB4(_Shifted):
    """In a random order each outcome has its probability, and the bound is a mixture.

    No component is above composition, nor above a closed form of the paper where one applies.
    """

    name = citation = "Theorem B4"
    anchor = "theorem-b4-random-order-for-free"
    runs = (NoisyCGD,)
    mixes = True
    instead = "leaves one position to be counted", "use Theorem B1"

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        return Prospect.UNBEATEN

    def speaks_of(self, run: Run) -> bool:
        return run.cyclic and run.order != "fixed"

    def _gives(
        self, run: BatchRun, geometry: Geometry, proofs: tuple[Proof, ...], *, endless: bool
    ) -> Bound:
        return Bound(self, _mixed(run, geometry, proofs, endless=endless), proofs)

    def rebuild(
        self, run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        return _mixed(descent_of(run, geometry), geometry, Proof.among(proofs), endless=False)

    def check(self, claim: Claim) -> None:
        descent, shifts = self.verified(claim)
        require(descent.order != "fixed", "the order of the batches is not random")
        proved = _mixed(descent, claim.geometry, shifts, endless=claim.endless)
        stated = at_least(claim.f, proved, SHIFTS_SLACK)
        require(stated, "a component states less than is proved, or it is another mixture")


def _worst(proofs: Sequence[Proof]) -> GaussianTradeoff:
    return GaussianTradeoff(max(proof.shifts.mu for proof in proofs))


def _mixed(run: BatchRun, geometry: Geometry, proofs: Sequence[Proof], *, endless: bool) -> Mixture:
    """One component for each outcome, none above composition, which holds in any order.

    Dominating visits may overshoot it. What the stand-in of an endless run composes to is no bound
    on the longer ones.
    """
    most = math.inf if endless else composition_mu(run, geometry)
    parts = [GaussianTradeoff(min(proof.shifts.mu, most)) for proof in proofs]
    return Mixture(parts, [proof.weight for proof in proofs])


def proofs_of(run: BatchRun, geometry: Geometry, *, endless: bool = False) -> tuple[Proof, ...]:
    """The best shifts for each outcome that matters; `endless`: also for every longer run."""
    cases = list(outcomes(run, geometry))
    schedules = schedules_of(run, geometry, [case.visits for case in cases])
    proofs = (
        Proof(case.visits, case.weight, solve(schedule))
        for case, schedule in zip(cases, schedules, strict=True)
    )
    if not endless:
        return tuple(proofs)
    return tuple(_solve_for_every_length(run, geometry, proof) for proof in proofs)


def solve(schedule: StepSchedule) -> Shifts:
    """Theorem B1 for any schedule."""
    return _SOLVERS[type(schedule)](schedule)


_SOLVERS: dict[type, Callable[[Any], Shifts]] = {
    Schedule: optimal_shifts,
    PeriodicSchedule: optimal_shifts_periodic,
    ReshuffledSchedule: optimal_shifts_reshuffled,
}


def _solve_for_every_length(run: Any, geometry: Geometry, proof: Proof) -> Proof:
    """The proof, with the best shifts of those that hold for every run longer than the stand-in."""
    if holds_for_longer(run, geometry, proof.shifts):
        return proof
    schedule = schedule_of(run, geometry, proof.visits)
    if isinstance(schedule, PeriodicSchedule):
        return replace(proof, shifts=optimal_shifts_periodic(schedule, from_diameter=True))
    if isinstance(schedule, ReshuffledSchedule):
        return replace(proof, shifts=optimal_shifts_reshuffled(schedule, from_diameter=True))
    return proof


def sharpened(schedule: StepSchedule, shifts: Shifts) -> Shifts:
    """The shifts of equal steps with a mu one digit above what the verifier proves.

    That replaces the solver's own, larger margin of rounding; the digit is for endless runs.
    """
    if isinstance(schedule, Schedule) or schedule.contraction > 1.0 or not shifts.mu > 0.0:
        return shifts
    proved = math.nextafter(proved_mu_of_equal_steps(schedule, shifts)[0], math.inf)
    return replace(shifts, mu=min(proved, shifts.mu))


DESCENT_COMPOSITION = (
    _Composition("Thm gd (composition)", "[BSA24, Thm gd]", cyclic=False),
    _Composition("Thm mgd (composition)", "[BSA24, Thm mgd]", cyclic=True),
)
ONE_OUTCOME, RANDOM_ORDER = _TheoremB1(), _TheoremB4()
THEOREMS = (*DESCENT_COMPOSITION, ONE_OUTCOME, RANDOM_ORDER)
