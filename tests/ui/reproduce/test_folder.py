"""The folder: every file of every table and figure."""

from __future__ import annotations

import json
from pathlib import Path


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
