"""Noise made for several steps at once: by a thread that runs ahead, or when it is asked for.

A thread is of use while products leave it a core. Where they have threads of their own, one for
each core, they wait for one another, and a core that is taken from one is taken from all: noise is
then made between the steps, by two threads at once if the stream allows it.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import numpy as np

from shiftdp.training.entropy import Stream
from shiftdp.training.loss import Floats

__all__ = ["NoiseFeed"]

_AHEAD = 1 << 17  # numbers a block, unless one step needs more
_WORTHWHILE = 1 << 14  # numbers for which a second thread is called


class NoiseFeed:
    """Standard normals, `size` of them for each of `steps` steps, no more than that drawn.

    Use it as a context; what is left in it is overwritten at the end.
    """

    def __init__(
        self,
        stream: Stream,
        size: int,
        steps: int,
        dtype: np.dtype[Any],
        *,
        ahead: bool = True,
    ) -> None:
        self._stream = stream
        self._left = steps
        rows = max(1, min(steps, _AHEAD // size))
        self._buffers = [np.empty((rows, size), dtype=dtype) for _ in range(1 + ahead)]
        self._row = self._rows = 0
        self._ahead = ahead
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="shiftdp-noise")
        self._next: Future[int] | None = None
        self._order()

    def step(self) -> Floats:
        """The noise of the next step: the caller may write over it."""
        if self._row == self._rows:
            self._rows, self._row = self._received(), 0
        self._row += 1
        row: Floats = self._buffers[0][self._row - 1]
        return row

    def _received(self) -> int:
        """The number of steps for which noise is now in the first buffer."""
        if not self._ahead:
            rows = self._fill_shared(self._buffers[0][: self._counted()])
        else:
            rows = 0 if self._next is None else self._next.result()
            self._buffers.reverse()
            self._order()
        if rows == 0:
            raise StopIteration
        return rows

    def _order(self) -> None:
        if self._ahead:
            rows = self._counted()
            target = self._buffers[1][:rows]
            self._next = self._pool.submit(self._fill, target) if rows else None

    def _counted(self) -> int:
        """Steps that the next block is for, taken off those that are left."""
        rows = min(self._left, len(self._buffers[0]))
        self._left -= rows
        return rows

    def _fill(self, target: Floats) -> int:
        self._stream.fill(target)
        return len(target)

    def _fill_shared(self, target: Floats) -> int:
        if target.size < _WORTHWHILE:
            return self._fill(target)
        first, *others = self._stream.shares(target)
        running = [self._pool.submit(share) for share in others]
        first()
        for share in running:
            share.result()
        return len(target)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        for buffer in self._buffers:
            buffer.fill(0)
