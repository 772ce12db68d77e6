"""`shiftdp schema`: a template of what is public about a table."""

from __future__ import annotations

import csv
import os
from typing import Any

import click

from shiftdp._files import write_file
from shiftdp.training.table_files.parts import parts_of, shown
from shiftdp.ui.group import Command
from shiftdp.ui.options import ANSWER, answer_options, option_group
from shiftdp.ui.output import print_json, print_text
from shiftdp.ui.refusals import Refused, print_warning
from shiftdp.ui.types import InData, OutFile

_HINTS = {
    "number": (
        "low = 0     # the range, if it is public; without it, it is learnt and paid for",
        "high = 100",
        'scale = "range"     # else a declared range may be standardised, for a part of the budget',
    ),
    "category": (
        'categories = ["a", "b"]     # if they are public; without them, frequent ones are learnt',
    ),
    "true_false": (
        'true = ["on"]     # the words for it, if they are others than true, yes, t, y and 1',
        'false = ["off"]   # and for this, if others than false, no, f, n and 0',
    ),
}
_MISSING = """\
# missing = ["NA", "?"]     # words that stand for a missing entry; an empty field always does
# a column may have its own rule: with missing = "fill" no further column says which entries were
# missing, and with missing = "refuse" a table that lacks some is refused"""

_GUESSED = (
    "A CSV file has no types: every column is a number here; name others by --categories and "
    "--true-false"
)


def _names(what: str) -> dict[str, Any]:
    text = f"{what}, with commas between them; may be given several times."
    return {"multiple": True, "metavar": "TEXT", "help": text}


@click.command(
    "schema",
    cls=Command,
    examples=(
        "shiftdp schema people.csv --target bought --categories city --true-false member "
        "-o schema.toml",
    ),
)
@click.argument("data", type=InData(), metavar="DATA", nargs=-1, required=True)
@option_group(
    "The table",
    target={"help": "The column to predict, which is no feature."},
    categories=_names("Columns of categories"),
    true_false=_names("Columns of true and false"),
    ignore=_names("Columns to leave out"),
)
@option_group(
    ANSWER,
    output={"short": "-o", "type": OutFile(("toml",)), "help": "Write it to this file (.toml)."},
    force={"is_flag": True, "help": "Replace a file that is there already."},
)
@answer_options()
@click.pass_context
def command(
    ctx: click.Context, /, data: tuple[str, ...], output: str | None, json: bool, **options: Any
) -> None:
    """Write a template of what is public about a table, to be filled in.

    Of DATA, CSV or Parquet files or a folder of them, only names and types are looked at, and no
    record. A CSV file has no types: all columns are numbers there, but for those that are named
    here. What you fill in must not be read off the data.
    """
    from shiftdp._errors import InvalidInput
    from shiftdp.training.preparation.schema import KINDS, Schema, to_toml
    from shiftdp.training.table_files.raw_files import columns_of

    if output is not None and os.path.exists(output) and not options["force"]:
        raise Refused(f"-o {output}: is there already; give another name, or --force", ctx)
    found = columns_of(parts_of(data))
    names = [column.name for column in found]
    given = {"category": _words(options["categories"]), "true_false": _words(options["true_false"])}
    target = [options["target"]] if options["target"] else []
    left_out = [*_words(options["ignore"]), *target]
    named: dict[str, str] = {}
    for option, words in (
        ("categories", given["category"]),
        ("true_false", given["true_false"]),
        ("ignore", _words(options["ignore"])),
        ("target", target),
    ):
        for word in words:
            if word not in names:
                raise InvalidInput(
                    option, word, f"is no column of {shown(data)}", "name one that it has"
                )
            if named.setdefault(word, option) != option:
                before = named[word].replace("_", "-")
                raise InvalidInput(option, word, f"is named by --{before} too", "name it once")
    guessed = not any(given.values()) and any(column.kind is None for column in found)
    kinds = {column.name: column.kind or "number" for column in found}
    kinds |= {name: kind for kind, words in given.items() for name in words}
    columns = {name: KINDS[kind]() for name, kind in kinds.items() if name not in left_out}
    schema = Schema(columns, target=options["target"])
    if json:
        print_json({"schema": schema.to_dict(), "output": output})
    text = to_toml(schema, {name: _HINTS[kinds[name]] for name in columns})
    head, _, rest = text.partition("[columns")
    text = f"{head.rstrip()}\n{_MISSING}\n\n[columns{rest}".lstrip()
    if guessed:
        text = f"# {_GUESSED}\n\n{text}"
        print_warning(ctx, _GUESSED)
    if output is not None:
        write_file(output, text)
        if not json:
            print_text(f"The template is in {output}. Fill in what is public.")
    elif not json:
        click.echo(text, nl=False)


def _words(texts: tuple[str, ...]) -> list[str]:
    """Names with commas between them; one that has a comma itself stands in quotes, as in CSV."""
    found = csv.reader([text.replace("\n", " ") for text in texts], skipinitialspace=True)
    return [word.strip() for line in found for word in line if word.strip()]
