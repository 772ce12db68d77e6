"""Every theorem, lemma and paper that the code cites is stated, or listed, in docs/."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = {
    path: re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text())  # citations may go over a line
    for path in (ROOT / "src").rglob("*.py")
}
PAGES = [path.read_text() for path in (ROOT / "docs").glob("*.md")]
THEORY = (ROOT / "docs" / "theory.md").read_text()

OWN = re.compile(r"\bTheorems? ([A-Z]\d+\b(?:(?:, | and | or | to )(?:Theorem )?[A-Z]\d+\b)*)")
LEMMA = re.compile(r"\bLemmas? ([A-Z]\d+[a-z]?)")
PAGE = re.compile(r"docs/(\w+\.md)\]?, ((?:Lemma|Theorem) \d+)")
PAPER = re.compile(r"\[BSA24, ([^\]]*)\]")
NAMED = re.compile(r"\b(?:Thm|Lemma|Prop|prop|Cor|Def|Remark) ([A-Za-z]{2,}(?:-[a-z]+)*)")
BRACKETS = re.compile(r"\[([^\[\]]+)\]")
CITATION = re.compile(
    r"([A-Z][A-Za-z]*\d{2}|[A-Z][A-Za-z.&,' -]* (?:19|20)\d{2})"  # [Mir17], [A, B & C 2023]
    r"(?:, (.*))?"
)
NUMBERED = re.compile(
    r"(Thm|Theorem|Lemma|Prop|Cor|Corollary|Def|Eq|Sec|Table) ((?:[A-Z]\.)?\d+(?:\.\d+)*)"
    r"(?: and (\d+(?:\.\d+)*))?"
)
SHORT = {"Theorem": "Thm", "Corollary": "Cor"}
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


def citations(text: str) -> set[tuple[str, str]]:
    """Keys and statements, the latter empty where all of a paper is meant; one a numbered one."""
    found: set[tuple[str, str]] = set()
    parts = (part.strip() for inside in BRACKETS.findall(text) for part in inside.split(";"))
    for part in parts:
        if (cited := CITATION.fullmatch(part)) is not None:
            key, where = cited[1], cited[2] or ""
            found |= {(key, name) for name in numbered(where)} or {(key, "")}
    return found


def numbered(where: str) -> set[str]:
    """`Prop 5 and 6` are `Prop 5` and `Prop 6`; Theorem and Thm are the same."""
    return {
        f"{SHORT.get(kind, kind)} {number}"
        for kind, *numbers in NUMBERED.findall(where)
        for number in numbers
        if number
    }


def others() -> dict[tuple[str, str], str]:
    """The table of statements of others: from key and statement to the cell with the files."""
    table = THEORY.partition("## Statements of others that the code cites")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {
        found: row[-1] for row in rows[2:] for found in citations(f"[{row[0].removeprefix('| ')}]")
    }


def test_every_theorem_of_ours_has_a_heading() -> None:
    cited = {name for names in everywhere(OWN) for name in re.findall(r"[A-Z]\d+", names)}
    assert {"A1", "B1", "B8", "C7", "F1", "P1", "S5", "V5"} <= cited
    heading = re.compile(r"^(?:#+ |\*\*)Theorem (\w+)", re.M)
    assert cited - {name for page in PAGES for name in heading.findall(page)} == set()


def test_the_notation_says_on_which_page_theorems_of_a_letter_are_stated() -> None:
    cited = {name for names in everywhere(OWN) for name in re.findall(r"[A-Z]\d+", names)}
    cited |= everywhere(LEMMA)
    sources = (ROOT / "docs" / "notation.md").read_text().partition("## Sources")[2]
    letters = dict(re.findall(r"^\| ([A-Z]) \|.*\| (.*) \|$", sources, re.M))
    for name in cited:
        pages = re.findall(r"\((\w+\.md)\)", letters[name[0]])
        texts = [(ROOT / "docs" / page).read_text() for page in pages]
        heading = re.compile(rf"^(?:#+ |\*\*)(?:Theorem|Lemma) {name}\b", re.M)
        assert any(heading.search(text) for text in texts), (name, pages)


def test_every_lemma_of_ours_is_stated() -> None:
    cited = everywhere(LEMMA)
    assert {"C0a", "C0b", "C4"} <= cited
    assert cited - set(re.findall(r"^(?:#+ |\*\*)Lemma (\w+)", THEORY, re.M)) == set()


def test_statements_on_other_pages_are_there() -> None:
    cited = {found for text in SOURCES.values() for found in re.findall(PAGE, text)}
    assert ("losses.md", "Lemma 7") in cited
    for page, name in cited:
        text = (ROOT / "docs" / page).read_text()
        assert re.search(rf"^(?:#+ |\*\*){name}\b", text, re.M), (page, name)


def test_every_paper_is_listed() -> None:
    cited = {key for text in SOURCES.values() for key, _ in citations(text)}
    assert {"BSA24", "DRS22", "Mir17", "Higham 2002", "Smith & Thakurta 2022"} <= cited
    assert {"Doroshenko et al. 2022", "Trefethen and Weideman 2014"} <= cited
    references = THEORY.partition("## References")[2]
    assert cited - set(re.findall(r"^- \[([^\]]+)\]", references, re.M)) == set()


def test_every_numbered_statement_of_others_is_in_the_table() -> None:
    stated = others()
    assert {("DRS22", "Prop 6"), ("BS16", "Lemma 3.5"), ("YS22", "Thm D.6")} <= set(stated)
    cited = set()
    for path, text in SOURCES.items():
        for key, name in citations(text):
            if name:
                cited.add((key, name))
                place = path.relative_to(ROOT / "src" / "shiftdp").as_posix()
                assert f"`{place}`" in stated.get((key, name), ""), (key, name, place)
    assert set(stated) == cited  # and nothing is listed that is not cited
