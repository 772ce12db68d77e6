"""What is shown while something runs; tests/ui/test_process.py looks at it on a terminal."""

from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from shiftdp.ui import progress
from tests.ui.shell import MNIST, prose, table


def test_time_left_is_what_the_pace_so_far_says(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [7.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    bar = progress.Bar("training", 1000.0)
    now[0] += 5.0
    assert bar.clock == "5 s"
    bar.advance(10.0)
    assert bar.clock == "8 min 15 s left"
    bar.advance(90.0)
    assert bar.clock == "45 s left"
    bar.advance(900.0)
    assert bar.clock == "0 s left"


def test_a_log_has_a_line_in_a_while(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bar = progress.Bar("training", 1000.0)
    bar.advance(250.0)
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return len(waits) > 2

    monkeypatch.setattr(bar, "_ended", SimpleNamespace(wait=wait))
    bar.log()
    assert waits == [60.0] * 3
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("training: 25% done, ")


def test_what_is_short_or_silent_logs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for how in ({"logged": True}, {"logged": True, "silent": True}, {}):
        with progress.waiting("training", 10.0, **how):
            pass
    assert capsys.readouterr().err == ""


def test_several_short_waits_of_a_command_are_one_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [7.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    left = []
    with click.Context(click.Command("train")):
        for _ in range(3):
            left.append(progress.Bar("training")._patience)
            now[0] += 1.5
    assert left == [2.0, 0.5, 0.0]
    assert progress.Bar("training")._patience == 2.0


@pytest.mark.parametrize(
    ("command", "labels"),
    [
        ("verify run.json", {"checking the proof"}),
        ("statement run.json --format registry", {"checking the proof"}),
        ("train data.csv --target y --classes 0,1 --epsilon 1 --feature-bound 1 --dry-run",
         {"planning", "accounting"}),
    ],
)  # fmt: skip
def test_what_may_take_long_shows_that_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, labels: set[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(table())
    prose(f"account {MNIST} --save run.json")
    seen: set[str] = set()

    class Noted(progress.Bar):
        def __init__(self, label: str, total: float | None = None) -> None:
            seen.add(label)
            super().__init__(label, total)

    monkeypatch.setattr(progress, "Bar", Noted)
    prose(*command.split())
    assert seen == labels
