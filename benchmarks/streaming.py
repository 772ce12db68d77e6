"""What a pass of training over a file costs beside reading the file, and in how much memory.

Writes a table of float32 to a file, in parts, and trains on it as an `np.memmap` with full batches:
after the pass that checks the rows, each step is a pass over the file. Beside the processor seconds
of a pass those of reading the file (every block copied to float64, which any computation in float64
has to do), and the peak of the memory that training adds to what the program takes anyway.

    python benchmarks/streaming.py                      # 5 million rows of 20, 400 MB
    python benchmarks/streaming.py --rows 100000000     # 8 GB
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _timing import print_table

from shiftdp.sklearn import PrivateLogisticRegression
from shiftdp.training.descent.disk import blocks, let_go

FEATURES = 20
STEPS = 5


def write(path: Path, rows: int) -> tuple[Any, Any]:
    """Features in a file, and labels."""
    rng = np.random.default_rng(0)
    X = np.memmap(path, dtype=np.float32, mode="w+", shape=(rows, FEATURES))
    y = np.empty(rows, dtype=np.int8)
    for part in blocks(rows, 4 * FEATURES):
        X[part] = rng.standard_normal((part.stop - part.start, FEATURES), dtype=np.float32) / 5
        y[part] = X[part, 0] > 0
        let_go(X[part])
    return X, y


def pass_over(X: Any) -> None:
    """Every entry in float64, once."""
    rows = (1 << 19) // FEATURES
    buffer = np.empty((rows, FEATURES))
    for start in range(0, len(X), rows):
        block = X[start : start + rows]
        np.copyto(buffer[: len(block)], block)
        let_go(block)


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def peak() -> int:
    """The most bytes that this process has had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--folder", help="for the file; that of temporary files otherwise")
    given = parser.parse_args()

    def fit(X: Any, y: Any, steps: int) -> None:
        PrivateLogisticRegression(
            classes=[0, 1], algorithm="gd", epochs=steps, compute=float("inf")
        ).fit(X, y)

    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        X, y = write(Path(folder) / "X.bin", given.rows)
        fit(X[:10_000], y[:10_000], 1)
        reading = min(seconds(lambda: pass_over(X)) for _ in range(3))
        before = peak()
        start = time.perf_counter()
        one = seconds(lambda: fit(X, y, 1))
        several = seconds(lambda: fit(X, y, 1 + STEPS))
        wall = time.perf_counter() - start
        step = (several - one) / STEPS
        added = peak() - before
    print_table(
        ["", "processor seconds", "of reading"],
        [
            ["reading the file", f"{reading:.2f}", "1.00"],
            ["a step, which is a pass", f"{step:.2f}", f"{step / reading:.2f}"],
            ["checks and one step", f"{one:.2f}", f"{one / reading:.2f}"],
        ],
    )
    print(f"file {X.nbytes / 1e6:.0f} MB, memory added {added / 1e6:.0f} MB; all fits {wall:.0f} s")


if __name__ == "__main__":
    main()
