"""The run of `shiftdp train`: charge the ledger, fit, write the model, complete the entry."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from shiftdp._errors import InvalidInput
from shiftdp.training.table_files.parts import shown
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import print_warning

if TYPE_CHECKING:
    from shiftdp.privacy import Entry, Ledger
    from shiftdp.privacy.selection.kinds import AnyCertificate
    from shiftdp.training.planning.outlook import Forecast


class CompletedLater:
    """A ledger that is charged at once, and completes its entries when the model is written."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.entries: list[Entry] = []

    def reserve(self, certificate: AnyCertificate, *, label: str = "") -> Entry:
        return self.ledger.reserve(certificate, label=label)

    def complete(self, entry: Entry) -> None:
        self.entries.append(entry)

    def complete_all(self) -> None:
        for entry in self.entries:
            self.ledger.complete(entry)


def fit(
    ctx: click.Context, model: Any, table: Callable[[], tuple[Any, ...]], options: dict[str, Any]
) -> CompletedLater | None:
    """Fit a model to a table; what is wrong is said without a word about a record."""
    from shiftdp.privacy import Ledger
    from shiftdp.sklearn import LargeDeltaWarning, PrivacyLeakWarning, WeakSignalWarning

    account = None
    columns = _columns(options.get("schema"))
    if options["ledger"] is not None:
        account = CompletedLater(Ledger(options["ledger"]))
        model.set_params(ledger=account)
    kinds = (PrivacyLeakWarning, WeakSignalWarning, LargeDeltaWarning)
    with waiting("training"), warnings.catch_warnings(record=True) as said:
        for kind in kinds:
            warnings.simplefilter("always", kind)
        try:
            problem = _complaint(model, *table())
        except InvalidInput as error:
            if error.name not in columns:
                raise
            column = InvalidInput(
                "data",
                shown(options["data"]),
                f"column {error.name} {error.problem}",
                f"in {options['schema']}, {error.remedy}",
            )
            raise column from None
    if problem is not None:
        raise InvalidInput(
            "data", shown(options["data"]), f"cannot be used: {problem}", "mend the table"
        )
    for text in dict.fromkeys(str(one.message) for one in said if issubclass(one.category, kinds)):
        print_warning(ctx, text)
    model.set_params(ledger=options["ledger"])
    return account


def _complaint(model: Any, *table: Any) -> str | None:
    """Fit the model; what scikit-learn has against the table, if anything."""
    try:
        model.fit(*table)
    except InvalidInput:
        raise
    except ValueError as error:  # `training.inputs` sees to it that it quotes no entry
        return str(error).splitlines()[0]
    return None


def _columns(schema: str | None) -> tuple[str, ...]:
    """The columns of a schema: what is wrong with one is said of the table."""
    if schema is None:
        return ()
    from shiftdp.training.preparation.schema import read_schema

    return tuple(read_schema(schema).columns)


def require_signal(ctx: click.Context, found: Forecast, options: dict[str, Any]) -> None:
    """Refuse a plan whose noise is predicted to be above its signal, unless told otherwise.

    Args:
        ctx: of the command, for warnings.
        found: what is expected of what would run.
        options: of the command.
    """
    from shiftdp.training.planning.outlook import refuse

    if options["anyway"]:
        return
    try:
        refuse(found)
    except InvalidInput as error:
        if options["dry_run"]:
            print_warning(ctx, str(error))
            return
        remedy = f"{error.remedy}, or train --anyway"
        raise InvalidInput(error.name, error.value, error.problem, remedy) from None


def warn_of_delta(ctx: click.Context, n: int, options: dict[str, Any]) -> None:
    """What `fit` would warn of, before a plan that is only shown."""
    from shiftdp.training.large_delta import complaint_of_delta

    text = complaint_of_delta(options["delta"], n)
    if text is not None:
        print_warning(ctx, text)


def write(
    ctx: click.Context, model: Any, options: dict[str, Any], account: CompletedLater | None
) -> None:
    """The model in its file, and only then the end of the run in the ledger.

    Of a model that was written over it is said that it counts all the same, unless a ledger counts.
    """
    from shiftdp._files import FileNotWritten
    from shiftdp.sklearn import save_model

    path = options["output"]
    second = options["ledger"] is None and os.path.exists(path)
    try:
        with waiting("writing the model"):
            save_model(model, path)
    except FileNotWritten as error:
        lost = f"{error}; the model is lost"
        if account is not None:
            lost += f"; {account.ledger.path.name} keeps the charge of a run that is not completed"
        raise click.ClickException(lost) from error
    if account is not None:
        account.complete_all()
    if second:
        print_warning(
            ctx,
            f"{path} was there already and was written over; if that model was trained on the same "
            "records this is a second release, and what both cost adds up: --ledger keeps account "
            "of it",
        )
