"""The file of a ledger: one SQLite database that is only ever added to.

`entries` is the log. Each entry is a JSON text with the SHA-256 of the one before it; the columns
beside it are copies for looking things up. `documents` holds what entries refer to, by SHA-256.
Triggers refuse every change that is not the next entry.

Rollback journal, not WAL: what is committed is then in the one file, so that copying it cannot lose
a charge, and no shared memory is needed. The journal is truncated rather than deleted, which spares
the folder a change, and `synchronous=FULL` syncs journal, file and truncation before a commit
returns. A process that dies in a write leaves a journal from which the next one that opens the file
restores the state before.

A connection lives for one transaction. So there is nothing to pickle and, as `fork` waits for the
transaction of another thread to end, nothing for a child process to inherit.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiftdp._errors import InvalidInput, ShiftdpError, VerificationFailed
from shiftdp.privacy.ledger.errors import LedgerUnavailable
from shiftdp.privacy.ledger.release import digest_of

_APPLICATION = 0x73686470  # "shdp"
_VERSION = 1  # of the format of the file: others are refused
_OF_DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)

_SCHEMA = (
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
    "CREATE TABLE documents (digest TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL)",
    """CREATE TABLE entries (
        number INTEGER PRIMARY KEY NOT NULL,
        key TEXT UNIQUE,
        of INTEGER UNIQUE REFERENCES entries,
        factor TEXT REFERENCES documents,
        nth INTEGER,
        body TEXT NOT NULL,
        digest TEXT NOT NULL UNIQUE
    )""",
    "CREATE INDEX entries_factor ON entries (factor, nth) WHERE factor IS NOT NULL",
    *(
        f"CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
        for table in ("documents", "entries")
        for verb in ("UPDATE", "DELETE")
    ),
    # INSERT OR REPLACE deletes without asking the triggers above
    """CREATE TRIGGER documents_once BEFORE INSERT ON documents
        WHEN EXISTS (SELECT 1 FROM documents WHERE digest = NEW.digest)
        BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END""",
    """CREATE TRIGGER entries_in_turn BEFORE INSERT ON entries
        WHEN NEW.number IS NOT (SELECT coalesce(max(number) + 1, 0) FROM entries)
        OR EXISTS (SELECT 1 FROM entries
                   WHERE key = NEW.key OR of = NEW.of OR digest = NEW.digest)
        BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END""",
)

# Held during every transaction, and by a thread that forks: see the top of this file.
_GATE = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_GATE.acquire, after_in_parent=_GATE.release, after_in_child=_GATE.release
    )


@contextmanager
def undamaged(log: object) -> Iterator[None]:
    """Refuse a log, by its name, that this package did not write.

    Its entries are read as they stand, and a file may hold anything.
    """
    try:
        yield
    except ShiftdpError:
        raise
    except (*_OF_DAMAGE, RecursionError) as error:
        raise VerificationFailed(
            f"{log} is damaged: an entry lacks or misplaces {error}"
        ) from error


@dataclass(frozen=True)
class Record:
    """One entry of the log as it is stored."""

    text: str
    digest: str
    columns: tuple[object, ...] = ()

    @property
    def body(self) -> dict[str, Any]:
        """The entry as a dictionary; refused if its text was changed after it was written."""
        if digest_of(self.text) != self.digest:
            raise VerificationFailed(f"an entry was changed: {self.text[:60]!r}...")
        body: dict[str, Any] = json.loads(self.text)
        return body


@dataclass(frozen=True)
class Store:
    """The file, its transactions, and the few questions that are asked of it."""

    path: Path
    timeout: float

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction that sees one state of the log, whatever others write meanwhile."""
        with self._transaction("BEGIN", "rw") as transaction:
            transaction.require_ledger()
            yield transaction

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """The only transaction that writes; it is committed at the end of the block."""
        with self._transaction("BEGIN IMMEDIATE", "rw") as transaction:
            transaction.require_ledger()
            yield transaction

    @contextmanager
    def creating(self) -> Iterator[Transaction]:
        """`writing` for a file that may not exist yet; nothing is left if it is interrupted."""
        if not os.path.isdir(self.path.parent):
            raise InvalidInput("path", str(self.path), "has no folder", "make the folder first")
        with self._transaction("BEGIN IMMEDIATE", "rwc") as transaction:
            yield transaction

    @contextmanager
    def _transaction(self, begin: str, mode: str) -> Iterator[Transaction]:
        # a name that no file can have is no file either, for which pathlib would raise
        if mode == "rw" and not os.path.isfile(self.path):
            raise InvalidInput(
                "path", str(self.path), "is no file", "make one with Ledger.create(path, ...)"
            )
        with _GATE:
            try:
                with closing(self._connect(mode)) as connection:
                    connection.execute(begin)
                    yield Transaction(connection, self.path)
                    # without this line, closing rolls back
                    connection.execute("COMMIT")
            except sqlite3.DatabaseError as error:
                raise self._refusal(error) from error
            except UnicodeDecodeError as error:  # of a message that quotes the file
                raise InvalidInput(
                    "path", str(self.path), "is damaged: it is not text", "give another copy"
                ) from error

    def _connect(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            uri=True,
            timeout=self.timeout,
            isolation_level=None,
        )
        try:
            connection.execute("PRAGMA journal_mode = TRUNCATE")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:  # no database, or held by another
            connection.close()
            raise
        return connection

    def _refusal(self, error: sqlite3.DatabaseError) -> Exception:
        path, text = str(self.path), str(error)
        if "locked" in text or "busy" in text:
            return LedgerUnavailable(
                path,
                f"was held by another process for more than {self.timeout:g} s",
                "nothing was written: try again, or open it with a longer timeout",
            )
        if "not a database" in text:
            return InvalidInput("path", path, "is not a ledger", "give the file of one")
        return LedgerUnavailable(path, f"cannot be used ({text})", "nothing was written")


