"""One sum, however the batch is cut and whichever threads make it; threads are given back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from shiftdp import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.training import (
    Logistic,
    Loss,
    Plan,
    Seeded,
    Softmax,
    TrainingStopped,
    descend,
    descend_stacked,
)
from shiftdp.training.descent import gradient as gradient_module
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.gradient import BlockReader
from shiftdp.training.descent.records import prepare
from tests.training.descent.stored import D, N, records

PLAN = Plan(
    run=NoisyGD(n=6, steps=3, learning_rate=0.1, noise=0.1),
    loss=Logistic(),
    feature_bound=1.0,
    entropy=Seeded(1),
)
X, Y = np.eye(6), np.arange(6) % 2
RUNS: list[TrainingRun] = [
    NoisyGD(n=23, steps=4, learning_rate=0.3, noise=0.1),
    NoisyCGD(n=23, batch_size=9, epochs=2, learning_rate=0.2, noise=0.1),
    NoisySGD(n=23, batch_size=4, steps=5, learning_rate=0.1, noise=0.1, sampling="poisson"),
]


@pytest.fixture(autouse=True)
def all_libraries() -> None:
    """SciPy has a BLAS of its own, which it loads when it first needs it."""
    import scipy.linalg  # noqa: F401

    gradient_module._blas.cache_clear()


def threads() -> set[int]:
    return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}


def test_products_keep_to_the_thread_that_makes_them() -> None:
    seen: list[set[int]] = []

    def look(*_: Any) -> None:
        seen.append(threads())

    with threadpool_limits(2, user_api="blas"):
        descend(PLAN, X, Y, progress=look)
        assert seen == [{1}] * 3
        assert threads() == {2}


def test_an_error_sets_it_back_as_well() -> None:
    def stop(*_: Any) -> None:
        raise ValueError

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(TrainingStopped):
            descend(PLAN, X, Y, progress=stop)
        assert threads() == {2}


@pytest.mark.parametrize("loss", [Logistic(), Softmax(classes=3)], ids=repr)
@pytest.mark.parametrize("runs", [1, 7])
@pytest.mark.parametrize("form", [np.float32, np.float64, "sparse"], ids=str)
@pytest.mark.parametrize("run", RUNS, ids=lambda run: type(run).__name__)
def test_blocks_chunks_and_threads_change_nothing(
    monkeypatch: pytest.MonkeyPatch, run: TrainingRun, form: Any, runs: int, loss: Loss
) -> None:
    """Every way to the sum on the same batch, against one block in one thread."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(run.n, 5)).astype(np.float32)
    dense[np.abs(dense) < 0.5] = 0.0
    features = sp.csr_array(dense) if form == "sparse" else dense.astype(form)
    y = rng.integers(0, 2, run.n)
    plan = Plan(
        run=run,
        loss=loss,
        feature_bound=1.5,
        clipping="envelope",
        clip=0.6,
        l2=0.1,
        entropy=Seeded(3),
    )
    monkeypatch.setattr(gradient_module, "_cores", lambda: 1)
    expected = descend_stacked(plan, features, y, runs)
    monkeypatch.setattr(gradient_module, "_SMALL", 0)
    monkeypatch.setattr(gradient_module, "_BLOCK", 0)
    for cores, chunk, least in ((1, 6, 4), (2, 5, 2), (3, 100, 3)):
        monkeypatch.setattr(gradient_module, "_cores", lambda cores=cores: cores)
        monkeypatch.setattr(gradient_module, "CHUNK", chunk)
        monkeypatch.setattr(gradient_module, "_LEAST", least)
        found = descend_stacked(plan, features, y, runs)
        assert np.abs(found - expected).max() <= plan.grid


def test_an_error_in_another_thread_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient_module, "_SMALL", 0)
    monkeypatch.setattr(gradient_module, "_cores", lambda: 2)
    whole = Logistic.residuals

    def broken(self: Logistic, z: Any, targets: Any, limits: Any) -> None:
        if targets[-1] == 1:  # the last record of the second half
            raise ValueError
        whole(self, z, targets, limits)

    monkeypatch.setattr(Logistic, "residuals", broken)
    with pytest.raises(TrainingStopped, match="ValueError after step 0"):
        descend(PLAN, X, np.array([0, 1, 0, 1, 0, 1]))
    descend(PLAN, X, np.zeros(6))


@pytest.mark.parametrize(("allowed", "made"), [(1, 1), (3, 3), (64, 8)])
def test_no_more_threads_share_out_a_batch_than_are_allowed(
    allowed: int, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gradient_module, "_cores", lambda: 8)
    monkeypatch.setattr(gradient_module, "_SMALL", 0)
    shares: list[object] = []
    one = gradient_module._Sum

    def counted(*parts: Any) -> Any:
        shares.append(parts)
        return one(*parts)

    monkeypatch.setattr(gradient_module, "_Sum", counted)
    source = gradient_module.LocalSource(prepare(PLAN, X, Y), threads=allowed)
    models = np.ones((1, 1, 7))
    with source.gradient(PLAN, models) as gradient:
        total = gradient(models, slice(0, 6)).copy()
    assert len(shares) == made
    with gradient_module.LocalSource(prepare(PLAN, X, Y)).gradient(PLAN, models) as gradient:
        assert np.allclose(total, gradient(models, slice(0, 6)))


@pytest.mark.parametrize("run", RUNS, ids=lambda run: type(run).__name__)
@pytest.mark.parametrize("order", ["fixed", "reshuffled"])
def test_a_file_gives_the_sums_of_the_table_in_memory_by_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any, order: str
) -> None:
    """Fewer threads read a file than share out a batch in memory; the sum is cut alike."""
    if isinstance(run, NoisyCGD):
        run = NoisyCGD(**{**vars(run), "order": order})
    monkeypatch.setattr(gradient_module, "_SMALL", 1)
    monkeypatch.setattr(gradient_module, "_cores", lambda: 8)
    features = np.random.default_rng(0).normal(size=(23, 5))
    np.save(tmp_path / "X.npy", features)
    plan = Plan(run=run, loss=Logistic(), feature_bound=2.0, entropy=Seeded(3))
    y = np.arange(23) % 2
    memory = descend(plan, features, y)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(descend(plan, mapped, y), memory)


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
