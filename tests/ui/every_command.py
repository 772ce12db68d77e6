"""Every command of the program, and every one inside a group, by its name."""

from collections.abc import Iterator

import click

from shiftdp.ui.group import Group, _WithExamples
from shiftdp.ui.main import COMMANDS, program


def commands() -> Iterator[tuple[str, _WithExamples]]:
    for name in COMMANDS:
        command = program.get_command(click.Context(program), name)
        assert isinstance(command, _WithExamples)
        yield name, command
        if isinstance(command, Group):
            for inner, one in command.commands.items():
                assert isinstance(one, _WithExamples)
                yield f"{name} {inner}", one
