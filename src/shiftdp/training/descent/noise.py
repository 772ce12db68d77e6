"""The noise of each step, made for several steps at once: small models are mostly calls else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftdp.training.descent.entropy import Stream
from shiftdp.training.descent.gradient import Parameters
from shiftdp.training.descent.threads import Context
from shiftdp.training.losses.base import Floats

__all__ = ["Noise"]

_AHEAD = 1 << 17  # numbers made at once, unless one step needs more


class Noise(Context):
    """Standard normals for each parameter of a stack of models, no more drawn than `steps` need.

    Each model has a stream of its own, and gets what it would get alone, whatever it is stacked
    with. Use it as a context; what is left in it is overwritten at the end.
    """

    def __init__(self, streams: Sequence[Stream], like: Parameters, steps: int) -> None:
        self._streams, self._left = streams, steps
        each = like.flat.size // len(streams)
        ahead = max(1, min(steps, _AHEAD // like.flat.size))
        self._made = np.empty((len(streams), ahead, each))
        self._next = self._end = 0
        self._step = like.like()

    def step(self) -> Floats:
        """The noise of the next step, flat as the parameters: the caller may write over it."""
        if self._next == self._end:
            self._make()
        made = self._made[:, self._next]
        self._next += 1
        if len(made) == 1:
            only: Floats = made[0]
            return only
        weights, intercepts = self._step.weights, self._step.intercepts
        inside = weights.size // len(made)
        weights.reshape(len(made), -1)[...] = made[:, :inside]
        if intercepts is not None:
            intercepts.reshape(len(made), -1)[...] = made[:, inside:]
        return self._step.flat

    def _make(self) -> None:
        steps = min(self._left, self._made.shape[1])
        if steps == 0:
            raise StopIteration
        self._left -= steps
        self._next, self._end = 0, steps
        for stream, numbers in zip(self._streams, self._made, strict=True):
            stream.fill(numbers[:steps])

    def close(self) -> None:
        self._made.fill(0)
        self._step.flat.fill(0)
