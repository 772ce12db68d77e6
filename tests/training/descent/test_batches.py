"""Batches are those of the run: whole epochs, uniform sets, independent records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.last_iterate.runs import Order
from shiftdp.training import Seeded
from shiftdp.training.descent.batches import (
    Batch,
    TrainingRun,
    allocation,
    batches,
    bernoulli,
    subset,
)
from shiftdp.training.descent.permutations import permutation


def rows(batch: Batch, n: int) -> list[int]:
    chosen: list[int] = np.arange(n)[batch.rows].tolist()
    return chosen


def drawn(run: TrainingRun, seed: int = 0) -> list[Batch]:
    return list(batches(run, Seeded(seed).open("batches")))


def cyclic(order: Order, n: int = 10, b: int = 4, epochs: int = 3) -> NoisyCGD:
    return NoisyCGD(n=n, batch_size=b, epochs=epochs, learning_rate=0.1, noise=1.0, order=order)


@pytest.mark.parametrize("order", ["fixed", "shuffled_once", "reshuffled"])
def test_an_epoch_uses_every_record_once(order: Order) -> None:
    found = drawn(cyclic(order))
    assert [batch.divisor for batch in found] == [4, 4, 2] * 3
    epochs = [found[start : start + 3] for start in (0, 3, 6)]
    for epoch in epochs:
        assert sorted(i for batch in epoch for i in rows(batch, 10)) == list(range(10))
        assert [len(rows(batch, 10)) for batch in epoch] == [4, 4, 2]
    sets = [tuple(tuple(rows(batch, 10)) for batch in epoch) for epoch in epochs]
    assert len(set(sets)) == (3 if order == "reshuffled" else 1)
    if order == "fixed":
        assert sets[0][0] == (0, 1, 2, 3)
        assert all(isinstance(batch.rows, slice) for batch in found)


def test_full_batches() -> None:
    found = drawn(NoisyGD(n=7, steps=3, learning_rate=0.1, noise=1.0))
    assert [(rows(batch, 7), batch.divisor) for batch in found] == [(list(range(7)), 7)] * 3


@given(st.integers(1, 60), st.integers(0, 100), st.data())
def test_subsets_are_sets_of_the_right_size(n: int, seed: int, data: st.DataObject) -> None:
    b = data.draw(st.integers(0, n))
    found = subset(n, b, Seeded(seed).open("batches"))
    assert found.size == b == len(set(found.tolist()))
    assert all(0 <= i < n for i in found.tolist())


def test_subsets_are_uniform() -> None:
    """All 10 pairs of 5, and their complements: chi-square with 9 degrees of freedom."""
    stream = Seeded(1).open("batches")
    for b in (2, 3):
        counts: dict[tuple[int, ...], int] = {}
        for _ in range(5_000):
            key = tuple(subset(5, b, stream).tolist())
            counts[key] = counts.get(key, 0) + 1
        assert len(counts) == 10
        # 33.7 is exceeded with probability 1e-4
        assert sum((count - 500) ** 2 / 500 for count in counts.values()) < 33.7


def test_permutations_are_uniform() -> None:
    stream = Seeded(2).open("batches")
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(6_000):
        key = tuple(permutation(3, stream).tolist())
        counts[key] = counts.get(key, 0) + 1
    # 5 degrees of freedom: 25.7 is exceeded with probability 1e-4
    assert len(counts) == 6
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 25.7


@pytest.mark.parametrize(("n", "b"), [(1000, 7), (1000, 250), (999, 700), (10, 10)])
def test_poisson_batches(n: int, b: int) -> None:
    stream = Seeded(3).open("batches")
    hits = np.zeros(n)
    sizes = []
    for _ in range(400):
        found = bernoulli(n, b, stream)
        hits[found] += 1
        sizes.append(found.size)
    p = b / n
    # five deviations of the mean size; its variance is that of n independent records
    spread = np.sqrt(n * p * (1 - p))
    assert abs(np.mean(sizes) - b) <= 5 * spread / np.sqrt(400)
    if b < n:
        assert 0.8 < np.var(sizes) / spread**2 < 1.25
        assert abs(hits.var() / (400 * p * (1 - p)) - 1) < 0.3


def test_the_fraction_is_never_above_b_over_n() -> None:
    """The first byte ties with that of b/n: the other seven decide, and equality is out."""

    class Fixed:
        def __init__(self, *answers: bytes) -> None:
            self.answers = list(answers)

        def draw(self, size: int) -> bytes:
            answer = self.answers.pop(0)
            assert len(answer) == size
            return answer

    fraction = (1 << 64) // 3
    lead = bytes([fraction >> 56]) * 3
    rest = fraction & ((1 << 56) - 1)
    words = np.array([(rest - 1) << 8, rest << 8, (rest + 1) << 8], dtype=np.uint64)
    assert bernoulli(3, 1, Fixed(lead, words.tobytes())).tolist() == [0]  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ["fixed", "shuffled_once", "reshuffled"])
def test_a_smaller_last_batch_is_divided_by_the_batch_size_or_dropped(order: Order) -> None:
    run = cyclic(order)
    divided = drawn(NoisyCGD(**{**vars(run), "last_batch": "divide_by_b"}))
    assert [batch.divisor for batch in divided] == [4] * 9
    assert [len(rows(batch, 10)) for batch in divided] == [4, 4, 2] * 3
    dropped = drawn(NoisyCGD(**{**vars(run), "steps": 60, "last_batch": "drop"}))
    assert {(len(rows(batch, 10)), batch.divisor) for batch in dropped} == {(4, 4)}
    for first, second in zip(dropped[::2], dropped[1::2], strict=True):
        assert not set(rows(first, 10)) & set(rows(second, 10))
    seen = {i for batch in dropped for i in rows(batch, 10)}
    # who is dropped changes from epoch to epoch only if the order does
    assert len(seen) == (10 if order == "reshuffled" else 8)


def test_random_batches_divide_by_the_nominal_size() -> None:
    run = NoisySGD(n=50, batch_size=5, steps=20, learning_rate=0.1, noise=1.0, sampling="poisson")
    found = drawn(run)
    assert {batch.divisor for batch in found} == {5}
    assert len({len(rows(batch, 50)) for batch in found}) > 2
    fixed = NoisySGD(n=50, batch_size=5, steps=20, learning_rate=0.1, noise=1.0)
    assert {len(rows(batch, 50)) for batch in drawn(fixed)} == {5}


def test_random_allocation_deals_every_record_into_one_batch_of_each_epoch() -> None:
    run = NoisySGD(
        n=50, batch_size=12, epochs=4, learning_rate=0.1, noise=1.0, sampling="random_allocation"
    )
    found = drawn(run)
    assert len(found) == 20
    assert {batch.divisor for batch in found} == {12}
    epochs = [found[start : start + 5] for start in range(0, 20, 5)]
    for epoch in epochs:
        assert sorted(i for batch in epoch for i in rows(batch, 50)) == list(range(50))
        assert all(rows(batch, 50) == sorted(rows(batch, 50)) for batch in epoch)
    assert len({tuple(rows(epoch[0], 50)) for epoch in epochs}) == 4
    assert len({len(rows(batch, 50)) for batch in found}) > 2


def test_records_are_allocated_independently_and_evenly() -> None:
    stream = Seeded(3).open("batches")
    n, parts, epochs = 60, 3, 600
    place = np.empty((epochs, n), dtype=int)
    for epoch in range(epochs):
        for j, part in enumerate(allocation(n, parts, stream)):
            place[epoch, part] = j
    share = np.stack([(place == j).mean() for j in range(parts)])
    assert np.all(np.abs(share - 1 / 3) < 5 * np.sqrt(2 / 9 / (n * epochs)))
    # of two records, as often together as by chance: that is what makes sizes random
    together = (place[:, ::2] == place[:, 1::2]).mean()
    assert abs(together - 1 / 3) < 5 * np.sqrt(2 / 9 / (n // 2 * epochs))
    sizes = (place == 0).sum(axis=1)
    assert 0.8 < sizes.var() / (n * 2 / 9) < 1.25
