"""Which theorem applies to which run: every bound as a rule with its hypotheses.

A rule looks at a run and a geometry and either returns a `Bound` or raises `UnmetHypothesis`, which
names what is missing. `certify` tries all rules of the families it was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from typing import Any

from shiftdp._errors import UnmetHypothesis
from shiftdp.fdp import ApproxDPTradeoff, GaussianTradeoff, Maximum, Mixture, TradeoffFunction
from shiftdp.interpolation.closed_forms import cyclic_descent, gradient_descent, langevin
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.reshuffled import ReshuffledSchedule, optimal_shifts_reshuffled
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.interpolation.shifts import Shifts, optimal_shifts
from shiftdp.interpolation.verification import proved_mu
from shiftdp.interpolation.verification_equal_steps import float_above
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumption
from shiftdp.last_iterate.endless import holds_for_longer, require_forgotten, stand_in
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import (
    BatchRun,
    StepSchedule,
    has_random_visits,
    outcomes,
    schedule_of,
)
from shiftdp.last_iterate.runs import (
    ExponentialMechanism,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
)
from shiftdp.last_iterate.theorems.bound import Bound, Family, Proof, Rule
from shiftdp.last_iterate.theorems.sampled import STOCHASTIC_RULES
from shiftdp.last_iterate.theorems.theorem import theorem_of

__all__ = [
    "Bound",
    "Family",
    "Proof",
    "Rule",
    "composition_mu",
    "composition_name",
    "descent_hypotheses",
    "for_every_length",
    "full_batch",
    "proofs_of",
    "rules_for",
    "solve",
    "within_composition",
]


_DIGITS = Context(prec=60, Emin=-(10**6), Emax=10**6)
_DIGIT_LOSS = Decimal("1e-40")  # far more than 2^53 additions with 60 digits


def rules_for(run: object) -> tuple[Rule, ...]:
    """The rules that speak about this kind of run."""
    return RULES[type(run)]


# --- noisy gradient descent with full or cyclic batches ---


def solve(schedule: StepSchedule) -> Shifts:
    """Theorem B1 for any schedule."""
    return _SOLVERS[type(schedule)](schedule)


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


_SOLVERS: dict[type, Callable[[Any], Shifts]] = {
    Schedule: optimal_shifts,
    PeriodicSchedule: optimal_shifts_periodic,
    ReshuffledSchedule: optimal_shifts_reshuffled,
}


def proofs_of(run: BatchRun, geometry: Geometry, *, endless: bool = False) -> tuple[Proof, ...]:
    """The best shifts for each outcome that matters; `endless`: also for every longer run."""
    proofs = (
        Proof(case.visits, case.weight, solve(schedule_of(run, geometry, case.visits)))
        for case in outcomes(run, geometry)
    )
    if not endless:
        return tuple(proofs)
    return tuple(_solve_for_every_length(run, geometry, proof) for proof in proofs)


def _sharpened(proof: Proof, run: BatchRun, geometry: Geometry) -> Proof:
    """With the mu that the verifier proves, where that costs little: a digit above, for endless
    runs, instead of the solver's own margin."""
    schedule, shifts = schedule_of(run, geometry, proof.visits), proof.shifts
    if isinstance(schedule, Schedule) or schedule.contraction > 1.0 or not shifts.mu > 0.0:
        return proof
    proved = math.nextafter(proved_mu(schedule, shifts), math.inf)
    return replace(proof, shifts=replace(shifts, mu=min(proved, shifts.mu)))


def composition_mu(run: BatchRun, geometry: Geometry) -> float:
    """[BSA24, Thm gd, Thm mgd] sqrt(sum over visits of (L / (b sigma_k))^2), for the worst record.

    b is what the sum over that batch is divided by. It holds for any schedule and any losses: every
    iterate could be published. In each epoch of a reshuffled run the worst position is taken.

    The sum has 60 decimal digits and comes back as the next float above the root: the same number
    on every machine, and not one digit above what is proved.
    """
    with localcontext(_DIGITS):
        square = _worst_precision(run) * Decimal(geometry.sensitivity) ** 2
        return float_above(square.sqrt() * (1 + _DIGIT_LOSS))


