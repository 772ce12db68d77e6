"""A table as rows of text, and its forms: CSV and LaTeX (booktabs)."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from shiftdp.ui.reproduce.verdict import Entry

_LATEX = {
    "\\": r"\textbackslash{}",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "±": r"$\pm$",
    "μ": r"$\mu$",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "λ": r"$\lambda$",
    "η": r"$\eta$",
    "σ": r"$\sigma$",
    "≥": r"$\ge$",
    "∞": r"$\infty$",
    "*": r"$^{*}$",
    "–": "--",
    "é": r"\'e",
}


@dataclass(frozen=True)
class Grid:
    """Columns under headings, which may stand under common ones.

    Args:
        columns: the headings.
        rows: the cells; the first of each row is its name.
        groups: common headings from left to right with the number of columns below each.
        caption: what the grid shows.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()
    caption: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the paper, and what this library has to add to it.

    Args:
        label: its name in the paper's source, and of its files.
        number: in the paper; None for one that is not in it.
        title: what it shows.
        grid: as the paper has it, with the numbers computed here.
        beside: our bounds for the same settings.
        entries: the comparison, number by number.
        notes: what to bear in mind.
    """

    label: str
    number: int | None
    title: str
    grid: Grid
    beside: tuple[Grid, ...] = ()
    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()


def grid_csv(grid: Grid) -> str:
    """Headings, then rows; common headings are put in front of those below them."""
    return _csv([_full_headings(grid), *grid.rows])


def entries_csv(entries: Sequence[Entry]) -> str:
    """The comparison: published, here, difference, verdict."""
    head = ("setting", "quantity", "published", "here", "difference", "verdict", "note")
    return _csv([head, *(tuple(vars(entry).values()) for entry in entries)])


def grid_latex(grid: Grid, label: str, caption: str) -> str:
    r"""A table environment for the package booktabs.

    >>> print(grid_latex(Grid(("E", "μ"), (("50", "0.99"),)), "mu", "GDP parameters"))
    \begin{table}
    \centering
    \caption{GDP parameters}
    \label{tab:mu}
    \begin{tabular}{lc}
    \toprule
    E & $\mu$ \\
    \midrule
    50 & 0.99 \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(caption)}}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{l{'c' * (len(grid.columns) - 1)}}}",
        r"\toprule",
    ]
    if grid.groups:
        lines += _group_lines(grid.groups)
    lines += [_row(grid.columns), r"\midrule", *map(_row, grid.rows)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _group_lines(groups: Sequence[tuple[str, int]]) -> list[str]:
    cells, rules, at = [], [], 1
    for title, width in groups:
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{_escaped(title)}}}" if title else "")
        cells += [""] * (0 if title else width - 1)
        if title:
            rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
        at += width
    return [" & ".join(cells) + r" \\", " ".join(rules)]


def _full_headings(grid: Grid) -> tuple[str, ...]:
    above = [title for title, width in grid.groups for _ in range(width)]
    above += [""] * (len(grid.columns) - len(above))
    return tuple(
        f"{group}, {name}" if group and name else group or name
        for group, name in zip(above, grid.columns, strict=True)
    )


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _csv(rows: Sequence[Sequence[str]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
