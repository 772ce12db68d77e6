"""The program with any words: known commands and options, with values that fit and others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
from click.testing import CliRunner

from shiftdp.ui.main import program
from tests.fuzz.choices import Choices
from tests.fuzz.limits import Broken, require
from tests.fuzz.mutation import damaged
from tests.fuzz.texts import folder
from tests.ui.every_command import commands
from tests.ui.shell import put_files

_SMALL: dict[str, tuple[str, ...]] = {
    "reproduce": ("--data", "nowhere"),
    "audit exact": ("--theorem", "Theorem B1"),
    "audit trainer": ("--only", "full batches", "--runs", "8"),
    "audit model": ("--canaries", "3", "--runs", "8"),
}
"""What keeps long commands short, unless an option that comes later says otherwise. `reproduce`
ends where it reads its data; `explore` is stopped as soon as it serves (`_stopped_at_once`)."""
_SLOW = ("demo", "audit", "audit trainer", "audit exact")
"""Commands that take seconds even so: most of their inputs end where options are parsed."""
_NUMBERS = (
    "1", "10", "0.5", "100", "1e-5", "0", "-1", "nan", "inf", "1e400", "1e-400", "", " ", "x",
    "0x10", "1_000", "1,2", "0.1:1:3", "1:2:3:log", "0.05", "2", "30:3", "1e40", "9" * 30, "٣",
    "1e5",
)  # fmt: skip
_WORDS = (
    "gd", "cgd", "sgd", "stream", "langevin", "exponential", "noise", "epochs", "poisson", "fixed",
    "shuffled_once", "reshuffled", "zero_out", "all", "y", "0,1", "best", "paper", "\u202e", "a\nb",
    "--", "-", "--json", "-h", "\udcff", "x" * 300, "epsilon", "bad,option", "diameter",
)  # fmt: skip
_SETTING = (
    "--n", "600", "--batch-size", "20", "--epochs", "3", "--learning-rate", "0.05",
    "--noise", "0.1", "--strong-convexity", "0.1", "--smoothness", "10", "--sensitivity", "1",
)  # fmt: skip


@cache
def _place() -> Path:
    """A folder with a file of every kind that the commands read."""
    found = folder() / "place"
    found.mkdir(exist_ok=True)
    put_files(found)
    return found


@cache
def _known() -> tuple[tuple[str, click.Command], ...]:
    return tuple(commands())


@cache
def _contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(_place().iterdir()) if path.is_file()}


def words_of(choices: Choices) -> list[str]:
    name, command = choices.pick(_known())
    words = [*name.split(), *_SMALL.get(name, ())]
    kind = choices.pick(("gd", "cgd", "sgd", "langevin", "stream", "exponential"))
    options = [one for one in command.params if isinstance(one, click.Option)]
    for one in command.params:
        if isinstance(one, click.Argument):
            if choices.chance(8):
                continue
            words.append(_argument(choices, one, kind))
    if choices.below(2) and any("--noise" in one.opts for one in options):
        words += _SETTING
    for _ in range(choices.below(4)):
        if options:
            words += _option(choices, choices.pick(options))
    if choices.chance(10):
        words.insert(choices.integer(len(name.split()), len(words)), choices.pick(_WORDS))
    if name == "explore":
        words.append("--no-browser")
    # a value that is refused ends it early; a whole run is for few inputs
    if name in _SLOW and not choices.chance(12):
        words += choices.pick((["--help"], ["--delta", "2"], ["--epsilon", "-1"], ["--runs", "0"]))
    return words


@contextmanager
def _stopped_at_once() -> Iterator[None]:
    """`explore` serves nobody, and ends as by Ctrl-C; nothing is opened in a browser."""
    with (
        patch("werkzeug.serving.BaseWSGIServer.serve_forever", side_effect=KeyboardInterrupt),
        patch("click.launch"),
    ):
        yield


def _argument(choices: Choices, one: click.Argument, kind: str) -> str:
    name = one.name or ""
    if name == "kind":
        return str(choices.mostly(kind, 10))
    if name == "parameter":
        return choices.pick(("noise", "epochs", "learning_rate", "diameter", "n", "steps", "x"))
    return _file(choices)


def _file(choices: Choices) -> str:
    """A file of the folder, as it is or damaged; or none."""
    known = _contents()
    if choices.chance(8):
        return choices.pick(("nowhere.csv", "", ".", "/dev/null", *_WORDS))
    name = choices.pick(sorted(known))
    if choices.below(3):
        return name
    changed = f"changed-{name}"
    (_place() / changed).write_bytes(damaged(choices, [known[name]]))
    return changed


def _option(choices: Choices, one: click.Option) -> list[str]:
    spelled = choices.pick(one.opts)
    if one.is_flag:
        return [spelled]
    text = type(one.type).__name__
    if "File" in text or "Data" in text or "Folder" in text:
        value = f"out-{choices.below(3)}" if "Out" in text else _file(choices)
        return [spelled, value + choices.pick(("", ".json", ".csv", ".html"))]
    known = getattr(one.type, "choices", None)
    if known and not choices.chance(6):
        return [spelled, str(choices.pick([*known]))]
    return [spelled, choices.pick(_NUMBERS if choices.below(4) else _WORDS)]


def try_command(data: bytes) -> None:
    """Exit code 0, 1 or 2, no traceback, and one line on standard error for bad input."""
    words = words_of(Choices(data))
    before = os.getcwd()
    os.chdir(_place())
    try:
        with _stopped_at_once():
            result = CliRunner().invoke(program, words, prog_name="shiftdp")
    finally:
        for path in _place().iterdir():
            if path.name not in _contents() and path.is_file():
                path.unlink()
        for name, content in _contents().items():
            if (_place() / name).read_bytes() != content:
                (_place() / name).write_bytes(content)
        os.chdir(before)
    _require_answer(words, result)


def _require_answer(words: list[str], result: Any) -> None:
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        raise Broken("a traceback", words, repr(error)) from error
    stopped = words[0] == "explore" and result.exit_code == 130
    require(stopped or result.exit_code in (0, 1, 2), "an exit code", words, result.exit_code)
    require("Traceback" not in result.output, "a traceback in print", words)
    lines = result.stderr.splitlines()
    if result.exit_code == 2 and "for example" not in result.stderr:
        told = [line for line in lines if not line.startswith(("warning: ", "note: "))]
        require(len(told) == 1, "not one line", words, result.stderr)
    if result.exit_code == 1:
        require(bool(lines), "a failure that says nothing", words)
    if result.exit_code == 0 and "--json" in words and "-h" not in words and "--help" not in words:
        require("NaN" not in result.stdout, "NaN in an answer", words, result.stdout)
