"""`shiftdp unlearn`: what is left of a record after further steps without it."""

from __future__ import annotations

from typing import Any

import click

from shiftdp.ui.group import Command
from shiftdp.ui.options import answer_options, option_group, run_options
from shiftdp.ui.output import up
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import Refused
from shiftdp.ui.report import document_of, draw, print_document, print_files, require_plot, save
from shiftdp.ui.settings import setting_of
from shiftdp.ui.types import NUMBER, REQUEST


@click.command(
    "unlearn",
    cls=Command,
    examples=(
        "shiftdp unlearn cgd --n 60000 --batch-size 1500 --epochs 50 --learning-rate 0.05 "
        "--noise 0.01 --strong-convexity 0.002 --smoothness 32.502 --sensitivity 10 "
        "--further-epochs 10",
        "shiftdp unlearn --config run.toml --further-steps 400 --later-requests 200:1",
        "shiftdp unlearn --config run.toml --epsilon 1 --json",
    ),
)
@run_options
@option_group(
    "What is deleted",
    further_steps={"type": NUMBER, "help": "How many steps follow without the record."},
    further_epochs={"type": NUMBER, "help": "The same in epochs."},
    epsilon={
        "type": NUMBER,
        "help": "Instead of these: as many steps as it takes to be below this epsilon at --delta.",
    },
    records={"type": NUMBER, "default": 1, "help": "How many records are deleted."},
    later_requests={
        "type": REQUEST,
        "multiple": True,
        "metavar": "STEPS:RECORDS",
        "help": "After STEPS of the further steps, RECORDS more are deleted, which were used until "
        "then; may be given several times.",
    },
    grid={
        "type": NUMBER,
        "default": 0,
        "help": "The mesh of the grid to which the iterate is rounded before it goes on; 0 if "
        "training goes on from the very numbers.",
    },
    dimension={"type": NUMBER, "default": 1, "help": "How many numbers the iterate has."},
)
@answer_options("delta", "explain", "save", "plot")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """How many further steps make a model forget a record, and what is then left of it.

    KIND and its options describe the training that used the record, as for `shiftdp account`. After
    it the record is deleted, and further steps follow without it; the number says how well the
    model can then be told from one that never had the record.
    """
    require_plot(options["plot"])
    chosen = [
        name for name in ("further_steps", "further_epochs", "epsilon") if _given(options, name)
    ]
    run, geometry = setting_of(ctx, options)
    if len(chosen) != 1:
        problem = "are too many" if chosen else "none is given"
        raise Refused(
            f"--further-steps, --further-epochs, --epsilon: {problem}; give exactly one", ctx
        )
    from shiftdp.last_iterate import Unlearning, certify
    from shiftdp.privacy import calibrate_unlearning

    with waiting("certifying"):
        shape = {name: options[name] for name in ("records", "later_requests", "grid", "dimension")}
        length: dict[str, Any] = {chosen[0]: options[chosen[0]]}
        if chosen == ["epsilon"]:
            steps = calibrate_unlearning(
                run,  # type: ignore[arg-type]
                geometry,
                epsilon=options["epsilon"],
                delta=options["delta"],
                **shape,
            )
            length = {"further_steps": steps}
        deletion = Unlearning(training=run, **length, **shape)  # type: ignore[arg-type]
        certificate = certify(deletion, geometry, delta=options["delta"])
        document = document_of(certificate, options["delta"], explain=options["explain"])
    save(certificate, options["save"])
    draw(certificate, options["delta"], options["plot"])
    trained = certify(run, geometry, delta=options["delta"]).epsilon(options["delta"])
    document = {"further_steps": deletion.further_steps, "epsilon_of_training": trained, **document}
    first = [
        ("further steps", str(deletion.further_steps)),
        ("before them", f"epsilon = {up(trained)}"),
    ]
    print_document(document, json=options["json"], first=first)
    print_files(options)


def _given(options: dict[str, Any], name: str) -> bool:
    return options[name] is not None
