"""Blocks are read once, and random batches of a file together; nobody sees a difference."""

from pathlib import Path
from typing import Any

import numpy as np

from shiftdp import NoisyGD
from shiftdp.training import Logistic, Plan
from shiftdp.training.descent.batches import Batch
from shiftdp.training.descent.reading import BlockReader, FileGradient, announced
from shiftdp.training.descent.records import Records, prepare

N, D = 40, 3


def records(tmp_path: Path, *, mapped: bool) -> Records:
    features = np.random.default_rng(0).normal(size=(N, D))
    np.save(tmp_path / "X.npy", features)
    X = np.load(tmp_path / "X.npy", mmap_mode="r" if mapped else None)
    run = NoisyGD(n=N, steps=1, learning_rate=0.1, noise=0.1)
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, clipping="envelope", clip=0.5)
    return prepare(plan, X, np.arange(N) % 2)


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


def test_a_block_has_its_own_records_whatever_was_read_before(tmp_path: Path) -> None:
    orders: list[Any] = [
        slice(0, 8),
        slice(8, 16),
        slice(0, 8),
        np.array([3, 17, 30]),
        slice(8, 16),
    ]
    for mapped in (False, True):
        table = records(tmp_path, mapped=mapped)
        reader = BlockReader(table, rows=8, entries=1 << 10)
        for rows in [*orders, slice(36, 40)]:
            block = reader.read(table, rows, stop=N)
            np.testing.assert_array_equal(block.X, table.rows.take(rows))
            np.testing.assert_array_equal(block.targets, table.targets[rows])
            assert block.limits is not None
            assert table.limits is not None
            np.testing.assert_array_equal(block.limits, table.limits[rows])


def test_a_block_of_a_file_is_read_together_with_those_that_follow(tmp_path: Path) -> None:
    table = records(tmp_path, mapped=True)
    reader = BlockReader(table, rows=8, entries=3 * 8 * D)
    first = reader.read(table, slice(0, 8), stop=20).X
    second = reader.read(table, slice(8, 16), stop=20).X
    assert first.base is second.base
    assert np.shares_memory(first.base[8:16], second)


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
