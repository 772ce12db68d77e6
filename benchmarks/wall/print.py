"""Rows as text: for the terminal, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from .claim import Claim, Row

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
HEADER = ("claim", "ours", "beside", "its figure", "ratio", "spread", "goal")


def figure(value: float | None, unit: str) -> str:
    """Three digits, with a unit that suits; seconds become what is readable."""
    if value is None:
        return "-"
    if unit != "s":
        return f"{value:.4g} {unit}".strip()
    scale, name = next((one for one in _UNITS if value >= one[0]), _UNITS[-1])
    return f"{value / scale:.3g} {name}"


def times(value: float | None) -> str:
    """A ratio: whole numbers from 10 on, else two digits behind the point."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 10.0 else f"{value:.2f}"


def ratio(row: Row) -> str:
    """A ratio in words, or why there is none."""
    if row.ratio is None:
        return f"none: {row.refusal}"
    words = {"peer": "times less", "floor": "of the floor", "limit": "of the limit"}[row.kind]
    if row.kind == "peer" and row.unit == "s":
        words = "times faster"
    return f"{times(row.ratio)} {words}"


def spread(row: Row) -> str:
    if row.least is None:
        return "-"
    return f"{times(row.least)} to {times(row.most)}, {row.rounds} rounds"


def goal(row: Row) -> str:
    if row.goal is None:
        return "-"
    word = {True: "met", False: "MISSED", None: "not judged"}[row.met]
    return f"{'≥' if row.kind == 'peer' else '≤'} {row.goal:g}: {word}"


def cells(row: Row) -> tuple[str, ...]:
    """The cells of a row, as in `HEADER`."""
    what = f"{row.what} ({row.accuracy})" if row.accuracy else row.what
    return (
        what + (f". {row.note}" if row.note else ""),
        f"{row.side}: {figure(row.ours, row.unit)}",
        row.other,
        figure(row.others, row.unit),
        ratio(row),
        spread(row),
        goal(row),
    )


def markdown(rows: Iterable[Row]) -> str:
    lines = ["| " + " | ".join(HEADER) + " |", "|" + " --- |" * len(HEADER)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells(row)) + " |"
              for row in rows]  # fmt: skip
    return "\n".join(lines) + "\n"


def as_csv(rows: Sequence[Row], machine: str) -> str:
    """All that is known of each row, numbers in full, one machine for all."""
    text = io.StringIO()
    fields = [*Row.__dataclass_fields__, "met", "machine"]
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row.to_dict(), "met": row.met, "machine": machine})
    return text.getvalue()


def show(claims: Iterable[Claim]) -> list[Row]:
    """Measure claims one after the other, and print each as soon as it is known."""
    rows = []
    for claim in claims:
        row = claim.measure()
        rows.append(row)
        what, ours, other, theirs, found, range_, wanted = cells(row)
        print(f"{row.name}: {what}")
        print(f"    {ours}; {other}: {theirs}")
        print(f"    {found} [{range_}] goal {wanted}", flush=True)
    return rows
