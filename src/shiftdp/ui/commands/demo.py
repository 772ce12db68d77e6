"""`shiftdp demo`: what the library does, on data that come with scikit-learn."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shiftdp.ui.group import Command
from shiftdp.ui.options import ANSWER, answer_options, option_group
from shiftdp.ui.output import print_json, print_text, up
from shiftdp.ui.progress import waiting
from shiftdp.ui.report import document_of, print_comparison
from shiftdp.ui.types import NUMBER, OutFolder

if TYPE_CHECKING:
    from shiftdp.ui.demo import Demonstration


@click.command(
    "demo",
    cls=Command,
    examples=("shiftdp demo --epsilon 1",),
)
@option_group(
    "What it may cost",
    epsilon={"type": NUMBER, "default": 1.0, "help": "Of each of the two models, by itself."},
)
@option_group(
    ANSWER,
    output={
        "short": "-o",
        "type": OutFolder(),
        "default": "out",
        "metavar": "FOLDER",
        "help": "Where the figure goes; the folder is made.",
    },
)
@answer_options("delta")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """A private model of handwritten digits, and what every accountant charges for it.

    The data are scikit-learn's digits. Two models are made: the planner's, and one of an ordinary
    shuffled loader, whose certificate stands beside what composition, the prior Renyi bound and a
    Poisson accountant say of the same run. Needs the extra `sklearn`, and `plot` for the figure.
    """
    _require_sklearn()
    from shiftdp.ui.demo import demonstrate, figure

    epsilon, delta = options["epsilon"], options["delta"]
    files: list[str] = []
    with waiting("training"):
        found = demonstrate(epsilon, delta)
        if find_spec("matplotlib") is not None:
            folder = Path(options["output"])
            files = [str(file) for file in figure(found.loader.plan, delta, folder)]
    if options["json"]:
        print_json(
            {
                **document_of(found.loader.certificate, delta),
                "accuracy": {
                    "planner": found.best.accuracy,
                    "loader": found.loader.accuracy,
                    "not private": found.open_accuracy,
                },
                "plan": found.best.planned.choices(),
                "rows": found.rows,
                "files": files,
            }
        )
        return
    _print_run(found, delta, files)
    print_text(f"\nModels of 1440 handwritten digits at epsilon = {epsilon:g}, on 357 others:\n")
    print_text(f"  {found.open_accuracy:6.1%}  right without privacy")
    print_text(f"  {found.loader.accuracy:6.1%}  by the run above")
    print_text(
        f"  {found.best.accuracy:6.1%}  by the planner's choice, made by public numbers alone"
    )
    print_text("\nWhat the planner chose:\n")
    print_text(str(found.best.planned))
    print_text("\nThe certificate of the run above, checked step by step:\n")
    found.loader.certificate.verify()
    print_text(found.loader.certificate.statement(delta=delta))


def _print_run(found: Demonstration, delta: float, files: list[str]) -> None:
    """One run, the two numbers, and the figure."""
    rows = {row["name"]: row["epsilon"] for row in found.rows}
    run: Any = found.loader.plan.run
    print_text(
        f"One run: {run.n} records in {run.batches} batches, shuffled once, {run.epochs:g} epochs; "
        "only the last iterate is released."
    )
    print_text()
    print_text(f"  what others charge   epsilon = {up(rows['composition'])}  (composition)")
    print_text(f"  what is true at most epsilon = {up(rows['best'])}  (a proved upper bound)")
    print_text(f"\nboth at delta = {delta:g}. By every accountant:\n")
    print_comparison(found.rows, delta)
    if files:
        print_text(f"\nThe figure, epsilon against epochs, is in {' and '.join(files)}.")
    else:
        print_text(
            "\nThere is no figure, as matplotlib is not installed; pip install 'shiftdp[plot]'"
        )


def _require_sklearn() -> None:
    if find_spec("sklearn") is None:
        raise click.ClickException(
            "shiftdp demo: needs scikit-learn, which is not installed; "
            "pip install 'shiftdp[sklearn,plot]'"
        )
