"""dp_accounting: last-iterate runs as its events, and certificates as its privacy losses."""

from shiftdp.privacy.dp_accounting.accountant import (
    LastIterateAccountant,
    LastIterateDpEvent,
    with_noise,
)
from shiftdp.privacy.dp_accounting.export import dominating_event, to_pld

__all__ = [
    "LastIterateAccountant",
    "LastIterateDpEvent",
    "dominating_event",
    "to_pld",
    "with_noise",
]
