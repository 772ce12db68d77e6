"""docs/architecture.md says what is: the walks and the tree, as benchmarks/walks.py finds them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"


def check(only: str, page: Path = PAGE) -> str:
    """What the page says otherwise than it is; nothing if it agrees."""
    program = str(ROOT / "benchmarks" / "walks.py")
    command = [sys.executable, program, "--check", "--only", only, "--page", str(page)]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        return found.stderr or f"ended with {found.returncode}"
    return ""


@pytest.mark.parametrize(
    "walk",
    [
        "certify(NoisyCGD)",
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("certify(NoisySGD)", "fit", "calibrate_noise", "reproduce")
        ),
    ],
)
def test_the_page_has_the_walks_and_the_tree(walk: str) -> None:
    assert check(walk) == ""


def test_a_page_that_is_out_of_date_is_found(tmp_path: Path) -> None:
    page, changed = PAGE.read_text(encoding="utf-8"), tmp_path / "page.md"
    page = re.sub(r"\d+( \(\d+\) \| 14 \|)", r"90\1", page)
    page = page.replace("| fdp/composition/ |", "| fdp/composing/ |")
    changed.write_text(re.sub(r"\| ui/plots/ .*", "| ui/plots/ | 4 | 9,000 |", page))
    found = check("certify(NoisyCGD)", changed)
    assert "certify(NoisyCGD), epsilon" in found
    assert "fdp/composing/: only in one" in found
    assert "fdp/composition/: only in one" in found
    assert "ui/plots/: 4 modules" in found


def test_every_walk_has_a_row() -> None:
    """Which the table is made with, where all of them are counted."""
    table = PAGE.read_text(encoding="utf-8").split("<!-- walks -->")[1].split("<!--")[0]
    assert len(table.strip().splitlines()) == 2 + 5
