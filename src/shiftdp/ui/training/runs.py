"""The run of `shiftdp train`: charge the ledger, fit, write the model, complete the entry."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from shiftdp._errors import InvalidInput
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import print_warning

if TYPE_CHECKING:
    from shiftdp.last_iterate import Certificate
    from shiftdp.privacy import Entry, Ledger
    from shiftdp.privacy.pipeline_certificate import PipelineCertificate


class CompletedLater:
    """A ledger that is charged at once, and completes its entries when the model is written."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.entries: list[Entry] = []

    def reserve(self, certificate: Certificate | PipelineCertificate, *, label: str = "") -> Entry:
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
    from shiftdp.sklearn import PrivacyLeakWarning

    problem = None
    account = None
    if options["ledger"] is not None:
        account = CompletedLater(Ledger(options["ledger"]))
        model.set_params(ledger=account)
    with waiting("training"), warnings.catch_warnings(record=True) as leaks:
        warnings.simplefilter("always", PrivacyLeakWarning)
        X, y, *groups = table()
        try:
            model.fit(X, y, *groups)
        except InvalidInput:
            raise
        except ValueError as error:  # `training.inputs` sees to it that it quotes no entry
            problem = str(error).splitlines()[0]
    if problem is not None:
        raise InvalidInput("data", options["data"], f"cannot be used: {problem}", "mend the table")
    for leak in leaks:
        if issubclass(leak.category, PrivacyLeakWarning):
            print_warning(ctx, str(leak.message))
    model.set_params(ledger=options["ledger"])
    return account


def write(estimator: Any, path: str, account: CompletedLater | None) -> None:
    """The model in its file, and only then the end of the run in the ledger."""
    from shiftdp._files import FileNotWritten
    from shiftdp.sklearn import save_model

    try:
        save_model(estimator, path)
    except FileNotWritten as error:
        lost = f"{error}; the model is lost"
        if account is not None:
            lost += f"; {account.ledger.path.name} keeps the charge of a run that is not completed"
        raise click.ClickException(lost) from error
    if account is not None:
        account.complete_all()
