"""`shiftdp statement`: a guarantee as a page to read, sign and check."""

from __future__ import annotations

import tomllib
from json import dumps, loads
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from shiftdp._files import write_file
from shiftdp.ui.group import Command
from shiftdp.ui.options import ANSWER, answer_options, option_group
from shiftdp.ui.output import print_json, print_text
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import Refused
from shiftdp.ui.report import not_covered
from shiftdp.ui.settings import (
    is_archive,
    is_statement_file,
    read_certificate,
    read_model_file,
    read_statement_file,
)
from shiftdp.ui.types import InFile, OutFile, Word

if TYPE_CHECKING:
    from shiftdp.privacy.statement import Statement

FORMATS = ("html", "registry", "model_card")


@click.command(
    "statement",
    cls=Command,
    examples=(
        "shiftdp statement run.json -o statement.html",
        "shiftdp statement model.shiftdp --ledger study.db -o statement.html",
        "shiftdp statement run.json --format registry",
        "shiftdp statement model.shiftdp --format model_card -o README.md",
    ),
)
@click.argument("certificate", type=InFile(), metavar="FILE")
@option_group(
    "What is said beside it",
    about={
        "type": InFile(),
        "help": "A TOML file in which you say what no certificate knows: title, description, "
        "intended_use, curator, curator_type, region, sector, publication_date, collection, "
        "consent, access, retention, preparation, justification, utility, contact.",
    },
    ledger={"type": InFile(), "help": "The ledger of the data: other releases are listed."},
    date={"metavar": "YYYY-MM-DD", "help": "Of the statement; today (UTC) by default."},
)
@option_group(
    ANSWER,
    output={
        "short": "-o",
        "type": OutFile(),
        "help": "The file to write; standard output if it is not given.",
    },
    format={
        "type": Word(FORMATS),
        "default": "html",
        "help": "A page; the fields of the public registry of deployments, as JSON; or a section "
        "of a model card, as Markdown.",
    },
)
@answer_options("delta")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """A guarantee as a page to read, sign and check; for a registry, for a model card.

    FILE is a certificate that --save wrote, a model, or a statement, which is then written anew.
    Its proof is verified first. The page is one file that needs nothing else: epsilon and its unit,
    the promise in plain words, the whole curve, what would void it, the theorem with its hypotheses
    and how each is known, other releases, hashes, and the certificate itself, so that
    `shiftdp verify statement.html` can check all of it.
    """
    with waiting("checking the proof"):
        statement = _stated(ctx, options)
        made = "" if options["json"] and options["output"] is None else _made(statement, options)
        document = {}
        if options["json"]:
            document = {**loads(statement.to_json()), "registry": statement.registry()}
    if options["output"] is not None:
        write_file(options["output"], made)
    if options["json"]:
        print_json(document)
    elif options["output"] is None:
        click.echo(made, nl=False)
    else:
        print_text(f"The statement is in {options['output']}.")


def _stated(ctx: click.Context, options: dict[str, Any]) -> Statement:
    from dataclasses import replace

    from shiftdp.privacy.statement import ModelFacts, statement_of
    from shiftdp.privacy.statement.subject import today

    path, given = options["certificate"], ctx.get_parameter_source("delta")
    typed = given is not ParameterSource.DEFAULT
    said: dict[str, Any] = {"about": _about(ctx, options["about"]), "ledger": options["ledger"]}
    said["date"] = options["date"]
    if is_statement_file(path):
        from shiftdp import __version__

        old = read_statement_file(path, compare=False)
        delta = options["delta"] if typed else old.delta
        new = statement_of(old.certificate, delta=delta, model=old.model, **said)
        about = new.about or old.about
        day = options["date"] or today()
        ledger = new.ledger or old.ledger
        return replace(new, about=about, day=day, ledger=ledger, version=__version__)
    if is_archive(path):
        from shiftdp.training.estimators.stated import reasons_of

        found = read_model_file(path)
        found.whole.verify()
        facts = ModelFacts(
            estimator=type(_last(found.model)).__name__,
            digest=found.digest,
            not_covered=tuple(not_covered(found)),
            reasons=reasons_of(found.planned),
        )
        delta = options["delta"] if typed else found.delta
        return statement_of(found.whole, delta=delta, model=facts, **said)
    return statement_of(read_certificate(path), delta=options["delta"], **said)


def _last(model: Any) -> Any:
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
    return model


def _about(ctx: click.Context, path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            return {name: _text(value) for name, value in tomllib.load(file).items()}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(f"--about {path}: is not TOML: {error}", ctx) from error


def _text(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _made(statement: Statement, options: dict[str, Any]) -> str:
    """What is written, in the format that was asked for."""
    if options["format"] == "registry":
        return dumps(statement.registry(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return statement.html() if options["format"] == "html" else statement.model_card()
