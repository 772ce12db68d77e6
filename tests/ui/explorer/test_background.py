"""Work is done once, waited for briefly, and struck off when nobody waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from threading import Event

import pytest

from shiftdp.ui.explorer.background import BackgroundAnswers

LONG = 60.0


@pytest.fixture
def background() -> Iterator[BackgroundAnswers]:
    found = BackgroundAnswers()
    yield found
    found.close()


def test_an_answer_is_computed_once(background: BackgroundAnswers) -> None:
    calls: list[int] = []

    def work() -> str:
        calls.append(1)
        return "done"

    assert [background.ask("a", "x", work, LONG) for _ in range(3)] == ["done"] * 3
    assert len(calls) == 1
    assert background.recall("a", "x", work) == "done"
    assert len(calls) == 1
    assert background.recall("a", "y", work) == "done"
    assert len(calls) == 2


def test_who_does_not_wait_asks_again(background: BackgroundAnswers) -> None:
    go = Event()
    work = lambda: go.wait(LONG)  # noqa: E731
    assert background.ask("a", "x", work, 0.0) is None
    go.set()
    assert background.ask("a", "x", work, LONG) is True


def test_what_goes_wrong_is_raised_each_time(background: BackgroundAnswers) -> None:
    def work() -> None:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            background.ask("a", "x", work, LONG)


def test_what_is_not_begun_is_struck_off_when_settings_change(
    background: BackgroundAnswers,
) -> None:
    go, begun = Event(), Event()
    done: list[str] = []

    def first() -> bool:
        begun.set()
        return go.wait(LONG)

    assert background.ask("old", "first", first, 0.0) is None
    assert background.ask("old", "second", lambda: done.append("second"), 0.0) is None
    begun.wait(LONG)
    assert background.ask("new", "x", lambda: True, 0.0) is None
    go.set()
    assert background.ask("new", "x", lambda: True, LONG) is True
    assert done == []
    # and it can be asked for again
    assert background.ask("old", "second", lambda: "again", LONG) == "again"


def test_nothing_is_begun_after_it_is_closed(background: BackgroundAnswers) -> None:
    go, begun = Event(), Event()
    done: list[str] = []

    def first() -> bool:
        begun.set()
        return go.wait(LONG)

    background.ask("a", "first", first, 0.0)
    background.ask("a", "second", lambda: done.append("second"), 0.0)
    begun.wait(LONG)
    background.close()
    go.set()
    assert background.ask("a", "first", first, LONG) is True
    assert background.ask("a", "second", lambda: True, 0.0) is None
    assert done == []


def test_old_answers_are_forgotten(background: BackgroundAnswers) -> None:
    for i in range(300):
        assert background.ask("a", i, lambda i=i: i + 1, LONG) == i + 1  # type: ignore[misc]
    assert background.ask("a", 0, lambda: "anew", LONG) == "anew"
    assert background.ask("a", 299, lambda: "anew", LONG) == 300


def test_work_without_end_does_not_keep_other_settings_waiting() -> None:
    """However many there are, up to a few; those that end are not begun again."""
    background = BackgroundAnswers(long=0.0)
    go = Event()
    calls: list[str] = []

    def endless(name: str, begun: Event) -> bool:
        calls.append(name)
        begun.set()
        return go.wait(LONG)

    for name in "abc":
        begun = Event()
        assert background.ask(name, "x", partial(endless, name, begun), 0.0) is None
        assert begun.wait(LONG)
    assert background.ask("d", "x", lambda: "answer", LONG) == "answer"
    go.set()
    assert [background.ask(name, "x", lambda: False, LONG) for name in "abc"] == [True] * 3
    assert calls == ["a", "b", "c"]
    assert background.ask("e", "x", lambda: "more", LONG) == "more"
    background.close()
