"""Groups: what they show when nothing is said, and commands that are loaded when they are used."""

from pathlib import Path

import pytest

from shiftdp.ui.group import LazyGroup
from tests.ui.shell import prose, shiftdp


def test_nothing_said_is_help() -> None:
    assert prose() == prose("--help")
    assert "shiftdp account cgd --n 60000" in prose()
    assert prose("ledger", "--help") == shiftdp("ledger").stdout


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
