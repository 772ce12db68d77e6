"""What is shown on stderr while something takes long.

On a terminal a bar, two seconds after the command began. Elsewhere nothing, or, of work that takes
many minutes, one line a minute: a log should show that it goes on.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from shiftdp.ui.output import coloured, drawn

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 2.0
"""Seconds of a command before anything is shown."""

MINUTE = 60.0
"""Seconds between the lines of a log."""


class Bar:
    """What is being done, how much of it is done, and how long it takes.

    Args:
        label: what is being done.
        total: how much there is to do, in any unit; None where nobody knows.
    """

    def __init__(self, label: str, total: float | None = None) -> None:
        self._label, self._total = label, total
        self._done = 0.0
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._patience = max(0.0, PATIENCE - (self._began - began()))

    def stage(self, label: str) -> None:
        """What is done from here on."""
        self._label = label

    def advance(self, units: float = 1.0) -> None:
        """So much more is done."""
        self._done += units

    @property
    def clock(self) -> str:
        """The time that is left at the pace so far; where there is no telling, the time so far."""
        seconds = time.monotonic() - self._began
        if self._total is None or self._done <= 0.0:
            return f"{seconds:.0f} s"
        left = round(max(0.0, seconds * (self._total - self._done) / self._done))
        return f"{left} s left" if left < 60 else f"{left // 60} min {left % 60} s left"

    def show(self) -> None:
        """Draw the bar when patience ends, until `end` is called."""
        if self._ended.wait(self._patience):
            return
        bar = _rich_bar()
        task = bar.add_task(self._label, total=self._total, clock=self.clock)
        with bar:
            while not self._ended.wait(0.1):
                bar.update(task, description=self._label, completed=self._done, clock=self.clock)

    def log(self) -> None:
        """A line a minute, until `end` is called."""
        while not self._ended.wait(MINUTE):
            sys.stderr.write(f"{self.line}\n")
            sys.stderr.flush()

    @property
    def line(self) -> str:
        """What is being done, and how far it is."""
        done = f"{self._done / self._total:.0%} done, " if self._total else ""
        return f"{self._label}: {done}{self.clock}"

    def end(self) -> None:
        self._ended.set()


def began() -> float:
    """When the command began that runs: several short waits are one long one to whoever waits."""
    now = time.monotonic()
    ctx = click.get_current_context(silent=True)
    return now if ctx is None else float(ctx.meta.setdefault("shiftdp.began", now))


def _rich_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[clock]}"),
        console=Console(file=sys.stderr, no_color=not coloured()),
        transient=True,
    )


@contextmanager
def waiting(
    label: str, total: float | None = None, *, silent: bool = False, logged: bool = False
) -> Iterator[Bar]:
    """A bar while something runs; never seen where stderr is no terminal, or if `silent`.

    With `logged` there is a line a minute in place of a bar where there is no terminal.
    """
    bar = Bar(label, total)
    terminal = drawn(sys.stderr)
    if silent or not (terminal or logged):
        yield bar
        return
    shown = threading.Thread(target=bar.show if terminal else bar.log, daemon=True)
    shown.start()
    try:
        yield bar
    finally:
        bar.end()
        shown.join()
