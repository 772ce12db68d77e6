"""The types of the options: numbers that may be infinite or many, words, and files."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from shiftdp.ui.refusals import Refused, typed

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
    Choice = click.Choice[str]
else:  # neither is generic in older releases of click
    ParamType, Choice = click.ParamType, click.Choice

__all__ = [
    "FORMATS",
    "IMAGE",
    "NUMBER",
    "NUMBERS",
    "InFile",
    "OutFile",
    "OutFolder",
    "ParamType",
    "Word",
]

FORMATS = ("png", "svg", "pdf")


def _fail(
    ctx: click.Context | None, parameter: click.Parameter | None, value: Any, why: str
) -> Any:
    name = parameter.name if parameter is not None else None
    subject = str(value) if ctx is None or name is None else typed(ctx, name, value)
    raise Refused(f"{subject}: {why}", ctx)


def _number(value: Any) -> float:
    """An int where it is written as one, so that large counts stay exact.

    >>> _number("60_000"), _number("1e-5"), _number("inf")
    (60000, 1e-05, inf)
    """
    if isinstance(value, bool):
        raise ValueError
    if isinstance(value, (int, float)):
        return value
    try:
        return int(value)
    except ValueError:
        number = float(value)
    if math.isnan(number):
        raise ValueError
    return number


class _Number(ParamType):
    """A number; `inf` is one."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return _number(value)
        except (ValueError, TypeError):
            found: float = _fail(ctx, param, value, "is not a number; give one, such as 0.05")
            return found


class _Numbers(ParamType):
    """A number, or several with commas between them; a list in a file."""

    name = "number[,...]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | tuple[float, ...]:
        try:
            if isinstance(value, str) and "," in value:
                return tuple(_number(part.strip()) for part in value.split(","))
            if isinstance(value, (list, tuple)):
                return tuple(_number(part) for part in value)
            return _number(value)
        except (ValueError, TypeError):
            why = "is not a number, or several with commas between them"
            found: float = _fail(ctx, param, value, why)
            return found


class Word(Choice):
    """One of a few words, with - or _ between their parts."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(words)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word = str(value).replace("-", "_")
        if word in self.choices:
            return word
        from difflib import get_close_matches

        near = get_close_matches(word, self.choices, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        found: str = _fail(ctx, param, value, f"is not one of {', '.join(self.choices)}{hint}")
        return found


class InFile(ParamType):
    """A file that is there to be read."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = os.fspath(value)
        if not os.path.isfile(path):
            why = "is a folder" if os.path.isdir(path) else "there is no such file"
            _fail(ctx, param, path, why)
        if not os.access(path, os.R_OK):
            _fail(ctx, param, path, "may not be read")
        return str(path)


class OutFile(ParamType):
    """A file that can be written: known before anything is computed."""

    name = "file"

    def __init__(self, suffixes: Sequence[str] = ()) -> None:
        self.suffixes = tuple(suffixes)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = os.fspath(value)
        folder = os.path.dirname(path) or "."
        suffix = os.path.splitext(path)[1].removeprefix(".").lower()
        if self.suffixes and suffix not in self.suffixes:
            endings = ", ".join(f".{known}" for known in self.suffixes)
            _fail(ctx, param, path, f"the format is known by its ending, which is one of {endings}")
        if not os.path.isdir(folder):
            _fail(ctx, param, path, f"there is no folder {folder}")
        # a file is replaced as a whole, so the folder must admit new ones; a pipe is written to
        replaced = os.path.isfile(path) or not os.path.exists(path)
        if os.path.isdir(path) or (os.path.exists(path) and not os.access(path, os.W_OK)):
            _fail(ctx, param, path, "may not be written")
        if replaced and not os.access(os.path.dirname(os.path.realpath(path)), os.W_OK | os.X_OK):
            _fail(ctx, param, path, f"no file may be made in the folder {folder}")
        return str(path)


class OutFolder(ParamType):
    """A folder that is there, or can be made: known before anything is computed."""

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = os.fspath(value)
        near = os.path.abspath(path)
        while not os.path.lexists(near):
            near = os.path.dirname(near)
        if not os.path.isdir(near):
            why = "is no folder" if near == os.path.abspath(path) else f"{near} is no folder"
            _fail(ctx, param, path, f"{why}; give another name")
        if not os.access(near, os.W_OK | os.X_OK):
            _fail(ctx, param, path, f"no file may be made in the folder {near}")
        return str(path)


NUMBER = _Number()
NUMBERS = _Numbers()
IMAGE = OutFile(FORMATS)
