"""What is printed: tables that align, JSON, and numbers that are rounded to the private side."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import click

from shiftdp._printed import aligned, column, down, up

__all__ = [
    "coloured",
    "column",
    "down",
    "drawn",
    "plain",
    "print_json",
    "print_pairs",
    "print_table",
    "print_text",
    "up",
]

_MOST_STEPS = 10  # that are printed one by one


def plain(value: Any) -> str:
    """A number that is no bound, a word, or a schedule: ten steps or fewer one by one.

    >>> plain(60000), plain(1e-5), plain((0.1, 0.2)), plain(math.inf), plain((5, 10))
    ('60000', '1e-05', '2 values', 'inf', '5,10')
    >>> plain(((200, 1), (300, 2)))
    '200:1,300:2'
    """
    if isinstance(value, tuple):
        value = tuple(_pair(item) for item in value)
        steps = len(value) <= _MOST_STEPS and all(isinstance(item, (int, str)) for item in value)
        return (",".join(map(str, value)) or "none") if steps else f"{len(value)} values"
    return f"{value:g}" if isinstance(value, float) and not value.is_integer() else _whole(value)


def _pair(item: Any) -> Any:
    """Requests are printed as they are typed."""
    return ":".join(map(str, item)) if isinstance(item, tuple) else item


def _whole(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value) and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def print_text(text: str = "") -> None:
    click.echo(text)


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON object, and nothing else; JSON has no infinity, so it is the text "inf"."""
    click.echo(json.dumps(_finite(document), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def print_pairs(title: str, pairs: Sequence[tuple[str, str]]) -> None:
    """A title, and names with their values below it."""
    width = max(len(name) for name, _ in pairs)
    if not drawn(sys.stdout):
        lines = [f"  {name:<{width}}  {value}" for name, value in pairs]
        click.echo("\n".join([title, *lines]))
        return
    colour = coloured()
    click.secho(title, bold=True, color=True)
    for name, value in pairs:
        shown = f"{name:<{width}}"
        click.echo(f"  {click.style(shown, fg='cyan') if colour else shown}  {value}", color=True)


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    title: str = "",
    strong: Sequence[int] = (),
) -> None:
    """Columns that align: drawn on a terminal, plain text elsewhere.

    Args:
        columns: the headings.
        rows: the cells.
        right: which columns hold numbers.
        title: above it.
        strong: which rows to print bold on a terminal.
    """
    if drawn(sys.stdout):
        _print_rich(columns, rows, right, title, strong)
        return
    head = [title] if title else []
    click.echo("\n".join([*head, *aligned([columns, *rows], right)]))


def _print_rich(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int],
    title: str,
    strong: Sequence[int],
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    # asked for here, as a test may give another stream than the one of the process
    console = Console(file=sys.stdout, highlight=False, no_color=not coloured())
    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for i, name in enumerate(columns):
        words = i not in right
        table.add_column(
            name, justify="left" if words else "right", no_wrap=not words, overflow="fold"
        )
    for i, row in enumerate(rows):
        table.add_row(*(_escaped(cell) for cell in row), style="bold" if i in strong else None)
    console.print(table)


def _escaped(text: str) -> str:
    """Text that rich prints as it is: `[YS22]` is a citation here, not a style."""
    return text.replace("[", r"\[")


def drawn(stream: TextIO) -> bool:
    """Whether it is a terminal that can do more than print lines (TERM=dumb cannot)."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def coloured() -> bool:
    """Whether colours are wanted: not if NO_COLOR is set, to anything but nothing."""
    return not os.environ.get("NO_COLOR")
