"""What is shown on the way: what is being done, and how much time is left."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

__all__ = ["Progress", "clock", "progress"]


def clock(seconds: float) -> str:
    """
    >>> clock(7.4), clock(192.0)
    ('7 s', '3 min 12 s')
    """
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


class Progress:
    """Work done of work in all, in one line that is written over.

    Args:
        total: units of work, in whatever unit.
        stream: where the line goes, if it is to be seen.
    """

    def __init__(self, total: float, stream: IO[str] | None) -> None:
        self._total, self._stream = total, stream
        self._done = 0.0
        self._label = ""
        self._began = self._shown = time.monotonic()
        self._lock = threading.Lock()

    def stage(self, label: str) -> None:
        """What is done from here on."""
        with self._lock:
            self._label = label
            self._show()

    def advance(self, units: float) -> None:
        """So much more is done; any thread may say so."""
        with self._lock:
            self._done += units
            if time.monotonic() - self._shown >= 0.2:
                self._show()

    def close(self) -> None:
        if self._stream is not None:
            self._stream.write("\r\033[K")
            self._stream.flush()

    @property
    def left(self) -> float | None:
        """Seconds, at the pace so far; None as long as there is no telling."""
        if self._done <= 0.0:
            return None
        spent = time.monotonic() - self._began
        return max(0.0, spent * (self._total - self._done) / self._done)

    def _show(self) -> None:
        self._shown = time.monotonic()
        if self._stream is None:
            return
        share, left = min(1.0, self._done / self._total), self.left
        tail = "" if left is None else f", about {clock(left)} left"
        line = f"{share:4.0%}  {self._label}{tail}"
        self._stream.write(f"\r\033[K{line}")
        self._stream.flush()


@contextmanager
def progress(total: float, *, silent: bool = False) -> Iterator[Progress]:
    """On standard error, if that is a terminal."""
    shown = Progress(total, sys.stderr if sys.stderr.isatty() and not silent else None)
    try:
        yield shown
    finally:
        shown.close()
