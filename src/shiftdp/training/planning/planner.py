"""The planner: which run to make, chosen by public numbers alone, with reasons.

It lists runs of three kinds (full, cyclic and random batches), finds the noise that the budget asks
of each, predicts their errors on a reference problem (`training/planning/utility.py`), and takes
the least. docs/planner.md derives the rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shiftdp._errors import InvalidInput
from shiftdp._printed import up
from shiftdp.last_iterate import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.last_iterate.runs import PerStep, has_releases
from shiftdp.last_iterate.schedules.releases import number_of_releases
from shiftdp.last_iterate.training_record import MEASURING
from shiftdp.privacy.calibration import calibrate_noise
from shiftdp.privacy.noise_placement import placed_noise
from shiftdp.training.centring import without_sums
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.entropy import Entropy, System
from shiftdp.training.plan import Oversized, Plan
from shiftdp.training.planning.candidates import Candidate, Candidates
from shiftdp.training.planning.centring import centred_run
from shiftdp.training.planning.checkpoints import with_checkpoints
from shiftdp.training.planning.kinds import FEWEST
from shiftdp.training.planning.problem import Algorithm, Overrides, Problem
from shiftdp.training.planning.setting import MOST_STEPS, QUICK
from shiftdp.training.planning.utility import Prediction

__all__ = ["Overrides", "Planned", "Problem", "plan_for"]

_WORTH = 0.95  # a run is preferred to the simplest one if its predicted error is this much smaller
_THRIFT = 0.015  # the power of passes among runs of one algorithm: twice as many, 1 % better
_PATIENCE = 0.03  # the power of time in a price: twice the time has to be 2 % better
_LEAST_SHOWN = 5e-4  # of shares with three decimals
_NAMES: dict[type, Algorithm] = {NoisyGD: "gd", NoisyCGD: "cgd", NoisySGD: "sgd"}
_TITLES: dict[type, str] = {
    NoisyGD: "noisy gradient descent, full batches,",
    NoisyCGD: "noisy gradient descent, batches in turn,",
    NoisySGD: "noisy gradient descent, random batches,",
}


@dataclass(frozen=True)
class Planned:
    """A plan, what is expected of it, and why it was chosen.

    >>> from shiftdp.training import Logistic
    >>> problem = Problem(
    ...     n=455, features=30, loss=Logistic(), feature_bound=3.5, epsilon=1.0, delta=1e-5
    ... )
    >>> planned = plan_for(problem)
    >>> type(planned.plan.run).__name__, planned.plan.certificate.epsilon(1e-5) <= 1.0
    ('NoisyGD', True)
    >>> planned.prediction.noise < planned.prediction.total < 1.0
    True
    """

    problem: Problem
    plan: Plan
    prediction: Prediction
    reasons: dict[str, str] = field(repr=False)
    others: dict[str, Prediction] = field(repr=False)

    @property
    def run(self) -> TrainingRun:
        return self.plan.run

    @property
    def algorithm(self) -> Algorithm:
        """Which of the three kinds of batches it has."""
        return _NAMES[type(self.plan.run)]

    def choices(self) -> dict[str, Any]:
        """What was chosen, by name."""
        plan = self.plan
        run = without_sums(plan.run) if plan.centred else plan.run
        found: dict[str, Any] = {
            "algorithm": self.algorithm,
            "batch_size": run.n if run.full_batches else run.batch_size,
            "epochs": _epochs(run),
            "steps": plan.run.steps,
            "learning_rate": _ends(run.learning_rate),
            "l2": plan.l2,
            "clipping": plan.clipping,
            "clip": plan.clip,
            "noise": _ends(run.noise),
            "bounds": plan.bounds,
        }
        if run.cyclic:
            found["order"] = run.order
            if run.left_over:
                found["last_batch"] = run.last_batch
        if run.sampled:
            found["sampling"] = run.sampling
        if isinstance(run.noise, tuple) and 0.0 in run.noise:
            found["noisy_steps"] = sum(sigma > 0.0 for sigma in run.noise)
        if has_releases(run):
            found["releases"] = number_of_releases(run)
        if plan.centred:
            found["centred"] = _parts(plan.run)
        return found

    def __str__(self) -> str:
        lines = [f"{_TITLES[type(self.run)]} for n={self.problem.n}, d={self.problem.features}:"]
        for name, value in self.choices().items():
            lines.append(f"  {name:<13} {_shown(value):<22} {self.reasons.get(name, '')}".rstrip())
        lines += _placement(self.run)
        lines.append("foretold on the reference problem (shares of the error of a model of zeros):")
        rows = {f"this {self.algorithm}": self.prediction, **self.others}
        for name, part in rows.items():
            lines.append(
                f"  {name:<13} {_share(part.total)} = "
                + " + ".join(f"{key} {_share(share)}" for key, share in vars(part).items())
            )
        return "\n".join(lines)


def _placement(run: TrainingRun) -> list[str]:
    """What is special about noise that is not in every step, in two sentences."""
    if not isinstance(run.noise, tuple) or 0.0 not in run.noise:
        return []
    noisy = sum(sigma > 0.0 for sigma in run.noise)
    return [
        f"The noise is placed: {noisy} of {run.steps} steps have some, the last one among them. "
        "Nothing but the last iterate is",
        "released, so the noise of one step also hides the records of the steps before it, and the "
        "model ends with",
        "less noise than if every step had its own (Theorem P1).",
    ]


def _share(share: float) -> str:
    """Three decimals; what they would not show by its size, and nothing as 0.

    >>> _share(0.5461), _share(0.000012), _share(0.0)
    ('0.546', '1.2e-05', '0')
    """
    if share == 0.0:
        return "0"
    return f"{share:.3f}" if share >= _LEAST_SHOWN else f"{share:.1e}"


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
    name, best = _favourites(candidates)
    plan = _calibrated(candidates, best[name])
    others = {key: one.prediction for key, one in best.items() if key != name}
    return Planned(problem, plan, best[name].prediction, _reasons(problem, chosen, plan), others)


def forecast(problem: Problem, overrides: Overrides) -> Candidate:
    """The run that `plan_for` would take, before its noise is calibrated.

    Args:
        problem: public numbers.
        overrides: what is chosen already.
    """
    name, best = _favourites(Candidates(problem, overrides, System(), "scale"))
    return best[name]


def _favourites(candidates: Candidates) -> tuple[str, dict[str, Candidate]]:
    """The name of the algorithm to take, and the best run of each."""
    problem = candidates.problem
    best: dict[str, Candidate] = {}

    def price(one: Candidate) -> float:
        work = problem.work * one.passes / QUICK
        return one.prediction.total * float(max(1.0, work) ** _PATIENCE)

    def thrifty_price(one: Candidate) -> float:
        return price(one) * float(one.passes**_THRIFT)

    for name in candidates.algorithms():
        found = min(candidates.of(name), key=thrifty_price, default=None)
        if found is not None:
            best[name] = found
    if not best:
        raise _impossible(candidates)
    simplest, name = next(iter(best)), min(best, key=lambda key: price(best[key]))
    if price(best[name]) >= _WORTH * price(best[simplest]):
        name = simplest
    return name, best


def _calibrated(candidates: Candidates, taken: Candidate) -> Plan:
    """The plan of this run with the least noise that meets the budget, certified."""
    problem, given = candidates.problem, candidates.chosen.noise
    chosen, l2 = candidates.chosen, taken.l2
    run = taken.run
    if chosen.releases:
        run = with_checkpoints(run, chosen.checkpoints, chosen.average)
    plan = candidates.plan(run, l2, taken.clip, candidates.setting.bounds(run, l2))
    longer = centred_run(problem, chosen, run, plan.geometry.sensitivity)
    if longer is not None:
        plan = replace(candidates.plan(longer, l2, taken.clip, "composition"), centred=True)
    if given is None:
        plan = _with_least_noise(plan, problem, taken.placed)
    spent = plan.certificate.epsilon(problem.delta)
    if spent > problem.epsilon:
        raise InvalidInput(
            "noise",
            given,
            f"makes epsilon={up(spent)} at delta={problem.delta:g}, which is above "
            f"{problem.epsilon:g}",
            "leave the noise to the planner, or give more",
        )
    return plan


def _with_least_noise(plan: Plan, problem: Problem, placed: bool) -> Plan:
    """Calibration to a very small delta certifies each run for that delta alone; a plan is
    certified for every delta, which may cost a little more. Then the aim is lowered by as much."""
    aim = problem.epsilon
    for _ in range(3):
        run = plan.run
        if placed and run.cyclic:
            run = placed_noise(run, plan.geometry, epsilon=aim, delta=problem.delta)
        else:
            run = calibrate_noise(
                run, plan.geometry, bounds=plan.bounds, epsilon=aim, delta=problem.delta
            )
        plan = replace(plan, run=run)
        spent = plan.certificate.epsilon(problem.delta)
        if spent <= problem.epsilon:
            break
        aim *= (1.0 - 1e-6) * problem.epsilon / spent
    return plan


def _impossible(candidates: Candidates) -> InvalidInput:
    """Why no run is left."""
    chosen, n = candidates.chosen, candidates.problem.n
    if n < FEWEST and chosen.batch_size is None and "gd" not in candidates.algorithms():
        return InvalidInput(
            "n",
            n,
            "is too few records for batches",
            f"give {FEWEST} records, or more",
        )
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


def _reasons(problem: Problem, chosen: Overrides, plan: Plan) -> dict[str, str]:
    """Why each choice was made, by its name."""
    run = plan.run
    placed = isinstance(run.noise, tuple) and 0.0 in run.noise
    why = {
        "algorithm": "the least error that is foretold, see below",
        "batch_size": {
            "gd": "all records: for equal noise nothing is more private",
            "cgd": "the least error that is foretold among some batch sizes",
            "sgd": "the least error that is foretold among some batch sizes",
        }[_NAMES[type(run)]],
        "epochs": f"what pays, of those that compute={problem.compute:g} allows, at most 200",
        "learning_rate": (
            f"falls {'from stage to stage' if placed else 'with the steps'}, so that late noise "
            "counts little; "
            if isinstance(run.learning_rate, tuple)
            else ""
        )
        + "noise against optimisation",
        "l2": (
            "none: stopping regularises already"
            if plan.l2 == 0.0
            else "makes the last iterate cheaper than its bias costs"
        ),
        "clipping": {
            "none": "no gradient is cut",
            "envelope": "keeps the loss convex; for one score no more than scaling",
            "plain": "scales long gradients down, which composition covers",
        }.get(plan.clipping, ""),
        "clip": (
            f"{plan.clip / (problem.loss.initial_residual * problem.norm_bound):.3g} of what a "
            "record pulls with at the start"
            if plan.clip is not None
            else "none: noise is small, or the loss starts with its largest gradient"
        ),
        "noise": ("of the noisy steps, the others having none: " if placed else "")
        + f"the least that meets epsilon={problem.epsilon:g} at delta={problem.delta:g}",
        "bounds": (
            "composition covers any learning rate"
            if plan.bounds == "composition"
            else "the tightest that is proved"
        ),
        "last_batch": "a record weighs the same wherever it is",
        "order": "what data loaders do; random order is free (Theorem B4)",
        "sampling": "each record by itself: the cheapest random batches",
        "centred": "of mu^2: trained on distances from the noisy mean; centre=False does not",
        "noisy_steps": "one at the end of each stage of equal rates hides all of it (Theorem P1)",
    }
    for name in vars(chosen):
        if getattr(chosen, name) is not None:
            why[name] = "given"
    if plan.centred:
        why["steps"] = f"the first {MEASURING} of which measure where the rows lie"
    why["releases"] = "the noise is enough for all of them together (Theorem V1)"
    return why


def _epochs(run: TrainingRun) -> float:
    if run.full_batches:
        return run.steps
    if run.in_turn:
        return run.epochs
    return run.steps * run.batch_size / run.n


def _parts(run: TrainingRun) -> str:
    """Which part of mu^2 the sums have that rows are centred by."""
    squares = np.asarray(run.noise) ** -2.0
    return f"for {squares[:MEASURING].sum() / squares.sum():.2%} of the budget"


def _ends(value: PerStep) -> float | tuple[float, float]:
    """A number for all steps, or the first and the last that is not 0."""
    if isinstance(value, float):
        return value
    some = [number for number in (value[-1], *value) if number > 0.0]
    return some[1], some[0]


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return " to ".join(f"{part:.4g}" for part in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
