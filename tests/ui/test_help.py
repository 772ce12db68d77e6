"""Help: every command has it, with examples that run; nothing is loaded to show it."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from shiftdp import __version__
from shiftdp.ui.group import Group, LazyGroup, _WithExamples
from shiftdp.ui.main import COMMANDS, program
from shiftdp.ui.refusals import folded
from tests.ui.shell import MNIST, prose, put_files, shiftdp


def commands() -> Iterator[tuple[str, _WithExamples]]:
    for name in COMMANDS:
        command = program.get_command(click.Context(program), name)
        assert isinstance(command, _WithExamples)
        yield name, command
        if isinstance(command, Group):
            for inner, one in command.commands.items():
                assert isinstance(one, _WithExamples)
                yield f"{name} {inner}", one


EXAMPLES = [
    pytest.param(example, id=f"{name} {i}")
    for name, command in commands()
    # those two take long, and are run elsewhere: in tests/ui/reproduce and tests/ui/test_train.py
    if name not in ("reproduce", "demo")
    for i, example in enumerate(command.examples)
]


@pytest.mark.parametrize("path", [name for name, _ in commands()])
def test_every_command_has_help_with_an_example(path: str) -> None:
    text = prose(*path.split(), "--help")
    assert f"Usage: shiftdp {path}" in text
    assert f"\n  shiftdp {path} " in text.partition("Example")[2]


@pytest.mark.parametrize("path", [name for name, command in commands() if name != "ledger"])
def test_every_command_has_json(path: str) -> None:
    assert "--json" in prose(*path.split(), "--help")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    put_files(folder)
    return folder


@pytest.mark.parametrize("example", [*EXAMPLES, pytest.param(program.examples[0], id="shiftdp")])
def test_every_example_runs(
    example: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in files.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    name, *words = shlex.split(example)
    assert name == "shiftdp"
    prose(*words)


def test_examples_can_be_pasted() -> None:
    """Folded over lines, they are the same words to a shell."""
    for _, command in commands():
        for example in command.examples:
            shown = folded(example, 2)
            assert all(len(line) <= 100 for line in shown.splitlines())
            assert shlex.split(shown.replace("\\\n", " ")) == shlex.split(example)


def test_the_list_of_commands_says_what_they_say_themselves() -> None:
    for name, command in commands():
        if name in COMMANDS:
            assert (command.help or "").partition("\n\n")[0].replace("\n", " ") == COMMANDS[name]


def test_nothing_said_is_help() -> None:
    assert prose() == prose("--help")
    assert "shiftdp account cgd --n 60000" in prose()
    assert prose("ledger", "--help") == shiftdp("ledger").stdout


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


@pytest.mark.parametrize("arguments", [["--help"], ["account", "--help"], ["ledger", "--help"]])
def test_help_loads_neither_numpy_nor_rich(arguments: list[str]) -> None:
    modules = loaded(*arguments)
    assert not modules & {"numpy", "scipy", "rich", "matplotlib", "shiftdp.last_iterate"}
    assert sum(name.startswith("shiftdp.ui.commands.") for name in modules) == len(arguments) - 1


def test_account_loads_no_slow_library() -> None:
    modules = loaded("account", *MNIST.split())
    assert "numpy" in modules
    assert not modules & {"rich", "matplotlib", "scipy.special", "scipy.optimize", "sqlite3"}


def test_a_command_is_a_line_and_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "added_commands"
    home.mkdir()
    (home / "__init__.py").write_text("")
    (home / "greet.py").write_text(
        "import click\n"
        "from shiftdp.ui.group import Command\n"
        "@click.command('greet', cls=Command, examples=('more greet',))\n"
        "def command():\n"
        "    click.echo('good day')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    more = LazyGroup("more", home="added_commands", summaries={"greet": "Say good day."})
    from click.testing import CliRunner

    assert "greet  Say good day." in CliRunner().invoke(more, ["--help"]).stdout
    assert CliRunner().invoke(more, ["greet"]).stdout == "good day\n"
