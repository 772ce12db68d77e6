"""A log is replayed from its first entry to its last: whatever was changed is found."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import pytest

from shiftdp import (
    GaussianTradeoff,
    InvalidInput,
    ShiftdpError,
    VerificationFailed,
)
from shiftdp.privacy import Ledger
from shiftdp.privacy.ledger.release import digest_of
from shiftdp.privacy.ledger.store import columns_of
from tests.privacy.ledger.examples import DELTA, filled, mu_of
from tests.privacy.ledger.workers import certificate


def tamper(ledger: Ledger, *statements: str, rows: Iterable[tuple[object, ...]] = ()) -> None:
    """As somebody would who knows SQLite; `rows` are entries to be written over."""
    connection = sqlite3.connect(ledger.path)
    triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    for (name,) in triggers.fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for row in rows:
        connection.execute("REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("UPDATE entries SET body = replace(body, 'first', 'worst') WHERE number = 1", "changed"),
        ("UPDATE entries SET body = replace(body, '\"times\": 2', '\"times\": 1')", "changed"),
        ("UPDATE documents SET text = replace(text, 'certified', 'declared')", "changed"),
        ("DELETE FROM entries WHERE number = 1", "number is not the next"),
        ("UPDATE entries SET nth = 1 WHERE number = 3", "columns"),
        ("UPDATE entries SET key = NULL WHERE number = 4", "columns"),
        ("DELETE FROM entries", "empty"),
    ],
)
def test_what_was_changed_is_found(ledger: Ledger, statement: str, complaint: str) -> None:
    filled(ledger)
    ledger.verify()
    tamper(ledger, statement)
    with pytest.raises(VerificationFailed, match=complaint):
        ledger.verify()


def rewrite(ledger: Ledger, number: int, **changes: object) -> None:
    """Change an entry, its columns, and every hash after it, as a forger would."""
    with ledger._store.reading() as log:
        bodies = [record.body for record in log.records()]
    bodies[number].update(changes)
    rows, previous = [], ""
    for body in bodies:
        body["previous"] = previous
        text = json.dumps(body)
        previous = digest_of(text)
        rows.append((*columns_of(body), text, previous))
    tamper(ledger, rows=rows)


@pytest.mark.parametrize(
    ("number", "changes", "complaint"),
    [
        (1, {"square": "0"}, r"entry 1: the sum of mu\^2 is wrong"),
        (3, {"times": 1}, "entry 3: the count is wrong"),
        (3, {"times": 0, "nth": 0}, "entry 3: it is not charged"),
        (3, {"nth": 1}, "entry 3: the count is wrong"),
        (3, {"factor": None, "nth": None}, "entry 3: another tradeoff function"),
        (1, {"event": "remark"}, "entry 1: the event is not known"),
        (2, {"of": 3}, "entry 2: what it completes"),
        (0, {"epsilon": 0.1}, "the budget is exceeded"),
        (0, {"adjacency": "zero_out"}, "a release cannot be read"),
        (0, {"adaptive": True}, "entry 3: it is not Gaussian"),
        (0, {"format": "other"}, "entry 0: the format"),
        (1, {"release": "0" * 64}, "misplaces"),
    ],
)
def test_sums_and_budgets_are_replayed(
    ledger: Ledger, number: int, changes: dict[str, object], complaint: str
) -> None:
    filled(ledger)
    rewrite(ledger, number)
    ledger.verify()  # the same hashes again
    rewrite(ledger, number, **changes)
    with pytest.raises(VerificationFailed, match=complaint):
        ledger.verify()


def test_a_forged_certificate_in_the_file_is_found(ledger: Ledger) -> None:
    """The whole file rewritten around a certificate that states half its mu."""
    cert = certificate(0.5)
    forged = replace(cert, f=GaussianTradeoff(mu_of(cert) / 2))
    ledger.reserve(cert)
    document = f'{{"source": "certified", "certificate": {forged.to_json()}}}'
    tamper(
        ledger,
        f"INSERT INTO documents VALUES ('{digest_of(document)}', '{document}')",
    )
    square = str(Fraction(mu_of(forged)) ** 2)
    rewrite(ledger, 1, release=digest_of(document), square=square)
    assert ledger.epsilon() < cert.epsilon(DELTA)
    with pytest.raises(VerificationFailed, match="mu"):
        ledger.verify()


def test_a_lost_end_is_found_by_a_noted_head(ledger: Ledger) -> None:
    filled(ledger)
    noted = ledger.head
    ledger.verify(head=noted)
    ledger.reserve(certificate())
    ledger.verify(head=noted)
    tamper(ledger, "DELETE FROM entries WHERE number >= 4")
    ledger.verify()
    with pytest.raises(VerificationFailed, match="its end was cut off"):
        ledger.verify(head=noted)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM documents",
        "UPDATE entries SET nth = 1.5 WHERE factor IS NOT NULL",
        "UPDATE entries SET nth = 'many' WHERE factor IS NOT NULL",
        "UPDATE entries SET nth = -1 WHERE factor IS NOT NULL",
        "UPDATE entries SET body = x'00ff' WHERE number = 1",
        "UPDATE documents SET digest = x'00ff' WHERE rowid = 1",
        "UPDATE documents SET text = x'00ff'",
    ],
)
def test_no_question_about_a_damaged_file_ends_in_another_error(
    ledger: Ledger, statement: str
) -> None:
    """Found by fuzzing: KeyError, AttributeError, TypeError and UnicodeDecodeError came through."""
    filled(ledger)
    tamper(ledger, "PRAGMA foreign_keys = OFF", statement)
    with pytest.raises(VerificationFailed):
        ledger.verify()
    answered = 0
    for question in (ledger.entries, ledger.epsilon, ledger.to_json, ledger.remaining_mu):
        with suppress(ShiftdpError):
            question()
            answered += 1
    assert answered < 4


def test_a_forged_first_entry_is_refused(ledger: Ledger) -> None:
    text = json.dumps({"number": 0})
    row = (0, None, None, None, None, text, digest_of(text))
    tamper(ledger, rows=[row])
    with pytest.raises(VerificationFailed, match="lacks or misplaces 'epsilon'"):
        _ = ledger.terms
    with pytest.raises(VerificationFailed, match="is damaged"):
        Ledger(ledger.path)


@pytest.mark.parametrize(
    "text",
    [
        '{"entries": [], "documents": {"a": true}, "head": ""}',
        '{"entries": [{"text": true, "digest": ""}], "documents": {}, "head": ""}',
        '{"entries": [{"text": "x", "digest": ""}], "documents": {"a": "\\ud800"}, "head": ""}',
        "[" * 100_000,
        '{"entries": ' + "[" * 500 + "]" * 500 + "}",
    ],
)
def test_no_export_ends_in_another_error(text: str) -> None:
    with pytest.raises((InvalidInput, VerificationFailed)):
        Ledger.verify_json(text)
