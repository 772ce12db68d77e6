"""Every theorem, lemma and paper that the code cites is stated, or listed, in docs/."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = {path: path.read_text() for path in (ROOT / "src").rglob("*.py")}
PAGES = [path.read_text() for path in (ROOT / "docs").glob("*.md")]
THEORY = (ROOT / "docs" / "theory.md").read_text()

KEY = re.compile(r"\[([A-Z]{2,}\d{2}|[A-Z][a-z]+ \d{4})[\],]")
OWN = re.compile(r"\bTheorem ([A-Z]\d+)")
PAPER = re.compile(r"\[BSA24, ([^\]]*)\]")
NAMED = re.compile(r"\b(?:Thm|Lemma|Prop|prop|Cor|Def|Remark) ([A-Za-z]{2,}(?:-[a-z]+)*)")
LABEL = re.compile(r"\b[a-z]+(?:-[a-z]+)+\b|\bapp:[a-z]+|§[a-z]+")


def everywhere(pattern: re.Pattern[str]) -> set[str]:
    return {found for text in SOURCES.values() for found in pattern.findall(text)}


def labels() -> set[str]:
    """Labels of the paper: what follows `Thm`, `Lemma` and the like, and lists of them."""
    cited = {label for text in everywhere(PAPER) for label in LABEL.findall(text)}
    return cited | everywhere(NAMED)


def stated() -> set[str]:
    """Labels in the first column of the table of statements."""
    table = THEORY.partition("## Statements of the paper that the code cites")[2]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    cells = ", ".join(rows)
    return set(NAMED.findall(cells)) | set(LABEL.findall(cells))


def test_every_label_of_the_paper_is_stated() -> None:
    cited = labels()
    assert {"gd-sc", "various", "cp", "GDP", "app:rdp", "cni-proj"} <= cited
    described = {"shift-simple"}  # an equation, in the line of its theorem
    assert cited - stated() - described == set()


def test_every_theorem_of_ours_has_a_heading() -> None:
    cited = everywhere(OWN)
    assert {"B1", "B2", "B3", "B4", "B5", "F1"} <= cited
    heading = re.compile(r"^(?:#+ |\*\*)Theorem (\w+)", re.M)
    assert cited - {name for page in PAGES for name in heading.findall(page)} == set()


def test_every_paper_is_listed() -> None:
    cited = everywhere(KEY)
    assert {"BSA24", "DRS22", "YS22", "Higham 2002"} <= cited
    references = THEORY.partition("## References")[2]
    assert cited - set(re.findall(r"^- \[([^\]]+)\]", references, re.M)) == set()
