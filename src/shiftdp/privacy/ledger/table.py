"""A ledger in print."""

from __future__ import annotations

from collections.abc import Sequence

from shiftdp._printed import column
from shiftdp.privacy.ledger.entry import Entry, Terms
from shiftdp.privacy.ledger.spent import Spent

__all__ = ["table_of"]

_HEAD = ("#", "label", "release", "times", "mu", "epsilon", "state")
_RIGHT = (0, 3, 4, 5)


def table_of(name: str, terms: Terms, spent: Spent, entries: Sequence[Entry]) -> str:
    """What is spent, the releases in columns, and what the total rests on."""
    title = (
        f"{name}: epsilon {column([spent.epsilon(terms.delta)])[0]} of {terms.epsilon:g} is spent "
        f"at delta={terms.delta:g}, {terms.adjacency}"
    )
    rows = [_HEAD, *(_row(entry, terms) for entry in entries)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    lines = [
        "  ".join(
            cell.rjust(width) if i in _RIGHT else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join([title, *lines, *_hypotheses(terms, entries)])


def _row(entry: Entry, terms: Terms) -> tuple[str, ...]:
    return (
        str(entry.number),
        entry.label,
        entry.release.description + (" (declared)" if entry.source == "declared" else ""),
        str(entry.times),
        column([entry.mu])[0],
        column([entry.f.epsilon(terms.delta)])[0],
        "completed" if entry.completed else "reserved",
    )


def _hypotheses(terms: Terms, entries: Sequence[Entry]) -> list[str]:
    given = ["all releases are about one data set, each with noise of its own"]
    if not terms.adaptive:
        given.append("their privacy parameters were not chosen by earlier results")
    if any(entry.source == "declared" for entry in entries):
        given.append("what is marked as declared is true")
    given.append("the hypotheses of every certificate hold")
    lines = ["provided that", *(f"  - {line}" for line in given)]
    if terms.adaptive:
        lines.append("parameters may depend on results: the budget is what is guaranteed")
    return lines
