"""Bad input in one line that begins with the option as it is typed, and the value."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click
from click.core import ParameterSource

from shiftdp._errors import InvalidInput

WIDTH = 100
"""Of help, and of examples in it."""
READ = "shiftdp.read"
"""Where a context keeps the files that numbers were read from, by the name of the option."""

_RENAMED = {
    "run": ("kind",),
    "path": ("file",),
    "ledger": ("ledger", "file"),
    "release": ("certificate",),
    "theorems": ("theorem",),
    "l1": ("alpha",),
}
"""What the library calls by a name that is no option: the first of these that the command has."""


class Refused(click.UsageError):
    """Bad input, with its final wording."""


class Missing(Refused):
    """For somebody's first try: what is missing, a line each, and an example to paste."""

    def __init__(self, lines: Sequence[str], ctx: click.Context) -> None:
        examples = getattr(ctx.command, "examples", ())
        example = ["", "for example", "", folded(examples[0], 2)] if examples else []
        super().__init__("\n".join([*lines, *example]), ctx)


def spelled(parameter: click.Parameter) -> str:
    """`--learning-rate`, or `KIND` for an argument."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.make_metavar(click.Context(click.Command(None))).strip("[]").upper()


def typed(ctx: click.Context, name: str, value: object) -> str:
    """An option and its value as they stand on the command line, or in the file of `--config`."""
    parameter = _parameter(ctx, name)
    if parameter is None:
        return f"{name} {shown(value)}".rstrip()
    given = ctx.params.get(name)
    if isinstance(given, int) and given == value:
        value = given  # 99 as it was given, not 99.0 as it was understood
    if ctx.get_parameter_source(name) is ParameterSource.DEFAULT_MAP:
        return f"{ctx.params.get('config') or 'config'}: {name} = {shown(value)}"
    if isinstance(parameter, click.Option) and parameter.is_flag and value is True:
        return spelled(parameter)
    return f"{spelled(parameter)} {shown(value)}".rstrip()


def refusal(ctx: click.Context, error: InvalidInput) -> Refused:
    """What the library refuses, in the words of the command line."""
    schema = ctx.params.get("schema")
    if schema is not None and error.name.startswith("columns."):
        half = isinstance(error.value, tuple) and None in error.value
        asked = "" if half else f" {shown(error.value)}"
        problem = f"{error.name}{asked} {error.problem}"
        return Refused(f"{typed(ctx, 'schema', schema)}: {problem}; {error.remedy}", ctx)
    names = [name.strip() for name in error.name.split(",")]
    value = error.value
    if names == ["steps"] and ctx.params.get("steps") is None and ctx.params.get("epochs") == value:
        names = ["epochs"]  # endless in either
    if len(names) == 1 and _parameter(ctx, names[0]) is None:
        known = [name for name in _RENAMED.get(names[0], ()) if _parameter(ctx, name)]
        names = known[:1] or names
    if names[0] in ("X", "y") and _parameter(ctx, "data") is not None:
        names, value = ["data"], ctx.params.get("data")  # the table, by its file
    file = ctx.meta.get(READ, {}).get(names[0])
    if file is not None and isinstance(value, str) and value.startswith("<"):
        value = f"{file} ({value.strip('<>')})"
    if len(names) > 1:
        options = [_parameter(ctx, name) for name in names]
        subject = ", ".join(
            name if option is None else spelled(option)
            for name, option in zip(names, options, strict=True)
        )
        if not any(options):  # it stands in a file: say what
            subject = f"{subject} {shown(value)}".rstrip()
    else:
        subject = typed(ctx, names[0], value)
    # 'fixed' or 'shuffled' are typed without quotes
    remedy = re.sub(r"(?<![\w=\[])'(\w+)'", r"\1", _optioned(ctx, error.remedy))
    return Refused(f"{subject}: {_optioned(ctx, error.problem, values=False)}; {remedy}", ctx)


def print_warning(ctx: click.Context, text: str) -> None:
    """What the library warns of, in the words of the command line, on stderr."""
    click.echo(f"warning: {_optioned(ctx, text)}", err=True)


def line_of(error: click.ClickException) -> str:
    """The one line to print for what click, or a command, refuses."""
    if isinstance(error, Missing):
        return error.message
    if isinstance(error, Refused):
        text = error.message
    elif isinstance(error, click.NoSuchOption):
        text = f"{error.option_name}: no such option{_hint(error)}"
    elif isinstance(error, click.BadOptionUsage):
        text = f"{error.option_name}: {_lowered(error.message)}"
    elif isinstance(error, click.MissingParameter) and error.param is not None:
        text = f"{spelled(error.param)}: is missing{_see(error.ctx)}"
    elif isinstance(error, click.BadParameter) and error.param is not None:
        text = f"{spelled(error.param)}: {error.message}"
    else:
        text = error.format_message()
    return " ".join(text.split())


def folded(command: str, indent: int) -> str:
    """A command over several lines that can be pasted as they are; options stay with their values.

    >>> folded("shiftdp account gd --n 10", 2)
    '  shiftdp account gd --n 10'
    """
    lines: list[str] = []
    for part in re.split(r" (?=-)", command):
        # room for the margin of what follows the first line, and for " \\"
        if lines and len(lines[-1]) + len(part) + 1 <= WIDTH - indent - 6:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    first, *rest = lines
    margin = " " * indent
    return " \\\n".join([margin + first, *(f"{margin}    {line}" for line in rest)])


def shown(value: object) -> str:
    """A value as one would type it: no quotes, nothing for what was not given."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        text = ",".join(shown(item) for item in value)
    elif isinstance(value, float):
        text = repr(value)
    else:
        text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _parameter(ctx: click.Context, name: str) -> click.Parameter | None:
    return next((known for known in ctx.command.params if known.name == name), None)


