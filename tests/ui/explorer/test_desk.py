"""Work is done once, waited for briefly, and struck off when nobody waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from threading import Event

import pytest

from shiftdp.ui.explorer.desk import Desk

LONG = 60.0


@pytest.fixture
def desk() -> Iterator[Desk]:
    found = Desk()
    yield found
    found.close()


def test_an_answer_is_computed_once(desk: Desk) -> None:
    calls: list[int] = []

    def work() -> str:
        calls.append(1)
        return "done"

    assert [desk.ask("a", "x", work, LONG) for _ in range(3)] == ["done"] * 3
    assert len(calls) == 1
    assert desk.recall("a", "x", work) == "done"
    assert len(calls) == 1
    assert desk.recall("a", "y", work) == "done"
    assert len(calls) == 2


def test_who_does_not_wait_asks_again(desk: Desk) -> None:
    go = Event()
    work = lambda: go.wait(LONG)  # noqa: E731
    assert desk.ask("a", "x", work, 0.0) is None
    go.set()
    assert desk.ask("a", "x", work, LONG) is True


def test_what_goes_wrong_is_raised_each_time(desk: Desk) -> None:
    def work() -> None:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            desk.ask("a", "x", work, LONG)


def test_what_is_not_begun_is_struck_off_when_settings_change(desk: Desk) -> None:
    go, begun = Event(), Event()
    done: list[str] = []

    def first() -> bool:
        begun.set()
        return go.wait(LONG)

    assert desk.ask("old", "first", first, 0.0) is None
    assert desk.ask("old", "second", lambda: done.append("second"), 0.0) is None
    begun.wait(LONG)
    assert desk.ask("new", "x", lambda: True, 0.0) is None
    go.set()
    assert desk.ask("new", "x", lambda: True, LONG) is True
    assert done == []
    # and it can be asked for again
    assert desk.ask("old", "second", lambda: "again", LONG) == "again"


def test_nothing_is_begun_after_it_is_closed(desk: Desk) -> None:
    go, begun = Event(), Event()
    done: list[str] = []

    def first() -> bool:
        begun.set()
        return go.wait(LONG)

    desk.ask("a", "first", first, 0.0)
    desk.ask("a", "second", lambda: done.append("second"), 0.0)
    begun.wait(LONG)
    desk.close()
    go.set()
    assert desk.ask("a", "first", first, LONG) is True
    assert desk.ask("a", "second", lambda: True, 0.0) is None
    assert done == []


def test_old_answers_are_forgotten(desk: Desk) -> None:
    for i in range(300):
        assert desk.ask("a", i, lambda i=i: i + 1, LONG) == i + 1  # type: ignore[misc]
    assert desk.ask("a", 0, lambda: "anew", LONG) == "anew"
    assert desk.ask("a", 299, lambda: "anew", LONG) == 300


def test_work_without_end_does_not_keep_other_settings_waiting() -> None:
    """However many there are, up to a few; those that end are not begun again."""
    desk = Desk(long=0.0)
    go = Event()
    calls: list[str] = []

    def endless(name: str, begun: Event) -> bool:
        calls.append(name)
        begun.set()
        return go.wait(LONG)

    for name in "abc":
        begun = Event()
        assert desk.ask(name, "x", partial(endless, name, begun), 0.0) is None
        assert begun.wait(LONG)
    assert desk.ask("d", "x", lambda: "answer", LONG) == "answer"
    go.set()
    assert [desk.ask(name, "x", lambda: False, LONG) for name in "abc"] == [True] * 3
    assert calls == ["a", "b", "c"]
    assert desk.ask("e", "x", lambda: "more", LONG) == "more"
    desk.close()
