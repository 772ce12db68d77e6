"""What the wall keeps: results.json, and what is written from it.

`benchmarks/results.json` has every row with all digits. From it, and from nothing else, are written
`benchmarks/results.csv`, the tables of `docs/benchmarks.md`, the figure there, and the lines of
README.md between its two marks; a test holds these pages to the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from .accuracy import Score, as_table
from .claim import Row
from .print import as_csv, figure, markdown, times

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "benchmarks" / "results.json"


@dataclass(frozen=True)
class Results:
    """All that the wall has measured, and where."""

    machine: str
    rows: tuple[Row, ...] = ()
    scores: tuple[Score, ...] = ()
    setting: dict[str, Any] = field(default_factory=dict)
    """How accuracies were measured: delta, adjacency, and which of them is our default."""

    @classmethod
    def read(cls, path: Path = KEPT) -> Results:
        found = json.loads(path.read_text())
        names = {one.name for one in fields(Row)}
        rows = [Row(**{k: v for k, v in row.items() if k in names}) for row in found["claims"]]
        scores = [Score.from_dict(score) for score in found["accuracy"]]
        return cls(found["machine"], tuple(rows), tuple(scores), found["setting"])

    def write(self, path: Path = KEPT) -> None:
        document = {
            "machine": self.machine,
            "claims": [row.to_dict() for row in self.rows],
            "setting": self.setting,
            "accuracy": [score.to_dict() for score in self.scores],
        }
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")

    def row(self, name: str) -> Row:
        (found,) = (row for row in self.rows if row.name == name)
        return found

    def joined(self, rows: Sequence[Row], files: Sequence[str]) -> tuple[Row, ...]:
        """The rows with those of some files replaced."""
        kept = [row for row in self.rows if row.name.partition("/")[0] not in files]
        return tuple(sorted([*kept, *rows], key=lambda row: row.name.partition("/")[0]))

    def updated(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """The rows with those of the same names replaced where they are, and new ones added."""
        new = {row.name: row for row in rows}
        kept = [new.pop(row.name, row) for row in self.rows]
        return tuple(sorted([*kept, *new.values()], key=lambda row: row.name.partition("/")[0]))

    def timed(self, file: str) -> bool:
        """Whether a file may have claims about time: a row of it is one, or none is known."""
        units = {row.unit for row in self.rows if row.name.partition("/")[0] == file}
        return not units or "s" in units

    def scored(self, scores: Sequence[Score]) -> tuple[Score, ...]:
        """The accuracies with those of the same data replaced."""
        data = {score.data for score in scores}
        kept = [score for score in self.scores if score.data not in data]
        return tuple(sorted([*kept, *scores], key=lambda score: score.data))


def between(text: str, mark: str, inside: str) -> str:
    """A page with other words between `<!-- mark -->` and `<!-- end of mark -->`."""
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"the page has no place for {mark!r}")
    return pattern.sub(lambda found: found[1] + inside + found[2], text)


def readme_lines(results: Results) -> str:
    """The rows of README's table that have figures of the wall in them."""
    lines = []
    for words, name, place in README:
        row = results.row(name)
        if row.ratio is None:
            continue
        claim = words.format(
            ratio=times(row.ratio), ours=figure(row.ours, row.unit),
            theirs=figure(row.others, row.unit), other=row.other,
        )  # fmt: skip
        lines.append(f"| {claim} | [benchmarks/{place}](benchmarks/{place}) |\n")
    for data, epsilon in ACCURACIES:
        ours, theirs = (
            next(
                (s.short for s in results.scores if (s.data, s.way) == (data, way)
                 and s.guarantee is not None and s.guarantee.epsilon == epsilon),
                None,
            )
            for way in (results.setting.get("default"), RIVAL)
        )  # fmt: skip
        if ours is None or theirs is None:
            continue
        lines.append(
            f"| {data} at epsilon = {epsilon:g}: {ours} % right by default, where {RIVAL}, has "
            f"{theirs} % | [benchmarks/utility.py](benchmarks/utility.py) |\n"
        )
    return "| measured here | by |\n| --- | --- |\n" + "".join(lines)


RIVAL = "Opacus, in hindsight"
ACCURACIES = (("digits", 0.3), ("satellite", 0.1), ("ionosphere", 1.0), ("spam", 1.0))
"""Tables and budgets whose accuracies README shows: where much is gained, and where nothing is."""


README = (
    ("a certificate and its epsilon in {ours}", "certify/limit", "certify.py"),
    ("noise for a budget {ratio} times faster than {other}, as accurate", "calibrate/dp_accounting",
     "calibrate.py"),
    ("noise for a budget {ratio} times faster than {other}, as accurate", "calibrate/opacus",
     "calibrate.py"),
    ("composition with proved bounds {ratio} times faster than {other}, as accurate",
     "composition/dp_accounting 8000", "composition.py"),
    ("the paper's route to its epsilons, {other}: {theirs}; ours: {ours}",
     "composition/prv_accountant", "composition.py"),
    ("epsilon of Poisson batches {ratio} times faster than {other}", "composition/opacus",
     "composition.py"),
    ("a tradeoff curve {ratio} times faster than {other}", "composition/riskcal",
     "composition.py"),
    ("epsilon of the Gaussian mechanism {ratio} times faster than {other}",
     "gdp_epsilon/autodp", "gdp_epsilon.py"),
    ("randomly allocated batches whose steps contract: epsilon {ours}, where {other}, for all "
     "iterates, has {theirs}", "hidden_participation/PLD_accounting, contraction 0.95",
     "hidden_participation.py"),
    ("the same without contraction: {ours}, where {other} has {theirs}",
     "hidden_participation/PLD_accounting", "hidden_participation.py"),
    ("that epsilon {ratio} times faster than {other}, for all iterates too",
     "hidden_participation/PLD_accounting, time", "hidden_participation.py"),
    ("small batches with {ratio} times less noise than by composition",
     "hidden_participation/noise", "hidden_participation.py"),
    ("training takes {ratio} times its two matrix products", "training_step/products",
     "training_step.py"),
    ("a step of training {ratio} times faster than {other}", "training_step/opacus",
     "training_step.py"),
)  # fmt: skip
"""What README says of the wall: the words, the claim, and the file of the claim."""


def pages(results: Results) -> dict[Path, str]:
    """Every file that is written from the results, with what it has to hold."""
    page, readme = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"
    text = page.read_text()
    text = between(text, "machine", f"{results.machine}.\n")
    text = between(text, "claims", "\n" + markdown(results.rows) + "\n")
    text = between(text, "accuracy", "\n" + as_table(results.scores, results.setting) + "\n")
    return {
        page: text,
        readme: between(readme.read_text(), "wall", "\n" + readme_lines(results) + "\n"),
        KEPT.with_suffix(".csv"): as_csv(results.rows, results.machine),
    }
