"""A plan that was chosen, with what is expected of it and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shiftdp.last_iterate import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.plan import Plan
from shiftdp.training.planning.problem import Overrides, Problem
from shiftdp.training.planning.utility import Prediction

__all__ = ["Planned", "reasons_for"]

_NAMES: dict[type, str] = {NoisyGD: "gd", NoisyCGD: "cgd", NoisySGD: "sgd"}
_TITLES: dict[type, str] = {
    NoisyGD: "noisy gradient descent, full batches,",
    NoisyCGD: "noisy gradient descent, batches in turn,",
    NoisySGD: "noisy gradient descent, random batches,",
}


@dataclass(frozen=True)
class Planned:
    """A plan, what is expected of it, and why it was chosen.

    >>> from shiftdp.training import Logistic
    >>> from shiftdp.training.planning.planner import plan_for
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

    def choices(self) -> dict[str, Any]:
        """What was chosen, by name."""
        run, plan = self.plan.run, self.plan
        eta = run.learning_rate
        found: dict[str, Any] = {
            "algorithm": _NAMES[type(run)],
            "batch_size": run.n if isinstance(run, NoisyGD) else run.batch_size,
            "epochs": _epochs(run),
            "steps": run.steps,
            "learning_rate": eta if isinstance(eta, float) else (eta[0], eta[-1]),
            "l2": plan.l2,
            "clipping": plan.clipping,
            "clip": plan.clip,
            "noise": run.noise,
            "bounds": plan.bounds,
        }
        if isinstance(run, NoisyCGD):
            found["order"] = run.order
            if run.left_over:
                found["last_batch"] = run.last_batch
        if isinstance(run, NoisySGD):
            found["sampling"] = run.sampling
        return found

    def __str__(self) -> str:
        lines = [f"{_TITLES[type(self.run)]} for n={self.problem.n}, d={self.problem.features}:"]
        for name, value in self.choices().items():
            lines.append(f"  {name:<13} {_shown(value):<22} {self.reasons.get(name, '')}".rstrip())
        lines.append("foretold on the reference problem (shares of the error of a model of zeros):")
        rows = {f"this {_NAMES[type(self.run)]}": self.prediction, **self.others}
        for name, part in rows.items():
            lines.append(
                f"  {name:<13} {part.total:.3f} = noise {part.noise:.3f} + optimisation "
                f"{part.optimisation:.3f} + regularisation {part.regularisation:.3f}"
            )
        return "\n".join(lines)


def reasons_for(problem: Problem, chosen: Overrides, plan: Plan) -> dict[str, str]:
    """Why, by the name of the choice."""
    run = plan.run
    why = {
        "algorithm": "the least error that is foretold, see below",
        "batch_size": {
            "gd": "all records: for equal noise nothing is more private",
            "cgd": "the least error that is foretold among some batch sizes",
            "sgd": "the least error that is foretold among some batch sizes",
        }[_NAMES[type(run)]],
        "epochs": f"what compute={problem.compute:g} allows, at most 200",
        "learning_rate": (
            "falls to 0, so that late noise counts little; "
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
            "none": "no gradient is too long",
            "envelope": "keeps the loss convex; for one score no more than scaling",
            "plain": "scales long gradients down, which composition covers",
        }.get(plan.clipping, ""),
        "clip": (
            f"half of what a record pulls with at the start, {problem.loss.initial_residual:.3g} R"
            if plan.clip is not None
            else "the loss has bounded gradients"
        ),
        "noise": f"the least that meets epsilon={problem.epsilon:g} at delta={problem.delta:g}",
        "bounds": (
            "composition covers any learning rate"
            if plan.bounds == "composition"
            else "the tightest that is proved"
        ),
        "last_batch": "a record weighs the same wherever it is",
        "order": "what data loaders do; random order is free (Theorem B4)",
        "sampling": "each record by itself: the cheapest random batches",
    }
    for name in vars(chosen):
        if getattr(chosen, name) is not None:
            why[name] = "given"
    return why


def _epochs(run: TrainingRun) -> float:
    if isinstance(run, NoisyGD):
        return run.steps
    if isinstance(run, NoisyCGD):
        return run.epochs
    return run.steps * run.batch_size / run.n


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return " to ".join(f"{part:.4g}" for part in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
