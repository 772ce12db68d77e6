"""A ledger that is charged before a run, and told of its end; and fits that go no further."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import Certificate
from shiftdp.privacy.ledger.entry import Account, Entry
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.privacy.selection.kinds import AnyCertificate
from shiftdp.training.descent.entropy import Entropy
from shiftdp.training.descent.resume import Kept


@contextmanager
def charged(
    ledger: Any,
    certificate: Certificate,
    entropy: Entropy,
    label: str,
    random_state: Any,
    kept: Kept | None = None,
) -> Iterator[None]:
    """Charge the ledger, if there is one, before a run, and note its end if it comes to that.

    A run with entropy that is not private cannot be charged. One that was kept is charged once,
    under its own key, and refused if it came to its end already; what a finished one released is
    paid for.

    Args:
        ledger: an account, the path of a ledger, or None.
        certificate: of the run.
        entropy: that it uses.
        label: of the entry.
        random_state: that made the entropy, for the refusal.
        kept: the state of a run that can be resumed.
    """
    if ledger is None or (kept is not None and kept.last is not None):
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
    if kept is None:
        entry = account.reserve(certificate, label=label)
        yield
        account.complete(entry)
        return
    keyed, key = cast(Ledger, account), kept.run
    keyed.reserve(certificate, label=label, key=key)
    # asked again at the end: another process may have brought the same run to its own meanwhile
    kept.before_release = lambda: keyed.complete(keyed.reserve(certificate, label=label, key=key))
    yield


class _Reached(Exception):
    """A fit came as far as its charge."""


class _Rehearsal:
    """An account that ends a fit where it would be charged."""

    def reserve(self, certificate: AnyCertificate, *, label: str = "") -> Entry:
        raise _Reached

    def complete(self, entry: Entry) -> None:
        """Never reached."""


def rehearse(estimator: Any, X: Any, y: Any) -> None:
    """Refuse what a fit would refuse, before anything is charged: a copy of the estimator is fitted
    up to its charge, without a seed, as what is seeded is not charged."""
    from sklearn.base import clone

    with suppress(_Reached):
        unseeded = dict.fromkeys(seeds_of(estimator))
        clone(estimator).set_params(ledger=_Rehearsal(), **unseeded).fit(X, y)


def seeds_of(estimator: Any) -> list[str]:
    """The parameters that hold seeds."""
    names = estimator.get_params(deep=True)
    return [name for name in names if name.rpartition("__")[2] == "random_state"]
