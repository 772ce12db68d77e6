"""`shiftdp calibrate`: from a budget to a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from shiftdp._errors import InvalidInput
from shiftdp.ui.group import Command
from shiftdp.ui.options import IN_EPOCHS, answer_options, budget_options, run_options
from shiftdp.ui.output import plain
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import Refused, typed
from shiftdp.ui.report import (
    document_of,
    draw,
    print_document,
    print_files,
    require_plot,
    save,
    warn_of_last_batch,
)
from shiftdp.ui.settings import Parameter, overridden, require_parameter, setting_of

if TYPE_CHECKING:
    from shiftdp.last_iterate import Geometry
    from shiftdp.last_iterate.runs import Run

TARGETS: dict[str, Mapping[str, Any]] = {
    "noise": {"noise": 1.0},
    "epochs": {"epochs": 1, "steps": 1},
    "learning_rate": {"learning_rate": 1.0},
    "batch_size": {"batch_size": 1},
    "strong_convexity": {"strong_convexity": 0.0},
    "diameter": {},
}
"""What can be calibrated, and where the search begins if nothing is given."""

_TYPED = ("noise", "epochs", "steps", *list(TARGETS)[2:])  # a run has either epochs or steps

_FEW_LEVELS = 4  # of a schedule that is printed as it is

_MEASURES = ("epsilon", "mu", "renyi", "advantage", "tpr")


@click.command(
    "calibrate",
    cls=Command,
    examples=(
        "shiftdp calibrate noise cgd --n 60000 --batch-size 1500 --epochs 50 "
        "--learning-rate 0.05 --strong-convexity 0.002 --smoothness 32.502 --sensitivity 10 "
        "--epsilon 1 --delta 1e-5",
        "shiftdp calibrate noise cgd --n 60000 --batch-size 16 --epochs 1 --learning-rate 0.05 "
        "--strong-convexity 0 --smoothness 32 --sensitivity 5 --epsilon 3 --delta 1e-5 --placed",
        "shiftdp calibrate epochs --config run.toml --epsilon 8",
        "shiftdp calibrate diameter gd --n 100 --steps 1000 --learning-rate 0.1 --noise 0.1 "
        "--strong-convexity 0 --smoothness 10 --sensitivity 1 --tpr 0.05 --fpr 0.01 --json",
    ),
)
@click.argument("parameter", type=Parameter(_TYPED), required=False, metavar="[PARAMETER]")
@run_options
@budget_options
@answer_options("bounds", "accuracy", "save", "plot")
@click.option(
    "--placed",
    is_flag=True,
    help="With noise (gd, cgd): not the same in each step, but where the last iterate needs it, so "
    "that least of it is left in the end. Steps may be without.",
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """The noise, the number of epochs, ... that just meets a privacy budget.

    PARAMETER is what to find: the least noise, the most epochs (or steps), the largest
    learning_rate, the least batch_size, the least strong_convexity (by a ridge, which adds to the
    smoothness too) or the largest diameter. It need not be given as an option; if it is, the search
    begins there. KIND and all other options describe the run, as for `shiftdp account`.
    """
    require_plot(options["plot"])
    parameter = require_parameter(ctx, options, _TYPED)
    parameter = "epochs" if parameter == "steps" else parameter
    run, geometry = setting_of(ctx, options, _beginning(parameter, options))
    budget = _budget(ctx, options)
    _check_placed(ctx, parameter, options)
    from shiftdp.privacy import calibrate, placed_noise
    from shiftdp.privacy.budget_search import certify_at

    with waiting("calibrating"):
        how: dict[str, Any] = {"bounds": options["bounds"], "accuracy": options["accuracy"]}
        if options["placed"]:
            run = placed_noise(run, geometry, **budget)  # type: ignore[type-var]
        else:
            run, geometry = calibrate(run, geometry, parameter=parameter, **how, **budget)
        delta = budget.get("delta")
        certificate = certify_at(run, geometry, delta=delta, **how)
        document = document_of(certificate, 1e-5 if delta is None else delta)
    name = "steps" if parameter == "epochs" and not run.in_epochs else parameter
    value = getattr(geometry if name in vars(geometry) else run, name)
    warn_of_last_batch(ctx, certificate, document["delta"])
    save(certificate, options["save"])
    draw(certificate, document["delta"], options["plot"])
    document = {"parameter": name, "value": value, "budget": budget, **document}
    terms = ", ".join(f"{name}={plain(limit)}" for name, limit in budget.items())
    first = [("budget", terms), (name, _precise(value))]
    multiplier = _multiplier(run, geometry) if name == "noise" else None
    if multiplier is not None:
        document["noise_multiplier"] = multiplier
        first.append(("multiplier", f"{_precise(multiplier)}  (of the clip, as in Opacus)"))
    print_document(document, json=options["json"], first=first)
    print_files(options)


def _beginning(parameter: str, options: Mapping[str, Any]) -> dict[str, Any]:
    beginning = dict(TARGETS[parameter])
    if parameter == "learning_rate" and options["smoothness"]:
        beginning["learning_rate"] = 1.0 / options["smoothness"]
    in_epochs = options["kind"] == "cgd" or options["sampling"] in IN_EPOCHS
    beginning.pop("steps" if in_epochs else "epochs", None)
    return beginning


def _multiplier(run: Run, geometry: Geometry) -> float | None:
    """The noise multiplier of Opacus, rounded up, where the clip is known and all steps alike."""
    noise, clip = getattr(run, "noise", None), geometry.record_bound
    size = getattr(run, "batch_size", None) or getattr(run, "n", None)
    if not isinstance(noise, float) or not clip or not isinstance(size, int):
        return None
    from shiftdp._rounding import EIGHT_ROUNDINGS

    # for the product, the quotient, and the product with this
    return noise * size / clip * (1.0 + EIGHT_ROUNDINGS)


def _check_placed(ctx: click.Context, parameter: str, options: Mapping[str, Any]) -> None:
    """Noise is placed by Theorem B1, and nothing else is."""
    if not options["placed"]:
        return
    if parameter != "noise":
        raise Refused(f"--placed: is for noise, and {parameter} is calibrated; leave it out", ctx)
    if options["bounds"] != "best":
        bounds = options["bounds"]
        raise Refused(f"--placed: rests on Theorem B1, not on {bounds}; leave out --bounds", ctx)


def _budget(ctx: click.Context, options: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a budget; `order` goes by another name here."""
    options = overridden(ctx, options, _MEASURES)
    flags = ", ".join(f"--{name}" for name in _MEASURES)
    chosen = [name for name in _MEASURES if options[name] is not None]
    if len(chosen) != 1:
        given = " ".join(typed(ctx, name, options[name]) for name in chosen)
        problem = "are too many" if chosen else "none is given"
        remedy = "give exactly one, such as --epsilon 1 --delta 1e-5"
        raise Refused(f"{given or flags}: {problem}; {remedy}", ctx)
    names = (*chosen, "delta", "renyi_order", "fpr")
    budget = {
        name.removeprefix("renyi_"): options[name] for name in names if options[name] is not None
    }
    if "epsilon" in budget:
        budget.setdefault("delta", 1e-5)
    from shiftdp.privacy.budget import budget_of

    try:
        budget_of(**budget)
    except InvalidInput as error:
        if error.name != "order":
            raise
        raise InvalidInput("renyi_order", error.value, error.problem, error.remedy) from error
    return budget


def _precise(value: Any) -> str:
    """All digits: it is to be typed into the next command. A schedule of a few levels is told."""
    if not isinstance(value, tuple):
        return str(value)
    levels = [(level, len(list(steps))) for level, steps in groupby(value)]
    if len(levels) > _FEW_LEVELS:
        return plain(value)
    return ", then ".join(f"{level} in {steps} steps" for level, steps in levels)
