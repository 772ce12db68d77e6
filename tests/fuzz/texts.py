"""Readers of texts that others wrote: certificates, ledgers, schemas, statements, options."""

from __future__ import annotations

import atexit
import json
import math
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import click

from shiftdp import Certificate, Ledger, ShiftdpError
from shiftdp._strict_json import Malformed, parse
from shiftdp.last_iterate.serialisation import tradeoff_from_json, tradeoff_to_json
from shiftdp.privacy.selection.kinds import certificate_in
from shiftdp.privacy.statement import read_statement
from shiftdp.training.preparation.schema import read_schema
from shiftdp.ui.options import read_config
from tests.fuzz.choices import Choices
from tests.fuzz.limits import require, require_number
from tests.fuzz.mutation import damaged, edited, text_of

SHORT = 20_000
"""Characters of the valid texts that are edited: longer ones have nothing new in them."""


@cache
def folder() -> Path:
    """Where inputs become files: the same for all of them, in memory if the machine has that."""
    memory = Path("/dev/shm")
    found = mkdtemp(prefix="shiftdp-fuzz-", dir=memory if memory.is_dir() else None)
    atexit.register(shutil.rmtree, found, ignore_errors=True)
    return Path(found)


def in_file(name: str, content: bytes) -> str:
    path = folder() / name
    path.write_bytes(content)
    return str(path)


# --- certificates ---


@cache
def certificates() -> tuple[str, ...]:
    from tests.last_iterate.every_kind import CERTIFICATES
    from tests.privacy.statement.examples import certificates as every

    texts = {cert.to_json() for cert in (*CERTIFICATES.values(), *every().values())}
    return tuple(sorted((text for text in texts if len(text) < SHORT), key=len))


@cache
def _documents() -> tuple[Any, ...]:
    return tuple(json.loads(text) for text in certificates())


def read_certificate(content: bytes) -> None:
    """Whatever is read and holds has numbers that are numbers, in order, and stays what it is."""
    try:
        cert = certificate_in(content.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError:
        return
    cert.verify()
    tight, loose = cert.epsilon(1e-6), cert.epsilon(1e-3)
    require_number(tight, "epsilon")
    require(loose <= tight * 1.03 + 1e-12, "epsilon grows with delta", tight, loose)
    if isinstance(cert, Certificate):
        again = Certificate.from_json(cert.to_json())
        require(again == cert, "its file is of another certificate")


def try_certificate_text(data: bytes) -> None:
    read_certificate(damaged(Choices(data), [text.encode() for text in certificates()]))


def try_certificate_edit(data: bytes) -> None:
    choices = Choices(data)
    read_certificate(text_of(edited(choices, choices.pick(_documents()))).encode())


# --- JSON, and tradeoff functions in it ---


def read_json(content: bytes) -> None:
    """What the strict reader admits, Python's reads too, as the same."""
    text = content.decode("utf-8", "replace")
    try:
        value = parse(text)
    except Malformed as error:
        require(len(str(error)) < 200, "a long error", error)
        return
    require(_plain(value), "no plain value")
    require(value == json.loads(text), "read in another way")


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_plain, value.values()))
    if isinstance(value, list):
        return all(map(_plain, value))
    return not isinstance(value, float) or math.isfinite(value)


def try_json(data: bytes) -> None:
    choices = Choices(data)
    if choices.below(2):
        read_json(damaged(choices, [text[:600].encode() for text in certificates()[:8]]))
    else:
        read_json(damaged(choices, [b'{"a": [1, 2.5, "x", null], "b": {"c": -1e-5}}', b"[]", b"1"]))


@cache
def _tradeoffs() -> tuple[Any, ...]:
    found = {text_of(document["tradeoff"]) for document in _documents() if "tradeoff" in document}
    return tuple(json.loads(text) for text in sorted(found) if len(text) < 2_000)


def try_tradeoff_text(data: bytes) -> None:
    choices = Choices(data)
    f = tradeoff_from_json(text_of(edited(choices, choices.pick(_tradeoffs()))))
    require_number(f.delta(1.0), "delta", 0.0, 1.0)
    require(tradeoff_from_json(tradeoff_to_json(f)) == f, "its text is of another function")


# --- exports of ledgers ---


@cache
def ledger_file() -> bytes:
    from tests.privacy.ledger.examples import filled

    path = folder() / "seed.db"
    ledger = Ledger.create(path, epsilon=50.0, delta=1e-5)
    filled(ledger)
    return path.read_bytes()


@cache
def exported() -> str:
    ledger_file()
    return Ledger(folder() / "seed.db").to_json()


def read_export(content: bytes) -> None:
    Ledger.verify_json(content.decode("utf-8", "surrogateescape"))


