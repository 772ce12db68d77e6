"""The sessions in docs/command_line.md: what the page shows is what the program prints.

Those of README.md and docs/tutorial.md run as they are printed, on the files of the repository.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

import pytest

from tests.ui.shell import CONFIG, PEOPLE, people, shiftdp

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "command_line.md"


def sessions(page: Path = PAGE) -> Iterator[tuple[int, str, str]]:
    """The line, the command and the expected output of each prompt, in order."""
    text = page.read_text()
    for block in re.finditer(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, block.start(1)) + 1
        for part in re.split(r"^(?=\$ )", block[1], flags=re.MULTILINE)[1:]:
            command = re.match(r"\$ ((?:.*\\\n)*.*)\n", part)
            assert command is not None
            yield line, command[1], part[command.end() :]
            line += part.count("\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "run.toml").write_text(CONFIG)
    (tmp_path / "people.csv").write_text(people())
    (tmp_path / "people.toml").write_text(PEOPLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(line: int, command: str, got: str, expected: str) -> None:
    got, expected = (text.rstrip("\n") + "\n" for text in (got, expected))
    same = OutputChecker().check_output(expected, got, ELLIPSIS)
    assert same, f"line {line}: {command}\nwants:\n{expected}\ngot:\n{got}"


def test_there_are_sessions() -> None:
    assert len(list(sessions())) >= 15


def test_every_command_is_shown() -> None:
    from shiftdp.ui.main import COMMANDS

    shown = {command.split()[1] for _, command, _ in sessions() if command.startswith("shiftdp")}
    assert shown == set(COMMANDS)


def test_commands_alone(folder: Path) -> None:
    """Those that need no shell, in this process; later ones use the files of earlier ones."""
    for line, command, expected in sessions():
        if command.startswith("shiftdp") and not re.search(r"[|;>]", command):
            words = shlex.split(command.replace("\\\n", ""))
            check(line, command, shiftdp(*words[1:]).output, expected)


def test_the_readme_runs_on_what_is_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for `reproduce`, which has tests of its own."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    words = [
        shlex.split(command.replace("\\\n", ""), comments=True)
        for _, command, _ in sessions(ROOT / "README.md")
        if command.startswith("shiftdp")
    ]
    assert [line[1] for line in words] == [
        *("account", "schema", "train", "predict", "inspect", "reproduce")
    ]
    for line in words[:-1]:
        result = shiftdp(*line[1:])
        assert result.exit_code == 0, result.output
        assert "not cover" not in result.output
    assert len((tmp_path / "predicted.csv").read_text().splitlines()) == 1_001


def test_the_tutorial_runs_on_what_is_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    ran = []
    for line, command, expected in sessions(ROOT / "docs" / "tutorial.md"):
        words = shlex.split(command.replace("\\\n", ""))
        check(line, command, shiftdp(*words[1:]).output, expected)
        ran.append(words[:2])
    assert ran == [
        ["shiftdp", name]
        for name in ("account", "schema", "train", "verify", "statement", "verify")
    ]


@pytest.mark.slow
def test_sessions(folder: Path) -> None:
    """All of them as they stand, in a shell, each command in a process of its own."""
    for line, command, expected in sessions():
        program = f'shiftdp() {{ "{sys.executable}" -m shiftdp "$@"; }}\n{command}'
        result = subprocess.run(
            ["bash", "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        check(line, command, result.stdout, expected)
