"""The file of a ledger: it is only added to, quickly, and what is no ledger is left alone."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from shiftdp import (
    InvalidInput,
    ShiftdpError,
)
from shiftdp.privacy import Ledger, LedgerUnavailable
from tests.privacy.ledger.examples import DELTA, filled
from tests.privacy.ledger.workers import certificate


def test_an_append_does_not_go_through_the_log(ledger: Ledger) -> None:
    """Every question that it asks is answered from an index."""
    filled(ledger)
    queries: list[str] = []
    with ledger._store.reading() as log:
        log.connection.set_trace_callback(queries.append)
        log.first()
        log.head()
        log.keyed("k")
        log.completion(1)
        log.factors()
        log.connection.set_trace_callback(None)
        plans = [
            str(row[3])
            for query in queries
            for row in log.connection.execute(f"EXPLAIN QUERY PLAN {query}")
        ]
    through = [plan for plan in plans if plan.startswith("SCAN entries")]
    assert through == ["SCAN entries"]  # for the head: from the end, and one row of it
    assert "LIMIT 1" in queries[1]
    assert [plan for plan in plans if "entries_factor" in plan]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = '{}' WHERE number = 1",
        "UPDATE documents SET text = ''",
        "DELETE FROM entries WHERE number = 4",
        "DELETE FROM documents",
        "INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE number = 1",
        "INSERT OR REPLACE INTO documents SELECT * FROM documents",
        "INSERT INTO entries (number, body, digest) VALUES (17, '{}', 'x')",
        "INSERT OR REPLACE INTO entries (number, key, body, digest) VALUES (5, 'k', '{}', 'x')",
        "INSERT OR REPLACE INTO entries (number, of, body, digest) VALUES (5, 1, '{}', 'x')",
    ],
)
def test_it_is_only_added_to(ledger: Ledger, statement: str) -> None:
    filled(ledger)
    before = ledger.to_json()
    connection = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match="a ledger is only added to"):
        connection.execute(statement)
    connection.close()
    assert ledger.to_json() == before


def test_a_file_that_is_refused_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text").write_text("no database at all, but long enough to be looked at " * 20)
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def recorded(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", recorded)
    with pytest.raises(InvalidInput, match="is not a ledger"):
        Ledger(tmp_path / "text")
    (connection,) = opened
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_opening_what_is_no_ledger(tmp_path: Path, ledger: Ledger) -> None:
    with pytest.raises(InvalidInput, match="is no file"):
        Ledger(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
    (tmp_path / "text").write_text("no database at all, but long enough to be looked at " * 20)
    other = sqlite3.connect(tmp_path / "database")
    other.execute("CREATE TABLE t (x)")
    other.commit()
    other.close()
    (tmp_path / "empty").touch()
    for name in ("text", "database", "empty"):
        with pytest.raises(InvalidInput, match="is not a ledger"):
            Ledger(tmp_path / name)
    for name in ("text", "database"):
        with pytest.raises(InvalidInput, match="is not a ledger"):
            Ledger.create(tmp_path / name, epsilon=1.0, delta=DELTA)
    with pytest.raises(InvalidInput, match="is a ledger already"):
        Ledger.create(ledger.path, epsilon=9.0, delta=DELTA)
    assert Ledger(str(ledger.path)) == ledger
    with pytest.raises(InvalidInput, match="has no folder"):
        Ledger.create(tmp_path / "no" / "folder", epsilon=1.0, delta=DELTA)
    with pytest.raises(InvalidInput, match="is no path"):
        Ledger(3)  # type: ignore[arg-type]


def test_a_lost_file_is_not_made_anew(ledger: Ledger) -> None:
    ledger.path.unlink()
    with pytest.raises(InvalidInput, match="is no file"):
        ledger.reserve(certificate())
    assert not ledger.path.exists()


def test_a_damaged_file_is_reported(ledger: Ledger) -> None:
    filled(ledger)
    data = bytearray(ledger.path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    ledger.path.write_bytes(data)
    with pytest.raises(LedgerUnavailable, match="cannot be used"):
        ledger.reserve(certificate())


def test_names_with_odd_characters(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a b?mode=ro#1%20é'", epsilon=1.0, delta=DELTA)
    ledger.reserve(certificate(), label='it\'s "quoted" é\n', key="k'")
    assert Ledger(ledger.path).entries()[0].label == 'it\'s "quoted" é\n'
    ledger.verify()


def test_names_that_no_file_can_have_are_no_files(tmp_path: Path) -> None:
    """Found by fuzzing: OSError and ValueError came through."""
    for name in ("x" * 300, "nul\0"):
        with pytest.raises(InvalidInput, match="is no file"):
            Ledger(tmp_path / name)
    with pytest.raises(LedgerUnavailable, match="cannot be used"):
        Ledger.create(tmp_path / ("x" * 300), epsilon=1.0, delta=DELTA)


def test_a_message_of_sqlite_that_is_no_text_is_not_passed_on(ledger: Ledger) -> None:
    filled(ledger)
    data = ledger.path.read_bytes()
    place = data.index(b"entries_in_turn")
    ledger.path.write_bytes(data[:place] + b"\xac" + data[place + 1 :])
    with suppress(ShiftdpError):
        ledger.verify()