@dataclass(frozen=True)
class Transaction:
    """What can be read and added while the file is held."""

    connection: sqlite3.Connection
    path: Path

    def is_empty(self) -> bool:
        return bool(self._one("SELECT count(*) FROM sqlite_master")[0] == 0)

    def require_ledger(self) -> None:
        known = self._one("PRAGMA application_id")[0], self._one("PRAGMA user_version")[0]
        if known != (_APPLICATION, _VERSION):
            raise InvalidInput(
                "path",
                str(self.path),
                "is not a ledger of this version",
                "give the file of one, or make it with Ledger.create(path, ...)",
            )

    def make_tables(self) -> None:
        for statement in _SCHEMA:
            self.connection.execute(statement)

    def first(self) -> Record:
        return Record(*self._one("SELECT body, digest FROM entries WHERE number = 0"))

    def head(self) -> Record:
        query = "SELECT body, digest FROM entries ORDER BY number DESC LIMIT 1"
        return Record(*self._one(query))

    def records(self) -> list[Record]:
        query = "SELECT body, digest, number, key, of, factor, nth FROM entries ORDER BY number"
        return [Record(row[0], row[1], row[2:]) for row in self.connection.execute(query)]

    def numbered(self, number: int) -> Record | None:
        return self._record("SELECT body, digest FROM entries WHERE number = ?", number)

    def keyed(self, key: str) -> Record | None:
        return self._record("SELECT body, digest FROM entries WHERE key = ?", key)

    def completion(self, number: int) -> Record | None:
        return self._record("SELECT body, digest FROM entries WHERE of = ?", number)

    def factors(self) -> list[tuple[str, str, int]]:
        """Digest, text and count of every tradeoff function that is not Gaussian.

        A count is in the last entry of its factor, which the index finds at once.
        """
        query = """
            WITH RECURSIVE known(factor) AS (
                SELECT (SELECT min(factor) FROM entries WHERE factor IS NOT NULL)
                UNION ALL
                SELECT (SELECT min(factor) FROM entries WHERE factor > known.factor)
                FROM known WHERE factor IS NOT NULL)
            SELECT known.factor, documents.text,
                   (SELECT max(nth) FROM entries WHERE entries.factor = known.factor)
            FROM known JOIN documents ON documents.digest = known.factor"""
        return list(self.connection.execute(query))

    def documents(self) -> dict[str, str]:
        return dict(self.connection.execute("SELECT digest, text FROM documents").fetchall())

    def integrity(self) -> str:
        return str(self._one("PRAGMA integrity_check")[0])

    def add_document(self, text: str) -> str:
        digest = digest_of(text)
        known = "SELECT text FROM documents WHERE digest = ?"
        row = self.connection.execute(known, (digest,)).fetchone()
        if row is None:
            self.connection.execute("INSERT INTO documents VALUES (?, ?)", (digest, text))
        elif row[0] != text:
            raise VerificationFailed(f"document {digest[:12]} was changed")
        return digest

    def add(self, body: dict[str, Any]) -> Record:
        text = json.dumps(body)
        record = Record(text, digest_of(text), columns_of(body))
        self.connection.execute(
            "INSERT INTO entries (number, key, of, factor, nth, body, digest) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*record.columns, record.text, record.digest),
        )
        return record

    def _one(self, query: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] | None = self.connection.execute(query).fetchone()
        if row is None:
            raise VerificationFailed(f"{self.path} has lost its entries")
        return row

    def _record(self, query: str, value: object) -> Record | None:
        row = self.connection.execute(query, (value,)).fetchone()
        return None if row is None else Record(*row)


def columns_of(body: dict[str, Any]) -> tuple[object, ...]:
    """The copies of an entry's fields that are stored beside it."""
    return tuple(body.get(name) for name in ("number", "key", "of", "factor", "nth"))