def try_export(data: bytes) -> None:
    choices = Choices(data)
    if choices.below(2):
        read_export(damaged(choices, [exported().encode()]))
        return
    document = json.loads(exported())
    if choices.below(2):  # an entry in step with its digest, as a forger writes it
        import hashlib

        entry = choices.pick(document["entries"])
        entry["text"] = text_of(edited(choices, json.loads(entry["text"])))
        entry["digest"] = hashlib.sha256(entry["text"].encode()).hexdigest()
        document["head"] = document["entries"][-1]["digest"]
    else:
        document = edited(choices, document)
    read_export(text_of(document).encode())


# --- schemas ---

_SCHEMA = {
    "target": "bad",
    "missing": ["NA", "?"],
    "classes": ["no", "yes"],
    "columns": {
        "age": {"kind": "number", "low": 18, "high": 100.5},
        "city": {"kind": "category"},
        "size": {"kind": "category", "categories": ["S", "M", 3]},
        "member": {"kind": "true_false"},
    },
}
_TOML = b"""target = "bad"
missing = ["NA", "?"]
[columns.age]
kind = "number"
low = 18
high = 100.5
[columns.city]
kind = "category"
categories = ["a", "b"]
[columns.member]
kind = "true_false"
"""


def read_toml_schema(content: bytes) -> None:
    _require_schema(in_file("schema.toml", content))


def read_json_schema(content: bytes) -> None:
    _require_schema(in_file("schema.json", content))


def _require_schema(path: str) -> None:
    schema = read_schema(path)
    require(type(schema).from_dict(schema.to_dict()) == schema, "a schema that changes", schema)


def try_schema(data: bytes) -> None:
    choices = Choices(data)
    match choices.below(3):
        case 0:
            read_toml_schema(damaged(choices, [_TOML]))
        case 1:
            read_json_schema(damaged(choices, [json.dumps(_SCHEMA).encode()]))
        case _:
            read_json_schema(text_of(edited(choices, _SCHEMA)).encode())


# --- files of options ---

_CONFIG = b"""kind = "cgd"
n = 60_000
batch_size = 1_500
epochs = 50
learning_rate = [0.05, 0.04]
noise = 0.01
strong_convexity = 0.002
smoothness = 32.502
sensitivity = 10.0
"""


def read_options(content: bytes) -> None:
    from shiftdp.ui.commands.account import command

    try:
        found = read_config(click.Context(command, info_name="account"), in_file("c.toml", content))
    except click.UsageError:
        return
    require(isinstance(found, dict), "no options")


def try_options(data: bytes) -> None:
    read_options(damaged(Choices(data), [_CONFIG]))


# --- statements ---


@cache
def pages() -> tuple[bytes, ...]:
    from shiftdp.privacy.statement import statement_of
    from tests.privacy.statement.examples import DAY
    from tests.privacy.statement.examples import certificates as every

    names = ("gd", "poisson", "pipeline", "releases")
    return tuple(statement_of(every()[name], date=DAY).html().encode() for name in names)


def read_page(content: bytes) -> None:
    """A page is what we wrote, or refused; one whose words are not compared has a true number."""
    text = content.decode("utf-8", "replace")
    try:
        read_statement(text)
        return
    except ShiftdpError as error:
        require(len(str(error)) < 600, "a long error", error)
    found = read_statement(text, compare=False)
    require_number(found.certificate.epsilon(1e-5), "epsilon")


def try_page(data: bytes) -> None:
    choices = Choices(data)
    page = choices.pick(pages())
    if choices.below(2):
        read_page(damaged(choices, [page]))
        return
    text = page.decode()  # what it was made from, edited
    start = text.index(">", text.index('id="statement"')) + 1
    end = text.index("</script>", start)
    inner = text_of(edited(choices, json.loads(text[start:end]))).replace("<", "\\u003c")
    read_page(f"{text[:start]}{inner}{text[end:]}".encode("utf-8", "replace"))


RAW: dict[str, tuple[Callable[[bytes], None], Callable[[], tuple[bytes, ...]]]] = {
    "certificate": (read_certificate, lambda: tuple(t.encode() for t in certificates())),
    "json": (read_json, lambda: tuple(t[:600].encode() for t in certificates()[:8])),
    "export": (read_export, lambda: (exported().encode(),)),
    "schema_toml": (read_toml_schema, lambda: (_TOML,)),
    "schema_json": (read_json_schema, lambda: (json.dumps(_SCHEMA).encode(),)),
    "options": (read_options, lambda: (_CONFIG,)),
    "page": (read_page, pages),
}
"""Readers of whole files, for fuzzers that write the file themselves, with valid ones."""
