"""Random batches of a file are read together; nobody sees a difference."""

from pathlib import Path
from typing import Any

import numpy as np

from shiftdp.training.descent.batches import Batch
from shiftdp.training.descent.reading import FileGradient, announced
from shiftdp.training.descent.records import Records
from tests.training.descent.stored import records


class _Listening:
    """A gradient that notes which records are announced."""

    room = 10

    def __init__(self) -> None:
        self.heard: list[list[int]] = []

    def expect(self, places: Any) -> None:
        self.heard.append(places.tolist())

    def __call__(self, at: Any, rows: Any) -> Any:
        raise NotImplementedError


def test_batches_are_announced_as_far_as_there_is_room() -> None:
    rows: list[Any] = [np.arange(4), np.arange(4, 8), np.arange(8, 12), slice(0, 3), np.arange(20)]
    rows += [np.arange(2), np.arange(2, 4)]
    chosen = [Batch(one, k + 1) for k, one in enumerate(rows)]
    listening = _Listening()
    assert list(announced(listening, iter(chosen))) == chosen
    # a single batch is read when it is needed, and so are slices and what is too large to hold
    assert listening.heard == [list(range(8)), [0, 1, 2, 3]]
    assert list(announced(lambda at, rows: at, iter(chosen))) == chosen


def test_records_that_were_expected_are_those_of_the_file(tmp_path: Path) -> None:
    table = records(tmp_path, mapped=True)
    seen: list[Any] = []

    def total(some: Records, models: Any, rows: Any) -> Any:
        seen.append(some)
        return some.rows.take(rows)

    gradient = FileGradient(table, total)
    assert gradient.room > 0
    gradient.expect(np.array([5, 9, 5, 30]))
    models, held, others = np.zeros(1), np.array([5, 30]), np.array([5, 31])
    np.testing.assert_array_equal(gradient(models, held), table.rows.take(held))
    np.testing.assert_array_equal(gradient(models, others), table.rows.take(others))
    np.testing.assert_array_equal(gradient(models, slice(2, 4)), table.rows.take(slice(2, 4)))
    assert [one is table for one in seen] == [False, True, True]
