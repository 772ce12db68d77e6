"""Processor seconds of a call, by the same rule here and in the processes of peers.

Only the standard library: the environments of peers hold nothing of ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

BATCH = 0.05
"""Seconds that a batch of calls takes at least, against the grain of the clock."""

BATCHES = 3
"""A figure is that of the best of so many batches, unless one call takes longer than a batch."""


class Timer:
    """Times one call again and again; the first time it is also called once beforehand.

    That call loads what is loaded once, and says how many calls make a batch.
    """

    def __init__(self, call: Callable[[], Any], warm: bool = True) -> None:
        self.call = call
        self._number = 0 if warm else 1

    def read(self) -> tuple[float, Any]:
        """Processor seconds of one call, and its answer."""
        if not self._number:
            self._number = 1
            self._batch()
            spent, answer = self._batch()
            while spent < BATCH:
                self._number *= max(2, int(BATCH / max(spent, 1e-6)))
                spent, answer = self._batch()
            return spent / self._number, answer
        if self._number == 1:
            return self._batch()
        spent, answer = min((self._batch() for _ in range(BATCHES)), key=lambda one: one[0])
        return spent / self._number, answer

    def _batch(self) -> tuple[float, Any]:
        start = time.process_time()
        for _ in range(self._number):
            answer = self.call()
        return time.process_time() - start, answer
