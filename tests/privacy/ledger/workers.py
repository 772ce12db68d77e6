"""What runs in other processes while a ledger is tested."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from shiftdp import Certificate, Geometry, NoisyGD, certify
from shiftdp.privacy import BudgetExceeded, Ledger

__all__ = ["GEOMETRY", "append_many", "certificate", "charge", "hold"]

GEOMETRY = Geometry(strong_convexity=1.0, smoothness=10.0, sensitivity=2.0)


def certificate(noise: float = 1.0, n: int = 100) -> Certificate:
    return certify(NoisyGD(n=n, steps=20, learning_rate=0.1, noise=noise), GEOMETRY)


def append_many(
    ledger: Ledger, name: str, first: int, last: int, receipts: Path, pause: int | None = None
) -> None:
    """Append entries `first` to `last` - 1, and write down each one that returned.

    A receipt is written after the append returned, so no receipt may be without its entry. At
    `pause` it stops for good, to be killed: if not before, then here.
    """
    proof = certificate()
    with receipts.open("a", buffering=1) as file:
        for i in range(first, last):
            if i == pause:
                threading.Event().wait()
            try:
                entry = ledger.reserve(proof, label=name, key=f"{name}/{i}")
            except BudgetExceeded:
                file.write(f"{i} refused\n")
                continue
            file.write(f"{i} {entry.number}\n")


def charge(ledger: Ledger) -> int:
    """One append, in whichever process."""
    ledger.reserve(certificate(), label=str(os.getpid()))
    return os.getpid()


def hold(path: str, ready: Any, release: Any) -> None:
    """Keep the file locked, as a writer that hangs does."""
    import sqlite3

    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    ready.set()
    release.wait()
    connection.close()
