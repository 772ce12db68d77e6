"""`shiftdp risk`: what a guarantee means for one person."""

from __future__ import annotations

from typing import Any

import click

from shiftdp.ui.group import Command
from shiftdp.ui.options import RUN, answer_options, certificate_option, option_group, run_options
from shiftdp.ui.output import print_json, print_text
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import Refused
from shiftdp.ui.report import draw, print_files, require_plot, warn_of_last_batch
from shiftdp.ui.settings import certificate_of, refuse_described
from shiftdp.ui.types import NUMBER, NUMBERS, InFile


@click.command(
    "risk",
    cls=Command,
    hints={
        "--epsilon": "one epsilon leaves open what is revealed at other deltas; give a KIND, "
        "--certificate, --ledger or --mu"
    },
    examples=(
        "shiftdp risk cgd --n 60000 --batch-size 1500 --epochs 50 --learning-rate 0.05 "
        "--noise 0.01 --strong-convexity 0.002 --smoothness 32.502 --sensitivity 10",
        "shiftdp risk --certificate run.json --prior 0.1 --fpr 0.001 --candidates 1000",
        "shiftdp risk --ledger study.db --json",
        "shiftdp risk --mu 1 --adjacency zero_out",
        "shiftdp risk --mu 1 --plot risk.svg",
    ),
)
@run_options
@certificate_option
@option_group(
    RUN,
    ledger={"type": InFile(), "help": "Instead of a run: all that a ledger holds."},
    mu={"type": NUMBER, "help": "Instead of a run: the Gaussian guarantee G(mu)."},
)
@option_group(
    "The person",
    prior={
        "type": NUMBER,
        "default": 0.5,
        "help": "How likely the attacker holds it, beforehand, that the record was used.",
    },
    fpr={
        "type": NUMBERS,
        "default": "0.001,0.01",
        "help": "False positive rates of a membership test.",
    },
    candidates={
        "type": NUMBER,
        "help": "How many records, equally likely, the person could have; 10 by default.",
    },
    blind={
        "type": NUMBER,
        "help": "Instead: how likely the best guess without the model is a hit.",
    },
)
@answer_options("delta", "bounds", "plot")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """What a guarantee means for one person, in words.

    The guarantee is that of a run (KIND and its options, as for `shiftdp account`), of a
    certificate, of a ledger, or G(mu). Every probability that is a bound is proved and rounded up.
    --plot draws what any attacker must miss, and the privacy profile.
    """
    require_plot(options["plot"])
    sources = [name for name in ("certificate", "ledger", "mu") if options[name] is not None]
    if len(sources) > 1:
        flags = ", ".join(f"--{name}" for name in sources)
        raise Refused(f"{flags}: are too many; give one of them, or a KIND", ctx)
    if sources:
        own = ("adjacency",) if sources == ["mu"] else ()
        refuse_described(ctx, options, f"--{sources[0]}", but=own)
    with waiting("certifying"):
        guarantee, adjacency = _guarantee(ctx, options)
        from shiftdp.privacy import risk

        found = risk(
            guarantee,
            prior=options["prior"],
            fpr=options["fpr"],
            candidates=options["candidates"],
            blind=options["blind"],
            adjacency=adjacency,
        )
    _draw(guarantee, options)
    if options["json"]:
        accusations = [vars(row) for row in found.accusations]
        document = {**vars(found), "accusations": accusations, "kind": "certified"}
        print_json({**document, "statement": found.statement()})
    else:
        print_text(found.statement())
        print_files(options)


def _draw(guarantee: Any, options: dict[str, Any]) -> None:
    if options["plot"] is None:
        return
    from shiftdp.fdp import TradeoffFunction
    from shiftdp.last_iterate import Certificate
    from shiftdp.privacy import Ledger

    if isinstance(guarantee, Ledger):
        guarantee = guarantee.guarantee()
    elif not isinstance(guarantee, (Certificate, TradeoffFunction)):
        guarantee = guarantee.f  # of a pipeline
    draw(guarantee, options["delta"], options["plot"])


def _guarantee(ctx: click.Context, options: dict[str, Any]) -> tuple[Any, Any]:
    if options["ledger"] is not None:
        from shiftdp.privacy import Ledger

        return Ledger(options["ledger"]), None
    if options["mu"] is not None:
        from shiftdp.fdp import GaussianTradeoff

        return GaussianTradeoff(options["mu"]), options["adjacency"] or "replace_one"
    certificate = certificate_of(ctx, options)
    from shiftdp.last_iterate import Certificate

    if isinstance(certificate, Certificate):  # of a pipeline the model is a part only
        warn_of_last_batch(ctx, certificate, options["delta"])
    return certificate, None
