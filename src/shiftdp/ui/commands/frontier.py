"""`shiftdp frontier`: epsilon against one parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shiftdp._errors import InvalidInput
from shiftdp.ui.group import Command
from shiftdp.ui.options import ANSWER, answer_options, option_group, run_options
from shiftdp.ui.output import column, plain, print_json, print_table
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import Refused
from shiftdp.ui.report import print_files, require_plot, warn_of_last_batch
from shiftdp.ui.settings import Parameter, require_parameter, setting_of
from shiftdp.ui.types import VALUES, Values, Word

if TYPE_CHECKING:
    from shiftdp.last_iterate import Geometry
    from shiftdp.last_iterate.runs import Run
    from shiftdp.privacy import Frontier

PARAMETERS = (
    "epochs",
    "steps",
    "n",
    "batch_size",
    "batches_per_release",
    "noise",
    "learning_rate",
    "batch_cap",
    "records_per_person",
    "strong_convexity",
    "smoothness",
    "sensitivity",
    "gradient_bound",
    "diameter",
    "prox_convexity",
)
_WHOLE = (
    "epochs",
    "steps",
    "n",
    "batch_size",
    "batches_per_release",
    "batch_cap",
    "records_per_person",
)
CURVES = {
    "composition": "composition",
    "prior_renyi": "prior Renyi",
    "paper": "paper",
    "best": "best",
    "lower_bound": "lower bound",
}


@click.command(
    "frontier",
    cls=Command,
    examples=(
        "shiftdp frontier epochs cgd --n 60000 --batch-size 1500 --epochs 50 "
        "--learning-rate 0.05 --noise 0.01 --strong-convexity 0.002 --smoothness 32.502 "
        "--sensitivity 10 --values 1,10,50,100,inf",
        "shiftdp frontier noise --config run.toml --values 0.001:0.1:20:log --csv noise.csv",
        "shiftdp frontier learning_rate --config run.toml --curves best --json",
    ),
)
@click.argument("parameter", type=Parameter(PARAMETERS), required=False, metavar="[PARAMETER]")
@run_options
@option_group(
    ANSWER,
    values={
        "type": VALUES,
        "help": "Numbers with commas between them; LOW:HIGH:COUNT is so many at equal distances, "
        "and LOW:HIGH:COUNT:log at equal ratios, both rounded where PARAMETER is a count. From an "
        "eighth to eight times its own value by default.",
    },
    curves={
        "type": Word(tuple(CURVES)),
        "multiple": True,
        "help": "Which accountants; may be given several times. All by default.",
    },
)
@answer_options("delta", "csv", "plot")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Epsilon against one parameter, as a table, a CSV file or a plot.

    PARAMETER is what changes along the values: epochs, steps, n, batch_size,
    batches_per_release, noise, learning_rate, batch_cap, strong_convexity, smoothness, sensitivity,
    gradient_bound or diameter. All else stays.
    """
    require_plot(options["plot"])
    parameter = require_parameter(ctx, options, PARAMETERS)
    values: Values | None = options["values"]
    fallback = {} if values is None else _beginning(parameter, values)
    try:
        run, geometry = setting_of(ctx, options, fallback)
    except InvalidInput as error:
        raise _of_values(error, parameter, options) from error
    points = _points(ctx, parameter, values, run, geometry)
    curves = [CURVES[name] for name in options["curves"]] or list(CURVES.values())
    from shiftdp.privacy import frontier

    with waiting(f"{len(points)} values of {parameter}", len(points)) as bar:
        try:
            found = frontier(
                run,
                geometry,
                parameter=parameter,
                values=points,
                delta=options["delta"],
                curves=curves,
                progress=lambda done, total: bar.advance(),
            )
        except InvalidInput as error:
            raise _of_values(error, parameter, options) from error
    if parameter not in ("n", "batch_size"):  # there it is another last batch at every value
        from shiftdp.privacy.comparison import best_certificate

        if run.cyclic:
            delta = options["delta"]
            warn_of_last_batch(ctx, best_certificate(run, geometry, delta), delta)
    if options["csv"] is not None:
        found.to_csv(Path(options["csv"]))
    if options["plot"] is not None:
        from shiftdp.ui.plots import frontier_figure, write

        write(frontier_figure(found), options["plot"])
    if options["json"]:
        print_json(found.to_dict())
    else:
        _print(found)
        print_files(options)


def _of_values(error: InvalidInput, parameter: str, options: Mapping[str, Any]) -> InvalidInput:
    """What is wrong with one of `--values`, if it is one, and not the run's own."""
    values: Values | None = options["values"]
    if error.name != parameter or values is None or error.value not in values.numbers(True):
        return error
    return InvalidInput("values", error.value, error.problem, "give others")


def _beginning(parameter: str, values: Values) -> dict[str, Any]:
    """The swept parameter's own value, where the user gave none: the first of the sweep."""
    first = values.numbers(parameter in _WHOLE)[0]
    return {parameter: first}


def _points(
    ctx: click.Context, parameter: str, values: Values | None, run: Run, geometry: Geometry
) -> list[float]:
    whole = parameter in _WHOLE
    if values is not None:
        return values.numbers(whole)
    own = getattr(run, parameter, None)
    own = getattr(geometry, parameter, None) if own is None else own
    if not isinstance(own, (int, float)) or not 0.0 < own < math.inf:
        raise Refused(f"--values: are missing, as {parameter} has no value to begin from", ctx)
    points = [own * 2.0**j for j in range(-3, 4)]
    if parameter in ("learning_rate", "batch_size"):
        points = [x for x in points if x <= _most(parameter, run, geometry)]
    return sorted({max(1, round(x)) for x in points}) if whole else points


def _most(parameter: str, run: Run, geometry: Geometry) -> float:
    """The largest value worth a point: beyond it no theorem applies, or there is no such run."""
    if parameter == "batch_size":
        return float(getattr(run, "n", math.inf))
    return 2.0 / geometry.smoothness if geometry.smoothness else math.inf


def _print(found: Frontier) -> None:
    sides = ["down" if curve.kind == "attained" else "up" for curve in found]
    cells = [column(curve.epsilon.tolist(), side) for curve, side in zip(found, sides, strict=True)]
    rows = list(zip(map(plain, found.values.tolist()), *cells, strict=True))
    columns = (found.parameter, *(curve.name for curve in found))
    print_table(columns, rows, right=range(len(columns)), title=found.epsilon_label)
