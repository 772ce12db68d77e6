"""Claim: the accuracy part of the paper takes minutes, not hours.

All 24 settings (NoisyCGD and NoisySGD, two regularisers, three lengths, training and test), 10 runs
each: under 8 minutes on two cores. The authors report 6 to 7 hours. Beside it the per-record
formulation, written from the formula (a gradient formed, measured and clipped for each record) and
timed for a few batches, for the steps that separate runs would take: at least 80 times slower.

Wall time and processor time, both sides in the same process with two threads; on a machine that
does other things as well, look at the processor time.

    python benchmarks/reproduce_accuracy.py [DIR]      DIR has the four IDX files of MNIST; without
                                                       it, random images of the same size
    python benchmarks/reproduce_accuracy.py --short    from 2 and from 8 epochs to 200, on a line
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from _timing import print_table
from threadpoolctl import threadpool_limits
from wall import Claim, Reads, same

from shiftdp.ui.reproduce.experiment import PUBLISHED, Results, Variant, experiment
from shiftdp.ui.reproduce.images import PAPER, Images, Part, mnist_in
from shiftdp.ui.reproduce.tables.mnist_accuracy import detailed_accuracy_table

RUNS, BATCHES = 10, 5
# each length, regulariser, algorithm and run on its own
SEPARATE = sum(PAPER.epochs) * PAPER.batches * len(PAPER.ridges) * 2 * RUNS


def random_images() -> Images:
    rng = np.random.default_rng(0)

    def part(n: int) -> Part:
        X = rng.random((n, 784), dtype=np.float32) * (rng.random((n, 784)) < 0.19)
        X *= np.float32(7.99) / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 7.99)
        return Part(X.astype(np.float32), rng.integers(0, 10, n))

    return Images("random images", part(60_000), part(10_000), PAPER, published=False)


def per_record(images: Images) -> tuple[float, float]:
    """Seconds a batch, by the clock and of the processor, with a gradient for each record."""
    W = np.zeros((10, 785), np.float32)
    rng = np.random.default_rng(0)
    spent: list[tuple[float, float]] = []
    for i in range(BATCHES):
        rows = slice(i * PAPER.batch_size, (i + 1) * PAPER.batch_size)
        X = np.hstack([images.train.features[rows], np.ones((PAPER.batch_size, 1), np.float32)])
        y = images.train.labels[rows]
        start = time.perf_counter(), time.process_time()
        z = X @ W.T
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(y)), y] -= 1
        gradients = p[:, :, None] * X[:, None, :]
        norms = np.sqrt((gradients**2).sum(axis=(1, 2)))
        gradients *= np.minimum(1.0, 5.0 / np.maximum(norms, 1e-12))[:, None, None]
        noise = PAPER.noise * rng.standard_normal(W.shape, dtype=np.float32)
        W -= PAPER.learning_rate * (gradients.mean(axis=0) + PAPER.ridges[0] * W + noise)
        spent.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return median(wall for wall, _ in spent), median(cpu for _, cpu in spent)


def timed(
    images: Images, variant: Variant, epochs: tuple[int, ...]
) -> tuple[Results, tuple[float, float]]:
    """The accuracies, and the seconds they took by the clock and of the processor."""
    start = time.perf_counter(), time.process_time()
    found = experiment(replace(images, setting=replace(PAPER, epochs=epochs)), variant, RUNS, 1)
    return found, (time.perf_counter() - start[0], time.process_time() - start[1])


def claims(full: bool) -> Iterator[Claim]:
    """From 2 and from 8 epochs to 200, on a line; takes minutes, so with `full` only."""
    if not full:
        return
    images = random_images()

    def ours() -> tuple[float, int]:
        total = 0.0
        for variant in PUBLISHED:
            two, eight = (timed(images, variant, (E,))[1][1] for E in (2, 8))
            total += two + (max(PAPER.epochs) - 2) / 6 * (eight - two)
        return total, RUNS

    yield Claim(
        name="reproduce_accuracy/per record",
        what=f"all 24 settings of the paper's accuracies, {RUNS} runs each, from a part of them",
        ours=Reads("experiment", ours),
        other=Reads("a gradient for each record", lambda: (SEPARATE * per_record(images)[1], RUNS)),
        agree=same(),
        accuracy="the same settings and runs",
        goal=80.0,
        rounds=1,
    )


def main(arguments: list[str]) -> None:
    short = "--short" in arguments
    folders = [word for word in arguments if not word.startswith("--")]
    images = mnist_in(folders[0]) if folders else random_images()
    found: dict[str, Any] = {}
    times: dict[str, tuple[float, float]] = {}
    for variant in PUBLISHED:
        if short:
            (wall_2, cpu_2), (wall_8, cpu_8) = (timed(images, variant, (E,))[1] for E in (2, 8))
            far = (max(PAPER.epochs) - 2) / 6
            times[variant.name] = (
                wall_2 + far * (wall_8 - wall_2),
                cpu_2 + far * (cpu_8 - cpu_2),
            )
        else:
            found[variant.name], times[variant.name] = timed(images, variant, PAPER.epochs)
    wall, cpu = (sum(spent) for spent in zip(*times.values(), strict=True))
    slow_wall, slow_cpu = (SEPARATE * each for each in per_record(images))
    rows = [
        (f"Noisy{name.upper()}, 10 runs of 6 settings", f"{w:.0f}", f"{c:.0f}")
        for name, (w, c) in times.items()
    ]
    rows.append(("all", f"{wall:.0f}", f"{cpu:.0f}"))
    rows.append(("a gradient for each record", f"{slow_wall:.0f}", f"{slow_cpu:.0f}"))
    print_table((images.name, "seconds", "of the processor"), rows)
    ratios = slow_wall / wall, slow_cpu / cpu
    print(f"\ntimes slower: {ratios[0]:.0f} ({ratios[1]:.0f} in processor time)")
    print(f"under 8 minutes: {'yes' if wall < 480 else 'NO'}")
    # two cores that do nothing else take half of the processor time
    print(f"under 8 minutes of two cores: {'yes' if cpu / 2 < 480 else 'NO'}")
    print(f"at least 80 times: {'yes' if ratios[0] >= 80 else 'NO'}")
    share = max(PAPER.epochs) / sum(PAPER.epochs)
    print(f"if those were read at all three lengths as well: {ratios[0] * share:.0f} times")
    if images.published and not short:
        tables = [detailed_accuracy_table(images, found, side) for side in ("train", "test")]
        entries = [entry for table in tables for entry in table.entries]
        agree = sum(entry.verdict == "agrees" for entry in entries)
        print(f"accuracies that agree with the paper: {agree} of {len(entries)}")


if __name__ == "__main__":
    with threadpool_limits(2):
        main(sys.argv[1:])
