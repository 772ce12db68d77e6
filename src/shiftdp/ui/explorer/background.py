"""Work that may take longer than a page should wait: done once, in the background, and remembered.

A callback asks and waits for a moment. If the answer is not there, the page asks again a little
later. Whatever nobody waits for any more is struck off before it is begun; if it was begun and
takes long, it is left to itself, and another worker goes on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as Waited
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, NamedTuple

_KEPT = 256  # answers that are remembered
_LONG = 20.0  # seconds after which work about other settings is not waited for
_MOST_LEFT = 3  # such works at a time; they share the processor with all else


class _Task(NamedTuple):
    about: str
    future: Future[Any]
    work: Callable[[], Any]


class BackgroundAnswers:
    """Answers by the settings that they are about and the name of the question.

    Args:
        long: seconds after which work about other settings is not waited for.

    >>> background = BackgroundAnswers()
    >>> background.ask("some settings", "a sum", lambda: 1 + 1, patience=10)
    2
    >>> background.close()
    """

    def __init__(self, long: float = _LONG) -> None:
        self._queue: SimpleQueue[_Task | None] = SimpleQueue()
        self._lock = Lock()
        self._long = long
        self._begun: tuple[str, float] | None = None  # what is worked on, and since when
        self._left: set[int] = set()  # workers that nobody waits for
        self._worker = 0
        self._known: OrderedDict[tuple[str, Hashable], Future[Any]] = OrderedDict()
        self._engage()

    def ask(self, about: str, name: Hashable, work: Callable[[], Any], patience: float) -> Any:
        """The answer, or None if it is not there after so many seconds. What it raises is raised.

        Args:
            about: the settings. What is still to be begun about others is struck off.
            name: of the question.
            work: what computes the answer, which is not None.
            patience: how long to wait.
        """
        with self._lock:
            self._strike_off_all_but(about)
            future = self._known.get((about, name))
            if future is None:
                future = self._known[about, name] = Future()
                self._queue.put(_Task(about, future, work))
            self._relieve(about)
            self._known.move_to_end((about, name))
            while len(self._known) > _KEPT:
                _, old = self._known.popitem(last=False)
                old.cancel()
        try:
            return future.result(timeout=patience)
        except (Waited, CancelledError):
            return None

    def recall(self, about: str, name: Hashable, work: Callable[[], Any]) -> Any:
        """The answer if it is known; else the work is done here and now."""
        with self._lock:
            future = self._known.get((about, name))
        if future is not None and future.done() and not future.cancelled():
            return future.result()
        return work()

    def _strike_off_all_but(self, about: str) -> None:
        for key in [key for key in self._known if key[0] != about]:
            if self._known[key].cancel():
                del self._known[key]

    def close(self) -> None:
        """Strike off whatever is not begun, and do nothing more."""
        with self._lock:
            for future in self._known.values():
                future.cancel()
        self._queue.put(None)

    def _engage(self) -> None:
        self._worker += 1
        self._begun = None
        # nobody waits at the end of the program for work that is under way
        worker = Thread(
            target=self._work, args=(self._worker,), name="shiftdp-explore", daemon=True
        )
        worker.start()

    def _relieve(self, about: str) -> None:
        """Another worker, if the one there is busy with other settings and has been for long."""
        if self._begun is None or len(self._left) >= _MOST_LEFT:
            return
        other, since = self._begun
        if other != about and monotonic() - since >= self._long:
            self._left.add(self._worker)
            self._engage()

    def _work(self, number: int) -> None:
        while (task := self._queue.get()) is not None:
            if not task.future.set_running_or_notify_cancel():
                continue
            with self._lock:
                self._begun = (task.about, monotonic())
            try:
                task.future.set_result(task.work())
            except BaseException as error:
                task.future.set_exception(error)
            with self._lock:
                if number in self._left:
                    self._left.remove(number)
                    return
                self._begun = None
