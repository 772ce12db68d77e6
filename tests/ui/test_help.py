"""Help: every command has it, with examples that run."""

import shlex
import shutil
from pathlib import Path

import pytest

from shiftdp.ui.main import program
from shiftdp.ui.refusals import folded
from tests.ui.every_command import commands
from tests.ui.shell import prose, put_files

EXAMPLES = [
    pytest.param(example, id=f"{name} {i}")
    for name, command in commands()
    # run elsewhere, as they take long or do not end: in tests/ui/reproduce, test_demo.py and
    # test_commands.py
    if name not in ("reproduce", "demo", "explore")
    for i, example in enumerate(command.examples)
]


@pytest.mark.parametrize("path", [name for name, _ in commands()])
def test_every_command_has_help_with_an_example(path: str) -> None:
    text = prose(*path.split(), "--help")
    assert f"Usage: shiftdp {path}" in text
    assert f"\n  shiftdp {path} " in text.partition("Example")[2]


@pytest.mark.parametrize(
    "path", [name for name, _ in commands() if name not in ("audit", "ledger")]
)
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
    parts = tmp_path / "folder"  # a table in two parts
    parts.mkdir()
    for name in ("a.csv", "b.csv"):
        shutil.copy(tmp_path / "data.csv", parts / name)
    monkeypatch.chdir(tmp_path)
    name, *words = shlex.split(example)
    assert name == "shiftdp"
    if words[0] == "train" and "-o" in words:  # a second model is told of
        (tmp_path / words[words.index("-o") + 1]).unlink()
    prose(*words)


def test_examples_can_be_pasted() -> None:
    """Folded over lines, they are the same words to a shell."""
    for _, command in commands():
        for example in command.examples:
            shown = folded(example, 2)
            assert all(len(line) <= 100 for line in shown.splitlines())
            assert shlex.split(shown.replace("\\\n", " ")) == shlex.split(example)