def _worst_precision(run: BatchRun) -> Decimal:
    """The largest sum over the visits of a record of (b sigma_k)^-2."""
    batches, steps, reshuffled = run.batches, run.steps, run.order == "reshuffled"
    full, last = (1 / Decimal(run.divisor_of(j)) ** 2 for j in (1, batches))
    if isinstance(run.noise, float):
        whole, begun = divmod(steps, batches)
        if reshuffled:
            # of an unfinished epoch the last batch, which may be smaller, is not used
            worst = whole * max(full, last) + (full if begun else 0)
        else:
            # the last batch is used once less where an epoch is unfinished
            worst = max((whole + bool(begun)) * full, whole * last)
        return worst / Decimal(run.noise) ** 2
    each = [
        (last if k % batches == 0 else full) / Decimal(sigma) ** 2
        for k, sigma in enumerate(run.noise, start=1)
    ]
    if reshuffled:
        return sum((max(each[k : k + batches]) for k in range(0, steps, batches)), Decimal(0))
    return max(sum(each[j::batches], Decimal(0)) for j in range(min(batches, steps)))


def descent_hypotheses(name: str, run: BatchRun, geometry: Geometry) -> tuple[Assumption, ...]:
    """What the theorem of this name asks of noisy gradient descent."""
    theorem = theorem_of(name)
    losses = (given.batch_losses(geometry, run),) if theorem.contracts else ()
    projected = geometry.bounded and theorem.projects
    constraint = (given.constraint(geometry),) if projected else ()
    return (
        *losses,
        *constraint,
        given.sensitivity(geometry),
        given.adjacency(geometry),
        *given.batches_used(run),
        given.gaussian_noise(),
        given.hidden_iterates(),
    )


def composition_name(run: BatchRun) -> str:
    """What the paper calls composition of full and of cyclic batches."""
    return "Thm gd (composition)" if run.batches == 1 else "Thm mgd (composition)"


def _composition(run: BatchRun, geometry: Geometry) -> Bound:
    name = composition_name(run)
    f = GaussianTradeoff(composition_mu(run, geometry))
    return Bound(name, "composition", f, descent_hypotheses(name, run, geometry))


def _shifted(run: BatchRun, geometry: Geometry) -> Bound:
    """Theorem B1, and Theorem B4 where the order is random."""
    given.require_smooth(geometry)
    given.require_contractive(run.learning_rate, geometry)
    return _by_shifts(run, geometry, proofs_of(run, geometry))


def _by_shifts(run: BatchRun, geometry: Geometry, proofs: tuple[Proof, ...]) -> Bound:
    if run.order == "fixed" or len(proofs) == 1:
        proofs = tuple(_sharpened(proof, run, geometry) for proof in proofs)
        f: TradeoffFunction = GaussianTradeoff(max(proof.shifts.mu for proof in proofs))
        name = "Theorem B1"
    else:
        parts = [GaussianTradeoff(proof.shifts.mu) for proof in proofs]
        f = Mixture(parts, [proof.weight for proof in proofs])
        name = "Theorem B4"
    return Bound(name, "ours", f, descent_hypotheses(name, run, geometry), proofs)


def for_every_length(bound: Bound, run: Any, geometry: Geometry) -> Bound:
    """A bound on the stand-in of an endless run as one on every longer run, or `UnmetHypothesis`.

    Where the best shifts hold for the stand-in alone, those from the diameter take their place.
    """
    shifted = tuple(proof for proof in bound.proofs if isinstance(proof, Proof))
    if shifted and geometry.sensitivity > 0.0:
        descent = full_batch(run) if isinstance(run, NoisySGD) else run
        proofs = tuple(_solve_for_every_length(descent, geometry, proof) for proof in shifted)
        if any(new is not old for new, old in zip(proofs, shifted, strict=True)):
            bound = _by_shifts(descent, geometry, proofs)
    require_forgotten(run, geometry, bound.name, bound.proofs)
    return bound


def within_composition(bound: Bound, run: object, geometry: Geometry) -> Bound:
    """The bound with no component of a mixture above composition, which holds in any order.

    Dominating visits may overshoot it. This is for runs of a known length: what the stand-in of an
    endless run composes to is no bound on the longer ones.
    """
    if not isinstance(bound.f, Mixture) or not isinstance(run, (NoisyGD, NoisyCGD)):
        return bound
    most = composition_mu(run, geometry)
    parts = [
        GaussianTradeoff(min(proof.shifts.mu, most))
        for proof in bound.proofs
        if isinstance(proof, Proof)
    ]
    return replace(bound, f=Mixture(parts, bound.f.weights))


