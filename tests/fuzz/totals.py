"""How many inputs were tried: a line of `totals.csv` for each process, and the tables of the page.

`python -m tests.fuzz.totals` writes the tables of docs/fuzzing.md from tests/fuzz/totals.csv; a
test holds the two together. A campaign with `--totals tests/fuzz/totals.csv` adds its lines.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

KEPT = Path(__file__).with_name("totals.csv")
PAGE = Path(__file__).parents[2] / "docs" / "fuzzing.md"
_BEGIN, _END = "<!-- totals -->", "<!-- end of totals -->"


class Line(NamedTuple):
    """What one process tried.

    Args:
        answered: inputs that were not refused; empty where it was not counted.
        megabytes: the most that it held.
        code: that it ended with.
    """

    date: str
    target: str
    engine: str
    seed: str
    inputs: str
    answered: str
    seconds: str
    megabytes: str
    code: str


def note(path: Path, line: Line) -> None:
    fresh = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(Line._fields)
        writer.writerow(line)


def read(path: Path) -> list[Line]:
    with path.open(newline="", encoding="utf-8") as file:
        return [Line(**row) for row in csv.DictReader(file)]


def tables(lines: Iterable[Line]) -> str:
    """Inputs of all campaigns by target, and how they fell on the two engines."""
    lines = list(lines)
    whole = sum(int(line.inputs) for line in lines)
    first, last = min(line.date for line in lines), max(line.date for line in lines)
    rows = [
        f"From {first} to {last}: **{whole:,} inputs**, each counted when it was over.",
        "",
        "| target | random | of 1,000, answered | atheris | most MB |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for target in dict.fromkeys(sorted(line.target for line in lines)):
        own = [line for line in lines if line.target == target]
        tried = {
            engine: sum(int(line.inputs) for line in own if line.engine == engine)
            for engine in ("random", "atheris")
        }
        counted = [line for line in own if line.engine == "random" and line.answered]
        share = ""
        if total := sum(int(line.inputs) for line in counted):
            share = f"{round(1000 * sum(int(line.answered) for line in counted) / total)}"
        most = max((int(line.megabytes) for line in own if line.megabytes), default=0)
        cells = [f"{tried[engine]:,}" if tried[engine] else "" for engine in ("random", "atheris")]
        rows.append(f"| `{target}` | {cells[0]} | {share} | {cells[1]} | {most or ''} |")
    return "\n".join(rows)


def page(text: str, lines: Iterable[Line]) -> str:
    """The page with its tables made anew."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{tables(lines)}\n{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), read(KEPT)), encoding="utf-8")
