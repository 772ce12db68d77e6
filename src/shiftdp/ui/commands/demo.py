"""`shiftdp demo`: what the library does, on data that come with scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shiftdp.ui.group import Command
from shiftdp.ui.options import ANSWER, answer_options, option_group
from shiftdp.ui.output import print_json, print_text
from shiftdp.ui.progress import waiting
from shiftdp.ui.report import document_of, print_comparison, require_plot
from shiftdp.ui.types import NUMBER, OutFolder


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
    Poisson accountant say of the same run. Needs the extras `sklearn` and `plot`.
    """
    require_plot(str(Path(options["output"]) / "demo.png"))
    _require_sklearn()
    from shiftdp.ui.demo import demonstrate, figure

    epsilon, delta = options["epsilon"], options["delta"]
    with waiting("training"):
        found = demonstrate(epsilon, delta)
        files = [str(file) for file in figure(found.loader.plan, delta, Path(options["output"]))]
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
    print_text(
        f"Handwritten digits, 1440 records to learn from, 357 to test on, epsilon = {epsilon:g}"
    )
    print_text()
    print_text(f"  {found.open_accuracy:6.1%}  right without privacy")
    print_text(f"  {found.best.accuracy:6.1%}  the planner's model")
    print_text(f"  {found.loader.accuracy:6.1%}  an ordinary shuffled loader, 100 epochs")
    print_text("\nThe planner's choice, made by public numbers alone:\n")
    print_text(str(found.best.planned))
    print_text("\nThe shuffled loader, by every accountant:\n")
    print_comparison(found.rows, delta)
    print_text("\nIts certificate, checked step by step:\n")
    found.loader.certificate.verify()
    print_text(found.loader.certificate.statement(delta=delta))
    print_text(f"\nThe figure is in {' and '.join(files)}.")


def _require_sklearn() -> None:
    from importlib.util import find_spec

    if find_spec("sklearn") is None:
        raise click.ClickException(
            "shiftdp demo: needs scikit-learn, which is not installed; "
            "pip install 'shiftdp[sklearn,plot]'"
        )