@dataclass(frozen=True)
class _EqualSteps:
    """A run in the form that the paper's closed forms want."""

    c: float
    s: float
    sd: float
    batches: int
    epochs: int


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
    s = eta * geometry.sensitivity / run.divisor_of(1) * (1 + 2.0**-50)
    return _EqualSteps(c, s, eta * sigma, run.batches, epochs)


def _strongly_convex(run: BatchRun, geometry: Geometry) -> Bound:
    steps = _equal_steps(run, geometry)
    if not steps.c < 1.0:
        raise UnmetHypothesis(
            "strong_convexity",
            geometry.strong_convexity,
            f"with this learning rate gives contraction {steps.c:g}, not below 1",
            "add a ridge, or lower the learning rate below 2/smoothness",
        )
    if steps.batches == 1:
        name, mu = "Thm gd-sc", gradient_descent.gd_sc(steps.c, steps.s, steps.sd, steps.epochs)
    else:
        name = "Thm mgd-sc"
        mu = cyclic_descent.mgd_sc(steps.c, steps.s, steps.sd, steps.batches, steps.epochs)
    return Bound(name, "paper", GaussianTradeoff(mu), descent_hypotheses(name, run, geometry))


def _constrained(run: BatchRun, geometry: Geometry) -> Bound:
    steps = _equal_steps(run, geometry)
    if not geometry.bounded:
        raise UnmetHypothesis(
            "diameter", geometry.diameter, "is infinite", "project onto a bounded set"
        )
    if steps.batches == 1:
        name = "Thm gd-proj"
        mu = gradient_descent.gd_proj_best(steps.s, steps.sd, geometry.diameter, steps.epochs)
    else:
        name = "Thm mgd-proj"
        mu = cyclic_descent.mgd_proj_best(
            steps.s, steps.sd, geometry.diameter, steps.batches, steps.epochs
        )
    return Bound(name, "paper", GaussianTradeoff(mu), descent_hypotheses(name, run, geometry))


def full_batch(run: NoisySGD) -> NoisyGD:
    """The run as noisy gradient descent, which it is when its batches have all records."""
    return NoisyGD(n=run.n, steps=run.steps, learning_rate=run.learning_rate, noise=run.noise)


def _full_batches(run: NoisySGD, geometry: Geometry) -> Bound:
    """A batch of all records is no random one, and Theorem B1 is the better bound."""
    if run.batch_size < run.n:
        raise UnmetHypothesis(
            "batch_size", run.batch_size, f"is below n={run.n}", "use Theorem B3 instead"
        )
    return _shifted(full_batch(run), geometry)


# --- Langevin Monte Carlo and the exponential mechanism ---


def _langevin(
    rule: Callable[[BatchRun, Geometry], Bound],
) -> Callable[[LangevinMC, Geometry], Bound]:
    """A rule of noisy gradient descent, on the run that LMC is. [BSA24, Prop lmc]"""

    def apply(run: LangevinMC, geometry: Geometry) -> Bound:
        if math.isfinite(run.steps):
            return rule(run.as_descent(run.steps), geometry)
        descent = stand_in(run.as_descent(run.steps), geometry)
        return for_every_length(rule(descent, geometry), descent, geometry)

    return apply


def _stationary_sc(run: LangevinMC, geometry: Geometry) -> Bound:
    """[BSA24, Prop lmc and Cor expmechsc], for finite or infinite time."""
    _require_strongly_convex(geometry)
    given.require_smooth(geometry)
    mu = langevin.lmc(
        geometry.strong_convexity,
        geometry.smoothness,
        geometry.sensitivity,
        run.learning_rate,
        run.steps,
    )
    name = "Cor expmechsc" if math.isinf(run.steps) else "Prop lmc"
    return Bound(name, "paper", GaussianTradeoff(mu), _sampling(geometry))


def _stationary_convex(run: LangevinMC, geometry: Geometry) -> Bound:
    """[BSA24, Cor expmechconvex]: the sensitivity here is twice its Lipschitz constant."""
    _require_convex_body(geometry)
    given.require_smooth(geometry)
    given.require_contractive(run.learning_rate, geometry)
    # a smoother F than that is also so smooth; a linear one has smoothness 0
    smoothness = max(geometry.smoothness, 1.0 / run.learning_rate)
    mu = langevin.lmc_stationary_convex_best(
        geometry.sensitivity / 2.0, geometry.diameter, smoothness, run.learning_rate
    )
    return Bound("Cor expmechconvex", "paper", GaussianTradeoff(mu), _sampling(geometry))


