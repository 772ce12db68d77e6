"""What a statement is about: a certificate, where it is read, and what is said beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from importlib import import_module
from typing import Any

from shiftdp._checks import LEAST_DELTA, number_in
from shiftdp._errors import InvalidInput
from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.assumptions import seeded_noise
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.selection.kinds import AnyCertificate
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate
from shiftdp.privacy.statement.blocks import clean
from shiftdp.privacy.statement.releases import runs_in

FORMAT = "shiftdp-statement/1"

ABOUT: dict[str, str] = {
    "title": "Name",
    "description": "What it is",
    "intended_use": "Intended use",
    "curator": "Who holds the data",
    "curator_type": "Kind of organisation",
    "region": "Region",
    "sector": "Sector",
    "publication_date": "Published on",
    "collection": "How the data were collected",
    "consent": "Consent and legal basis",
    "access": "Who may read the raw data",
    "retention": "How long they are kept",
    "preparation": "What was done to the data before",
    "justification": "Why this epsilon",
    "utility": "How good the result is",
    "contact": "Contact",
}
"""What the publisher may say of data and use, which no certificate knows."""

_LONGEST = 2000  # characters of one of these: a statement is a page
_MOST_ENTRIES = 200  # of a ledger, beyond which only the last ones are listed


@dataclass(frozen=True)
class ModelFacts:
    """What a model says of itself beside its certificate.

    Args:
        estimator: its class.
        digest: the SHA-256 of its file, if it was read from one.
        not_covered: what was learnt from the data and is in no certificate.
        reasons: why the plan is as it is.
    """

    estimator: str
    digest: str = ""
    not_covered: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class LedgerRow:
    """One release of a ledger. `this` marks the one that the statement is about."""

    number: int
    time: str
    label: str
    release: str
    times: int
    epsilon: float
    source: str
    this: bool


@dataclass(frozen=True)
class LedgerFacts:
    """A ledger at the time of the statement."""

    epsilon: float
    delta: float
    spent: float
    adaptive: bool
    head: str
    count: int
    rows: tuple[LedgerRow, ...]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Everything that a statement is made from; the same contents give the same page.

    Args:
        certificate: what is stated.
        delta: where epsilon is read.
        day: of the statement, as YYYY-MM-DD.
        version: of shiftdp.
        model: what else the model says of itself.
        ledger: other releases on the same data.
        about: what the publisher says of data and use, by the names in `ABOUT`.
    """

    certificate: AnyCertificate
    delta: float
    day: str
    version: str
    model: ModelFacts | None = None
    ledger: LedgerFacts | None = None
    about: tuple[tuple[str, str], ...] = field(default=())

    def __post_init__(self) -> None:
        number_in("delta", self.delta, LEAST_DELTA, 1.0, open_low=False, open_high=True)
        _require_day(self.day)
        for name, text in self.about:
            require_about(name, text)

    @property
    def core(self) -> Certificate | None:
        """The certificate of the one run: of a pipeline, that of its model; of a search, none."""
        whole = self.certificate
        one_run = isinstance(whole, (Certificate, PipelineCertificate))
        return next(iter(runs_in(whole)), None) if one_run else None

    @property
    def f(self) -> TradeoffFunction:
        return self.certificate.f

    @property
    def adjacency(self) -> Adjacency:
        whole = self.certificate
        return whole.geometry.adjacency if isinstance(whole, Certificate) else whole.adjacency

    @property
    def private(self) -> bool:
        """Whether the noise is known to nobody, as far as the certificate says."""
        return _private(self.certificate)

    @property
    def certificate_text(self) -> str:
        return self.certificate.to_json()

    @property
    def certificate_digest(self) -> str:
        """The SHA-256 of the certificate as `to_json` writes it."""
        return hashlib.sha256(self.certificate_text.encode()).hexdigest()

    def said(self, name: str) -> str:
        """What the publisher says, cleaned; empty where nothing is said."""
        return clean(dict(self.about).get(name, ""))

    def html(self) -> str:
        """One self-contained page to read, print, sign and check."""
        from shiftdp.privacy.statement.page import page

        return page(self.fresh())

    def registry(self) -> dict[str, Any]:
        """The deployment in the fields of the public registry of deployments."""
        from shiftdp.privacy.statement.registry import registry_entry

        return registry_entry(self.fresh())

    def model_card(self) -> str:
        """A section of a model card, in Markdown."""
        from shiftdp.privacy.statement.model_card import model_card

        return model_card(self.fresh())

    def fresh(self) -> Statement:
        """This statement with the certificate as it is read from its JSON.

        A bound that is composed numerically is an interval, and what is read off it may differ in
        the fifth digit between the object that found it and the one that is read: whoever has the
        page has the latter.
        """
        return replace(self, certificate=type(self.certificate).from_json(self.certificate_text))

    def to_json(self) -> str:
        """Everything but the certificate, of which it has the digest."""
        document = {
            "format": FORMAT,
            "shiftdp": self.version,
            "date": self.day,
            "delta": self.delta,
            "certificate": self.certificate_digest,
            "model": None if self.model is None else vars(self.model),
            "ledger": None
            if self.ledger is None
            else {**vars(self.ledger), "rows": [vars(row) for row in self.ledger.rows]},
            "about": dict(self.about),
        }
        return json.dumps(document, allow_nan=False)


