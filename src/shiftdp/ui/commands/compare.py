"""`shiftdp compare`: the same run under every accountant."""

from __future__ import annotations

import warnings
from typing import Any

import click

from shiftdp.ui.group import Command
from shiftdp.ui.options import answer_options, run_options
from shiftdp.ui.output import print_json
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import print_warning
from shiftdp.ui.report import (
    comparison,
    described,
    draw,
    print_comparison,
    print_files,
    require_plot,
)
from shiftdp.ui.settings import setting_of


@click.command(
    "compare",
    cls=Command,
    examples=(
        "shiftdp compare cgd --n 60000 --batch-size 1500 --epochs 50 --learning-rate 0.05 "
        "--noise 0.01 --strong-convexity 0.002 --smoothness 32.502 --sensitivity 10",
        "shiftdp compare --config run.toml --order shuffled_once --json",
    ),
)
@run_options
@answer_options("delta", "plot")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """The same run under every accountant, and what is unavoidable.

    composition: every iterate is released. prior Renyi: the best bound before [BSA24]. paper: the
    theorems of [BSA24]. best: the tightest that is proved here. lower bound: what some losses of
    the class attain, so that no accountant can promise less.
    """
    require_plot(options["plot"])
    delta = options["delta"]
    run, geometry = setting_of(ctx, options)
    from shiftdp.last_iterate import SmallLastBatch
    from shiftdp.privacy.comparison import compare

    with waiting("comparing"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SmallLastBatch)
        rows = comparison(compare(run, geometry, delta=delta))
    for warning in caught:
        if issubclass(warning.category, SmallLastBatch):
            print_warning(ctx, str(warning.message))
    if options["plot"] is not None:
        from shiftdp.privacy.comparison import best_certificate

        draw(best_certificate(run, geometry, delta), delta, options["plot"])
    if options["json"]:
        print_json({"delta": delta, "run": described(run), "rows": rows})
    else:
        print_comparison(rows, delta)
        print_files(options)
