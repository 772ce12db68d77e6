"""`shiftdp account`: what a run costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shiftdp.ui.group import Command
from shiftdp.ui.options import answer_options, certificate_option, run_options
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import Refused
from shiftdp.ui.report import (
    document_of,
    draw,
    pipeline_document,
    print_document,
    print_files,
    print_pipeline_document,
    print_release_document,
    release_document,
    require_plot,
    save,
    warn_of_last_batch,
)
from shiftdp.ui.settings import certificate_of

if TYPE_CHECKING:
    from shiftdp.privacy.selection.kinds import WholeCertificate


@click.command(
    "account",
    cls=Command,
    examples=(
        "shiftdp account cgd --n 60000 --batch-size 1500 --epochs 50 --learning-rate 0.05 "
        "--noise 0.01 --strong-convexity 0.002 --smoothness 32.502 --sensitivity 10",
        "shiftdp account gd --n 1000 --steps inf --learning-rate 0.1 --noise 0.5 "
        "--strong-convexity 1 --smoothness 10 --sensitivity 2 --explain",
        "shiftdp account sgd --n 1000 --batch-size 10 --steps 500 --learning-rate 0.05 "
        "--noise 0.5 --sampling poisson --strong-convexity 1 --smoothness 10 --sensitivity 1 "
        "--adjacency zero_out",
        "shiftdp account cgd --n 60000 --batch-size 1500 --epochs 50 --learning-rate 0.05 "
        "--noise 0.01 --releases 400,1000 --strong-convexity 0.002 --smoothness 32.502 "
        "--sensitivity 10",
        "shiftdp account stream --batch-size 1500 --batches-per-release 40 --learning-rate 0.05 "
        "--noise 0.01 --order shuffled --strong-convexity 0.002 --smoothness 32.502 "
        "--sensitivity 10",
        "shiftdp account langevin --steps 100 --learning-rate 0.02 --strong-convexity 1 "
        "--smoothness 10 --sensitivity 1",
        "shiftdp account exponential --strong-convexity 1 --sensitivity 1 --diameter 2",
        "shiftdp account --config run.toml --order reshuffled --save reshuffled.json",
        "shiftdp account --certificate run.json --json",
    ),
)
@run_options
@certificate_option
@answer_options("delta", "bounds", "accuracy", "explain", "save", "plot")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """What a run costs: epsilon, mu, the theorem and its hypotheses.

    KIND is what is run: gd (full batches), cgd (batches in turn), sgd (random batches), stream
    (records that are used once), langevin (Langevin Monte Carlo) or exponential (one draw from
    exp(-F)). Only the last iterate is released, unless --releases names others, which then count
    together with it. The number is a proved upper bound, rounded up.
    """
    require_plot(options["plot"])
    from shiftdp.last_iterate import Certificate

    with waiting("certifying"):
        certificate = certificate_of(ctx, options)
    if not isinstance(certificate, Certificate):
        _account_pipeline(ctx, certificate, options)
        return
    with waiting("certifying"):
        document = document_of(certificate, options["delta"], explain=options["explain"])
    warn_of_last_batch(ctx, certificate, options["delta"])
    save(certificate, options["save"])
    draw(certificate, options["delta"], options["plot"])
    print_document(document, json=options["json"])
    print_files(options)


def _account_pipeline(
    ctx: click.Context, certificate: WholeCertificate, options: dict[str, Any]
) -> None:
    """Print what a whole pipeline costs; it has no one theorem to explain or to draw."""
    from shiftdp.privacy.selection.release_certificate import ReleaseCertificate

    for name in ("explain", "plot"):
        if options[name]:
            raise Refused(
                f"--{name}: is for the certificate of one run, and this is of a pipeline; leave it "
                "out",
                ctx,
            )
    save(certificate, options["save"])
    if isinstance(certificate, ReleaseCertificate):
        whole = release_document(certificate, options["delta"])
        print_release_document(whole, json=options["json"])
    else:
        document = pipeline_document(certificate, options["delta"])
        print_pipeline_document(document, json=options["json"])
    print_files(options)
