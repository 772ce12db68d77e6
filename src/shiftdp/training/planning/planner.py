"""The planner: which run to make, chosen by public numbers alone, with reasons.

It lists runs of three kinds (full, cyclic and random batches), finds the noise that the budget asks
of each, predicts their errors on a reference problem (`training/planning/utility.py`), and takes
the least. docs/planner.md derives the rule.
"""

from __future__ import annotations

from dataclasses import replace

from shiftdp._errors import InvalidInput
from shiftdp.privacy.calibration import calibrate_noise
from shiftdp.training.descent.entropy import Entropy, System
from shiftdp.training.plan import Oversized, Plan
from shiftdp.training.planning.candidates import MOST_STEPS, Candidate, Candidates
from shiftdp.training.planning.planned import Planned, reasons_for
from shiftdp.training.planning.problem import Overrides, Problem

__all__ = ["Overrides", "Planned", "Problem", "plan_for"]

_WORTH = 0.95  # a run is preferred to a simpler one if its predicted error is this much smaller


def plan_for(
    problem: Problem,
    overrides: Overrides | None = None,
    *,
    entropy: Entropy | None = None,
    oversized: Oversized = "scale",
) -> Planned:
    """The plan with the least predicted error among those that meet the budget.

    Args:
        problem: public numbers; the plan depends on nothing else.
        overrides: what is chosen already.
        entropy: where the run's randomness comes from.
        oversized: what happens to rows above the bound.
    """
    chosen = overrides or Overrides()
    candidates = Candidates(problem, chosen, entropy or System(), oversized)
    best: dict[str, Candidate] = {}
    for name in candidates.algorithms():
        found = min(candidates.of(name), key=lambda one: one.prediction.total, default=None)
        if found is not None:
            best[name] = found
    if not best:
        raise _impossible(candidates)
    name = next(iter(best))
    for other in best:
        if best[other].prediction.total < _WORTH * best[name].prediction.total:
            name = other
    plan = _calibrated(candidates, best[name])
    others = {key: one.prediction for key, one in best.items() if key != name}
    return Planned(problem, plan, best[name].prediction, reasons_for(problem, chosen, plan), others)


def _calibrated(candidates: Candidates, taken: Candidate) -> Plan:
    """The plan of this run with the least noise that meets the budget, certified."""
    problem, given = candidates.problem, candidates.chosen.noise
    plan = candidates.plan(taken.run, taken.l2, candidates.bounds(taken.run, taken.l2))
    if given is None:
        plan = _with_least_noise(plan, problem)
    spent = plan.certificate.epsilon(problem.delta)
    if spent > problem.epsilon:
        raise InvalidInput(
            "noise",
            given,
            f"makes epsilon={spent:.4g} at delta={problem.delta:g}, which is above "
            f"{problem.epsilon:g}",
            "leave the noise to the planner, or give more",
        )
    return plan


def _with_least_noise(plan: Plan, problem: Problem) -> Plan:
    """Calibration to a very small delta certifies each run for that delta alone; a plan is
    certified for every delta, which may cost a little more. Then the aim is lowered by as much."""
    aim = problem.epsilon
    for _ in range(3):
        run = calibrate_noise(
            plan.run, plan.geometry, bounds=plan.bounds, epsilon=aim, delta=problem.delta
        )
        plan = replace(plan, run=run)
        spent = plan.certificate.epsilon(problem.delta)
        if spent <= problem.epsilon:
            break
        aim *= (1.0 - 1e-6) * problem.epsilon / spent
    return plan


def _impossible(candidates: Candidates) -> InvalidInput:
    """Why no run is left."""
    chosen = candidates.chosen
    if candidates.too_long:
        name = "batch_size" if chosen.epochs is None else "epochs"
        return InvalidInput(
            name,
            getattr(chosen, name),
            f"makes every run longer than {MOST_STEPS} steps",
            "give fewer epochs, or a larger batch_size",
        )
    if chosen.noise is not None:
        return InvalidInput(
            "noise",
            chosen.noise,
            f"cannot meet epsilon={candidates.problem.epsilon:g}",
            "leave the noise to the planner, or give more",
        )
    return InvalidInput(
        "learning_rate",
        chosen.learning_rate,
        "makes every run diverge",
        "leave it to the planner, or give a smaller one",
    )
