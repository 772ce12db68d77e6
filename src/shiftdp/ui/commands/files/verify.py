"""`shiftdp verify`: check a certificate that somebody else may have written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from shiftdp._errors import InvalidInput
from shiftdp.ui.group import Command
from shiftdp.ui.options import answer_options
from shiftdp.ui.progress import waiting
from shiftdp.ui.report import (
    document_of,
    not_covered,
    pipeline_document,
    print_document,
    print_pipeline_document,
    print_release_document,
    release_document,
)
from shiftdp.ui.settings import (
    is_archive,
    is_statement_file,
    read_certificate,
    read_model_file,
    read_statement_file,
)
from shiftdp.ui.types import InFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from shiftdp.privacy.selection.kinds import AnyCertificate


@click.command(
    "verify",
    cls=Command,
    examples=(
        "shiftdp verify run.json",
        "shiftdp verify model.shiftdp",
        "shiftdp verify statement.html",
        "shiftdp verify run.json --delta 1e-6 --json",
    ),
)
@click.argument("certificate", type=InFile(), metavar="FILE")
@answer_options("delta")
@click.pass_context
def command(ctx: click.Context, /, certificate: str, delta: float, json: bool) -> None:
    """Check a certificate, a model file or a statement, without trusting it.

    The shifts in the file are checked step by step against the run that it describes, without the
    solver that found them. What the file assumes of the losses is not known to be true: read it.

    Of a model file the digest is checked too, which binds weights, plan and certificate, and that
    the certificate is the plan's. The digest names the model: compare it with the one that you were
    told, as whoever can write files can also write another model.

    Of a statement every number and word is compared with what its certificate says. What it
    declares (of data and use, of the model's file, and of other releases) is the word of whoever
    made it.
    """
    typed = ctx.get_parameter_source("delta") is not ParameterSource.DEFAULT
    with waiting("checking the proof"):
        found = _checked(certificate, json)
        document, show, assumed = _answer(
            found.certificate, found.delta if found.delta is not None and not typed else delta
        )
    more = found.more
    if json:
        show({"verified": True, **more, **document, "assumptions": assumed}, json=True)
        return
    first = [("verified", found.said)]
    if more:
        first.append(("digest", more["digest"]))
    show(document, json=False, first=first)
    for step in more.get("not_covered", ()):
        click.echo(f"not covered: {step}")
    if more.get("declared"):
        click.echo(f"declared, not checked: {', '.join(more['declared'])}")
    if assumed:
        click.echo("provided that")
    for item in assumed:
        click.echo(f"  - {item['name']}: {item['statement']}")


class _Checked(NamedTuple):
    """A certificate that holds, what is said of it, and the delta that its file states."""

    certificate: AnyCertificate
    said: str
    more: dict[str, Any]
    delta: float | None = None


def _checked(path: str, names: bool) -> _Checked:
    said = "yes: the proof in the file holds"
    if is_archive(path):
        found = read_model_file(path)
        found.whole.verify()
        return _Checked(
            found.whole,
            f"{said}, and it is that of the model's plan",
            {"digest": found.digest, "not_covered": not_covered(found, names=names)},
        )
    if not is_statement_file(path):
        try:
            return _Checked(read_certificate(path), said, {})
        except InvalidInput as error:
            remedy = f"{error.remedy}, or a page of `shiftdp statement`"
            raise InvalidInput(error.name, error.value, error.problem, remedy) from error
    from shiftdp.privacy.statement.blocks import clean

    stated = read_statement_file(path)
    digest = "" if stated.model is None else stated.model.digest
    more = {
        "digest": clean(digest) or stated.certificate_digest,
        "not_covered": [] if stated.model is None else [*map(clean, stated.model.not_covered)],
        "declared": [
            *(["the model and its file"] if stated.model is not None else []),
            *(["other releases"] if stated.ledger is not None else []),
            *(name for name, _ in stated.about),
        ],
    }
    said += ", and the page says what it proves"
    return _Checked(stated.certificate, said, more, stated.delta)


def _answer(
    checked: AnyCertificate, delta: float
) -> tuple[dict[str, Any], Callable[..., None], list[dict[str, Any]]]:
    """What the certificate says, how that is printed, and what is assumed."""
    from shiftdp.last_iterate import Certificate
    from shiftdp.privacy.selection.release_certificate import ReleaseCertificate

    if isinstance(checked, ReleaseCertificate):
        return release_document(checked, delta), print_release_document, []
    if isinstance(checked, Certificate):
        model: Certificate | None = checked
        document, show = document_of(checked, delta), print_document
    else:
        model = checked.model
        document, show = pipeline_document(checked, delta), print_pipeline_document
    return document, show, [] if model is None else [vars(item) for item in model.assumptions]
