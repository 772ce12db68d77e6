"""Random batches of a file: a batch alone would be a pass over the file for a few of its rows.

So random batches are drawn some steps before they are used (`announced`), and the records of all of
them are read together (`FileGradient.expect`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shiftdp.training.descent.batches import Batch
from shiftdp.training.descent.disk import read_ahead
from shiftdp.training.descent.records import BoundedRows, Indices, Records, numbers_at
from shiftdp.training.losses.base import Floats

_NUMBERS = (
    6  # of a record beside its features, while it is held: norm, scale, limit, target, places
)


SumOver = Callable[[Records, Floats, Indices], Floats]
"""The sum of the gradients of some of these records, for each of the models."""


@runtime_checkable
class ReadsAhead(Protocol):
    """A `BatchGradient` that wants to know which random records come next."""

    @property
    def room(self) -> int:
        """How many of them at once; 0 for none."""
        ...

    def expect(self, places: NDArray[np.intp]) -> None:
        """Called before the batches that these records make up, in any order."""
        ...


def announced(gradient: object, batches: Iterator[Batch]) -> Iterator[Batch]:
    """The given batches, unchanged; a gradient that reads ahead is told of them in advance."""
    if not isinstance(gradient, ReadsAhead):
        yield from batches
        return
    room, waiting, held = gradient.room, list[Batch](), 0
    for batch in batches:
        size = room + 1 if isinstance(batch.rows, slice) else batch.rows.size
        if held + size > room:
            yield from _expected(gradient, waiting)
            waiting, held = [], 0
        if size > room:
            yield batch
        else:
            waiting.append(batch)
            held += size
    yield from _expected(gradient, waiting)


def _expected(gradient: ReadsAhead, waiting: list[Batch]) -> list[Batch]:
    """The batches that waited, once the gradient has read them; a single one is read when it is
    used."""
    if len(waiting) > 1:
        gradient.expect(np.concatenate([batch.rows for batch in waiting]))
    return waiting


class FileGradient:
    """The sum over a batch of records in a file, of which those of several batches can be held.

    Args:
        records: in the file.
        total: sums the gradients of some records.
    """

    def __init__(self, records: Records, total: SumOver) -> None:
        self._records, self._total = records, total
        self._held, self._places = records, np.empty(0, dtype=np.intp)

    @property
    def room(self) -> int:
        """How many random records can be held for the batches to come."""
        rows = self._records.rows
        return read_ahead(rows.features) // (8 * (rows.shape[1] + _NUMBERS))

    def expect(self, places: NDArray[np.intp]) -> None:
        """Read these records, which the next batches consist of."""
        self._held = self._records  # first let go of what is held
        ranked = np.sort(places)
        self._places = ranked[np.diff(ranked, prepend=-1) > 0]  # batches may have some in common
        self._held = _held_records(self._records, self._places)

    def __call__(self, models: Floats, rows: Indices) -> Floats:
        if not isinstance(rows, slice) and self._has(rows):
            return self._total(self._held, models, np.searchsorted(self._places, rows))
        return self._total(self._records, models, rows)

    def _has(self, rows: NDArray[np.intp]) -> bool:
        """Whether all of these records are held."""
        if rows.size == 0 or self._places.size == 0:
            return False
        where = np.minimum(np.searchsorted(self._places, rows), self._places.size - 1)
        return bool((self._places[where] == rows).all())


def _held_records(records: Records, places: NDArray[np.intp]) -> Records:
    """Some records of a file in memory, with the very numbers that are taken of them there.

    Args:
        places: which, in rising order.
    """
    rows = records.rows
    norms = numbers_at(rows.norms, places)
    held = BoundedRows(rows.take(places), norms, None, None, rows.longest)
    limits = None if records.limits is None else numbers_at(records.limits, places)
    return Records(held, numbers_at(records.targets, places), limits)
