"""The paper's closed forms for noisy gradient descent: equal steps in whole epochs.

[BSA24, Thm gd-sc, gd-proj, mgd-sc, mgd-proj]. The formulas are in `interpolation.closed_forms`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import AMPLE, EIGHT_ROUNDINGS
from shiftdp.fdp import GaussianTradeoff
from shiftdp.interpolation.closed_forms import cyclic_descent, gradient_descent
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.endless import faded
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import has_random_visits
from shiftdp.last_iterate.runs import LangevinMC, Run
from shiftdp.last_iterate.schedules.visits import BatchRun
from shiftdp.last_iterate.theorems.checks import FORMULA_SLACK, mu_of, require
from shiftdp.last_iterate.theorems.descent import OnDescent, descent_of, proofs_of
from shiftdp.last_iterate.theorems.proofs import Proofs
from shiftdp.last_iterate.theorems.theorem import DELTA, Bound, Claim

_NOTHING = 1e-100  # by which a mu may exceed 0


@dataclass(frozen=True)
class _EqualSteps:
    """A run in the form that the paper's closed forms want."""

    c: float
    s: float
    sd: float
    batches: int
    epochs: int


class _ClosedForm(OnDescent):
    """A formula of the paper for equal steps in whole epochs; Theorem B1 is nowhere worse."""

    family = "paper"
    contained = True
    place = 10

    @abstractmethod
    def _mu(self, steps: _EqualSteps, geometry: Geometry) -> float: ...

    @abstractmethod
    def _limit_reached(self, run: BatchRun, geometry: Geometry) -> bool:
        """Whether the formula for this many steps is one for every number of them."""

    def _bound(self, run: BatchRun, geometry: Geometry) -> Bound:
        return Bound(self, GaussianTradeoff(self._mu(_equal_steps(run, geometry), geometry)))

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        if proofs:
            return super().forgets(run, geometry, proofs)
        return self._limit_reached(descent_of(run, geometry), geometry)

    def proved(self, bound: Bound, run: Run, geometry: Geometry, *, endless: bool) -> Bound:
        """The bound with the optimal shifts, which prove at least as much; both are rounded up."""
        if isinstance(run, LangevinMC):
            return bound
        proofs = proofs_of(descent_of(run, geometry), geometry, endless=endless)
        most = max(mu_of(bound.f), *(proof.shifts.mu for proof in proofs))
        return replace(bound, f=GaussianTradeoff(most), proofs=proofs)

    def check(self, claim: Claim) -> None:
        """Shifts prove the number, and the formula is evaluated again; for Langevin it alone is."""
        if not claim.proofs and isinstance(claim.run, LangevinMC):
            super().check(claim)
            return
        _, shifts = self.verified(claim)
        mu, most = mu_of(claim.f), max(proof.shifts.mu for proof in shifts)
        require(mu >= most, "mu is below what is proved")
        formula = mu_of(self.bound(claim.run, claim.geometry, DELTA).f)
        require(
            formula * (1 - AMPLE) <= mu <= max(formula, most) * (1 + FORMULA_SLACK) + _NOTHING,
            "mu is not what its formula gives",
        )


@dataclass(frozen=True)
class _StronglyConvex(_ClosedForm):
    """The geometric series that a contraction c < 1 gives."""

    name: str
    citation: str
    cyclic: bool
    anchor = "closed-forms-of-the-paper"
    projects = False

    def _mu(self, steps: _EqualSteps, geometry: Geometry) -> float:
        if not steps.c < 1.0:
            raise UnmetHypothesis(
                "strong_convexity",
                geometry.strong_convexity,
                f"with this learning rate gives contraction {steps.c:g}, not below 1",
                "add a ridge, or lower the learning rate below 2/smoothness",
            )
        if self.cyclic:
            return cyclic_descent.mgd_sc(steps.c, steps.s, steps.sd, steps.batches, steps.epochs)
        return gradient_descent.gd_sc(steps.c, steps.s, steps.sd, steps.epochs)

    def _limit_reached(self, run: BatchRun, geometry: Geometry) -> bool:
        """It misses its limit by parts of c^(t-l), l being the steps of an epoch."""
        return faded(geometry.contraction(_rate(run)), run.steps - run.batches)


@dataclass(frozen=True)
class _Constrained(_ClosedForm):
    """The best window of steps before the end, from the diameter of the set."""

    name: str
    citation: str
    cyclic: bool
    anchor = "closed-forms-of-the-paper"

    def _mu(self, steps: _EqualSteps, geometry: Geometry) -> float:
        D = geometry.diameter
        if not geometry.bounded:
            raise UnmetHypothesis("diameter", D, "is infinite", "project onto a bounded set")
        if self.cyclic:
            return cyclic_descent.mgd_proj_best(steps.s, steps.sd, D, steps.batches, steps.epochs)
        return gradient_descent.gd_proj_best(steps.s, steps.sd, D, steps.epochs)

    def _limit_reached(self, run: BatchRun, geometry: Geometry) -> bool:
        return True


def _equal_steps(run: BatchRun, geometry: Geometry) -> _EqualSteps:
    eta, sigma = given.require_equal_steps(run.learning_rate, run.noise)
    given.require_smooth(geometry)
    if not geometry.convex:
        raise UnmetHypothesis(
            "strong_convexity",
            geometry.strong_convexity,
            "is negative, and this closed form is for convex losses",
            "use Theorem B1, which holds for weakly convex losses",
        )
    given.require_contractive(eta, geometry)
    epochs, rest = divmod(run.steps, run.batches)
    if rest:
        raise UnmetHypothesis(
            "steps", run.steps, "ends inside an epoch", f"give a multiple of {run.batches}"
        )
    if run.divisor_of(run.batches) != run.divisor_of(1):
        raise UnmetHypothesis(
            "batch_size",
            run.size_of(1),
            f"does not divide n={run.n}",
            'give a divisor of n, or last_batch="divide_by_b" or "drop"',
        )
    if run.order == "reshuffled" and has_random_visits(run):
        raise UnmetHypothesis(
            "order", run.order, "is not cyclic: batches change each epoch", "use Theorem B4"
        )
    c = geometry.contraction(eta)
    s = eta * geometry.sensitivity / run.divisor_of(1) * (1 + EIGHT_ROUNDINGS)
    return _EqualSteps(c, s, eta * sigma, run.batches, epochs)


def _rate(run: BatchRun) -> float:
    return given.require_equal_steps(run.learning_rate, run.noise)[0]


THEOREMS = DESCENT_PAPER = (
    _StronglyConvex("Thm gd-sc", "[BSA24, Thm gd-sc]", cyclic=False),
    _StronglyConvex("Thm mgd-sc", "[BSA24, Thm mgd-sc]", cyclic=True),
    _Constrained("Thm gd-proj", "[BSA24, Thm gd-proj]", cyclic=False),
    _Constrained("Thm mgd-proj", "[BSA24, Thm mgd-proj]", cyclic=True),
)
