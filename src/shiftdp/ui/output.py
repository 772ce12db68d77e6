"""What is printed: tables that align, JSON, and numbers that are rounded to the private side."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import click

__all__ = [
    "column",
    "down",
    "plain",
    "print_json",
    "print_pairs",
    "print_table",
    "print_text",
    "up",
]


def up(value: float | None, digits: int = 5) -> str:
    """A bound to a few digits, never smaller than it is.

    >>> up(4.33910001), up(0.0), up(math.inf), up(None), up(30.50629)
    ('4.3392', '0', 'inf', '-', '30.507')
    """
    return _rounded(value, digits, ROUND_CEILING)


def down(value: float | None, digits: int = 5) -> str:
    """What is attained, never larger than it is.

    >>> down(4.3391999)
    '4.3391'
    """
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float | None, digits: int, rounding: str) -> str:
    if value is None or math.isnan(value):
        return "-"
    if value == 0.0 or math.isinf(value):
        return f"{value:g}"
    exact = Decimal(repr(float(value)))  # 0.1 is 0.1 in print
    kept = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=rounding)
    if -4 <= exact.adjusted() < 9:
        return f"{kept:f}" if kept.as_tuple().exponent < 0 else f"{int(kept)}"  # type: ignore[operator]
    mantissa, _, exponent = f"{kept:e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def column(values: Sequence[float | None], side: str = "up") -> list[str]:
    """Numbers that stand below one another, with as many decimals as the least of them needs.

    >>> column([30.50629, 4.33916, None, 0.0])
    ['30.5063', '4.3392', '-', '0']
    """
    rounding = ROUND_CEILING if side == "up" else ROUND_FLOOR
    known = [x for x in values if x is not None and math.isfinite(x) and x > 0.0]
    places = max(4, 3 - math.floor(math.log10(min(known)))) if known else 4
    if places > 8 or (known and max(known) >= 1e9):
        return [_rounded(x, 5, rounding) for x in values]
    unit = Decimal(1).scaleb(-places)
    return [
        f"{Decimal(repr(x)).quantize(unit, rounding=rounding):f}"
        if x is not None and math.isfinite(x) and x != 0.0
        else _rounded(x, 5, rounding)
        for x in values
    ]


def plain(value: Any) -> str:
    """A number that is no bound, or a word.

    >>> plain(60000), plain(1e-5), plain((0.1, 0.2)), plain(math.inf)
    ('60000', '1e-05', '2 values', 'inf')
    """
    if isinstance(value, tuple):
        return f"{len(value)} values"
    return f"{value:g}" if isinstance(value, float) and not value.is_integer() else _whole(value)


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
    if not _terminal():
        lines = [f"  {name:<{width}}  {value}" for name, value in pairs]
        click.echo("\n".join([title, *lines]))
        return
    click.secho(title, bold=True)
    for name, value in pairs:
        click.echo(f"  {click.style(f'{name:<{width}}', fg='cyan')}  {value}")


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
    if _terminal():
        _print_rich(columns, rows, right, title, strong)
        return
    widths = [max(len(row[i]) for row in (columns, *rows)) for i in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    head = [title] if title else []
    click.echo("\n".join([*head, line(columns), rule, *map(line, rows)]))


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
    console = Console(file=sys.stdout, highlight=False)
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
    """[YS22] is a citation, not a style."""
    return text.replace("[", r"\[")


def _terminal() -> bool:
    return sys.stdout.isatty()
