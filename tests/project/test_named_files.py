"""Files that pages and docstrings name are there, under that name."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ("benchmarks", "docs", "examples", "reproduce", "src", "tests")
FILES = [
    file.relative_to(ROOT).as_posix() for place in PLACES for file in (ROOT / place).rglob("*")
]
NAMED = re.compile(r"`((?:[\w.]+/)+[\w.]+\.(?:py|md|json|csv))`")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted((ROOT / "src").rglob("*.py"))


def missing(text: str) -> list[str]:
    """Names with a folder in them that no file ends with."""
    return [
        name
        for name in NAMED.findall(text)
        if not any(f"/{file}".endswith(f"/{name}") for file in FILES)
    ]


def test_a_name_that_is_gone_is_found() -> None:
    assert missing("`theorems/sampled.py`, `theorems/descent.py`") == ["theorems/sampled.py"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_files_that_are_there(page: Path) -> None:
    if page.name != "CHANGELOG.md":  # which also tells of what there was
        assert missing(page.read_text(encoding="utf-8")) == []


def test_docstrings_name_files_that_are_there() -> None:
    found = {file.name: missing(file.read_text(encoding="utf-8")) for file in MODULES}
    assert {name: names for name, names in found.items() if names} == {}
