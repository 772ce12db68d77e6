"""`shiftdp verify`: check a certificate that somebody else may have written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shiftdp.ui.group import Command
from shiftdp.ui.options import answer_options
from shiftdp.ui.output import plain, up
from shiftdp.ui.report import CLASSES_LEARNT, document_of, print_document
from shiftdp.ui.settings import is_archive, read_model_file, read_release
from shiftdp.ui.types import InFile

if TYPE_CHECKING:
    from shiftdp.privacy.pipeline_certificate import PipelineCertificate


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
    from shiftdp._errors import InvalidInput
    from shiftdp.last_iterate import Certificate

    said = "yes: the proof in the file holds"
    more: dict[str, Any] = {}
    whole: PipelineCertificate | None = None
    if is_archive(certificate):
        found = read_model_file(certificate)
        checked = found.certificate
        checked.verify()
        said += ", and it is that of the model's plan"
        classes = [CLASSES_LEARNT] if found.classes_learnt else []
        around = [
            leak
            for leak in getattr(found.model, "not_covered_", ())
            if not any(step in leak for step in found.learnt)
        ]
        leaks = [*found.learnt, *found.apart, *classes, *around]
        more = {"digest": found.digest, "not_covered": leaks}
        if found.pipeline is not None:
            found.pipeline.verify()
            whole = found.pipeline
    else:
        release = read_release(certificate)
        if isinstance(release, Certificate):
            checked = release
        elif release.model is None:
            raise InvalidInput(
                "certificate",
                certificate,
                "is of a preparation alone",
                "give what train --save wrote",
            )
        else:
            whole, checked = release, release.model
    document = {"verified": True, **more, **document_of(checked, delta)}
    if whole is not None:
        document["pipeline_epsilon"] = whole.epsilon(delta)
        if json:  # what is asked for first is what all of the file costs
            document |= {"epsilon": whole.epsilon(delta), "model_epsilon": document["epsilon"]}
            document |= {"mu": whole.mu, "advantage": whole.f.advantage()}
    document["assumptions"] = [vars(item) for item in checked.assumptions]
    if json:
        print_document(document, json=True)
        return
    listed = document.pop("assumptions")
    first = [("verified", said)]
    if more:
        first.append(("digest", more["digest"]))
    if whole is not None:
        cost = f"epsilon {up(document['pipeline_epsilon'])} at delta = {plain(delta)}"
        first.append(("pipeline", f"{cost}, with what its preparation learnt"))
    print_document(document, json=False, first=first)
    for step in more.get("not_covered", ()):
        learnt = step if step not in found.learnt else f"what the step {step} learnt from its data"
        click.echo(f"not covered: {learnt}")
    click.echo("provided that")
    for item in listed:
        click.echo(f"  - {item['name']}: {item['statement']}")
