"""`shiftdp inspect`: what is in a model file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from shiftdp.ui.group import Command
from shiftdp.ui.options import answer_options
from shiftdp.ui.output import print_json, print_table, print_text
from shiftdp.ui.progress import waiting
from shiftdp.ui.report import CLASSES_LEARNT
from shiftdp.ui.settings import read_model_file
from shiftdp.ui.types import InFile

if TYPE_CHECKING:
    from shiftdp.training.model_file.files import ModelFile


@click.command("inspect", cls=Command, examples=("shiftdp inspect people.shiftdp",))
@click.argument("model", type=InFile(), metavar="MODEL")
@answer_options()
def command(model: str, json: bool) -> None:
    """Show what a model file holds: coefficients and their noise, plan, certificate, statement.

    The noise is the deviation of all noise that went into a coefficient, as if the loss had left it
    as it was: what is smaller may be noise. Nothing in the file is executed, and the certificate is
    checked, as by `shiftdp verify`.
    """
    with waiting("checking the model"):
        found = read_model_file(model, "model")
        statement, epsilon = _statement(found), found.whole.epsilon(found.delta)
    last = found.model.steps[-1][1] if hasattr(found.model, "steps") else found.model
    stated = found.model if hasattr(found.model, "statement") else last
    names = _names(found.model, last)
    weights = np.atleast_2d(last.coef_)
    intercepts = np.atleast_1d(last.intercept_)
    outputs = _outputs(last, len(weights))
    own = noise_of(found.planned.plan)
    noise = own * stretched(last)
    of_intercept = math.hypot(own, noise * away(last))
    averaged = _averaged(last, found.planned.plan.run)
    if json:
        print_json(
            {
                "model": type(last).__name__,
                "digest": found.digest,
                "columns": _columns(found.model),
                "coefficients": {
                    output: dict(zip(names, row.tolist(), strict=True))
                    for output, row in zip(outputs, weights, strict=True)
                },
                "intercepts": dict(zip(outputs, intercepts.tolist(), strict=True)),
                "noise": noise,
                "noise_of_intercept": of_intercept,
                "average": averaged,
                "plan": found.planned.choices(),
                "reasons": found.planned.reasons,
                "epsilon": epsilon,
                "delta": found.delta,
                "not_covered": [
                    *found.learnt,
                    *([CLASSES_LEARNT] if found.classes_learnt else []),
                    *getattr(stated, "not_covered_", ()),
                ],
                "statement": statement,
            }
        )
        return
    print_text(f"{type(last).__name__}, SHA-256 {found.digest}")
    print_text()
    rows = [
        (name, *(f"{row[i]:.4g}" for row in weights))
        for i, name in enumerate(names)
        if "=(unused " not in name
    ]
    rows.append(("(intercept)", *(f"{value:.4g}" for value in intercepts)))
    print_table(("coefficient", *outputs), rows, right=tuple(range(1, len(outputs) + 1)))
    if averaged is None:
        which = "each of them"
        if of_intercept > noise:
            which = "each of them but the intercept"
        print_text(f"noise in {which}: a deviation of about {noise:.3g}, less where it is damped")
        if of_intercept > noise:
            print_text(f"noise in the intercept, which makes up for the centre: {of_intercept:.3g}")
    else:
        print_text(
            f"each is the mean of the models at the ends of the last {averaged} epochs "
            f"(average={averaged}), all of which count as released"
        )
        print_text(f"noise in the last of them: a deviation of about {noise:.3g} at most")
    print_text()
    print_text(str(found.planned))
    print_text()
    print_text(statement)


def _statement(found: ModelFile) -> str:
    model: Any = found.model
    if hasattr(model, "statement"):
        return str(model.statement())
    if found.pipeline is not None:  # an encoder in a pipeline of scikit-learn
        return found.pipeline.statement(delta=found.delta)
    return str(model.steps[-1][1].statement())


def _averaged(last: Any, run: Any) -> int | None:
    """Over how many epochs the coefficients are a mean; None for the last iterate alone.

    A parameter may have been set after the fit: only a run that released these iterates has a mean.
    """
    from shiftdp.last_iterate.schedules.releases import release_steps
    from shiftdp.training.planning.checkpoints import averaged_steps

    number: int | None = getattr(last, "average", None)
    if number is None or number < 2 or getattr(run, "releases", None) is None:
        return None
    return number if {*averaged_steps(run, number)} <= {*release_steps(run)} else None


def _names(model: Any, last: Any) -> list[str]:
    """The names of the features, as far as they are known."""
    steps: Any = getattr(model, "steps", ())
    before: Any = steps[-2][1] if len(steps) > 1 else None
    if hasattr(before, "get_feature_names_out"):
        try:
            return [str(name) for name in before.get_feature_names_out()]
        except (ValueError, AttributeError):  # a step that does not know its own
            pass
    known = getattr(last, "feature_names_in_", None)
    places = range(last.n_features_in_)
    return [f"x{i}" for i in places] if known is None else [str(name) for name in known]


def _outputs(last: Any, count: int) -> list[str]:
    classes = getattr(last, "classes_", None)
    if classes is None:
        return ["value"]
    return [f"to {classes[1]}"] if count == 1 else [f"to {name}" for name in classes]


def _columns(model: Any) -> dict[str, Any]:
    """What became of the columns of a table, where there is an encoder."""
    from shiftdp.sklearn import PrivateTableEncoder

    steps = [step for _, step in getattr(model, "steps", ())]
    for step in steps:
        if isinstance(step, PrivateTableEncoder):
            pairs = zip(step.layout_.names, step.codes_, strict=True)
            return {name: {"kind": code.kind, **_in_units(vars(code))} for name, code in pairs}
    return {}


def _in_units(code: dict[str, Any]) -> dict[str, Any]:
    """Mean and deviation of a number in the units of its column, and on the axis from -1 to 1.

    >>> _in_units({"low": 0.0, "high": 10.0, "mean": 0.2, "deviation": 0.5})["mean"]
    6.0
    """
    if "mean" not in code:
        return code
    low, high, mean, deviation = (code[name] for name in ("low", "high", "mean", "deviation"))
    half = (high - low) / 2.0
    return {
        "low": low,
        "high": high,
        "mean": low + half * (1.0 + mean),
        "deviation": half * deviation,
        "scaled_mean": mean,
        "scaled_deviation": deviation,
    }


def stretched(last: Any) -> float:
    """By what the weights for centred rows were multiplied, to be for rows as they come."""
    distance = getattr(last, "distance_", None)
    return 1.0 if distance is None else float(last.plan_.plan.feature_bound / distance)


def away(last: Any) -> float:
    """How far from 0 the rows were centred."""
    return float(np.linalg.norm(getattr(last, "centre_", 0.0)))


def noise_of(plan: Any) -> float:
    """The deviation of the noise in one coefficient, if the loss leaves the noise as it is.

    A step turns w into (1 - eta l2) w, less eta times the gradient, less eta sigma Z. With rates of
    at most 2/smoothness a convex loss brings two runs closer, and the noise is less.

    >>> from shiftdp import NoisyGD
    >>> from shiftdp.training import Logistic, Plan
    >>> run = NoisyGD(n=100, steps=4, learning_rate=0.5, noise=2.0)
    >>> noise_of(Plan(run=run, loss=Logistic(), feature_bound=1.0))
    2.0

    Of centred rows it is that of the weights for them, before they are given back.
    """
    from shiftdp.training.centring import without_sums

    run = without_sums(plan.run) if plan.centred else plan.run
    steps = 1 if math.isinf(run.steps) else int(run.steps)
    rates = np.broadcast_to(np.asarray(run.learning_rate, dtype=np.float64), steps)
    noise = np.broadcast_to(np.asarray(run.noise, dtype=np.float64), steps)
    # what is left of the noise of a step at the end of the run
    with np.errstate(all="ignore"):
        kept = np.cumprod(np.abs(1.0 - plan.l2 * rates)[::-1])[::-1]
        after = np.append(kept[1:], 1.0)
        return float(np.sqrt(np.sum((rates * noise * after) ** 2)))