def _optioned(ctx: click.Context, text: str, *, values: bool = True) -> str:
    """`bounds="composition"` as `--bounds composition`, and `classes=...` as `--classes`.

    What is no option of this command is left as it is. A name of several words is an option also by
    itself, `feature_bound` as `--feature-bound`.

    Args:
        ctx: of the command.
        text: what the library says.
        values: whether `epsilon=1` is something to type; in a problem it is a fact.
    """

    def option(match: re.Match[str]) -> str:
        parameter = _parameter(ctx, match[1])
        flag = isinstance(parameter, click.Option) and parameter.is_flag
        off: list[str] = getattr(parameter, "secondary_opts", [])
        if flag and match[2] == "False" and off:
            return max(off, key=len)
        value = "" if match[2] == "..." or (flag and match[2] == "True") else match[2]
        return match[0] if parameter is None else f"{spelled(parameter)} {value}".rstrip()

    text = re.sub(r"(?<![\w/.])([a-z_]+)=[\"'](\w+)[\"']", option, text)
    name = r"[a-z_]+" if values else r"[a-z0-9]+(?:_[a-z0-9]+)+"
    text = re.sub(rf"(?<![\w/.])({name})=(\.\.\.|[\w.+-]*\w)", option, text)
    text = re.sub(r"(?<![\w/.`'\"-])([a-z0-9]+(?:_[a-z0-9]+)+)(?![\w=(.`'\"])()", option, text)
    if isinstance(_parameter(ctx, "model"), click.Option):
        text = text.replace("PrivateLogisticRegression", "--model logistic")
    return text


def _lowered(message: str) -> str:
    """What click says about an option, without the name of the option."""
    text = re.sub(r"^Option '[^']*' ", "", message)
    return text.rstrip(".")


def _hint(error: click.NoSuchOption) -> str:
    """What the command says to those who look for this option, or the option that is meant."""
    from difflib import get_close_matches

    command = None if error.ctx is None else error.ctx.command
    said = getattr(command, "hints", {}).get(error.option_name)
    if said is not None:
        return f"; {said}"
    every = [name for known in (command.params if command else ()) for name in known.opts]
    named = {name.lstrip("-"): name for name in every if name.startswith("--")}
    near = get_close_matches(error.option_name.lstrip("-"), named, 1)
    return f"; did you mean {named[near[0]]}?" if near else _see(error.ctx)


def _see(ctx: click.Context | None) -> str:
    return "" if ctx is None else f"; see {ctx.command_path} --help"
