"""`shiftdp calibrate`: from a budget to a parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from shiftdp._errors import InvalidInput
from shiftdp.ui.group import Command
from shiftdp.ui.options import (
    ANSWER,
    IN_EPOCHS,
    answer_options,
    budget_options,
    option_group,
    run_options,
)
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
from shiftdp.ui.schedule_files import ENDINGS, has_steps, write_run
from shiftdp.ui.settings import SHAPES, Parameter, overridden, require_parameter, setting_of
from shiftdp.ui.types import NUMBER, OutFile

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

# a run has either epochs or steps
_TYPED = ("noise", *SHAPES, "epochs", "steps", *list(TARGETS)[2:])

_FEW_LEVELS = 4  # of a schedule that is printed as it is

_MEASURES = ("epsilon", "mu", "renyi", "advantage", "tpr")


@click.command(
    "calibrate",
    cls=Command,
    examples=(
        "shiftdp calibrate noise cgd --n 60000 --batch-size 1500 --epochs 50 "
        "--learning-rate 0.05 --strong-convexity 0.002 --smoothness 32.502 --sensitivity 10 "
        "--epsilon 1 --delta 1e-5",
        "shiftdp calibrate placed_noise cgd --n 60000 --batch-size 16 --epochs 1 "
        "--learning-rate 0.05 --strong-convexity 0 --smoothness 32 --sensitivity 5 --epsilon 3 "
        "--delta 1e-5 -o placed.csv",
        "shiftdp calibrate cooldown sgd --n 500 --batch-size 10 --steps 50 --learning-rate 0.1 "
        "--strong-convexity 0 --smoothness 1 --sensitivity 2 --epsilon 1 --delta 1e-5 "
        "-o cooled.toml",
        "shiftdp calibrate epochs --config run.toml --epsilon 8",
        "shiftdp calibrate diameter gd --n 100 --steps 1000 --learning-rate 0.1 --noise 0.1 "
        "--strong-convexity 0 --smoothness 10 --sensitivity 1 --tpr 0.05 --fpr 0.01 --json",
    ),
)
@click.argument("parameter", type=Parameter(_TYPED), required=False, metavar="[PARAMETER]")
@run_options
@budget_options
@option_group(
    "The shape of the noise",
    placed={
        "is_flag": True,
        "help": "With noise (gd, cgd): the same as placed_noise.",
    },
    expected_curvature={
        "type": NUMBER,
        "help": "With placed_noise: how curved you expect the losses to be. It proves nothing: "
        "more of the noise comes early, where it is expected to fade.",
    },
    most={
        "type": NUMBER,
        "help": "With cooldown: how many times the noise the last steps have; 8 if not given.",
    },
)
@option_group(
    ANSWER,
    output={
        "short": "-o",
        "type": OutFile(ENDINGS),
        "help": "Write the run that was found to this file: all of it for --config (.toml), or its "
        "steps, learning rates and noise as a table (.csv), whose columns --noise and "
        "--learning-rate read.",
    },
)
@answer_options("bounds", "accuracy", "save", "plot")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """The noise, the number of epochs, ... that just meets a privacy budget.

    PARAMETER is what to find: the least noise, the most epochs (or steps), the largest
    learning_rate, the least batch_size, the least strong_convexity (by a ridge, which adds to the
    smoothness too) or the largest diameter. It need not be given as an option; if it is, the search
    begins there. KIND and all other options describe the run, as for `shiftdp account`.

    Two more need not have the same noise in each step: placed_noise (gd, cgd) has it where the last
    iterate needs it, so that least of it is left in the end, and steps may be without; cooldown
    (sgd) has more of it in the last steps, in as many as make it least in all.
    """
    require_plot(options["plot"])
    asked = require_parameter(ctx, options, _TYPED)
    shape = asked if asked in SHAPES else None
    parameter = {"steps": "epochs", **dict.fromkeys(SHAPES, "noise")}.get(asked, asked)
    if options["placed"]:
        _check_flag(ctx, asked)
        shape = "placed_noise"
    _check_shape(ctx, shape, options)
    run, geometry = setting_of(ctx, options, _beginning(parameter, options))
    budget = _budget(ctx, options)
    _check_file(ctx, run, options)
    from shiftdp.privacy.budget_search import certify_at

    with waiting("calibrating"):
        how: dict[str, Any] = {"bounds": options["bounds"], "accuracy": options["accuracy"]}
        run, geometry = _found(ctx, run, geometry, shape or parameter, budget, options)
        delta = budget.get("delta")
        certificate = certify_at(run, geometry, delta=delta, **how)
        document = document_of(certificate, 1e-5 if delta is None else delta)
    name = "steps" if parameter == "epochs" and not run.in_epochs else parameter
    value = getattr(geometry if name in vars(geometry) else run, name)
    warn_of_last_batch(ctx, certificate, document["delta"])
    save(certificate, options["save"])
    draw(certificate, document["delta"], options["plot"])
    if options["output"] is not None:
        write_run(options["output"], options["kind"], run, geometry)
    document = {"parameter": name, "value": value, "budget": budget, **document}
    terms = ", ".join(f"{name}={plain(limit)}" for name, limit in budget.items())
    first = [("budget", terms), (name, _precise(value))]
    if shape == "cooldown":
        document["cooldown"] = block = _block(value)
        first.insert(1, ("cooldown", _told(block)))
    multiplier = _multiplier(run, geometry) if name == "noise" else None
    if multiplier is not None:
        document["noise_multiplier"] = multiplier
        first.append(("multiplier", f"{_precise(multiplier)}  (of the clip, as in Opacus)"))
    print_document(document, json=options["json"], first=first)
    print_files(options)


def _found(
    ctx: click.Context,
    run: Run,
    geometry: Geometry,
    wanted: str,
    budget: Mapping[str, Any],
    options: Mapping[str, Any],
) -> tuple[Run, Geometry]:
    """The run that just meets the budget, and its losses."""
    from shiftdp.privacy import calibrate, calibrate_cooldown, placed_noise

    if wanted == "placed_noise":
        curvature = options["expected_curvature"]
        placed: Run = placed_noise(run, geometry, expected_curvature=curvature, **budget)  # type: ignore[type-var]
        return placed, geometry
    if wanted == "cooldown":
        if set(budget) != {"epsilon", "delta"}:
            name = next(iter(budget))
            subject = typed(ctx, "renyi_order" if name == "order" else name, budget[name])
            remedy = "give --epsilon and --delta"
            raise Refused(f"{subject}: is no budget that cool-downs are sought for; {remedy}", ctx)
        more = {} if options["most"] is None else {"most": options["most"]}
        how = {"bounds": options["bounds"], **more, **budget}
        return calibrate_cooldown(run, geometry, **how), geometry  # type: ignore[arg-type]
    return calibrate(
        run,
        geometry,
        parameter=wanted,
        bounds=options["bounds"],
        accuracy=options["accuracy"],
        **budget,
    )


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


_OPTIONS_OF = {"expected_curvature": "placed_noise", "most": "cooldown"}


def _check_flag(ctx: click.Context, asked: str) -> None:
    if asked not in ("noise", "placed_noise"):
        raise Refused(f"--placed: is for noise, and {asked} is calibrated; leave it out", ctx)


def _check_shape(ctx: click.Context, shape: str | None, options: Mapping[str, Any]) -> None:
    """Refuse what does not go with a shape of noise, or with none."""
    for name, of in _OPTIONS_OF.items():
        if options[name] is not None and shape != of:
            subject = typed(ctx, name, options[name])
            raise Refused(f"{subject}: is for {of}; leave it out, or calibrate {of}", ctx)
    if shape is None:
        return
    kind, kinds = options["kind"], SHAPES[shape]
    if kind is not None and kind not in kinds:
        why = {
            "placed_noise": "noise is placed where it is known beforehand when a record is used",
            "cooldown": "a cool-down is sought for random batches; noise in turn is placed by "
            "`calibrate placed_noise`",
        }[shape]
        raise Refused(f"KIND {kind}: is not for {shape}: {why}; give {' or '.join(kinds)}", ctx)
    if options["cooldown"] is not None:
        subject = f"--cooldown {options['cooldown']}"
        remedy = "leave it out, or calibrate noise"
        raise Refused(f"{subject}: is a schedule already, and one is sought; {remedy}", ctx)
    if options["releases"] is not None:
        subject = typed(ctx, "releases", options["releases"])
        remedy = "leave it out, or calibrate noise"
        raise Refused(f"{subject}: {shape} is for the last iterate alone; {remedy}", ctx)
    if math.inf in (options["steps"], options["epochs"]):
        name = "steps" if options["steps"] is not None else "epochs"
        subject = typed(ctx, name, math.inf)
        raise Refused(f"{subject}: {shape} needs a last step; give a number", ctx)
    if shape == "placed_noise" and options["bounds"] != "best":
        subject = typed(ctx, "bounds", options["bounds"])
        raise Refused(f"{subject}: placed noise rests on Theorem B1; leave it out", ctx)
    if shape == "cooldown" and isinstance(options["noise"], tuple):
        subject = typed(ctx, "noise", options["noise"])
        raise Refused(f"{subject}: is one a step, and a schedule is sought; leave it out", ctx)


def _check_file(ctx: click.Context, run: Run, options: Mapping[str, Any]) -> None:
    path = options["output"]
    if path is not None and path.lower().endswith(".csv") and not has_steps(run):
        problem = "a table has a line for each step, and this run has no last one, or no noise"
        raise Refused(f"-o {path}: {problem}; give a file that ends with .toml", ctx)


def _block(noise: float | tuple[float, ...]) -> dict[str, Any]:
    """The cool-down of a schedule: how many last steps have how many times the noise."""
    if not isinstance(noise, tuple):
        return {"last": 0, "factor": 1.0}
    last = noise.count(noise[-1])
    return {"last": last, "factor": noise[-1] / noise[0]}


def _told(block: Mapping[str, Any]) -> str:
    if not block["last"]:
        return "none: the same noise in each step is less in all"
    return f"{block['last']}:{block['factor']:g}  (last steps, and how many times the noise)"


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
        noisy = [level for level in value if level > 0.0]
        low, high = min(noisy), max(noisy)
        size = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        if len(noisy) < len(value):
            return f"{size} in {len(noisy)} of {len(value)} steps, and none in the others"
        return f"{size} in {len(value)} steps"
    return ", then ".join(
        f"{level} in {steps} {'step' if steps == 1 else 'steps'}" for level, steps in levels
    )
