"""Noise made ahead of time: a thread draws it while the matrix products run."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import numpy as np

from shiftdp.training.entropy import Stream
from shiftdp.training.loss import Floats

__all__ = ["NoiseFeed"]

_AHEAD = 1 << 17  # numbers a block, unless one step needs more


class NoiseFeed:
    """Standard normals, `size` of them for each of `steps` steps, no more than that drawn.

    Use it as a context; what is left in it is overwritten at the end.
    """

    def __init__(self, stream: Stream, size: int, steps: int, dtype: np.dtype[Any]) -> None:
        self._stream = stream
        self._left = steps
        rows = max(1, min(steps, _AHEAD // size))
        self._buffers = [np.empty((rows, size), dtype=dtype) for _ in range(2)]
        self._row = self._rows = 0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="shiftdp-noise")
        self._next: Future[int] | None = None
        self._order()

    def step(self) -> Floats:
        """The noise of the next step: the caller may write over it."""
        if self._row == self._rows:
            if self._next is None:
                raise StopIteration
            self._rows, self._row = self._next.result(), 0
            self._buffers.reverse()
            self._order()
        self._row += 1
        row: Floats = self._buffers[0][self._row - 1]
        return row

    def _order(self) -> None:
        target = self._buffers[1]
        rows = min(self._left, len(target))
        self._left -= rows
        self._next = self._pool.submit(self._fill, target[:rows]) if rows else None

    def _fill(self, target: Floats) -> int:
        self._stream.fill(target)
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
