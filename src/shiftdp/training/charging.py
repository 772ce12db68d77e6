"""A ledger that is charged before a run, and told of its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import Certificate
from shiftdp.privacy.ledger.entry import Account
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.training.descent.entropy import Entropy


@contextmanager
def charged(
    ledger: Any, certificate: Certificate, entropy: Entropy, label: str, random_state: Any
) -> Iterator[None]:
    """Charge the ledger, if there is one, before a run, and note its end if it comes to that.

    A run with entropy that is not private cannot be charged.

    Args:
        ledger: an account, the path of a ledger, or None.
        certificate: of the run.
        entropy: that it uses.
        label: of the entry.
        random_state: that made the entropy, for the refusal.
    """
    if ledger is None:
        yield
        return
    if not entropy.private:
        raise InvalidInput(
            "random_state",
            random_state,
            "makes a reproducible run, which is not private and cannot be charged",
            "give random_state=None, or no ledger",
        )
    account = ledger if isinstance(ledger, Account) else Ledger(ledger)
    entry = account.reserve(certificate, label=label)
    yield
    account.complete(entry)
