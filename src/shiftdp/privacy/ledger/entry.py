"""The log of a ledger: its terms, its entries, the running total in them, and how it is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from shiftdp._errors import VerificationFailed
from shiftdp._printed import aligned, column
from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.serialisation import tradeoff_from_json
from shiftdp.privacy.ledger.release import Release
from shiftdp.privacy.ledger.running_total import RunningTotal
from shiftdp.privacy.ledger.store import Record
from shiftdp.privacy.selection.kinds import AnyCertificate

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
        """`certified`, `pipeline`, `selection` or `score` if verified; `declared` by the user."""
        return self.release.source

    @property
    def certificate(self) -> AnyCertificate | None:
        return self.release.certificate

    @property
    def mu(self) -> float | None:
        return self.f.gdp_mu


@runtime_checkable
class Account(Protocol):
    """What a training loop asks of a ledger, before a run and after it."""

    def reserve(self, certificate: AnyCertificate, *, label: str = "") -> Entry:
        """Charge a run before it starts, or refuse it."""

    def complete(self, entry: Entry) -> None:
        """Note that the run came to its end, which changes nothing about the charge."""


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
def _read(text: str) -> TradeoffFunction:
    return tradeoff_from_json(text)


def read_total(square: str, factors: list[tuple[str, str, int]]) -> RunningTotal:
    """The running total in a log: the exact sum of mu^2, and other factors with their counts."""
    for *_, k in factors:
        if type(k) is not int or k < 1:
            raise VerificationFailed("the count of a release is no number of releases")
    return RunningTotal(Fraction(square), tuple((_read(text), k) for _, text, k in factors))


COLUMNS = ("#", "label", "release", "times", "mu", "epsilon", "state")
NUMBERS = (0, 3, 4, 5)
"""Of the table of entries, and which of them hold numbers."""


def cells_of(entries: Sequence[Entry], delta: float) -> list[tuple[str, ...]]:
    """The rows of that table."""
    mus = column([entry.mu for entry in entries])
    epsilons = column([entry.f.epsilon(delta) for entry in entries])
    return [
        (
            str(entry.number),
            entry.label,
            entry.release.description + (" (declared)" if entry.source == "declared" else ""),
            str(entry.times),
            mu,
            epsilon,
            "completed" if entry.completed else "reserved",
        )
        for entry, mu, epsilon in zip(entries, mus, epsilons, strict=True)
    ]


def print_of(name: str, terms: Terms, spent: float, entries: Sequence[Entry]) -> str:
    """What is spent, the entries in columns, and what the total rests on."""
    given = ["all releases are about one data set, each with noise of its own"]
    if not terms.adaptive:
        given.append("their privacy parameters were not chosen by earlier results")
    if any(entry.source == "declared" for entry in entries):
        given.append("what is marked as declared is true")
    given.append("the hypotheses of every certificate hold")
    lines = [
        f"{name}: epsilon {column([spent])[0]} of {terms.epsilon:g} is spent at "
        f"delta={terms.delta:g}, {terms.adjacency}",
        *aligned([COLUMNS, *cells_of(entries, terms.delta)], right=NUMBERS),
        "provided that",
        *(f"  - {line}" for line in given),
    ]
    if terms.adaptive:
        lines.append("parameters may depend on results: the budget is what is guaranteed")
    return "\n".join(lines)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
