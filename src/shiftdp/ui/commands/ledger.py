"""`shiftdp ledger`: the account of one data set, in one file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shiftdp._errors import InvalidInput
from shiftdp._files import write_file
from shiftdp.ui.group import Group
from shiftdp.ui.options import answer_options, option
from shiftdp.ui.output import (
    down,
    plain,
    print_json,
    print_pairs,
    print_table,
    print_text,
    up,
)
from shiftdp.ui.refusals import Refused
from shiftdp.ui.settings import read_certificate
from shiftdp.ui.types import NUMBER, InFile, OutFile, Word

if TYPE_CHECKING:
    from shiftdp.privacy import Entry, Ledger

_FILE = click.argument("file", type=InFile(), metavar="FILE")
_ADJACENCY = Word(("replace_one", "zero_out"))


@click.group(
    "ledger",
    cls=Group,
    examples=(
        "shiftdp ledger create survey.db --epsilon 3 --delta 1e-5",
        "shiftdp ledger charge study.db --certificate run.json --label 'first model'",
        "shiftdp ledger show study.db",
    ),
)
def command() -> None:
    """The account of one data set: every release, charged before it runs.

    A ledger is a file with a budget. What is charged stays charged; what does not fit is refused,
    with exit code 1, and nothing is written.
    """


@command.command(
    "create",
    examples=("shiftdp ledger create survey.db --epsilon 3 --delta 1e-5",),
)
@click.argument("file", type=OutFile(), metavar="FILE")
@option("epsilon", type=NUMBER, required=True, help="What all releases together may cost.")
@option("delta", type=NUMBER, required=True, help="The other half of the budget.")
@option("adjacency", type=_ADJACENCY, default="replace_one", help="Which data sets are neighbours.")
@option(
    "adaptive",
    is_flag=True,
    help="Let the privacy parameters of a release depend on earlier results; Gaussian ones only.",
)
@answer_options()
@click.pass_context
def create(ctx: click.Context, /, file: str, json: bool, **terms: Any) -> None:
    """Make a ledger with a budget, which never changes."""
    if os.path.exists(file):
        raise Refused(f"FILE {file}: is there already; give the name of a new file", ctx)
    from shiftdp.privacy import Ledger

    ledger = Ledger.create(file, **terms)
    if json:
        print_json(_summary(ledger))
    else:
        budget = f"epsilon={plain(terms['epsilon'])} at delta={plain(terms['delta'])}"
        print_text(f"{file}: a new ledger with a budget of {budget}, {terms['adjacency']}")


@command.command("show", examples=("shiftdp ledger show study.db",))
@_FILE
@answer_options()
def show(file: str, json: bool) -> None:
    """What is spent, by which releases, and what is left."""
    from shiftdp.privacy import Ledger
    from shiftdp.privacy.ledger.entry import COLUMNS, NUMBERS, cells_of

    ledger = Ledger(file)
    summary, entries = _summary(ledger), ledger.entries()
    delta = ledger.terms.delta
    if json:
        print_json({**summary, "entries": [_entry(entry, delta) for entry in entries]})
        return
    pairs = [
        ("spent", f"epsilon {up(summary['spent'])} of {plain(summary['budget'])}"),
        ("left", f"a Gaussian release of mu <= {down(summary['remaining_mu'])}"),
        ("adjacency", summary["adjacency"]),
        ("parameters", "may depend on results" if summary["adaptive"] else "fixed beforehand"),
        ("head", summary["head"]),
    ]
    print_pairs(f"{Path(file).name}, at delta = {plain(delta)}", pairs)
    print_text()
    print_table(COLUMNS, cells_of(entries, delta), right=NUMBERS)


@command.command(
    "charge",
    examples=(
        "shiftdp ledger charge study.db --certificate run.json --label 'first model'",
        "shiftdp ledger charge study.db --certificate run.json --times 3 --dry-run",
        "shiftdp ledger charge study.db --mu 0.1 --adjacency replace_one "
        "--description 'noisy counts, other software'",
    ),
)
@_FILE
@option("certificate", type=InFile(), help="Of the run that is about to start.")
@option("mu", type=NUMBER, help="Instead, on your word: a Gaussian release by other means.")
@option("description", help="With --mu: what is released, and why it satisfies G(mu).")
@option("adjacency", type=_ADJACENCY, help="With --mu: for which neighbours.")
@option("label", default="", help="For people.")
@option("times", type=NUMBER, default=1, help="How many such releases.")
@option("key", help="Names this call, so that repeating it charges nothing twice.")
@option("convert", is_flag=True, help="Charge zero-out to a replace-one ledger, as G(2 mu).")
@option("dry_run", is_flag=True, help="Say whether it fits, and write nothing.")
@answer_options()
@click.pass_context
def charge(ctx: click.Context, /, file: str, json: bool, **options: Any) -> None:
    """Charge a release before it runs; refused, with exit code 1, if it does not fit."""
    from shiftdp.privacy import Ledger

    certificate, mu = options["certificate"], options["mu"]
    if (certificate is None) == (mu is None):
        raise Refused("--certificate, --mu: give one of the two", ctx)
    for name in ("description", "adjacency"):
        if (options[name] is None) != (mu is None):
            word = "is needed" if mu is not None else "is not used"
            raise Refused(f"--{name} {options[name] or ''}".rstrip() + f": {word} with this", ctx)
    ledger = Ledger(file)
    common = {name: options[name] for name in ("label", "times", "key", "convert")}
    if options["dry_run"]:
        total = ledger.check(_release(certificate, mu), options["times"])
        _print_check(ledger, total, json)
        return
    if mu is None:
        entry = ledger.reserve(read_certificate(certificate), **common)
    else:
        entry = ledger.declare(
            _release(None, mu),
            description=options["description"],
            adjacency=options["adjacency"],
            **common,
        )
    _print_charged(ledger, entry, json)


@command.command("complete", examples=("shiftdp ledger complete study.db 1 --note 'converged'",))
@_FILE
@click.argument("number", type=NUMBER, metavar="NUMBER")
@option("note", default="", help="For people.")
@answer_options()
@click.pass_context
def complete(ctx: click.Context, file: str, number: float, note: str, json: bool) -> None:
    """Note that the run of an entry came to its end. The charge stays."""
    from shiftdp.privacy import Ledger

    ledger = Ledger(file)
    entries = {entry.number: entry for entry in ledger.entries()}
    if number not in entries:
        known = ", ".join(map(str, entries)) or "none"
        raise Refused(f"NUMBER {plain(number)}: is no release of {file}, which has {known}", ctx)
    ledger.complete(entries[int(number)], note)
    if json:
        print_json({**_summary(ledger), "completed": int(number)})
    else:
        print_text(f"entry {plain(number)} is completed; it stays charged")


@command.command(
    "verify",
    examples=("shiftdp ledger verify study.db", "shiftdp ledger verify study.json"),
)
@_FILE
@option("head", help="A head that was noted elsewhere, which the log must contain.")
@answer_options()
@click.pass_context
def verify(ctx: click.Context, file: str, head: str | None, json: bool) -> None:
    """Check every entry, hash, sum and certificate of a ledger, or of what `export` wrote."""
    from shiftdp.privacy import Ledger

    if Path(file).read_bytes()[:1] == b"{":
        if head is not None:
            raise Refused(f"--head {head}: is for a ledger; an export has its own", ctx)
        try:
            text = Path(file).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise InvalidInput("file", file, "is not text", "give what export wrote") from error
        Ledger.verify_json(text)
    else:
        Ledger(file).verify(head)
    if json:
        print_json({"verified": True, "file": file})
    else:
        print_text(f"{file}: every entry, hash, sum and certificate holds")


@command.command(
    "export",
    examples=("shiftdp ledger export study.db --output copy.json",),
)
@_FILE
@option("output", type=OutFile(), help="Write to this file instead of standard output.")
@option("json", is_flag=True, help="JSON is the only form; the option is here as everywhere.")
def export(file: str, output: str | None, json: bool) -> None:
    """The whole log with its certificates, as one JSON object that `verify` can check."""
    from shiftdp.privacy import Ledger

    text = Ledger(file).to_json(indent=2)
    if output is None:
        print_text(text)
    else:
        write_file(output, text + "\n")


def _release(certificate: str | None, mu: float | None) -> Any:
    if certificate is not None:
        return read_certificate(certificate)
    from shiftdp.fdp import GaussianTradeoff

    return GaussianTradeoff(mu or 0.0)


def _summary(ledger: Ledger) -> dict[str, Any]:
    terms = ledger.terms
    return {
        "spent": ledger.epsilon(),
        "budget": terms.epsilon,
        "delta": terms.delta,
        "remaining": ledger.remaining(),
        "remaining_mu": ledger.remaining_mu(),
        "adjacency": terms.adjacency,
        "adaptive": terms.adaptive,
        "kind": "certified",
        "head": ledger.head,
    }


def _entry(entry: Entry, delta: float) -> dict[str, Any]:
    return {
        "number": entry.number,
        "time": entry.time,
        "label": entry.label,
        "key": entry.key,
        "release": entry.release.description,
        "source": entry.source,
        "times": entry.times,
        "mu": entry.mu,
        "epsilon": entry.f.epsilon(delta),
        "completed": entry.completed,
        "digest": entry.digest,
    }


def _print_check(ledger: Ledger, total: float, json: bool) -> None:
    if json:
        print_json({"fits": True, "total": total, **_summary(ledger)})
    else:
        terms = ledger.terms
        print_text(f"it fits: {up(total)} of {plain(terms.epsilon)} would be spent; not charged")


def _print_charged(ledger: Ledger, entry: Entry, json: bool) -> None:
    terms = ledger.terms
    if json:
        print_json({"entry": _entry(entry, terms.delta), **_summary(ledger)})
        return
    spent = f"epsilon {up(ledger.epsilon())} of {plain(terms.epsilon)}"
    print_text(f"charged as entry {entry.number}; {spent} is spent at delta={plain(terms.delta)}")
