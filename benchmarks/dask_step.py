"""Claim: a step on a cluster costs little more than the arithmetic of its slowest worker.

n = 2,000,000 records of d = 100 features in float32, two classes, full batches, on a local cluster
of two workers with one thread each: at most 15 ms and 15% a step above what the slowest worker
computes for, by its own clock. Beside it small batches, 2,000 records a step, where the messages
are most of a step: what a step takes at least; and models of more parameters with hardly any
records, which show what the driver and the network take for each parameter.

Wall time, the median over steps. On a machine that does other things as well, what the driver waits
for is not the network: the table has the processor time of the driver beside it, which other work
does not change.

    python benchmarks/dask_step.py
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from statistics import median
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from _timing import print_table
from distributed import Client, LocalCluster
from wall import Claim, Reads, same

from shiftdp import NoisyCGD, NoisyGD
from shiftdp.training import Logistic, Plan, Softmax
from shiftdp.training.cluster.collection import table_of
from shiftdp.training.cluster.fitting import on_workers
from shiftdp.training.cluster.shard import Sum
from shiftdp.training.descent.loop import certified_records, descend_on

N, D, STEPS = 2_000_000, 100, 30
ROUNDS = 3
BLOCK = 100_000  # rows of a block
MOST, SHARE = 0.015, 0.15  # seconds above the arithmetic of the slowest worker, and as a part of it


class Found(NamedTuple):
    """Medians over the steps, in seconds."""

    step: float
    arithmetic: float
    overhead: float
    driver: float
    worker: float


def table(n: int, d: int, block: int, classes: int = 2) -> Any:
    """Made where it stays: each worker draws its blocks."""

    def rows(block_info: Any = None) -> Any:
        (start, stop), *_ = block_info[None]["array-location"]
        rng = np.random.default_rng(start)
        return rng.random((stop - start, d), dtype=np.float32)

    def labels(block_info: Any = None) -> Any:
        ((start, stop),) = block_info[None]["array-location"]
        return np.random.default_rng(start).integers(0, classes, stop - start)

    sizes = tuple(min(block, n - start) for start in range(0, n, block))
    X = da.map_blocks(rows, chunks=(sizes, (d,)), dtype=np.float32)
    return table_of(X, da.map_blocks(labels, chunks=(sizes,), dtype=np.int64))


def measure(client: Client, data: Any, plan: Plan) -> Found:
    with on_workers(client, data, data.numbers("given")) as rows:
        rows.workers.tell("assemble")
        records = certified_records(plan, rows, None)
        slowest: list[float] = []
        work: list[float] = []
        own = rows.timing.add

        def add(sums: list[Sum]) -> None:
            slowest.append(max(one.seconds for one in sums))
            work.append(max(one.processor_seconds for one in sums))
            own(sums)

        rows.timing.add = add  # type: ignore[method-assign]
        clock, busy = [time.perf_counter()], [time.process_time()]

        def progress(done: int, total: int) -> None:
            clock.append(time.perf_counter())
            busy.append(time.process_time())

        descend_on(plan, records, progress=progress)
    walls = np.diff(clock)[1:]  # the first step makes buffers
    above = [wall - inside for wall, inside in zip(walls, slowest[1:], strict=True)]
    driver = median(np.diff(busy)[1:])
    return Found(median(walls), median(slowest[1:]), median(above), driver, median(work[1:]))


def whole(n: int = N) -> Plan:
    run = NoisyGD(n=n, steps=STEPS, learning_rate=0.05, noise=1e-4)
    return Plan(run=run, loss=Logistic(), feature_bound=10.0, l2=0.01)


def claims(full: bool) -> Iterator[Claim]:
    two = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with two, Client(two) as client:
        records = table(N, D, BLOCK)
        found = [measure(client, records, whole()) for _ in range(ROUNDS)]
        steps, floors = iter([one.step for one in found]), iter([one.arithmetic for one in found])
        yield Claim(
            name="dask_step/slowest worker",
            what="a step over 2,000,000 records of 100 features on two workers of Dask",
            ours=Reads("shiftdp.dask, a step", lambda: (next(steps), N)),
            other=Reads("arithmetic of the slowest worker", lambda: (next(floors), N)),
            agree=same(),
            accuracy="the same step, the median of 29; clock time",
            kind="floor",
            goal=1.0 + SHARE,
            rounds=ROUNDS,
        )


def main() -> None:
    two = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with two, Client(two) as client:
        data = table(N, D, BLOCK)
        small = NoisyCGD(n=N, batch_size=2_000, steps=200, learning_rate=0.05, noise=1e-2)
        plans = {
            "full batches": whole(),
            "batches of 2,000": Plan(run=small, loss=Logistic(), feature_bound=10.0, l2=0.01),
        }
        found = {name: measure(client, data, plan) for name, plan in plans.items()}
        for parameters in (10_000, 100_000, 1_000_000):
            classes = max(2, parameters // 10_000)
            run = NoisyGD(n=40, steps=STEPS, learning_rate=0.05, noise=1.0)
            loss = Logistic() if classes == 2 else Softmax(classes=classes)
            plan = Plan(run=run, loss=loss, feature_bound=1.0, l2=0.01)
            wide = table(40, 10_000, 20, classes)
            found[f"40 records, {parameters:,} parameters"] = measure(client, wide, plan)
    rows = [(name, *(f"{1e3 * value:.2f}" for value in each)) for name, each in found.items()]
    titles = ("step", "slowest worker", "above it", "driver's processor", "worker's processor")
    print_table(("ms a step", *titles), rows)
    judged = found["full batches"]
    part = judged.overhead / judged.arithmetic
    held = judged.overhead <= MOST and part <= SHARE
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{1e3 * judged.overhead:.1f} ms, {part:.1%} above the slowest worker: ", end="")
    print(f"within 15 ms and 15%: {'yes' if held else 'NO'}")


if __name__ == "__main__":
    main()
