"""The program: its list of commands, its version, and what it loads."""

import json
import os
import subprocess
import sys

import pytest

from shiftdp import __version__
from shiftdp.ui.main import COMMANDS
from tests.ui.every_command import commands
from tests.ui.shell import MNIST, prose


def test_the_list_of_commands_says_what_they_say_themselves() -> None:
    for name, command in commands():
        if name in COMMANDS:
            assert (command.help or "").partition("\n\n")[0].replace("\n", " ") == COMMANDS[name]


def test_version() -> None:
    assert prose("--version") == f"shiftdp {__version__}\n"


def loaded(*arguments: str) -> set[str]:
    """Modules that a process has loaded when the command ends."""
    code = (
        "import json, sys\n"
        "from shiftdp.ui.main import program\n"
        "try:\n"
        f"    program.main({list(arguments)!r}, prog_name='shiftdp')\n"
        "finally:\n"
        "    print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    found: list[str] = json.loads(result.stderr)
    return set(found)


def _is_command(name: str) -> bool:
    home, _, last = name.rpartition(".")
    return home.startswith("shiftdp.ui.commands") and last in COMMANDS


@pytest.mark.parametrize(
    "arguments", [["--help"], ["account", "--help"], ["ledger", "--help"], ["verify", "--help"]]
)
def test_help_loads_neither_numpy_nor_rich(arguments: list[str]) -> None:
    modules = loaded(*arguments)
    assert not modules & {"numpy", "scipy", "rich", "matplotlib", "shiftdp.last_iterate"}
    assert sum(_is_command(name) for name in modules) == len(arguments) - 1


def test_account_loads_no_slow_library() -> None:
    modules = loaded("account", *MNIST.split())
    assert "numpy" in modules
    assert not modules & {"rich", "matplotlib", "scipy.special", "scipy.optimize", "sqlite3"}


def test_the_shell_completes_commands_and_options() -> None:
    """As docs/command_line.md says."""
    code = "from shiftdp.ui.main import main; main()"
    for words, expected in (
        ("shiftdp acc", "plain,account"),
        ("shiftdp account --noise-m", "plain,--noise-multiplier"),
        ("shiftdp verify --del", "plain,--delta"),
    ):
        result = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "_SHIFTDP_COMPLETE": "bash_complete",
                "COMP_WORDS": words,
                "COMP_CWORD": str(len(words.split()) - 1),
            },
        )
        assert result.stdout.split() == [expected]