def _exponential_sc(run: ExponentialMechanism, geometry: Geometry) -> Bound:
    _require_strongly_convex(geometry)
    mu = langevin.exponential_mechanism_sc(geometry.strong_convexity, geometry.sensitivity)
    return Bound("Cor expmechsc", "paper", GaussianTradeoff(mu), _sampling(geometry))


def _exponential_convex(run: ExponentialMechanism, geometry: Geometry) -> Bound:
    _require_convex_body(geometry)
    mu = langevin.exponential_mechanism_convex(geometry.sensitivity / 2.0, geometry.diameter)
    return Bound("Cor expmechconvex", "paper", GaussianTradeoff(mu), _sampling(geometry))


def _exponential_pure(run: ExponentialMechanism, geometry: Geometry) -> Bound:
    """[MT07] F - F' varies by at most L D on the domain, so the densities differ by e^{LD}."""
    if not geometry.bounded:
        raise UnmetHypothesis("diameter", geometry.diameter, "is infinite", "give a bounded domain")
    epsilon = langevin.exponential_mechanism_pure_epsilon(
        geometry.sensitivity / 2.0, geometry.diameter
    )
    return Bound("pure DP", "composition", ApproxDPTradeoff(epsilon), _sampling(geometry))


def _exponential_all(run: ExponentialMechanism, geometry: Geometry) -> Bound:
    """All that is known at once: the pointwise maximum of the bounds."""
    pure = _exponential_pure(run, geometry)
    gaussian = min(
        _applicable((_exponential_sc, _exponential_convex), run, geometry),
        key=lambda bound: bound.mu or 0.0,
    )
    f = Maximum((gaussian.f, pure.f))
    return Bound(f"{gaussian.name} and pure DP", "ours", f, gaussian.assumptions)


def _applicable(
    rules: Iterable[Callable[[Any, Geometry], Bound]], run: object, geometry: Geometry
) -> list[Bound]:
    found: list[Bound] = []
    refusal: UnmetHypothesis | None = None
    for rule in rules:
        try:
            found.append(rule(run, geometry))
        except UnmetHypothesis as unmet:
            refusal = unmet
    if not found and refusal is not None:
        raise refusal
    return found


def _require_strongly_convex(geometry: Geometry) -> None:
    if not geometry.strong_convexity > 0:
        raise UnmetHypothesis(
            "strong_convexity",
            geometry.strong_convexity,
            "is not positive",
            "add a ridge, or give a bounded domain",
        )


def _require_convex_body(geometry: Geometry) -> None:
    if not geometry.convex:
        raise UnmetHypothesis(
            "strong_convexity", geometry.strong_convexity, "is negative", "give convex F and F'"
        )
    if not geometry.bounded:
        raise UnmetHypothesis("diameter", geometry.diameter, "is infinite", "give a bounded domain")


def _sampling(geometry: Geometry) -> tuple[Assumption, ...]:
    extra = (given.constraint(geometry),) if geometry.bounded else ()
    return (
        given.smooth_losses(geometry),
        Assumption(
            "sensitivity", f"F - F' is {geometry.sensitivity:g}-Lipschitz for neighbouring data"
        ),
        given.adjacency(geometry),
        *extra,
        given.hidden_iterates(),
    )


_DESCENT = (
    Rule("composition", "composition", _composition),
    Rule("strongly convex", "paper", _strongly_convex),
    Rule("constrained", "paper", _constrained),
    Rule("shifted interpolation", "ours", _shifted),
)

RULES: dict[type, tuple[Rule, ...]] = {
    NoisyGD: _DESCENT,
    NoisyCGD: _DESCENT,
    NoisySGD: (*STOCHASTIC_RULES, Rule("full batches", "ours", _full_batches)),
    LangevinMC: (
        *(Rule(rule.name, rule.family, _langevin(rule.apply)) for rule in _DESCENT),
        Rule("strongly log-concave", "paper", _stationary_sc),
        Rule("log-concave on a body", "paper", _stationary_convex),
    ),
    ExponentialMechanism: (
        Rule("pure DP", "composition", _exponential_pure),
        Rule("strongly log-concave", "paper", _exponential_sc),
        Rule("log-concave on a body", "paper", _exponential_convex),
        Rule("all together", "ours", _exponential_all),
    ),
}
