"""`shiftdp schema`: a template of what is public about a table."""

from __future__ import annotations

import csv
from typing import Any

import click

from shiftdp._files import write_file
from shiftdp.ui.group import Command
from shiftdp.ui.options import ANSWER, answer_options, option_group
from shiftdp.ui.output import print_json, print_text
from shiftdp.ui.types import InFile, OutFile

_HINTS = {
    "number": (
        "low = 0     # the range, if it is public; without it, it is learnt and paid for",
        "high = 100",
    ),
    "category": (
        'categories = ["a", "b"]     # if they are public; without them, frequent ones are learnt',
    ),
    "true_false": (),
}


@click.command(
    "schema",
    cls=Command,
    examples=(
        "shiftdp schema people.csv --target bought --categories city --true-false member "
        "-o schema.toml",
    ),
)
@click.argument("data", type=InFile(), metavar="DATA")
@option_group(
    "The table",
    target={"help": "The column to predict, which is no feature."},
    categories={"help": "Columns of categories, with commas between them."},
    true_false={"help": "Columns of true and false, with commas between them."},
    ignore={"help": "Columns to leave out, with commas between them."},
)
@option_group(
    ANSWER,
    output={"short": "-o", "type": OutFile(("toml",)), "help": "Write it to this file (.toml)."},
)
@answer_options()
def command(data: str, output: str | None, json: bool, **options: Any) -> None:
    """Write a template of what is public about a table, to be filled in.

    Of DATA, a CSV or Parquet file, only names and types are looked at, and no record. A CSV file
    has no types: all columns are numbers there, but for those that are named here. What you fill in
    must not be read off the data.
    """
    from shiftdp._errors import InvalidInput
    from shiftdp.training.preparation.schema import KINDS, Schema, to_toml
    from shiftdp.ui.raw_files import columns_of

    found = columns_of(data)
    names = [column.name for column in found]
    given = {"category": _words(options["categories"]), "true_false": _words(options["true_false"])}
    left_out = [*_words(options["ignore"]), *([options["target"]] if options["target"] else [])]
    for option, words in (
        ("categories", given["category"]),
        ("true_false", given["true_false"]),
        ("ignore", _words(options["ignore"])),
        ("target", left_out[len(_words(options["ignore"])) :]),
    ):
        for word in words:
            if word not in names:
                raise InvalidInput(option, word, f"is no column of {data}", "name one that it has")
    kinds = {column.name: column.kind or "number" for column in found}
    kinds |= {name: kind for kind, words in given.items() for name in words}
    columns = {name: KINDS[kind]() for name, kind in kinds.items() if name not in left_out}
    schema = Schema(columns, target=options["target"])
    if json:
        print_json({"schema": schema.to_dict(), "output": output})
    text = to_toml(schema, {name: _HINTS[kinds[name]] for name in columns})
    if output is not None:
        write_file(output, text)
        if not json:
            print_text(f"The template is in {output}. Fill in what is public.")
    elif not json:
        click.echo(text, nl=False)


def _words(text: str | None) -> list[str]:
    """Names with commas between them; one that has a comma itself stands in quotes, as in CSV."""
    if text is None:
        return []
    (found,) = csv.reader([text.replace("\n", " ")], skipinitialspace=True)
    return [word.strip() for word in found if word.strip()]
