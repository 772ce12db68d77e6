"""What is shown while something takes longer than two seconds: on a terminal only, on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["PATIENCE", "track", "waiting"]

PATIENCE = 2.0
"""Seconds before anything is shown."""

Item = TypeVar("Item")


class _Bar:
    """A bar, or a clock where there is no total, that appears when patience ends."""

    def __init__(self, label: str, total: int | None) -> None:
        self._label, self._total = label, total
        self._done = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def advance(self) -> None:
        self._done += 1

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _show(self) -> None:
        began = time.monotonic()
        if self._ended.wait(PATIENCE):
            return
        bar = _rich_bar()
        task = bar.add_task(self._label, total=self._total, elapsed=0.0)
        with bar:
            while not self._ended.wait(0.1):
                bar.update(task, completed=self._done, elapsed=time.monotonic() - began)


def _rich_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[elapsed]:.0f} s"),
        console=Console(file=sys.stderr),
        transient=True,
    )


@contextmanager
def waiting(label: str, total: int | None = None) -> Iterator[_Bar | None]:
    """While one thing runs of which nobody knows how long it takes."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(label, total)
    bar.start()
    try:
        yield bar
    finally:
        bar.stop()


def track(items: Sequence[Item], label: str) -> Iterable[Item]:
    """The items, with a bar that knows how many are done."""
    with waiting(label, len(items)) as bar:
        for item in items:
            yield item
            if bar is not None:
                bar.advance()
