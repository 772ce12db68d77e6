"""Work that may take longer than a page should wait: done once, in the background, and remembered.

A callback asks and waits for a moment. If the answer is not there, the page asks again a little
later. Whatever nobody waits for any more is struck off before it is begun.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as Waited
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

_KEPT = 256  # answers that are remembered


class Desk:
    """Answers by the settings that they are about and the name of the question.

    >>> desk = Desk()
    >>> desk.ask("some settings", "a sum", lambda: 1 + 1, patience=10)
    2
    >>> desk.close()
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, Hashable], Future[Any]] = OrderedDict()
        # nobody waits at the end of the program for work that is under way
        Thread(target=self._work, name="shiftdp-explore", daemon=True).start()

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
                self._queue.put((future, work))
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

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            future, work = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
