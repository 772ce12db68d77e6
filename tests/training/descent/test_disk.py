"""Arrays on disk: the same run as in memory, in memory that does not grow with the file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput, NoisyGD
from shiftdp.sklearn import PrivateHuberRegressor, PrivateLogisticRegression
from shiftdp.training.descent import disk, permutations
from shiftdp.training.descent.disk import (
    DiskFull,
    blocks,
    is_mapped,
    let_go,
    may_read_ahead,
    on_disk,
    read_ahead,
    taken,
)
from shiftdp.training.descent.records import prepare
from shiftdp.training.losses.scalar import Logistic
from shiftdp.training.plan import Plan

RUNS: list[dict[str, Any]] = [
    {"algorithm": "gd", "epochs": 3},
    {"algorithm": "cgd", "batch_size": 64, "epochs": 2, "order": "reshuffled"},
    {"algorithm": "cgd", "batch_size": 64, "epochs": 2, "order": "fixed", "clip": 0.2},
    {"algorithm": "sgd", "batch_size": 64, "epochs": 2, "sampling": "poisson"},
]


def stored(folder: Path, X: Any) -> Any:
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few rows, so that small arrays have many of them."""
    monkeypatch.setattr(disk, "RESIDENT", 1 << 18)
    monkeypatch.setattr(permutations, "RESIDENT", 1 << 12)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run['algorithm']}-{len(run)}")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_mapped_file_gives_the_same_weights(tmp_path: Path, run: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)).astype(dtype)  # most rows are beyond the bound
    X[7] *= 1e30 if dtype == np.float32 else 1e300  # and one beyond the range of squares
    y = (X[:, 0] > 0).astype(int)
    model = PrivateLogisticRegression(classes=[0, 1], random_state=0, **run)
    memory = model.fit(X, y).coef_
    certificate = model.certificate_.to_json()
    np.testing.assert_array_equal(model.fit(stored(tmp_path, X), y).coef_, memory)
    assert model.certificate_.to_json() == certificate
    np.testing.assert_array_equal(model.predict(stored(tmp_path, X)), model.predict(X))


def test_columns_and_whole_numbers_of_a_mapped_file_are_read_where_they_are(tmp_path: Path) -> None:
    whole = np.random.default_rng(0).integers(-1, 2, size=(200, 4))
    given = stored(tmp_path, whole)
    model = PrivateHuberRegressor(epochs=3, random_state=0)
    memory = model.fit(whole[:, :3].copy(), whole[:, 3]).coef_
    np.testing.assert_array_equal(model.fit(given[:, :3], given[:, 3]).coef_, memory)


def test_entries_that_are_not_finite_are_refused_in_a_mapped_file(tmp_path: Path) -> None:
    X = np.zeros((50, 2))
    X[20, 1] = np.nan
    with pytest.raises(InvalidInput, match="not finite"):
        PrivateHuberRegressor(epochs=1).fit(stored(tmp_path, X), X[:, 0])


@pytest.mark.parametrize("clip", [None, 0.2])
@pytest.mark.parametrize("entry", [1e6, np.inf, np.nan])
def test_a_mapped_file_whose_rows_become_longer_is_refused(
    tmp_path: Path, clip: float | None, entry: float
) -> None:
    X = np.full((300, 3), 0.25)
    given = stored(tmp_path, X)
    writer = np.load(tmp_path / "X.npy", mmap_mode="r+")
    run = NoisyGD(n=300, steps=2, learning_rate=0.1, noise=1.0)
    chosen: dict[str, Any] = {} if clip is None else {"clipping": "plain", "clip": clip}
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, **chosen)
    records = prepare(plan, given, np.ones(300))
    everything = slice(0, 300)
    np.testing.assert_array_equal(records.rows.take(everything), X)
    writer[200, 1] = 0.125  # shorter: still within what was found
    assert records.rows.take(everything)[200, 1] == 0.125
    writer[200, 1] = entry
    records.rows.take(slice(0, 200))
    with pytest.raises(InvalidInput, match="changed while it was read"):
        records.rows.take(everything)


def test_what_is_let_go_of_is_still_there() -> None:
    array = on_disk((1000, 3))
    array[:] = np.arange(3000).reshape(1000, 3)
    let_go(array[100:200])
    assert is_mapped(array)
    assert is_mapped(array[5:].reshape(-1))
    rows = np.array([0, 150, 999])
    out = np.empty((3, 3))
    taken(array, rows, out)
    assert out[:, 0].tolist() == [0.0, 450.0, 2997.0]
    assert [(b.start, b.stop) for b in blocks(5, disk.RESIDENT // 2)] == [(0, 2), (2, 4), (4, 5)]


def test_what_may_be_read_ahead_is_said_of_the_file_and_known_of_its_parts() -> None:
    array = on_disk((1000, 3))
    assert read_ahead(array) == disk.RESIDENT
    may_read_ahead(array, 12_345)
    assert read_ahead(np.asarray(array)[5:, 1:]) == 12_345
    assert read_ahead(np.zeros(3)) == 0


def test_changes_that_are_in_memory_alone_are_not_let_go_of(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.zeros(100_000))
    private = np.load(tmp_path / "X.npy", mmap_mode="c")
    private[:] = 7.0
    let_go(private)
    assert not is_mapped(private)
    assert (private == 7.0).all()
    assert not is_mapped(np.zeros(3))
    assert not is_mapped([1.0])


def test_a_file_on_disk_has_no_name_and_a_full_disk_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept = on_disk(10)
    assert os.listdir(tmp_path) == []
    assert kept.tolist() == [0.0] * 10

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(DiskFull, match=r"8000 bytes.*TMPDIR"):
        on_disk(1000)


FIT = """
import sys, numpy as np
from shiftdp.sklearn import PrivateLogisticRegression
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line)
model = PrivateLogisticRegression(classes=[0, 1], random_state=0, {run})
X = np.load(sys.argv[1], mmap_mode="r")
model.fit(X[:8000], np.arange(8000) % 2)
before = peak()
model.fit(X, np.arange(len(X), dtype=np.int8) % 2)
print((peak() - before) * 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize(
    ("run", "megabytes"),
    [
        ("algorithm='gd', epochs=1", 24),
        pytest.param("batch_size=4000, epochs=1, order='reshuffled'", 40, marks=pytest.mark.slow),
    ],
)
def test_memory_stays_far_below_the_file(tmp_path: Path, run: str, megabytes: int) -> None:
    """A file of 160 MB, four times the largest of these numbers."""
    path = tmp_path / "X.npy"
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(400_000, 100))
    file[:] = np.float32(0.01)
    del file
    command = [sys.executable, "-c", FIT.format(run=run), str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(found.stdout) < megabytes << 20
