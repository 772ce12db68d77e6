"""What is shown while something runs; tests/ui/test_process.py looks at it on a terminal."""

from types import SimpleNamespace

import pytest

from shiftdp.ui import progress


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
