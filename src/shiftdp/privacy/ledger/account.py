"""What a training loop asks of a ledger."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from shiftdp.last_iterate.certificate import Certificate
from shiftdp.privacy.ledger.entry import Entry

__all__ = ["Account"]


@runtime_checkable
class Account(Protocol):
    """Something that is charged before a run and told when the run has come to its end."""

    def reserve(self, certificate: Certificate, *, label: str = "") -> Entry:
        """Charge a run before it starts, or refuse it."""

    def complete(self, entry: Entry) -> None:
        """Note that the run came to its end, which changes nothing about the charge."""
