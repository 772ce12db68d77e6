"""A table that is larger than the memory that is allowed for it: 100 million rows of 20, 8 GB.

Writes a folder of Parquet files, reads it by `read_table` within a stated memory, and trains on it
by the plan that the planner makes of its shape: batches in turn in fixed order, and the planner's
own choice, which is reshuffled. Each run is a process of its own, which says how long it took, how
much memory it added to what the program takes on a table of some rows, and how much room its
temporary files had; its certificate is compared with that of the same plan without data.

Claim: what reading and training add is within the memory that was stated. On the wall with 3
million rows in 64 MB, and with all of them in 256 MB, in fixed order, if `--full`.

    python benchmarks/out_of_core.py --rows 3000000 --memory 64e6     # a short one
    python benchmarks/out_of_core.py                                  # 100 million rows, 256 MB
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _timing import print_table
from wall import Claim, Limit, Reads, same

FEATURES = 20
PART = 1_000_000  # rows of a file
DELTA = 1e-9
RUNS: dict[str, dict[str, Any]] = {
    "fixed order, 1 pass": {"order": "fixed", "epochs": 1},
    "as planned": {},
}


def truth() -> Any:
    return np.random.default_rng(7).standard_normal(FEATURES) / FEATURES**0.5


def part(k: int, rows: int) -> tuple[Any, Any]:
    """Features of length about 0.9, and labels of a logistic model."""
    rng = np.random.default_rng([1, k])
    X = rng.standard_normal((rows, FEATURES), dtype=np.float32) / np.float32(5)
    y = rng.random(rows) < 1 / (1 + np.exp(-10 * (X @ truth())))
    return X, y.astype(np.int8)


def write(folder: Path, rows: int) -> int:
    """The parts of the table; how many bytes they have."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    for k, start in enumerate(range(0, rows, PART)):
        X, y = part(k, min(PART, rows - start))
        columns = {f"x{j}": X[:, j] for j in range(FEATURES)}
        parquet.write_table(
            pa.table({**columns, "y": y}),
            folder / f"part-{k:04d}.parquet",
            compression="none",
            use_dictionary=False,
        )
    return sum(file.stat().st_size for file in folder.iterdir())


def peak() -> int:
    """The most bytes that this process has had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


class Room(threading.Thread):
    """The most room that temporary files of this process had, looked at ten times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.over = 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.1):
            self.most = max(self.most, self.now())

    @staticmethod
    def now() -> int:
        """Files without a name are where they are mapped, or open."""
        found: dict[int, int] = {}
        for kind in ("fd", "map_files"):
            try:
                names = os.listdir(f"/proc/self/{kind}")
            except OSError:
                continue
            for name in names:
                try:
                    state = os.stat(f"/proc/self/{kind}/{name}")
                    target = os.readlink(f"/proc/self/{kind}/{name}")
                except OSError:
                    continue
                if "shiftdp-" in target or target.endswith("(deleted)"):
                    found[state.st_ino] = state.st_blocks * 512
        return sum(found.values())


def child(folder: str, memory: float, options: dict[str, Any]) -> dict[str, Any]:
    """One run; what it took."""
    from shiftdp.sklearn import PrivateLogisticRegression
    from shiftdp.training import read_table

    model = PrivateLogisticRegression(classes=[0, 1], epsilon=1.0, delta=DELTA, **options)
    room = Room()
    room.start()
    start, used = time.perf_counter(), time.process_time()
    table = read_table(folder, "y", classes=[0, 1], memory=memory)
    reading = time.perf_counter() - start, time.process_time() - used
    start, used = time.perf_counter(), time.process_time()
    model.fit(table.X, table.y)
    training = time.perf_counter() - start, time.process_time() - used
    room.over.set()
    most = peak()
    X, y = part(10**6, 200_000)  # of no file
    expected = model.plan(*table.X.shape).plan.certificate
    found = model.certificate_
    return {
        "peak": most,
        "disk": room.most,
        "reading": reading,
        "training": training,
        "run": f"{type(model.plan_.plan.run).__name__}, {model.plan_.plan.run.steps} steps",
        "accuracy": float(model.score(X, y)),
        "best": float(((X @ truth() > 0) == y).mean()),
        "bound": found.bound,
        "epsilon": found.epsilon(DELTA),
        "as_planned": (found.run, found.geometry, found.epsilon(DELTA))
        == (expected.run, expected.geometry, expected.epsilon(DELTA)),
    }


def run(folder: Path, memory: float, options: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", str(folder), str(memory), json.dumps(options)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return found


def claims(full: bool) -> Iterator[Claim]:
    yield from within_memory(3_000_000, 64e6, RUNS, "")
    if full:  # as planned, hundreds of walks through all of it would take an hour
        fixed = "fixed order, 1 pass"
        yield from within_memory(100_000_000, 256e6, {fixed: RUNS[fixed]}, "100 million rows, ")


def within_memory(
    rows: int, memory: float, runs: dict[str, dict[str, Any]], which: str
) -> Iterator[Claim]:
    """What runs add to the memory of a process, beside what was stated."""
    with tempfile.TemporaryDirectory(prefix="out-of-core-") as name:
        folder, few = Path(name) / "table", Path(name) / "few"
        folder.mkdir()
        few.mkdir()
        size = write(folder, rows)
        write(few, 2_000)
        base = run(few, memory, {"epochs": 1})["peak"]
        for label, options in runs.items():
            found = run(folder, memory, options)
            added, planned = (found["peak"] - base) / 1e6, found["as_planned"]
            yield Claim(
                name=f"out_of_core/{which}{label}",
                what=f"memory that reading and training on {rows:,} rows of Parquet add, "
                f"{size / 1e6:,.0f} MB: {label}",
                ours=Reads("read_table + fit", lambda x=added, y=planned: (x, y)),
                other=Limit("the memory stated", memory / 1e6, True),
                agree=same(),
                accuracy="the certificate is that of the plan without data",
                kind="limit",
                goal=1.0,
                rounds=1,
                unit="MB",
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--memory", type=float, default=256e6)
    parser.add_argument("--folder", help="for all files; that of temporary files otherwise")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        print(json.dumps(child(given.child[0], float(given.child[1]), json.loads(given.child[2]))))
        return
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="out-of-core-") as name:
        folder, few = Path(name) / "table", Path(name) / "few"
        folder.mkdir()
        few.mkdir()
        start = time.perf_counter()
        size = write(folder, given.rows)
        print(f"{size / 1e9:.2f} GB of Parquet written in {time.perf_counter() - start:.0f} s")
        write(few, 2_000)
        base = run(few, given.memory, {"epochs": 1})["peak"]
        rows = []
        for label, options in RUNS.items():
            one = run(folder, given.memory, options)
            print(f"{label}: {one}", flush=True)
            rows.append(
                [
                    label,
                    one["run"],
                    *(f"{one[key][0]:.0f} ({one[key][1]:.0f})" for key in ("reading", "training")),
                    f"{(one['peak'] - base) / 1e6:.0f} MB",
                    f"{one['disk'] / 1e9:.1f} GB",
                    f"{one['accuracy']:.4f} of {one['best']:.4f}",
                    f"{one['epsilon']:.4f} by {one['bound']}"
                    + ("" if one["as_planned"] else ", NOT the plan's"),
                ]
            )
    print_table(
        [
            "run", "", "reading, s (processor)", "training, s (processor)",
            f"added memory, of {given.memory / 1e6:.0f} MB", "temporary files", "accuracy",
            "epsilon",
        ],
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
