"""Lists of numbers on the command line: single ones, and ranges."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import click

from shiftdp.ui.refusals import Refused, shown, typed
from shiftdp.ui.types import NUMBER, ParamType

__all__ = ["RATES", "VALUES", "Values"]

_MOST = 10_000


class Values(NamedTuple):
    """Numbers, in the order in which they were given."""

    given: tuple[float, ...]

    def numbers(self, whole: bool = False) -> list[float]:
        """Without repetition; the nearest whole numbers where the parameter is a count."""
        rounded = (round(x) if whole and math.isfinite(x) else x for x in self.given)
        return list(dict.fromkeys(rounded))


class _ValuesType(ParamType):
    name = "values"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, Values):
            return value
        parts = value.split(",") if isinstance(value, str) else value
        parts = parts if isinstance(parts, (list, tuple)) else [parts]
        found: list[float] = []
        for part in parts:
            text = part.strip() if isinstance(part, str) else part
            if isinstance(text, str) and ":" in text:
                found += self._range(text, param, ctx)
            else:
                found.append(NUMBER.convert(text, param, ctx))
        if not found:
            raise Refused(f"{_subject(param, ctx, value)}: has no values", ctx)
        return Values(tuple(found))

    def _range(
        self, text: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[float]:
        parts = text.split(":")
        by_ratio = parts[3:] == ["log"]
        if len(parts) not in (3, 4) or (len(parts) == 4 and not by_ratio):
            why = "is not LOW:HIGH:COUNT or LOW:HIGH:COUNT:log"
            raise Refused(f"{_subject(param, ctx, text)}: {why}", ctx)
        low, high, count = (NUMBER.convert(part, param, ctx) for part in parts[:3])
        problem = None
        if count != int(count) if math.isfinite(count) else True:
            problem = "its COUNT is not a whole number"
        elif not 2 <= count <= _MOST:
            problem = f"its COUNT is not from 2 to {_MOST}"
        elif not (math.isfinite(low) and math.isfinite(high) and low < high):
            problem = "its ends are not finite, the lower one first"
        elif by_ratio and low <= 0.0:
            problem = "equal ratios need ends above 0"
        if problem is not None:
            raise Refused(f"{_subject(param, ctx, text)}: {problem}", ctx)
        last = int(count) - 1
        if by_ratio:
            inner = [low * (high / low) ** (i / last) for i in range(1, last)]
        else:
            inner = [low + (high - low) * i / last for i in range(1, last)]
        return [low, *inner, high]


class _RatesType(ParamType):
    """Numbers with commas between them, always as a tuple."""

    name = "number[,...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        parts = value.split(",") if isinstance(value, str) else value
        parts = parts if isinstance(parts, (list, tuple)) else [parts]
        return tuple(NUMBER.convert(_stripped(part), param, ctx) for part in parts)


def _stripped(part: Any) -> Any:
    return part.strip() if isinstance(part, str) else part


def _subject(param: click.Parameter | None, ctx: click.Context | None, value: Any) -> str:
    if param is None or ctx is None or param.name is None:
        return shown(value)
    return typed(ctx, param.name, value)


VALUES = _ValuesType()
RATES = _RatesType()
