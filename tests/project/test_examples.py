"""The gallery: each example runs, draws its figure, and prints what the page says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gallery.md").read_text()
ELSEWHERE = {"demo", "small_batches"}
"""One has tests of its own (tests/ui), the other takes minutes."""

PRINTED: dict[str, str] = dict(
    re.findall(r"\[(\w+)\.py\]\(\S+\) prints\n\n```text\n(.*?)```", PAGE, re.DOTALL)
)


def test_every_example_is_on_the_page() -> None:
    examples = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert set(PRINTED) == examples - ELSEWHERE
    assert all(f"](../examples/{name}.py)" in PAGE for name in examples)


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_example_draws_its_figure_and_prints_what_the_page_says(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    figure = tmp_path / "figure.svg"
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"](figure)
    assert capsys.readouterr().out == PRINTED[name]
    assert figure.read_text().count("<path") > 20
    kept = ROOT / "docs" / "images" / "gallery" / f"{name}.svg"
    assert kept.is_file()
    assert kept.stat().st_size < 150_000
