"""Model files and ledgers that are damaged, or forged with a digest that fits."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from functools import cache
from typing import Any

import numpy as np
from sklearn.exceptions import InconsistentVersionWarning

from shiftdp import Ledger
from shiftdp.sklearn import load_model, save_model
from shiftdp.training.model_file.archive import digest_of, pack, unpack
from tests.fuzz.choices import Choices
from tests.fuzz.limits import refusals_allowed, require, require_number
from tests.fuzz.mutation import damaged, edited, text_of
from tests.fuzz.texts import folder, in_file, ledger_file


@cache
def models() -> tuple[bytes, ...]:
    from tests.training.model_file.examples import example

    path, found = folder() / "seed.shiftdp", []
    for kind in ("logistic", "huber", "table"):
        save_model(example(kind).model, path)
        found.append(path.read_bytes())
    return tuple(found)


def read_model(content: bytes) -> None:
    """Another version of scikit-learn is warned of, as scikit-learn does."""
    warnings.simplefilter("ignore", InconsistentVersionWarning)
    model: Any = load_model(in_file("model.shiftdp", content))
    last = model[-1] if hasattr(model, "steps") else model
    require_number(last.certificate_.epsilon(1e-5), "epsilon")
    require(bool(np.isfinite(last.coef_).all()), "weights that are no numbers")


def try_model(data: bytes) -> None:
    read_model(damaged(Choices(data), models()))


def try_forged_model(data: bytes) -> None:
    """One member edited, and the digest made anew."""
    choices = Choices(data)
    members = unpack(choices.pick(models()))
    name = choices.pick([name for name in members if name != "digest.txt"])
    if name.endswith(".json") and choices.below(4):
        document = edited(choices, json.loads(members[name]))
        members[name] = f"{text_of(document)}\n".encode("utf-8", "replace")
    else:
        members[name] = damaged(choices, [members[name]])
    rest = {name: part for name, part in members.items() if name != "digest.txt"}
    read_model(pack({**rest, "digest.txt": f"{digest_of(rest)}\n".encode()}))


def read_ledger(content: bytes) -> None:
    """A file that verifies has numbers that are numbers; whatever it is, questions end in ours."""
    in_file("study.db-journal", b"")
    ledger = Ledger(in_file("study.db", content), timeout=0.1)
    for question in (ledger.verify, ledger.entries, ledger.to_json):
        with refusals_allowed():
            question()
    require_number(ledger.epsilon(), "epsilon")


def try_ledger(data: bytes) -> None:
    choices = Choices(data)
    if choices.below(2):
        read_ledger(damaged(choices, [ledger_file()]))
    else:
        read_ledger(_rewritten(choices))


def _rewritten(choices: Choices) -> bytes:
    """A field of some row replaced, or a row removed, by SQL."""
    path = in_file("rewritten.db", ledger_file())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        objects = connection.execute("SELECT name, type FROM sqlite_master").fetchall()
        for name, kind in objects:
            if kind == "trigger":
                connection.execute(f'DROP TRIGGER "{name}"')
        table = choices.pick([name for name, kind in objects if kind == "table"])
        columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
        rows = [row[0] for row in connection.execute(f'SELECT rowid FROM "{table}"')]
        row, column = choices.pick(rows), choices.pick(columns)
        (old,) = connection.execute(
            f'SELECT "{column}" FROM "{table}" WHERE rowid = ?', (row,)
        ).fetchone()
        new: Any = choices.pick((None, 0, -1, 2**62, 1.5, "", "x", b"\0\xff", "NaN"))
        if isinstance(old, str) and old.startswith("{") and choices.below(2):
            new = text_of(edited(choices, json.loads(old))).encode("utf-8", "replace").decode()
        elif isinstance(old, str) and choices.below(2):
            new = damaged(choices, [old.encode()]).decode("utf-8", "replace")
        try:
            if choices.chance(6):
                connection.execute(f'DELETE FROM "{table}" WHERE rowid = ?', (row,))
            else:
                connection.execute(
                    f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (new, row)
                )
        except sqlite3.DatabaseError:  # a constraint of the table
            pass
    with open(path, "rb") as file:
        return file.read()


RAW: dict[str, tuple[Callable[[bytes], None], Callable[[], tuple[bytes, ...]]]] = {
    "model": (read_model, models),
    "ledger": (read_ledger, lambda: (ledger_file(),)),
}
"""Readers of whole files, for fuzzers that write the file themselves, with valid ones."""
