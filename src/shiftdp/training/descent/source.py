"""Where the records of a run are: in this process, on a device, on other machines.

The loop draws batches and noise, and moves the models; of a source it wants sums of gradients,
added up as Theorem F1 says, and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from shiftdp.training.centring import Centre
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.descent.records import Indices
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan

BatchGradient = Callable[[Floats, Indices], Floats]
"""From models, of shape (models, outputs, columns), and the rows of a batch to the sum of the
records' gradients for each of the models. The next call overwrites it."""


class Source(Protocol):
    """The records of a run, wherever they are."""

    @property
    def features(self) -> int:
        """How many numbers a record has, without its constant."""
        ...

    @property
    def mapped(self) -> bool:
        """Whether there may be too many records to keep one number for each in memory."""
        ...

    def gradient(self, plan: Plan, models: Floats) -> AbstractContextManager[BatchGradient]:
        """A function that sums the gradients of a batch, clipped as the plan says, without the
        ridge. What it holds is let go of at the end of the context.

        Args:
            models: an array in the shape of those that are passed later.
        """
        ...


@runtime_checkable
class CentrableSource(Source, Protocol):
    """Records that can be centred: all of them are in this process."""

    def centred(self, plan: Plan, stream: Stream) -> tuple[Centre, Source]:
        """Where the rows lie, measured with noise, and their distances from there. Theorem P2"""
        ...


class Elsewhere(ABC):
    """A table that is not in this process, of which a run needs no more than a source."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """How many records there are, and how many features they have."""

    @abstractmethod
    def source(self, plan: Plan) -> Source:
        """The records, checked and bounded where they are, as `records.prepare` does it here."""
