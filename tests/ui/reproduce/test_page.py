"""The page: whole by itself; and the folder: every file of every table and figure."""

from __future__ import annotations

import json
import re
from pathlib import Path


def test_the_page_needs_nothing_from_elsewhere(folder: Path) -> None:
    text = (folder / "index.html").read_text()
    assert "<script" not in text
    assert not re.search(r"(src|href)=\"(https?:)?//|url\(|@import", text)
    linked = re.findall(r"(?:src|href)=\"([^\"#]+)\"", text)
    assert len([name for name in linked if name.endswith(".svg")]) == 2 * 12
    for name in linked:
        assert (folder / name).is_file(), name
    for anchor in re.findall(r"href=\"#([^\"]+)\"", text):
        assert f'id="{anchor}"' in text
    for word in ("published", "here", "difference", "verdict", "corrected"):
        assert word in text


def test_the_folder(folder: Path) -> None:
    tables = {path.name for path in (folder / "tables").iterdir()}
    for label in ("lr-ep", "lr-mu-long", "lr-ep-long", "ngd-fdp-sc", "ngd-fdp-proj-40"):
        assert {f"{label}.csv", f"{label}.tex", f"{label}-comparison.csv"} <= tables
        assert {f"{label}-beside.csv", f"{label}-beside.tex"} <= tables
    figures = list((folder / "figures").iterdir())
    assert len(figures) == 3 * 12
    for path in figures:
        start = path.read_bytes()[:8]
        if path.suffix == ".png":
            assert start == b"\x89PNG\r\n\x1a\n"
        if path.suffix == ".svg":
            assert start.startswith(b"<?xml")
    results = json.loads((folder / "results.json").read_text())
    assert results["verdicts"].keys() == {"agrees", "corrected"}
    assert results["verdicts"]["corrected"] == 27


def test_on_a_phone_rows_become_lists_and_figures_keep_their_size(folder: Path) -> None:
    text = (folder / "index.html").read_text()
    narrow = text.partition("@media (max-width: 700px)")[2].partition("</style>")[0]
    assert "table.comparison tr { display: block; }" in narrow
    assert "img { max-width: max(100%, 680px); }" in narrow
    verdicts = re.findall(r'data-label="verdict"', text)
    assert len(verdicts) == len(re.findall(r'<span class="v">', text)) > 100
