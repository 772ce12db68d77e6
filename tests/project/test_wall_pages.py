"""What the benchmark wall writes: tables, results, and pages that say what was measured."""

from __future__ import annotations

import ast
import csv
import io
import platform
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.wall import Claim, Reads, within
from benchmarks.wall.accuracy import Guarantee, Score
from benchmarks.wall.claim import Row
from benchmarks.wall.collect import HOME, files, is_timing
from benchmarks.wall.environments import PACKAGES
from benchmarks.wall.machine import described
from benchmarks.wall.print import HEADER, as_csv, cells, figure, markdown, times
from benchmarks.wall.store import ACCURACIES, KEPT, README, Results, between, pages

ROOT = Path(__file__).parents[2]


def measured(ours: float, theirs: float, what: str = "a problem") -> Row:
    """A row of two sides with the same answer."""
    sides = Reads("ours", lambda: (ours, 1.0)), Reads("a peer", lambda: (theirs, 1.0))
    return Claim("file/claim", what, *sides, within(1e-3)).measure()


# --- what is written ---


def test_figures_are_readable() -> None:
    assert [figure(x, "s") for x in (2.0, 0.0123, 4.5e-6, 2e-11)] == [
        "2 s", "12.3 ms", "4.5 µs", "0.02 ns",
    ]  # fmt: skip
    assert figure(3.14159, "MB") == "3.142 MB"
    assert [times(x) for x in (0.984, 9.99, 1234.5)] == ["0.98", "9.99", "1,234"]


def test_a_table_has_a_cell_for_each_heading_and_a_file_all_digits() -> None:
    row = measured(1 / 3, 2.0, "a | b")
    assert len(cells(row)) == len(HEADER)
    assert "a \\| b" in markdown([row])
    (read,) = csv.DictReader(io.StringIO(as_csv([row], "a machine")))
    assert float(read["ours"]) == 1 / 3
    assert read["machine"] == "a machine"


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    row = measured(1.0, 2.0)
    score = Score("spam", "ours", "", Guarantee(1.0, 1e-5, "zero_out"), (90.0,))
    results = Results("a machine", (row,), (score,), {"default": "ours"})
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == results
    other = measured(1.0, 3.0)
    assert results.joined([other], ["file"]) == (other,)
    assert results.joined([], ["another"]) == (row,)
    again, german = replace(score, values=(91.0,)), replace(score, data="german")
    assert results.scored([again]) == (again,)
    assert results.scored([german]) == (german, score)


def test_rows_that_are_measured_again_stay_where_they_were() -> None:
    first, second, other = (
        replace(measured(1.0, 2.0), name=name) for name in ("file/a", "file/b", "z/c")
    )
    results = Results("a machine", (first, second, other))
    again, new = replace(first, ratio=3.0), replace(first, name="file/new")
    assert results.updated([again]) == (again, second, other)
    assert results.updated([new]) == (first, second, new, other)
    memory = Results("a machine", (replace(first, unit="MB"), replace(other, unit="s")))
    assert [memory.timed(file) for file in ("file", "z", "new")] == [False, True, True]


def test_claims_about_time_are_told_from_others() -> None:
    sides = Reads("ours", lambda: (1.0, 0)), Reads("a peer", lambda: (2.0, 0))
    assert is_timing(Claim("file/a", "a problem", *sides, within(1e-3)))
    assert not is_timing(Claim("file/a", "a problem", *sides, within(1e-3), unit="MB"))


def test_words_between_marks_are_replaced_and_a_page_without_them_refused() -> None:
    page = "before\n<!-- wall -->\nold\n<!-- end of wall -->\nafter"
    assert between(page, "wall", "new\n") == page.replace("old", "new")
    with pytest.raises(ValueError, match="no place"):
        between("nothing", "wall", "new\n")


def test_the_machine_is_described_without_its_name() -> None:
    assert "cores" in described()
    name = platform.node()
    assert len(name) < 3 or name not in described()


# --- what is kept ---


def test_every_page_has_the_figures_that_were_measured() -> None:
    """README too: it fails if a figure is changed there, or if one is measured anew."""
    for path, text in pages(Results.read()).items():
        assert path.read_text() == text, f"{path.name}: python benchmarks/wall --pages"


def test_a_figure_that_is_changed_in_readme_is_noticed() -> None:
    results = Results.read()
    readme = ROOT / "README.md"
    (inside,) = re.findall(
        r"<!-- wall -->\n(.*?)<!-- end of wall -->", readme.read_text(), re.DOTALL
    )
    assert inside.count("](benchmarks/") == len(README) + len(ACCURACIES)
    changed = re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), inside, count=1)
    assert between(readme.read_text(), "wall", changed) != pages(results)[readme]


def test_the_wall_has_each_claim_once_and_every_peer() -> None:
    results = Results.read()
    names = [row.name for row in results.rows]
    assert len(names) == len(set(names))
    assert {name.partition("/")[0] for name in names} <= set(files())
    beside = {row.other.partition(" ")[0] for row in results.rows}
    ways = {score.way.partition(",")[0].lower() for score in results.scores}
    assert set(PACKAGES) <= beside | ways
    for row in results.rows:
        assert (row.ratio is None) == (row.refusal is not None)
    assert KEPT.stat().st_size < 200_000


def test_every_benchmark_that_is_on_the_wall_says_what_it_claims_and_runs_by_itself() -> None:
    assert {"calibrate", "certify", "composition", "gdp_epsilon", "training_step"} <= set(files())
    for name in files():
        tree = ast.parse((HOME / f"{name}.py").read_text())
        assert "python benchmarks/" in str(ast.get_docstring(tree))
        assert isinstance(tree.body[-1], ast.If)
