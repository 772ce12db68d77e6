"""`shiftdp verify`: check a certificate that somebody else may have written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shiftdp.ui.group import Command
from shiftdp.ui.options import answer_options
from shiftdp.ui.report import (
    CLASSES_LEARNT,
    document_of,
    pipeline_document,
    print_document,
    print_pipeline_document,
    print_release_document,
    release_document,
)
from shiftdp.ui.settings import is_archive, read_certificate, read_model_file
from shiftdp.ui.types import InFile

if TYPE_CHECKING:
    from shiftdp.privacy.selection.kinds import AnyCertificate


@click.command(
    "verify",
    cls=Command,
    examples=(
        "shiftdp verify run.json",
        "shiftdp verify model.shiftdp",
        "shiftdp verify run.json --delta 1e-6 --json",
    ),
)
@click.argument("certificate", type=InFile(), metavar="FILE")
@answer_options("delta")
def command(certificate: str, delta: float, json: bool) -> None:
    """Check the proof in a saved certificate, or in a model file, without trusting it.

    The shifts in the file are checked step by step against the run that it describes, without the
    solver that found them. What the file assumes of the losses is not known to be true: read it.

    Of a model file the digest is checked too, which binds weights, plan and certificate, and that
    the certificate is the plan's. The digest names the model: compare it with the one that you were
    told, as whoever can write files can also write another model.
    """
    from shiftdp.last_iterate import Certificate
    from shiftdp.privacy.selection.release_certificate import ReleaseCertificate

    said = "yes: the proof in the file holds"
    more: dict[str, Any] = {}
    checked: AnyCertificate
    if is_archive(certificate):
        found = read_model_file(certificate)
        checked = found.whole
        checked.verify()
        said += ", and it is that of the model's plan"
        classes = [CLASSES_LEARNT] if found.classes_learnt else []
        around = [
            leak
            for leak in getattr(found.model, "not_covered_", ())
            if not any(step in leak for step in found.learnt)
        ]
        more = {"digest": found.digest, "not_covered": [*found.learnt, *classes, *around]}
    else:
        checked = read_certificate(certificate)
    if isinstance(checked, Certificate):
        model: Certificate | None = checked
        document, show = document_of(checked, delta), print_document
    elif isinstance(checked, ReleaseCertificate):
        model = None
        document, show = release_document(checked, delta), print_release_document
    else:
        model = checked.model
        document, show = pipeline_document(checked, delta), print_pipeline_document
    assumed = [] if model is None else [vars(item) for item in model.assumptions]
    if json:
        show({"verified": True, **more, **document, "assumptions": assumed}, json=True)
        return
    first = [("verified", said)]
    if more:
        first.append(("digest", more["digest"]))
    show(document, json=False, first=first)
    for step in more.get("not_covered", ()):
        learnt = step if step not in found.learnt else f"what the step {step} learnt from its data"
        click.echo(f"not covered: {learnt}")
    if assumed:
        click.echo("provided that")
    for item in assumed:
        click.echo(f"  - {item['name']}: {item['statement']}")
