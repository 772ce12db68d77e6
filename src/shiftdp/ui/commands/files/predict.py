"""`shiftdp predict`: what a model file says about a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from functools import partial
from typing import Any

import click
import numpy as np

from shiftdp._errors import InvalidInput
from shiftdp._files import write_file
from shiftdp._roots import least_whole
from shiftdp.training.table_files.parts import Paths, parts_of
from shiftdp.training.table_files.parts import shown as named
from shiftdp.ui.group import Command
from shiftdp.ui.options import ANSWER, answer_options, option_group
from shiftdp.ui.output import print_json, print_text
from shiftdp.ui.progress import waiting
from shiftdp.ui.settings import read_model_file
from shiftdp.ui.types import InData, InFile, OutFile


@click.command(
    "predict",
    cls=Command,
    examples=(
        "shiftdp predict people.shiftdp people.csv -o predicted.csv",
        "shiftdp predict people.shiftdp people.csv",
    ),
)
@click.argument("model", type=InFile(), metavar="MODEL")
@click.argument("data", type=InData(), metavar="DATA", nargs=-1, required=True)
@option_group(
    ANSWER,
    output={
        "short": "-o",
        "type": OutFile(("csv",)),
        "help": "Write a line for each record to this file (.csv); without it they go to standard "
        "output.",
    },
)
@answer_options()
def command(model: str, data: tuple[str, ...], output: str | None, json: bool) -> None:
    """Predict with a model that `shiftdp train` or `save_model` wrote.

    DATA is a CSV or Parquet file, or several or a folder of them, with the columns that the model
    was trained on, by name; others are not looked at. The answer has the prediction for each
    record, in their order, and for logistic regression the probability of each class.
    """
    found = read_model_file(model, "model").model
    parts = parts_of(data)
    with waiting("predicting"):
        X = _features(found, parts)
        columns = _answers(found, X, named(parts))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
    n = len(columns["prediction"])
    shown: dict[str, Any] = {"records": n, "columns": list(columns), "output": output}
    if output is None:
        shown["predictions"] = {name: values.tolist() for name, values in columns.items()}
    else:
        write_file(output, text.getvalue())
    if json:
        print_json(shown)
    elif output is None:
        click.echo(text.getvalue(), nl=False)
    else:
        print_text(f"Predictions for {n} records are in {output}.")


def _answers(model: Any, X: Any, path: str) -> dict[str, Any]:
    refused = False
    try:
        columns = {"prediction": model.predict(X)}
        if hasattr(model, "predict_proba"):
            shares = model.predict_proba(X)
            columns |= {f"p({name})": shares[:, i] for i, name in enumerate(model.classes_)}
    except InvalidInput as error:
        if error.name not in getattr(model, "feature_names_in_", ()):
            raise
        raise _located(error, lambda until: model.predict(X[:until]), len(X), path) from None
    except (ValueError, TypeError):  # of a step of scikit-learn, which may quote an entry
        refused = True
    if refused:
        raise InvalidInput(
            "data", path, "has entries that a step of the model refuses",
            "give records like those that it was trained on",
        )  # fmt: skip
    return columns


def _features(model: Any, paths: Paths) -> Any:
    """The columns that the model knows, by name, as its first step wants them."""
    from shiftdp.sklearn import PrivateTableEncoder
    from shiftdp.training.preparation.columns import Numeric
    from shiftdp.training.preparation.reading import RawColumn, read_column
    from shiftdp.training.table_files.raw_files import read_raw

    first = model.steps[0][1] if hasattr(model, "steps") else model
    names = getattr(first, "feature_names_in_", None)
    if names is None:
        raise InvalidInput(
            "model", f"<{type(first).__name__}>", "was trained on columns without names",
            "call predict in Python, with the columns in the same order, or train with --schema, "
            "which keeps names",
        )  # fmt: skip
    raw = read_raw(paths, list(names))
    if raw.n == 0:
        raise InvalidInput("data", named(paths), "has no records", "give a line for each")
    if isinstance(first, PrivateTableEncoder):
        return raw.table(list(names))
    number = Numeric(missing="refuse")

    def read(name: str, until: int) -> Any:
        return read_column(RawColumn(raw.columns[name][:until], "O"), number, name, ())

    columns = []
    for name in names:
        try:
            columns.append(read(name, raw.n))
        except InvalidInput as error:
            raise _located(error, partial(read, name), raw.n, named(paths)) from None
    return _named(np.stack(columns, axis=1), names, first)


def _located(error: InvalidInput, read: Callable[[int], Any], n: int, path: str) -> InvalidInput:
    """A refusal of a column, with the place of its first bad entry, which is never quoted.

    Args:
        error: the refusal; its name is that of the column.
        read: reads so many of the records, or refuses them.
        n: how many records there are.
        path: of the table.
    """

    def refused(number: int) -> bool:
        try:
            read(number)
        except InvalidInput:
            return True
        return False

    bad = least_whole(refused, 0, n)
    return InvalidInput(
        "data", path, f"cannot be read: column {error.name!r} {error.problem}, first in record "
        f"{bad}", "mend it, or leave the record out",
    )  # fmt: skip


def _named(X: Any, names: Any, first: Any) -> Any:
    """A data frame where pandas is there; else the numbers, and the step that takes them forgets
    the names, by which they have been found already: scikit-learn would miss them."""
    try:
        import pandas
    except ImportError:
        vars(first).pop("feature_names_in_", None)
        return X
    return pandas.DataFrame(X, columns=list(names))
