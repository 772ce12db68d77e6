"""The types of the options: numbers that may be infinite or many, ranges, words, and files."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from shiftdp.ui.refusals import Refused, shown, typed

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
    Choice = click.Choice[str]
else:  # neither is generic in older releases of click
    ParamType, Choice = click.ParamType, click.Choice

FORMATS = ("png", "svg", "pdf")
_MOST_VALUES = 10_000  # of a range


def _fail(
    ctx: click.Context | None, parameter: click.Parameter | None, value: Any, why: str
) -> NoReturn:
    name = parameter.name if parameter is not None else None
    subject = shown(value) if ctx is None or name is None else typed(ctx, name, value)
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


class Number(ParamType):
    """A number; `inf` is one.

    Args:
        remedy: what to give, where one might take it for something else.
    """

    name = "number"

    def __init__(self, remedy: str = "give one, such as 0.05") -> None:
        self.remedy = remedy

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return _number(value)
        except (ValueError, TypeError):
            _fail(ctx, param, value, f"is not a number; {self.remedy}")


class Numbers(ParamType):
    """A number, or several with commas between them; a list in a file.

    Args:
        remedy: what to give.
    """

    name = "number[,...]"

    def __init__(self, remedy: str = "give some, such as 0.1,0.05") -> None:
        self.remedy = remedy

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
            problem = "is not a number, or several with commas between them"
            _fail(ctx, param, value, f"{problem}; {self.remedy}")


class _Releases(ParamType):
    """`all`, `epochs`, or steps with commas between them; a list in a file."""

    name = "releases"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | tuple[int, ...]:
        if value in ("all", "epochs"):
            return str(value)
        parts = value.split(",") if isinstance(value, str) else value
        parts = parts if isinstance(parts, (list, tuple)) else [parts]
        try:
            steps = [_number(part.strip() if isinstance(part, str) else part) for part in parts]
            if not all(isinstance(step, int) for step in steps):
                raise ValueError
        except (ValueError, TypeError):
            _fail(ctx, param, value, "is unknown; give epochs, all or steps, such as 400,800")
        return tuple(int(step) for step in steps)


class Values(NamedTuple):
    """Numbers, in the order in which they were given, and which of them are those of a range."""

    given: tuple[float, ...]
    of_range: tuple[bool, ...]

    def numbers(self, whole: bool = False) -> list[float]:
        """Without repetition; those of a range are rounded where the parameter is a count."""
        both = zip(self.given, self.of_range, strict=True)
        rounded = (round(x) if whole and ranged else x for x, ranged in both)
        return list(dict.fromkeys(rounded))


class _Checkpoints(ParamType):
    """`epochs`, how many there are, or epochs with commas between them."""

    name = "checkpoints"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | int | tuple[float, ...]:
        if value == "epochs":
            return "epochs"
        try:
            if isinstance(value, str) and "," in value:
                return tuple(_number(part.strip()) for part in value.split(",") if part.strip())
            if isinstance(value, (list, tuple)):
                return tuple(_number(part) for part in value)
            number = _number(value)
        except (ValueError, TypeError):
            number = 0.5
        if not math.isfinite(number) or number != int(number):
            _fail(ctx, param, value, "is no checkpoints; give epochs, a number, or epochs as 5,10")
        return int(number)


CHECKPOINTS = _Checkpoints()


class _Values(ParamType):
    """Numbers and ranges LOW:HIGH:COUNT or LOW:HIGH:COUNT:log, with commas between them."""

    name = "values"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Values:
        if isinstance(value, Values):
            return value
        parts = value.split(",") if isinstance(value, str) else value
        parts = parts if isinstance(parts, (list, tuple)) else [parts]
        found: list[tuple[float, bool]] = []
        for part in parts:
            text = part.strip() if isinstance(part, str) else part
            if isinstance(text, str) and ":" in text:
                found += [(number, True) for number in self._range(text, param, ctx)]
            else:
                found.append((NUMBER.convert(text, param, ctx), False))
        if not found:
            _fail(ctx, param, value, "has no values")
        numbers, of_range = zip(*found, strict=True)
        return Values(numbers, of_range)

    def _range(
        self, text: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[float]:
        parts = text.split(":")
        by_ratio = parts[3:] == ["log"]
        if len(parts) not in (3, 4) or (len(parts) == 4 and not by_ratio):
            _fail(ctx, param, text, "is not LOW:HIGH:COUNT or LOW:HIGH:COUNT:log")
        low, high, count = (NUMBER.convert(part, param, ctx) for part in parts[:3])
        if not math.isfinite(count) or count != int(count):
            _fail(ctx, param, text, "its COUNT is not a whole number")
        if not 2 <= count <= _MOST_VALUES:
            _fail(ctx, param, text, f"its COUNT is not from 2 to {_MOST_VALUES}")
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            _fail(ctx, param, text, "its ends are not finite, the lower one first")
        if by_ratio and low <= 0.0:
            _fail(ctx, param, text, "equal ratios need ends above 0")
        last = int(count) - 1
        if by_ratio:
            inner = [low * (high / low) ** (i / last) for i in range(1, last)]
        else:
            inner = [low + (high - low) * i / last for i in range(1, last)]
        return [low, *inner, high]


@dataclass(frozen=True)
class CoolDown:
    """More noise at the end: in how many of the last steps, and how many times as much."""

    last: int
    factor: float

    def __str__(self) -> str:
        return f"{self.last}:{self.factor:g}"


class _CoolDown(ParamType):
    """LAST:FACTOR."""

    name = "last:factor"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> CoolDown:
        if isinstance(value, CoolDown):
            return value
        try:
            last, factor = map(_number, str(value).split(":"))
        except ValueError:
            last, factor = -1, 0.0
        if not (isinstance(last, int) and last >= 0 and 1.0 <= factor < math.inf):
            _fail(
                ctx, param, value, "is not LAST:FACTOR, how many steps and how many times, as 30:3"
            )
        return CoolDown(last, factor)


class _Request(ParamType):
    """STEPS:RECORDS; a pair in a file."""

    name = "steps:records"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        parts = value if isinstance(value, (list, tuple)) else str(value).split(":")
        try:
            steps, records = map(_number, parts)
        except (ValueError, TypeError):
            steps, records = 0, 0
        if not (isinstance(steps, int) and isinstance(records, int) and min(steps, records) >= 1):
            problem = "is not STEPS:RECORDS, after how many further steps and how many, as 200:1"
            _fail(ctx, param, value, problem)
        return steps, records


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
        _fail(ctx, param, value, f"is not one of {', '.join(self.choices)}{hint}")


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


class InData(ParamType):
    """A file, or a folder of files, that is there to be read."""

    name = "file or folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = os.fspath(value)
        if not os.path.isdir(path):
            return InFile().convert(value, param, ctx)
        if not os.access(path, os.R_OK | os.X_OK):
            _fail(ctx, param, path, "may not be read")
        return str(path)


class _Bytes(ParamType):
    """A number of bytes, as 512MB: thousands are powers of 1000."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from shiftdp.training.table_files.rules import bytes_in

        found = bytes_in(value)
        if found is None:
            _fail(ctx, param, value, "is not a number of bytes from 64MB on; give one, as 512MB")
        return found


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


NUMBER = Number()
NUMBERS = Numbers()
VALUES = _Values()
COOLDOWN = _CoolDown()
RELEASES = _Releases()
REQUEST = _Request()
BYTES = _Bytes()
IMAGE = OutFile(FORMATS)
