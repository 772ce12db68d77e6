"""Runs in files: one number a step as CSV, and a whole run as TOML for `--config`.

`shiftdp calibrate -o` writes both, so that a schedule of thousands of steps reaches the next
command, or a training loop, without being typed.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from shiftdp._files import write_file
from shiftdp.ui.refusals import READ, Refused, shown, typed
from shiftdp.ui.types import NUMBER, NUMBERS, ParamType

if TYPE_CHECKING:
    from shiftdp.last_iterate import Geometry
    from shiftdp.last_iterate.runs import Run

ENDINGS = ("toml", "csv")
_COLUMNS = ("learning_rate", "noise")
_IN_A_LINE = 4  # numbers of a schedule in TOML


class _PerStep(ParamType):
    """A number, several with commas between them, or a CSV file with one in each line.

    Of a file with a line of names it is the column with the name of the option.
    """

    name = "number[,...]|file"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | tuple[float, ...]:
        if not (isinstance(value, str) and value.lower().endswith(".csv")):
            found: float | tuple[float, ...] = NUMBERS.convert(value, param, ctx)
            return found
        name = (param.name if param is not None else None) or "noise"
        subject = shown(value) if ctx is None else typed(ctx, name, value)
        if not os.path.isfile(value):
            raise Refused(f"{subject}: there is no such file", ctx)
        if ctx is not None:
            ctx.meta.setdefault(READ, {})[name] = value
        try:
            return _column(value, name)
        except (ValueError, csv.Error, click.UsageError) as error:
            problem = error if isinstance(error, _Unusable) else "is not a table of numbers"
            remedy = f"give one number a line, or a line of names with {name} among them above them"
            raise Refused(f"{subject}: {problem}; {remedy}", ctx) from None


class _Unusable(ValueError):
    """What is wrong with a file."""


def _column(path: str, name: str) -> tuple[float, ...]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows:
        raise _Unusable("is empty")
    place = 0
    if name in (names := [cell.strip() for cell in rows[0]]):
        place, rows = names.index(name), rows[1:]
    elif len(names) > 1:
        raise _Unusable(f"has no column {name}")
    found = []
    for line, row in enumerate(rows, start=1):
        try:
            found.append(NUMBER.convert(row[place].strip(), None, None))
        except (Refused, IndexError):
            raise _Unusable(f"has no number for step {line}") from None
    return tuple(found)


def write_run(path: str, kind: str, run: Run, geometry: Geometry) -> None:
    """A run in a file.

    Args:
        path: one that ends with .csv has step, learning rate and noise, a line a step; one that
            ends with .toml has all that `--config` needs to describe the run again.
        kind: of the run, as it is typed.
        run: what is written.
        geometry: the losses, for .toml.
    """
    if path.lower().endswith(".csv"):
        write_file(path, _lines_of(run))
        return
    from shiftdp.last_iterate.runs import stated

    fields: Mapping[str, Any] = {"kind": kind, **stated(run), **geometry.stated()}
    lines = [f"{name} = {_toml(value)}" for name, value in fields.items() if value is not None]
    write_file(path, "\n".join([*lines, ""]))


def has_steps(run: Run) -> bool:
    """Whether a CSV file can list its steps: it has noise of its own, and a last step."""
    steps = getattr(run, "steps", None)
    return isinstance(steps, int) and hasattr(run, "noise")


def _lines_of(run: Any) -> str:
    columns = [
        value if isinstance(value, tuple) else (value,) * run.steps
        for value in (getattr(run, name) for name in _COLUMNS)
    ]
    rows = [",".join(("step", *_COLUMNS))]
    for step, values in enumerate(zip(*columns, strict=True), start=1):
        rows.append(",".join((str(step), *map(repr, values))))
    return "\n".join([*rows, ""])


def _toml(value: Any) -> str:
    """
    >>> _toml("cgd"), _toml(60000), _toml(0.5), _toml(float("inf")), _toml((1.0, 2.0))
    ('"cgd"', '60000', '0.5', 'inf', '[1.0, 2.0]')
    """
    if isinstance(value, tuple):
        parts = [_toml(item) for item in value]
        if len(parts) <= _IN_A_LINE:
            return f"[{', '.join(parts)}]"
        rows = [
            "  " + ", ".join(parts[i : i + _IN_A_LINE]) for i in range(0, len(parts), _IN_A_LINE)
        ]
        return "[\n" + ",\n".join(rows) + ",\n]"
    return f'"{value}"' if isinstance(value, str) else repr(value)


PER_STEP = _PerStep()
