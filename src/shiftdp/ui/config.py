"""Options from a file: TOML, with the names of the options; the command line comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from shiftdp.ui.group import Option
from shiftdp.ui.refusals import Refused
from shiftdp.ui.types import InFile

__all__ = ["config_option", "read_config"]

AnyCallable = TypeVar("AnyCallable", bound=Callable[..., Any])


def config_option(function: AnyCallable) -> AnyCallable:
    """`--config FILE`, read before all other options."""
    return click.option(
        "--config",
        type=InFile(),
        is_eager=True,
        cls=Option,
        heading="What is run",
        callback=_load,
        help='Read options from this TOML file: kind = "cgd", learning_rate = 0.05, ... The '
        "command line comes first.",
    )(function)


def _load(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        ctx.params["config"] = value  # for messages about the others
        ctx.default_map = read_config(ctx, value)
    return value


def read_config(ctx: click.Context, path: str) -> dict[str, Any]:
    """The options in a file; a key that is no option of the command is refused by name."""
    import tomllib

    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused(f"--config {path}: is not TOML: {error}", ctx) from error
    known = [name for name in (p.name for p in ctx.command.params) if name and name != "config"]
    for key, value in found.items():
        if key not in known:
            from difflib import get_close_matches

            near = get_close_matches(key.replace("-", "_"), known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise Refused(f"--config {path}: {key} is no option of {ctx.info_name}; {hint}", ctx)
        if isinstance(value, dict):
            raise Refused(f"--config {path}: {key} is a table; give its value", ctx)
    return found
