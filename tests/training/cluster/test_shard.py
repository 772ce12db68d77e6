"""A shard answers the same however often it is asked, and never raises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput, NoisyGD
from shiftdp.training import Logistic, Plan
from shiftdp.training.cluster.guard import Failure, Refusal
from shiftdp.training.cluster.reading import Block, digest_of
from shiftdp.training.cluster.shard import Shard, Sum, union
from shiftdp.training.descent.gradient import LocalSource
from shiftdp.training.descent.records import prepare
from tests.training.cluster.tables import D, N, numbers

PLAN = Plan(
    run=NoisyGD(n=2 * N, steps=1, learning_rate=0.1, noise=0.1), loss=Logistic(), feature_bound=1.0
)
SHAPE = (1, 1, D + 1)


def blocks(*sizes: int) -> list[Any]:
    X, y = numbers()
    ends = np.cumsum(sizes)
    parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    return [Block(X[part], y[part], digest_of(X[part], y[part])) for part in parts]


def ready(*sizes: int) -> Shard:
    shard = Shard(blocks(*sizes), threads=1)
    assert shard.assemble() is None
    assert shard.prepare(PLAN) is None
    assert shard.begin(PLAN, SHAPE) is None
    return shard


def test_its_sum_is_that_of_its_records() -> None:
    X, y = numbers()
    shard = ready(100, 0, 7, 200)
    records = LocalSource(prepare(PLAN, X, y, part=N))
    at = np.random.default_rng(0).normal(size=SHAPE)
    asked: list[Any] = [slice(0, N), slice(90, 120), np.array([1, 105, 300], dtype=np.uint32)]
    for rows in asked:
        with records.gradient(PLAN, at) as gradient:
            places = rows if isinstance(rows, slice) else rows.astype(np.intp)
            alone = gradient(at, places).copy()
        for _ in range(2):
            found = shard.step(at, rows)
            assert isinstance(found, Sum)
            np.testing.assert_allclose(found.total, alone, rtol=1e-12, atol=1e-12)
            assert found.seconds >= 0.0


def test_calls_may_be_repeated() -> None:
    shard = ready(100, 207)
    before = shard.contents()
    first = shard.step(np.zeros(SHAPE), slice(0, 50))
    for call in (shard.assemble, lambda: shard.prepare(PLAN), lambda: shard.begin(PLAN, SHAPE)):
        assert call() is None
    assert shard.contents() == before
    again = shard.step(np.zeros(SHAPE), slice(0, 50))
    assert isinstance(first, Sum)
    assert isinstance(again, Sum)
    np.testing.assert_array_equal(first.total, again.total)


def test_labels_are_numbered_before_or_after_blocks_are_put_together() -> None:
    words = [
        block._replace(labels=np.where(block.labels == 1, "yes", "no"))
        for block in blocks(100, 7, 200)
    ]
    at = np.random.default_rng(0).normal(size=SHAPE)
    sums = []
    for early in (True, False):
        shard = Shard(words, threads=1)
        if not early:
            shard.assemble()
        assert np.asarray(shard.label_set()).tolist() == ["no", "yes"]
        assert shard.number(np.array(["no", "yes"])) is None
        shard.assemble()
        shard.prepare(PLAN)
        shard.begin(PLAN, SHAPE)
        found = shard.step(at, slice(0, N))
        assert isinstance(found, Sum)
        sums.append(found.total)
    np.testing.assert_array_equal(sums[0], sums[1])
    expected = ready(100, 7, 200).step(at, slice(0, N))
    assert isinstance(expected, Sum)
    np.testing.assert_array_equal(sums[0], expected.total)


def test_refusals_are_answers() -> None:
    X, y = numbers()
    refused = Refusal("X", "<shape>", "is bad", "give others")
    assert Shard([*blocks(10), refused], threads=1).contents() == refused
    bad = X.copy()
    bad[3, 1] = np.nan
    shard = Shard([Block(bad, y, b"")], threads=1)
    shard.assemble()
    found = shard.prepare(PLAN)
    assert isinstance(found, Refusal)
    assert found.problem == "has entries that are not finite"
    assert isinstance(shard.number(np.array(["no", "yes"])), Refusal)
    assert isinstance(shard.step(np.zeros(SHAPE), slice(0, 3)), Failure)


def test_a_shard_without_records_is_told_the_same() -> None:
    shard = ready(0)
    assert shard.label_set() is None
    assert shard.number(np.array([0, 1])) is None
    assert shard.end() is None


def test_text_and_numbers_are_not_classes_together() -> None:
    assert union([np.array([2, 1]), np.array([3.0])]).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(InvalidInput, match="several types"):
        union([np.array([1]), np.array(["a"], dtype=object)])
