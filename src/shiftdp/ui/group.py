"""Groups and commands: help with examples, one line an error, and nothing loaded before it is used.

Exit codes: 0 done, 2 bad input, 130 interrupted, 1 anything else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp.ui.overwriting import refuse_overwriting
from shiftdp.ui.progress import began
from shiftdp.ui.refusals import WIDTH, folded, line_of, refusal


class Option(click.Option):
    """An option under a heading of the help, which shows its default value if it has one."""

    def __init__(self, *args: Any, heading: str = "Options", **kwargs: Any) -> None:
        default = kwargs.get("default")
        kwargs.setdefault("show_default", bool(default) and default is not True)
        super().__init__(*args, **kwargs)
        self.heading = heading


class _WithExamples(click.Command):
    """Help that ends with commands to paste, and options under headings."""

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        hints: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault(
            "context_settings",
            {"help_option_names": ["-h", "--help"], "max_content_width": WIDTH},
        )
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.hints = dict(hints or {})  # for options that one might look for here

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        headings: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            # what an argument means is said in the text above
            if record is not None and isinstance(parameter, click.Option):
                heading = getattr(parameter, "heading", "Options")
                headings.setdefault(heading, []).append(record)
        for heading, records in headings.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=34)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples" if len(self.examples) > 1 else "Example"):
                for example in self.examples:
                    formatter.write(folded(example, formatter.current_indent) + "\n")


class Command(_WithExamples):
    """A command whose refusals name its options, and which writes over no file that it reads."""

    def invoke(self, ctx: click.Context) -> Any:
        began()
        refuse_overwriting(ctx)
        try:
            return super().invoke(ctx)
        except InvalidInput as error:
            raise refusal(ctx, error) from error
        except ShiftdpError as error:
            raise click.ClickException(str(error)) from error


class Group(_WithExamples, click.Group):
    """A group of commands that ends the process with the exit codes of this module."""

    command_class = Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # help that is asked for by saying nothing is no error
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, **extra)
        sys.exit(self._ended(args, prog_name, complete_var, extra))

    def _ended(
        self,
        args: Sequence[str] | None,
        prog_name: str | None,
        complete_var: str | None,
        extra: dict[str, Any],
    ) -> int:
        try:
            code = super().main(args, prog_name, complete_var, False, **extra)
            sys.stdout.flush()
        except BrokenPipeError:
            _silence()  # the reader has seen enough
            return 1
        except OSError as error:
            click.echo(f"stopped: {error}", err=True)
            _silence()
            return 1
        except click.ClickException as error:
            click.echo(line_of(error), err=True)
            return error.exit_code
        except (KeyboardInterrupt, click.Abort):
            click.echo("stopped", err=True)
            return 130
        return code if isinstance(code, int) else 0

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order in which they are used

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(200)) for name, command in commands if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from difflib import get_close_matches

            names = self.list_commands(ctx)
            near = get_close_matches(args[0], names, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise click.UsageError(f"{args[0]}: no such command; {hint}", ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """A group that knows the names and summaries of its commands, and loads one to run it.

    Args:
        home: the package that has a module for each of them, with a `command`.
        summaries: a line each, for the help of the group.
        rooms: for those in a folder below that package, which one it is.
    """

    def __init__(
        self,
        *args: Any,
        home: str,
        summaries: Mapping[str, str],
        rooms: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.home = home
        self.summaries = summaries
        self.rooms = rooms or {}
        self.params.append(
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                help="Show the version and exit.",
                callback=_show_version,
            )
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.summaries:
            return None
        room = self.rooms.get(cmd_name)
        module = import_module(f"{self.home}.{f'{room}.' if room else ''}{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))


def _silence() -> None:
    """Nothing more on standard output: what is left in the buffer must not fail at exit either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from shiftdp._version import VERSION

        click.echo(f"shiftdp {VERSION}")
        ctx.exit()
