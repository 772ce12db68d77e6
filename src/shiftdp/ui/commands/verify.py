"""`shiftdp verify`: check a certificate that somebody else may have written."""

from __future__ import annotations

import click

from shiftdp.ui.group import Command
from shiftdp.ui.options import answer_options
from shiftdp.ui.report import document_of, print_document
from shiftdp.ui.settings import read_certificate
from shiftdp.ui.types import InFile

__all__ = ["command"]


@click.command(
    "verify",
    cls=Command,
    examples=("shiftdp verify run.json", "shiftdp verify run.json --delta 1e-6 --json"),
)
@click.argument("certificate", type=InFile(), metavar="FILE")
@answer_options("delta")
def command(certificate: str, delta: float, json: bool) -> None:
    """Check the proof in a saved certificate, without trusting it.

    The shifts in the file are checked step by step against the run that it describes, without the
    solver that found them. What the file assumes of the losses is not known to be true: read it.
    """
    checked = read_certificate(certificate)
    document = {"verified": True, **document_of(checked, delta)}
    document["assumptions"] = [vars(item) for item in checked.assumptions]
    if json:
        print_document(document, json=True)
        return
    listed = document.pop("assumptions")
    print_document(document, json=False, first=[("verified", "yes: the proof in the file holds")])
    click.echo("provided that")
    for item in listed:
        click.echo(f"  - {item['name']}: {item['statement']}")
