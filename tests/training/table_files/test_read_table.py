"""Tables from files for Python: arrays for `fit`, in memory or on disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from shiftdp import InvalidInput
from shiftdp.sklearn import PrivateHuberRegressor, PrivateLogisticRegression
from shiftdp.training import read_table
from shiftdp.training.descent.disk import is_mapped
from shiftdp.training.table_files import rules

FEATURES = 20
BOUND = 64 * 10**6


def table(rows: int, seed: int = 0) -> dict[str, Any]:
    X = np.random.default_rng(seed).standard_normal((rows, FEATURES), dtype=np.float32) / 8
    return {**{f"x{j}": X[:, j] for j in range(FEATURES)}, "y": (X[:, 0] > 0).astype(np.int8)}


def parquet(folder: Path, parts: int, rows: int) -> Path:
    folder.mkdir()
    for k in range(parts):
        pa.parquet.write_table(pa.table(table(rows, k)), folder / f"{k}.parquet")
    return folder


def npz(path: Path, rows: int) -> Path:
    columns = table(rows)
    y = columns.pop("y")
    np.savez(path, X=np.stack(list(columns.values()), axis=1), y=y)
    return path


def csv(path: Path, rows: int) -> Path:
    """Lines of some 200 characters, the same ones over and over."""
    columns = table(500)
    lines = [
        ",".join(f"{columns[name][i]:.7f}" for name in columns if name != "y")
        + f",{columns['y'][i]}\n"
        for i in range(500)
    ]
    text = "".join(lines)
    with open(path, "w") as file:
        file.write(",".join(columns) + "\n")
        for _ in range(max(1, rows // 500)):
            file.write(text)
    return path


@pytest.fixture
def on_disk_from_the_first_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiftdp.training.table_files.reading.PER_RECORD", BOUND)


def test_a_folder_becomes_arrays_for_a_model(tmp_path: Path) -> None:
    found = read_table(parquet(tmp_path / "folder", 2, 300), "y", classes=[0, 1])
    assert found.X.shape == (600, FEATURES)
    assert found.X.dtype == np.float32
    assert found.names == tuple(f"x{j}" for j in range(FEATURES))
    assert not is_mapped(found.X)
    both = [tmp_path / "folder" / f"{k}.parquet" for k in range(2)]
    np.testing.assert_array_equal(read_table(both, "y", classes=[0, 1]).X, found.X)


@pytest.mark.usefixtures("on_disk_from_the_first_row")
@pytest.mark.parametrize("classes", [[0, 1], None])
def test_a_table_on_disk_makes_the_model_of_one_in_memory(
    tmp_path: Path, classes: list[int] | None
) -> None:
    folder = parquet(tmp_path / "folder", 2, 300)
    disk = read_table(folder, "y", classes=classes, memory=BOUND)
    assert is_mapped(disk.X)
    assert is_mapped(disk.y)
    X, y = np.array(disk.X), np.array(disk.y)
    model = PrivateLogisticRegression(classes=[0, 1], epochs=2, batch_size=50, random_state=0)
    weights = model.fit(X, y).coef_
    certificate = model.certificate_.to_json()
    np.testing.assert_array_equal(model.fit(disk.X, disk.y).coef_, weights)
    assert model.certificate_.to_json() == certificate


@pytest.mark.usefixtures("on_disk_from_the_first_row")
def test_labels_on_disk_are_checked_like_any_others(tmp_path: Path) -> None:
    folder = parquet(tmp_path / "folder", 1, 200)
    found = read_table(folder, "y", memory=BOUND)
    with pytest.warns(UserWarning, match="classes are read off"):
        learnt = PrivateLogisticRegression(epochs=1, random_state=0).fit(found.X, found.y)
    assert learnt.classes_.tolist() == [0, 1]
    with pytest.raises(InvalidInput, match="not in classes"):
        PrivateLogisticRegression(classes=[1, 2]).fit(found.X, found.y)
    with pytest.raises(InvalidInput, match="does not have 199 entries"):
        PrivateLogisticRegression(classes=[0, 1]).fit(found.X[1:], found.y)
    numbers = read_table(folder, "x0", numbers=True, memory=BOUND)
    model = PrivateHuberRegressor(epochs=1, random_state=0)
    weights = model.fit(np.array(numbers.X), np.array(numbers.y)).coef_
    np.testing.assert_array_equal(model.fit(numbers.X, numbers.y).coef_, weights)
    numbers.y[17] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        model.fit(numbers.X, numbers.y)


@pytest.mark.parametrize("memory", [0, 10**6, rules.LEAST_MEMORY - 1, float("nan")])
def test_less_memory_than_reading_takes_is_refused(tmp_path: Path, memory: float) -> None:
    with pytest.raises(InvalidInput, match="memory="):
        read_table(csv(tmp_path / "a.csv", 500), "y", memory=memory)


def test_sparse_features_above_the_memory_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text("1 1:0.5 2:0.25 3:0.125\n" * 100_000)
    with pytest.raises(InvalidInput, match="sparse features are not read in blocks"):
        read_table(path, None, features=3, memory=BOUND)
    assert read_table(path, None, features=3).X.shape == (100_000, 3)


TRAIN = """
import sys
from shiftdp.ui.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end
status = open("/proc/self/status").read().splitlines()
peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
print(1024 * int(peak), file=sys.stderr)
"""


def peak(path: Path, output: Path) -> int:
    """The most bytes that `shiftdp train` has had, in a process of its own."""
    words = ["--target", "y", "--classes", "0,1", "--epsilon", "1", "--feature-bound", "1.5"]
    words += ["--epochs", "1", "--anyway", "--memory", str(BOUND), "-o", str(output)]
    command = [sys.executable, "-c", TRAIN, "train", str(path), *words]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(found.stderr.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("kind", ["parquet", "parquet in one row group", "npz", "csv"])
def test_memory_is_kept_while_a_table_four_times_as_large_is_read(
    tmp_path: Path, kind: str
) -> None:
    """Above what the same command takes for a table of 500 rows."""
    rows = 4 * BOUND // (4 * FEATURES)
    if kind == "parquet":
        large, small = parquet(tmp_path / "l", 8, rows // 8), parquet(tmp_path / "s", 1, 500)
    elif kind == "parquet in one row group":
        large, small = tmp_path / "l.parquet", parquet(tmp_path / "s", 1, 500)
        pa.parquet.write_table(pa.table(table(rows)), large, row_group_size=rows)
    elif kind == "npz":
        large, small = npz(tmp_path / "l.npz", rows), npz(tmp_path / "s.npz", 500)
    else:
        large, small = csv(tmp_path / "l.csv", 4 * BOUND // 200), csv(tmp_path / "s.csv", 500)
    files = [large] if large.is_file() else list(large.iterdir())
    assert sum(file.stat().st_size for file in files) > 0.9 * 4 * BOUND
    output = tmp_path / "m.shiftdp"
    assert peak(large, output) - peak(small, output) < BOUND


def test_memory_may_be_written_as_on_the_command_line(tmp_path: Path) -> None:
    path = npz(tmp_path / "table.npz", 20)
    for memory in ("64MB", "1GB", 64 * 10**6, float("inf")):
        assert read_table(path, "y", memory=memory).X.shape == (20, FEATURES)
    for memory in ("1MB", "many", -1.0, float("nan")):
        with pytest.raises(InvalidInput, match=r"memory=.* is not a number of bytes from 64MB on"):
            read_table(path, "y", memory=memory)


def test_a_file_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a long path would be shortened
    with pytest.raises(FileNotFoundError, match=r"none\.csv' is not there; give a file") as caught:
        read_table("none.csv", "y")
    assert isinstance(caught.value, InvalidInput)
