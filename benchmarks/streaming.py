"""What a pass of training over a file costs beside reading the file, and in how much memory.

Writes a table to a file, trains on it as an `np.memmap` with full batches, so that each step is a
pass over the file, and measures in the same run, alternately, always the best of several:

- reading: the sum of all entries of the memmap, block by block, as any reader of the file has to
  touch them;
- a step over the same table held in memory: the arithmetic of a step, in float64;
- a step over the file.

Cold: the file is dropped from the cache of the system before each, as is the case of a file that is
larger than memory, and what counts is elapsed time. Warm: all of it is in the cache, nothing is
read from the disk, and processor seconds count; reading is then a walk through memory, which the
arithmetic of a step alone takes longer than. For a Parquet file: reading it by `read_table`, which
writes it to a temporary file, beside pyarrow alone decoding all of its batches.

    python benchmarks/streaming.py                      # 4 million rows of 20, 320 and 640 MB
    python benchmarks/streaming.py --rows 100000000     # 8 and 16 GB
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _timing import print_table
from wall import Claim, Reads, same

from shiftdp.sklearn import PrivateLogisticRegression
from shiftdp.training import descend, read_table
from shiftdp.training.descent.disk import blocks, let_go

STEPS = 5


def write(path: Path, rows: int, features: int, dtype: Any) -> tuple[Any, Any]:
    """Features in a file, and labels."""
    rng = np.random.default_rng(0)
    X = np.memmap(path, dtype=dtype, mode="w+", shape=(rows, features))
    y = np.empty(rows, dtype=np.int8)
    for part in blocks(rows, 4 * features):
        X[part] = rng.standard_normal((part.stop - part.start, features), dtype=np.float32) / 5
        y[part] = X[part, 0] > 0
        let_go(X[part])
    X.flush()
    return X, y


def drop(path: Path) -> None:
    """Forget the file, as far as the system is willing to."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def reading(X: Any, prepare: Callable[[], object]) -> tuple[float, float]:
    """Elapsed and processor seconds of the sum of all entries, best of `STEPS`."""
    found = []
    for _ in range(STEPS):
        prepare()
        start = clocks()
        for part in blocks(len(X), X.shape[1] * X.itemsize):
            X[part].sum()
            let_go(X[part])
        found.append(tuple(b - a for a, b in zip(start, clocks(), strict=True)))
    return min(one[0] for one in found), min(one[1] for one in found)


def step(X: Any, y: Any, prepare: Callable[[], object]) -> tuple[float, float]:
    """Elapsed and processor seconds of a step, best of `STEPS`; the first one is not counted."""
    model = PrivateLogisticRegression(
        classes=[0, 1], algorithm="gd", epochs=1 + STEPS, compute=float("inf")
    )
    plan = model.plan(*X.shape).plan
    found: list[tuple[float, ...]] = []
    start = clocks()

    def progress(done: int, steps: int) -> None:
        nonlocal start
        if done > 1:
            found.append(tuple(b - a for a, b in zip(start, clocks(), strict=True)))
        prepare()
        start = clocks()

    descend(plan, X, y, progress=progress)
    return min(one[0] for one in found), min(one[1] for one in found)


def parquet(folder: Path, X: Any, y: Any) -> list[str]:
    """Processor seconds of pyarrow alone, and of `read_table`."""
    import pyarrow as pa
    import pyarrow.parquet

    columns = {f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])}
    path = folder / "table.parquet"
    pa.parquet.write_table(pa.table({**columns, "y": y}), path, row_group_size=1 << 18)

    def decode() -> None:
        for batch in pa.parquet.ParquetFile(path).iter_batches():
            for column in batch.columns:
                column.to_numpy(zero_copy_only=False).sum()

    seconds = []
    for call in (decode, lambda: read_table(path, "y", classes=[0, 1], memory=64e6)):
        found = []
        for _ in range(3):
            start = clocks()
            call()
            found.append(clocks()[1] - start[1])
        seconds.append(min(found))
    return [
        "Parquet, warm, processor", f"{seconds[0]:.3f}", "", "",
        f"{seconds[1]:.3f}", f"{seconds[1] / seconds[0]:.2f}", "",
    ]  # fmt: skip


def peak() -> int:
    """The most bytes that this process has had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def claims(full: bool) -> Iterator[Claim]:
    rows, features = 4_000_000, 20
    with tempfile.TemporaryDirectory() as name:
        for dtype in ("float32", "float64"):
            path = Path(name) / f"{dtype}.bin"
            X, y = write(path, rows, features, dtype)
            step(X[:10_000], y[:10_000], lambda: None)

            def forget(path: Path = path) -> None:
                drop(path)

            def over(X: Any = X, y: Any = y, forget: Any = forget) -> tuple[float, int]:
                return step(X, y, forget)[0], rows

            def read(X: Any = X, forget: Any = forget) -> tuple[float, int]:
                return reading(X, forget)[0], rows

            yield Claim(
                name=f"streaming/{dtype}",
                what=f"a step over a file of {rows:,} rows of {features} in {dtype}, from the disk",
                ours=Reads("descend on np.memmap", over),
                other=Reads("the sum of its entries", read),
                agree=same(),
                accuracy="the same file, dropped from the cache before each; clock time",
                kind="floor",
                goal=1.5,
                rounds=3,
            )
            del X, y, over, read
            path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--folder", help="for the file; that of temporary files otherwise")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        for dtype in ("float32", "float64"):
            path = folder / f"{dtype}.bin"
            X, y = write(path, given.rows, given.features, dtype)
            step(X[:10_000], y[:10_000], lambda: None)
            before = peak()
            measured = {}
            for kind, prepare in (("cold", lambda path=path: drop(path)), ("warm", lambda: None)):
                measured[kind] = reading(X, prepare), step(X, y, prepare)
            added = peak() - before
            memory = step(np.array(X), y, lambda: None)
            for kind, clock in (("cold", 0), ("warm", 1)):
                read, over = (pair[clock] for pair in measured[kind])
                rows.append(
                    [
                        f"{dtype}, {kind}, {'processor' if clock else 'elapsed'}",
                        *(f"{read:.3f}", f"{memory[clock]:.3f}"),
                        f"{memory[clock] / read:.2f}",
                        *(f"{over:.3f}", f"{over / read:.2f}", f"{added / 1e6:.0f} MB"),
                    ]
                )
            if dtype == "float32":
                few = min(given.rows, 4_000_000)
                rows.append(parquet(folder, X[:few], y[:few]))
            del X
            path.unlink()
    print_table(
        [
            "seconds", "reading", "a step in memory", "of reading", "a step over the file",
            "of reading", "memory added",
        ],
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
