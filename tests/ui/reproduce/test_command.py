"""The command: what it writes, what it refuses, and how it ends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from shiftdp.ui.reproduce import contents, published
from tests.ui.shell import prose, refused, said, shiftdp


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


def only_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "FIGURES", ())


def test_a_number_that_should_agree_and_does_not_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_tables(monkeypatch)
    call = ("reproduce", "--no-training", "--out", str(tmp_path))
    assert "differs" not in prose(*call)
    figures = published.published("gd_strongly_convex_mu")
    monkeypatch.setitem(figures, "composition", [0.316, 1.001, 3.162])
    result = shiftdp(*call)
    assert shiftdp_exit(call) == 1
    assert "1.001" in result.stdout
    assert "What should agree and does not" in (tmp_path / "index.html").read_text()


def shiftdp_exit(call: tuple[str, ...]) -> int:
    """The code with which the process would end."""
    from shiftdp.ui.main import program

    with pytest.raises(SystemExit) as ended:
        program.main(list(call), prog_name="shiftdp")
    return int(ended.value.code or 0)


def test_what_cannot_be_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "reproduce", no_work)
    assert "--data nowhere: is no folder" in refused("reproduce --data nowhere")
    both = refused("reproduce", "--data", str(tmp_path), "--quick")
    assert "--data" in both
    assert "--quick" in both
    empty = refused("reproduce", "--data", str(tmp_path), "--out", str(tmp_path / "out"))
    assert "train-images-idx3-ubyte" in empty
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    assert "--out" in refused("reproduce", "--no-training", "--out", str(tmp_path / "file" / "x"))
    assert "--runs" in refused("reproduce --quick --runs 0")


def no_work(*_: object) -> None:
    raise AssertionError("work was begun")


@pytest.mark.slow
def test_the_quick_rehearsal(tmp_path: Path) -> None:
    document = said("reproduce", "--quick", "--out", str(tmp_path), "--json")
    assert document["tables"] == 13
    assert document["runs"] == 2
    assert document["verdicts"]["not compared"] == 30
    assert "differs" not in document["verdicts"]
