"""What the log of a ledger says: its terms, its entries, and the running total in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.serialisation import tradeoff_from_json
from shiftdp.privacy.ledger.release import Release
from shiftdp.privacy.ledger.spent import Spent
from shiftdp.privacy.ledger.store import Record

__all__ = [
    "FORMAT",
    "Entry",
    "Terms",
    "first_body",
    "next_body",
    "read_factor",
    "spent_of",
]

FORMAT = "shiftdp-ledger/1"


@dataclass(frozen=True)
class Terms:
    """What a ledger was opened with; it never changes."""

    epsilon: float
    delta: float
    adjacency: Adjacency
    adaptive: bool

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Terms:
        return cls(body["epsilon"], body["delta"], body["adjacency"], body["adaptive"])


@dataclass(frozen=True)
class Entry:
    """A release that is charged.

    Attributes:
        number: its place in the log.
        times: how many releases of this kind it stands for.
        f: what one of them is charged as.
        completed: whether the run reported its end. It is charged in either case.
        digest: the SHA-256 of the entry, with those of all before it.
    """

    number: int
    time: str
    label: str
    key: str | None
    times: int
    release: Release
    f: TradeoffFunction
    completed: bool
    digest: str

    @property
    def source(self) -> str:
        """`certified` by a verified certificate, or `declared` by the user."""
        return self.release.source

    @property
    def certificate(self) -> Certificate | None:
        return self.release.certificate

    @property
    def mu(self) -> float | None:
        return self.f.gdp_mu


def first_body(terms: Terms) -> dict[str, Any]:
    """The entry that opens a log."""
    return {
        "number": 0,
        "previous": "",
        "time": _now(),
        "event": "opened",
        "square": "0",
        "format": FORMAT,
        **vars(terms),
    }


def next_body(head: Record, event: str, **fields: Any) -> dict[str, Any]:
    """The entry after this one."""
    last = head.body
    return {
        "number": last["number"] + 1,
        "previous": head.digest,
        "time": _now(),
        "event": event,
        "square": last["square"],
        **fields,
    }


@lru_cache(maxsize=256)
def read_factor(text: str) -> TradeoffFunction:
    return tradeoff_from_json(text)


def spent_of(square: str, factors: list[tuple[str, str, int]]) -> Spent:
    """The running total: the exact sum of mu^2, and the other factors with their counts."""
    return Spent(Fraction(square), tuple((read_factor(text), k) for _, text, k in factors))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
