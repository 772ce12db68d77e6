"""What is written: a folder, and in it `index.html`, one page without anything from a network.

The folder has CSV and LaTeX for every table, and PNG, SVG and CSV for every figure. The page has no
scripts and no fonts of its own.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

from shiftdp._errors import InvalidInput
from shiftdp._files import write_file
from shiftdp.ui.plots.style import write
from shiftdp.ui.reproduce.contents import Reproduction
from shiftdp.ui.reproduce.figures.picture import Picture
from shiftdp.ui.reproduce.grid import Grid, Table, entries_csv, grid_csv, grid_latex
from shiftdp.ui.reproduce.verdict import Entry

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
.missing { border-left: 4px solid #a35200; }
nav { font-size: 13px; columns: 2; margin: 10px 0 0; } nav a { display: block; }
a { color: #1a5fa8; text-decoration: none; } a:hover { text-decoration: underline; }
@media (max-width: 700px) {
  nav { columns: 1; } main { padding: 18px 10px 40px; } section.card { padding: 14px 12px; }
  img { max-width: max(100%, 680px); }
  table.comparison, table.comparison tbody, table.comparison tr { display: block; }
  table.comparison thead { display: none; }
  table.comparison tr { border-bottom: 1px solid var(--line); padding: 6px 0; }
  table.comparison td, table.comparison td.number { display: block; text-align: left;
    padding: 1px 0; border: 0; white-space: normal; }
  table.comparison tbody tr:last-child td { border: 0; }
  table.comparison td:empty { display: none; }
  table.comparison td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); }
}
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
        _missing(made),
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


def _missing(made: Reproduction) -> str:
    if not made.missing:
        return ""
    return (
        f'<section class="card missing"><b>Not finished.</b> Still to come: '
        f"{escape(made.missing)}.</section>"
    )


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
        cells = "".join(
            f'<td class="number" data-label="{name}">{escape(text)}</td>'
            for name, text in zip(heads[2:5], numbers, strict=True)
        )
        body.append(
            f"<tr><td>{escape(entry.setting)}</td><td>{escape(entry.quantity)}</td>{cells}"
            f'<td class="{_class(entry.verdict)}" data-label="verdict"><span class="v">'
            f"{entry.verdict}</span></td></tr>"
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


def prepare_folder(path: str | Path) -> Path:
    """The folder, made if it is not there; refused before any work if it cannot be written."""
    folder = Path(path)
    try:
        for part in (folder, folder / "tables", folder / "figures"):
            part.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=part).close()
    except OSError as error:
        raise InvalidInput(
            "out", str(path), f"cannot be written: {error.strerror}", "give another folder"
        ) from error
    return folder


def write_parts(parts: Sequence[Table | Picture], folder: Path) -> None:
    """The files of some tables and figures."""
    for part in parts:
        if isinstance(part, Picture):
            _write_picture(part, folder)
        else:
            _write_table(part, folder)


def write_index(made: Reproduction, folder: Path) -> Path:
    """The page, and its numbers as JSON, of what there is; returns the page to open."""
    write_file(folder / "results.json", json.dumps(summary(made), indent=1, ensure_ascii=False))
    index = folder / "index.html"
    write_file(index, page(made))
    return index


def _write_picture(picture: Picture, folder: Path) -> None:
    base = folder / "figures" / picture.label
    write(picture.figure, base.with_suffix(".png"))
    write(picture.figure, base.with_suffix(".svg"), outlines=True)
    write_file(folder / "figures" / f"{picture.label}.csv", picture.csv())


def _write_table(table: Table, folder: Path) -> None:
    base = folder / "tables" / table.label
    write_file(base.with_suffix(".csv"), grid_csv(table.grid))
    write_file(base.with_suffix(".tex"), grid_latex(table.grid, table.label, table.title))
    if table.entries:
        write_file(folder / "tables" / f"{table.label}-comparison.csv", entries_csv(table.entries))
    for i, grid in enumerate(table.beside, 1):
        name = f"{table.label}-beside" + (f"-{i}" if len(table.beside) > 1 else "")
        write_file(folder / "tables" / f"{name}.csv", grid_csv(grid))
        write_file(folder / "tables" / f"{name}.tex", grid_latex(grid, name, grid.caption))


def summary(made: Reproduction) -> dict[str, object]:
    """What agrees, what is corrected and what differs, as JSON."""
    counted: dict[str, int] = {}
    for _, entry in made.entries:
        counted[entry.verdict] = counted.get(entry.verdict, 0) + 1
    return {
        "data": made.data,
        "runs": made.runs,
        "tables": len(made.tables),
        "figures": len(made.pictures),
        "verdicts": counted,
        "missing": made.missing,
        "entries": [{"where": label, **vars(entry)} for label, entry in made.entries],
    }
