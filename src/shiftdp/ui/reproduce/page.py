"""`index.html`: one page without scripts, fonts or anything else from a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from shiftdp.ui.reproduce.contents import Reproduction
from shiftdp.ui.reproduce.figures.picture import Picture
from shiftdp.ui.reproduce.grid import Grid, Table
from shiftdp.ui.reproduce.verdict import Entry

__all__ = ["page"]

_STYLE = """
:root { --ink: #1c2530; --soft: #5d6b7a; --line: #d9dfe6; --paper: #ffffff; --back: #f4f6f8; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 20px; margin: 40px 0 10px; }
h3 { font-size: 16px; margin: 0 0 10px; }
section.card { background: var(--paper); border: 1px solid var(--line); border-radius: 8px;
  padding: 18px 20px; margin: 0 0 18px; overflow-x: auto; }
p { margin: 8px 0; } .soft, .notes { color: var(--soft); font-size: 13px; }
.notes { padding-left: 18px; margin: 8px 0 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: 4px 11px; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead tr:first-child th { border-top: 2px solid var(--ink); }
thead tr:last-child th { border-bottom: 1px solid var(--ink); }
thead th.group { text-align: center; border-bottom: 1px solid var(--line); }
tbody tr:last-child td { border-bottom: 2px solid var(--ink); }
table.comparison td, table.comparison th { text-align: left; }
table.comparison th:nth-child(n+3):nth-child(-n+5) { text-align: right; }
table.comparison td.number { text-align: right; white-space: nowrap; }
.beside { margin-top: 16px; } .beside p { max-width: 75ch; }
.chips { display: flex; gap: 12px; flex-wrap: wrap; margin: 18px 0; }
.chip { background: var(--paper); border: 1px solid var(--line); border-radius: 8px;
  padding: 10px 18px; min-width: 128px; }
.chip b { display: block; font-size: 24px; line-height: 1.2; }
.v-agrees { color: #00714f; } .v-corrected { color: #a35200; } .v-differs { color: #b3001b; }
.v-not { color: var(--soft); }
td .v { font-weight: 600; }
details { margin-top: 14px; } summary { cursor: pointer; color: #1a5fa8; }
img { max-width: 100%; height: auto; display: block; margin: 6px auto; }
nav { font-size: 13px; columns: 2; margin: 10px 0 0; } nav a { display: block; }
a { color: #1a5fa8; text-decoration: none; } a:hover { text-decoration: underline; }
@media (max-width: 700px) { nav { columns: 1; } }
"""


_SAID = {
    "agrees": "agree",
    "corrected": "corrected",
    "differs": "differ",
    "not compared": "not compared",
}


def page(made: Reproduction) -> str:
    """The whole report."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<title>Shifted interpolation, reproduced</title>",
        f"<style>{_STYLE}</style></head><body><main>",
        "<h1>Shifted interpolation for differential privacy, reproduced</h1>",
        '<p class="soft">Every table and figure of the paper, computed again by shiftdp, with '
        f"what was published beside it. Trained on: {escape(made.data)}"
        + ("" if made.data == "nothing" else f", {made.runs} runs")
        + ".</p>",
        _chips(made),
        _corrections(made),
        _contents(made),
        "<h2>Figures</h2>",
        *map(_picture, made.pictures),
        "<h2>Tables</h2>",
        *map(_table, made.tables),
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _chips(made: Reproduction) -> str:
    counted: Counter[str] = Counter(entry.verdict for _, entry in made.entries)
    chips = [
        f'<div class="chip {_class(name)}"><b>{counted[name]}</b>{text}</div>'
        for name, text in _SAID.items()
        if counted[name] or name in ("agrees", "differs")
    ]
    return f'<div class="chips">{"".join(chips)}</div>'


def _corrections(made: Reproduction) -> str:
    """Where the paper is to be corrected, and what differs."""
    slips = [(label, entry) for label, entry in made.entries if entry.verdict == "corrected"]
    lines = [
        "<li>Tables 10 to 12: the printed E* is a product where the formula has a sum; μ* is "
        f"right. {len(slips)} entries, listed with the tables.</li>",
        "<li>The MNIST experiment clips softmax gradients, which is not the gradient of a convex "
        "function for three classes or more: the theorem does not cover it as it was run. The "
        "Lipschitz envelope is covered, and as accurate.</li>",
        "<li>Lemma mgd-proj-opt needs τ* = j* + l(τ - 1) - 1; as printed its z does not end at 0."
        "</li>",
        "<li>Lemma pctoprv: with Y(t) = e^t X(t), the density of X is e^-t (δ'' - δ').</li>",
        "<li>Proof of Lemma mgd-sc-opt: 1 + c^(E(l-1)) reads 1 + c^(l(E-1)).</li>",
        "<li>Closed forms with a ceiling are above the optimum over whole t - τ unless D/s is "
        "whole, and do not apply below their thresholds on t or E; Theorem B1 has neither "
        "defect.</li>",
    ]
    wrong = [
        f"<li><b>{escape(label)}</b>, {escape(entry.setting)}, {escape(entry.quantity)}: "
        f"published {escape(entry.published)}, here {escape(entry.here)}</li>"
        for label, entry in made.failures
    ]
    failed = (
        f'<h3 class="v-differs">What should agree and does not</h3><ul>{"".join(wrong)}</ul>'
        if wrong
        else ""
    )
    return (
        f'<section class="card">{failed}<h3>Where the paper is to be corrected</h3>'
        f"<ul>{''.join(lines)}</ul></section>"
    )


def _contents(made: Reproduction) -> str:
    tables = [_link(table.label, _numbered("Table", table)) for table in made.tables]
    figures = [_link(one.label, _numbered("Figure", one)) for one in made.pictures]
    return f'<section class="card"><nav>{"".join(figures + tables)}</nav></section>'


def _link(label: str, text: str) -> str:
    return f'<a href="#{label}">{escape(text)}</a>'


def _numbered(kind: str, part: Table | Picture) -> str:
    name = f"{kind} {part.number}" if part.number is not None else f"{kind}, not in the paper"
    return f"{name}: {part.title}"


def _table(table: Table) -> str:
    beside = [
        f'<div class="beside"><p class="soft">{escape(grid.caption)}</p>{_grid(grid)}</div>'
        for grid in table.beside
    ]
    base = f"tables/{table.label}"
    return (
        f'<section class="card" id="{table.label}"><h3>{escape(_numbered("Table", table))}</h3>'
        f"{_grid(table.grid)}{''.join(beside)}{_notes(table.notes)}{_comparison(table.entries)}"
        f'<p class="soft"><a href="{base}.csv">CSV</a> · <a href="{base}.tex">LaTeX</a></p>'
        "</section>"
    )


def _picture(picture: Picture) -> str:
    base = f"figures/{picture.label}"
    return (
        f'<section class="card" id="{picture.label}">'
        f"<h3>{escape(_numbered('Figure', picture))}</h3>"
        f'<img src="{base}.svg" alt="{escape(picture.title)}" width="{_width(picture)}">'
        f"{_notes(picture.notes)}{_comparison(picture.entries)}"
        f'<p class="soft"><a href="{base}.png">PNG</a> · <a href="{base}.svg">SVG</a> · '
        f'<a href="{base}.csv">numbers</a></p></section>'
    )


def _width(picture: Picture) -> int:
    return round(float(picture.figure.get_figwidth()) * 118)


def _grid(grid: Grid) -> str:
    rows = []
    if grid.groups:
        heads = [f'<th class="group" colspan="{n}">{escape(name)}</th>' for name, n in grid.groups]
        rows.append(f"<tr>{''.join(heads)}</tr>")
    rows.append(f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in grid.columns)}</tr>")
    body = [
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>" for cells in grid.rows
    ]
    return f"<table><thead>{''.join(rows)}</thead><tbody>{''.join(body)}</tbody></table>"


def _comparison(entries: Sequence[Entry]) -> str:
    if not entries:
        return ""
    counted = Counter(entry.verdict for entry in entries)
    said = ", ".join(f"{number} {_SAID[verdict]}" for verdict, number in counted.items())
    notes = [
        f"{verdict}: {note}"
        for verdict, note in dict.fromkeys((e.verdict, e.note) for e in entries)
        if note
    ]
    heads = ("", "", "published", "here", "difference", "verdict")
    body = []
    for entry in entries:
        numbers = (entry.published, entry.here, entry.difference)
        cells = "".join(f'<td class="number">{escape(text)}</td>' for text in numbers)
        body.append(
            f"<tr><td>{escape(entry.setting)}</td><td>{escape(entry.quantity)}</td>{cells}"
            f'<td class="{_class(entry.verdict)}"><span class="v">{entry.verdict}</span>'
            "</td></tr>"
        )
    head = "".join(f"<th>{name}</th>" for name in heads)
    return (
        f"<details open><summary>Compared with the paper: {said}</summary>"
        f'<table class="comparison"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>{_notes(notes)}</details>"
    )


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    return f'<ul class="notes">{"".join(f"<li>{escape(note)}</li>" for note in notes)}</ul>'


def _class(verdict: str) -> str:
    return "v-" + verdict.partition(" ")[0]
