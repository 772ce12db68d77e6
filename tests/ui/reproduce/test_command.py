"""The command: what it writes, what it refuses, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shiftdp.ui.reproduce import contents, verdict
from shiftdp.ui.reproduce.figures.picture import Picture
from tests.ui.shell import prose, refused, shiftdp


def only_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "FIGURES", ())


def test_a_number_that_should_agree_and_does_not_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_tables(monkeypatch)
    call = ("reproduce", "--no-training", "--out", str(tmp_path))
    assert "differs" not in prose(*call)
    figures = verdict.published("gd_strongly_convex_mu")
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


def test_an_interruption_leaves_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> Picture:
        raise KeyboardInterrupt

    monkeypatch.setattr(contents, "FIGURES", (contents.FIGURES[0], interrupted))
    result = shiftdp("reproduce", "--no-training", "--out", str(tmp_path))
    assert result.exit_code != 0
    page = (tmp_path / "index.html").read_text()
    assert page.endswith("</html>\n")
    assert "Not finished.</b> Still to come: some figures." in page
    assert page.count('<img src="figures/') == 1
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 1
    assert json.loads((tmp_path / "results.json").read_text())["missing"] == "some figures"
    assert len(list((tmp_path / "tables").glob("*.tex"))) >= 9


def test_what_is_finished_says_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_tables(monkeypatch)
    prose("reproduce", "--no-training", "--out", str(tmp_path))
    assert "Not finished" not in (tmp_path / "index.html").read_text()
