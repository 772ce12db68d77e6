"""Claim: 8 processes that append 200 entries each to one ledger are done in seconds.

Beside it the floor: the same processes insert rows of the same size into a bare SQLite table, with
the same locking and the same syncs, and check nothing. Both wait for the disk above all, so the
figures are those of the disk at hand, on the clock. Run by itself, the file also has what one
append costs when the log is long, and when the releases are not Gaussian.

    python benchmarks/ledger.py
"""

from __future__ import annotations

import multiprocessing
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from _timing import print_table
from wall import Claim, Limit, Reads, same, show

from shiftdp import Certificate, Geometry, NoisyCGD, NoisyGD, certify
from shiftdp.privacy import Ledger

CLAIM = 60.0
WRITERS, EACH = 8, 200
GEOMETRY = Geometry(strong_convexity=1.0, smoothness=10.0, sensitivity=2.0)


def certificate() -> Certificate:
    return certify(NoisyGD(n=100, steps=20, learning_rate=0.1, noise=1.0), GEOMETRY)


def shuffled() -> Certificate:
    run = NoisyCGD(
        n=100, batch_size=20, epochs=10, learning_rate=0.1, noise=3.0, order="reshuffled"
    )
    return certify(run, GEOMETRY)


def append(ledger: Ledger, start: float) -> None:
    proof = certificate()
    wait_until(start)
    for _ in range(EACH):
        ledger.reserve(proof)


def insert(path: Path, start: float) -> None:
    wait_until(start)
    for _ in range(EACH):
        with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = TRUNCATE")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO t VALUES (?)", ("x" * 600,))
            connection.execute("COMMIT")


def wait_until(start: float) -> None:
    time.sleep(max(0.0, start - time.time()))


def at_once(work: Callable[..., None], target: object, writers: int) -> float:
    """Seconds from when all processes are ready until the last has ended."""
    context = multiprocessing.get_context("spawn")
    start = time.time() + 8.0
    processes = [context.Process(target=work, args=(target, start)) for _ in range(writers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return time.time() - start


def one_by_one(ledger: Ledger, proof: Certificate, number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        ledger.reserve(proof)
    return time.perf_counter() - start


def claims(full: bool) -> Iterator[Claim]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def bare() -> tuple[float, int]:
            path = folder / "bare"
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("CREATE TABLE t (x)")
            spent = at_once(insert, path, WRITERS)
            with closing(sqlite3.connect(path)) as connection:
                return spent, int(connection.execute("SELECT count(*) FROM t").fetchone()[0])

        def kept() -> tuple[float, int]:
            ledger = Ledger.create(folder / "ledger", epsilon=50.0, delta=1e-5)
            spent = at_once(append, ledger, WRITERS)
            ledger.verify()
            return spent, len(ledger.entries())

        found = kept()
        what = f"{WRITERS} processes append {EACH} entries each to one ledger, on the clock"
        for name_, other in (
            ("SQLite", Reads("bare rows of SQLite, nothing checked", bare)),
            ("limit", Limit("limit", CLAIM, WRITERS * EACH)),
        ):
            yield Claim(
                name=f"ledger/{name_}",
                what=what,
                ours=Reads("ledger", lambda: found),
                other=other,
                agree=same(),
                accuracy="all entries are there",
                kind="limit" if name_ == "limit" else "floor",
                goal=1.0 if name_ == "limit" else None,
                rounds=1,
            )


def main() -> None:
    show(claims(full=False))
    print()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for writers in (1, WRITERS):
            bare = folder / f"bare-{writers}"
            with closing(sqlite3.connect(bare)) as connection:
                connection.execute("CREATE TABLE t (x)")
            ledger = Ledger.create(folder / f"ledger-{writers}", epsilon=50.0, delta=1e-5)
            for label, work, target in (("bare", insert, bare), ("ledger", append, ledger)):
                spent = at_once(work, target, writers)
                rows.append((f"{label}, {writers} x {EACH}", spent, writers * EACH))
        assert len(ledger.entries()) == WRITERS * EACH
        ledger.verify()
        rows.append(("ledger, at 1,600 entries", one_by_one(ledger, certificate(), 50), 50))
        other = Ledger.create(folder / "other", epsilon=50.0, delta=1e-5)
        rows.append(("ledger, not Gaussian", one_by_one(other, shuffled(), 200), 200))
    print_table(
        ("", "seconds", "ms an append"),
        [(label, f"{spent:.2f}", f"{spent / number * 1e3:.2f}") for label, spent, number in rows],
    )


if __name__ == "__main__":
    main()