def statement_from(document: Mapping[str, Any], certificate: AnyCertificate) -> Statement:
    """The statement of which `to_json` wrote this, with its certificate."""
    model, ledger = document["model"], document["ledger"]
    lists = ("not_covered", "reasons")
    facts = {}
    if ledger is not None:
        facts = {**ledger, "rows": tuple(LedgerRow(**row) for row in ledger["rows"])}
    of_model: dict[str, Any] = {}
    for name, value in (model or {}).items():
        of_model[name] = tuple(value) if name in lists else value
    return Statement(
        certificate=certificate,
        delta=float(document["delta"]),
        day=document["date"],
        version=str(document["shiftdp"]),
        model=None if model is None else ModelFacts(**of_model),
        ledger=None if ledger is None else LedgerFacts(**facts),
        about=tuple(document["about"].items()),
    )


def ledger_facts(ledger: Ledger, certificate: AnyCertificate) -> LedgerFacts:
    """What a ledger holds, and which of its entries is this certificate."""
    terms, entries, own = ledger.terms, ledger.entries(), certificate.to_json()
    rows = [
        LedgerRow(
            number=entry.number,
            time=entry.time,
            label=entry.label,
            release=entry.release.description,
            times=entry.times,
            epsilon=entry.f.epsilon(terms.delta),
            source=entry.source,
            this=entry.certificate is not None and entry.certificate.to_json() == own,
        )
        for entry in entries[-_MOST_ENTRIES:]
    ]
    return LedgerFacts(
        epsilon=terms.epsilon,
        delta=terms.delta,
        spent=ledger.epsilon(),
        adaptive=terms.adaptive,
        head=ledger.head,
        count=len(entries),
        rows=tuple(rows),
    )


def _private(whole: AnyCertificate) -> bool:
    if isinstance(whole, Certificate):
        known = whole.training is None or whole.training.private
        return known and seeded_noise() not in whole.assumptions
    parts: tuple[AnyCertificate, ...] = runs_in(whole)
    if isinstance(whole, SelectionCertificate):
        parts = whole.candidates
    return whole.private and all(map(_private, parts))


def own_version() -> str:
    """The version of shiftdp; its home is the package, which is loaded by now."""
    return str(import_module("shiftdp").__version__)


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def require_about(name: str, text: object) -> None:
    if name not in ABOUT:
        known = ", ".join(ABOUT)
        raise InvalidInput("about", name, "is not one of the fields", f"give any of {known}")
    if not isinstance(text, str) or len(text) > _LONGEST:
        problem = f"is no text of at most {_LONGEST} characters"
        raise InvalidInput("about", name, problem, "give text")


def _require_day(day: str) -> None:
    try:
        known = date.fromisoformat(day).isoformat() == day
    except (ValueError, TypeError):
        known = False
    if not known:
        raise InvalidInput("date", day, "is no day", "give YYYY-MM-DD")
