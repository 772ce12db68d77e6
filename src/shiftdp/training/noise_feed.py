"""Noise made for several steps at once: by a thread that runs ahead, or when it is asked for.

A thread is of use while products leave it a core. Where they have threads of their own, one for
each core, they wait for one another, and a core that is taken from one is taken from all: noise is
then made between the steps, by the thread that asks, because those of a BLAS go on turning.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp.training.crew import Context
from shiftdp.training.entropy import Stream, normals_of
from shiftdp.training.gradient import GradientSum, Parameters
from shiftdp.training.loss import Floats
from shiftdp.training.stacked import StackedSum

__all__ = ["NoiseFeed", "StackNoise", "noise_for"]

_AHEAD = 1 << 17  # numbers a block, unless one step needs more


def noise_for(
    streams: Sequence[Stream], at: Parameters, steps: int, gradient: GradientSum | StackedSum
) -> NoiseFeed | StackNoise:
    """The noise of a stack of models, one stream for each."""
    ahead, compiled = gradient.leaves_cores, gradient.compiled
    if len(streams) > 1:
        return StackNoise(streams, at, compiled)
    size, dtype = at.flat.size, at.flat.dtype
    return NoiseFeed(streams[0], size, steps, dtype, ahead=ahead, compiled=compiled)


class NoiseFeed(Context):
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
        compiled: Any = None,
    ) -> None:
        self._stream, self._compiled = stream, compiled
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
            rows = self._fill(self._buffers[0][: self._counted()])
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
        self._stream.fill(target, self._compiled)
        return len(target)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        for buffer in self._buffers:
            buffer.fill(0)


class StackNoise(Context):
    """The noise of several models, each from its own stream, in the order of their parameters.

    What a model gets is what it would get alone, whatever it is stacked with. Used as `NoiseFeed`.
    """

    def __init__(self, streams: Sequence[Stream], like: Parameters, compiled: Any = None) -> None:
        runs, inside = len(streams), like.weights.size
        self._streams, self._compiled = streams, compiled
        self._size = like.flat.size // runs
        self._flat = np.empty_like(like.flat)
        self._weights = self._flat[:inside].reshape(runs, -1)
        self._constants = self._flat[inside:].reshape(runs, -1)

    def step(self) -> Floats:
        """The noise of the next step: the caller may write over it."""
        each = self._weights.shape[1]
        noise = self._short() if self._flat.dtype == np.float32 else self._double()
        self._weights[...] = noise[:, :each]
        self._constants[...] = noise[:, each:]
        return self._flat

    def _short(self) -> Floats:
        """All models' numbers are made together: for each call, threads would queue."""
        drawn = b"".join(stream.draw(4 * self._size) for stream in self._streams)
        r = np.frombuffer(drawn, dtype=np.int32)
        return normals_of(r, self._more, self._compiled).reshape(len(self._streams), -1)

    def _more(self, tails: NDArray[np.intp]) -> bytes:
        numbers = np.bincount(tails // self._size, minlength=len(self._streams)).tolist()
        return b"".join(
            stream.draw_more(4 * number)
            for stream, number in zip(self._streams, numbers, strict=True)
        )

    def _double(self) -> Floats:
        noise = np.empty((len(self._streams), self._size))
        for stream, row in zip(self._streams, noise, strict=True):
            stream.fill(row)
        return noise

    def close(self) -> None:
        self._flat.fill(0)
