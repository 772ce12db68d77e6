"""Claim: private training costs little more than its two matrix products, in float64.

Three jobs of users, features stored as float32:

- images: n = 60,000, d = 784, 10 classes, batches of 1,500 (random images of MNIST's density);
- table: n = 2,000,000, d = 100, two classes, full batches;
- digits: n = 1,500, d = 64, 10 classes, full batches.

A fit takes at most 1.5 times its own two products: the scores and the sum of residuals times
features, in float64 on features that are float64 already, with two threads of BLAS. The digits miss
it, at 1.7 times in processor seconds: with so few features the residuals (exponentials, norms and
clipping) take 0.3 times the products, random numbers 0.2 times, and some thirty calls of NumPy on
small arrays the rest.

Beside it what float64 costs: the same two products in float32, which nothing proves anything about.
A step on the images is at least 10 times faster than that of the same model in Opacus, with
per-sample gradients by its hooks; its ghost clipping is shown as well. Memory for the table stays
below twice the data.

And the figures that the float64 is for: how far apart the sums of neighbouring data sets are at
most, over data that were made to show it, in units of L = 2G, beside the certified bound.

Wall time: the median of the quotients of several rounds in which all take turns, because a machine
that does other things as well is slow for a while, then fast for a while. Beside it the same in
processor seconds, which other work on the machine does not change.

    python benchmarks/training_step.py
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from _timing import print_table
from threadpoolctl import threadpool_limits

from shiftdp import NoisyCGD, NoisyGD
from shiftdp.training import Logistic, Plan, Seeded, Softmax, System, descend
from shiftdp.training.descent.gradient import LocalSource
from shiftdp.training.descent.loop import descend_on
from shiftdp.training.descent.records import prepare

ETA, SIGMA, CLIP, L2 = 0.05, 0.01, 5.0, 0.002
STEPS = 5  # of each peer in a round
ROUNDS = 7

Call = Callable[[], object]


class Job(NamedTuple):
    """What a user trains on, and for how many steps a round goes on."""

    name: str
    X: Any
    y: Any
    classes: int
    batch: int
    steps: int


def images() -> Job:
    rng = np.random.default_rng(0)
    X = rng.random((60_000, 784), dtype=np.float32)
    X *= rng.random(X.shape, dtype=np.float32) < 0.19
    return Job("images", X, rng.integers(0, 10, len(X)), 10, 1_500, 400)


def table() -> Job:
    rng = np.random.default_rng(0)
    X = rng.random((2_000_000, 100), dtype=np.float32)
    return Job("table", X, rng.integers(0, 2, len(X)), 2, len(X), 5)


def digits() -> Job:
    rng = np.random.default_rng(0)
    X = rng.random((1_500, 64), dtype=np.float32)
    return Job("digits", X, rng.integers(0, 10, len(X)), 10, len(X), 400)


def fit(job: Job) -> Call:
    """All steps on data that were checked."""
    n = len(job.X)
    run: Any = (
        NoisyGD(n=n, steps=job.steps, learning_rate=ETA, noise=SIGMA)
        if job.batch == n
        else NoisyCGD(n=n, batch_size=job.batch, steps=job.steps, learning_rate=ETA, noise=SIGMA)
    )
    plan = Plan(
        run=run,
        loss=Logistic() if job.classes == 2 else Softmax(classes=job.classes),
        feature_bound=30.0,
        l2=L2,
        clipping="plain",
        clip=CLIP,
        bounds="composition",
        entropy=System(),
    )
    records = LocalSource(prepare(plan, job.X, job.y))
    return lambda: descend_on(plan, records)


def products(job: Job, dtype: type) -> Call:
    """The two products of each step, and nothing else."""
    outputs = 1 if job.classes == 2 else job.classes
    X = job.X.astype(dtype)
    W = np.random.default_rng(1).random((outputs, X.shape[1])).astype(dtype)
    scores, out = np.empty((outputs, job.batch), dtype), np.empty_like(W)
    batches = len(X) // job.batch

    def call() -> None:
        for step in range(job.steps):
            start = step % batches * job.batch
            batch = X[start : start + job.batch]
            np.matmul(W, batch.T, out=scores)
            np.matmul(scores, batch, out=out)

    return call


class Rounds:
    """Seconds that several calls take that took turns."""

    def __init__(self, calls: Mapping[str, Call]) -> None:
        self.wall: dict[str, list[float]] = {name: [] for name in calls}
        self.busy: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(ROUNDS):
            for name, call in calls.items():
                time.sleep(0.1)  # threads of a product go on turning for a while
                start, before = time.perf_counter(), time.process_time()
                call()
                self.wall[name].append(time.perf_counter() - start)
                self.busy[name].append(time.process_time() - before)

    def seconds(self, name: str) -> float:
        return median(self.wall[name])

    def times(self, name: str, other: str) -> float:
        """How many times the other's time it takes: the median of the rounds' quotients."""
        return _quotient(self.wall, name, other)

    def work(self, name: str, other: str) -> float:
        """The same in processor seconds."""
        return _quotient(self.busy, name, other)


def _quotient(seconds: Mapping[str, list[float]], name: str, other: str) -> float:
    return median(t / o for t, o in zip(seconds[name], seconds[other], strict=True))


def opacus(job: Job) -> dict[str, Call]:
    """A few steps each of DP-SGD in Opacus on the same model."""
    try:
        import torch
        from opacus import GradSampleModule
        from opacus.grad_sample import GradSampleModuleFastGradientClipping
        from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
        from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
    except ImportError:
        print("(PyTorch and Opacus are not installed: pip install 'shiftdp[bench]')")
        return {}
    torch.set_num_threads(2)
    warnings.simplefilter("ignore")
    B, (_, D) = job.batch, job.X.shape
    features, labels = torch.from_numpy(job.X), torch.from_numpy(job.y)
    data = torch.utils.data.TensorDataset(features[: STEPS * B], labels[: STEPS * B])
    loader = torch.utils.data.DataLoader(data, batch_size=B)
    noise = {"noise_multiplier": SIGMA * B / CLIP, "max_grad_norm": CLIP, "expected_batch_size": B}

    def sliced() -> Any:
        for i in range(STEPS):
            yield features[i * B : i * B + B], labels[i * B : i * B + B]

    def library(model: Any, wrapper: Any, loss: Callable[..., Any], batches: Any) -> Call:
        optimizer = wrapper(torch.optim.SGD(model.parameters(), lr=ETA, weight_decay=L2), **noise)
        criterion = loss(model, optimizer)

        def call() -> None:
            for xb, yb in batches():
                optimizer.zero_grad()
                criterion(model(xb), yb).backward()
                optimizer.step()

        return call

    def ghost(batches: Any) -> Call:
        model = GradSampleModuleFastGradientClipping(
            torch.nn.Linear(D, job.classes), max_grad_norm=CLIP, use_ghost_clipping=True
        )

        def loss(model: Any, optimizer: Any) -> Any:
            return DPLossFastGradientClipping(model, optimizer, torch.nn.CrossEntropyLoss())

        return library(model, DPOptimizerFastGradientClipping, loss, batches)

    hooks = GradSampleModule(torch.nn.Linear(D, job.classes))
    entropy: Any = torch.nn.CrossEntropyLoss()
    return {
        "Opacus, hooks": library(hooks, DPOptimizer, lambda *_: entropy, lambda: loader),
        "Opacus, ghost clipping, DataLoader": ghost(lambda: loader),
        "Opacus, ghost clipping, sliced tensors": ghost(sliced),
    }


def verdict(claim: str, held: bool) -> None:
    print(f"{claim}: {'yes' if held else 'NO'}")


def judge(job: Job) -> None:
    calls = {"fit": fit(job), "float64": products(job, np.float64)}
    calls["float32"] = products(job, np.float32)
    for call in calls.values():
        call()
    peers = opacus(job) if job.name == "images" else {}
    found = Rounds({**calls, **peers})
    step = found.seconds("fit") / job.steps
    print(f"\n{job.name}: {step * 1e3:.2f} ms a step, ", end="")
    print(f"{found.times('fit', 'float32'):.2f} times the products in float32")
    ratio = found.times("fit", "float64")
    busy = f"{found.work('fit', 'float64'):.2f} in processor seconds"
    verdict(f"{ratio:.2f} times its two products ({busy}), within 1.5", ratio <= 1.5)
    scale = job.steps / STEPS
    for name in peers:
        print(f"{found.times(name, 'fit') * scale:.1f} times faster than {name}")
    if peers:
        first = next(iter(peers))
        verdict(f"10 times faster than {first}", found.times(first, "fit") * scale >= 10)


def memory() -> None:
    job = table()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    fit(job)()
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    verdict(f"memory {1 + added / job.X.nbytes:.2f} times the data, below 2", added < job.X.nbytes)


def neighbours() -> None:
    """The largest distance of neighbouring sums, in units of L, and what is certified."""
    rows = []
    for power in (14, 18, 20):
        n, d = 2**power, 8
        run = NoisyGD(n=n, steps=1, learning_rate=1.0, noise=1e-12)
        plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, intercept=False, entropy=Seeded(1))
        L = 2.0 * plan.gradient_bound
        seen = {"dense": 0.0, "sparse": 0.0}
        for X, y in worst_sums(n, d):
            other = X.copy()
            X[0], other[0] = 0.0, 0.0
            X[0, 0], other[0, 0] = 0.9, -0.9
            for name, form in (("dense", np.asarray), ("sparse", sp.csr_array)):
                one, two = (descend(plan, form(each), y) for each in (X, other))
                apart = float(np.linalg.norm(one - two)) * n / L
                seen[name] = max(seen[name], apart)
        rows.append(
            (f"2^{power}", *(f"{v:.6f}" for v in seen.values()), f"{plan.sensitivity / L:.9f}")
        )
    print("\nneighbouring sums, in units of L")
    print_table(("n", "dense float32", "sparse float32", "certified"), rows)
    verdict("within 1.001 L", max(float(v) for row in rows for v in row[1:]) <= 1.001)


def worst_sums(n: int, d: int) -> list[tuple[Any, Any]]:
    """Long sums, cancelling ones, sorted ones, tiny and huge entries; and ties, of which the first
    record decides how sums of 24 digits round them (`tests/training/descent/test_sums.py`)."""
    rng = np.random.default_rng(0)
    ones, half = np.ones(n, dtype=int), (np.arange(n) < n // 2).astype(int)
    positive = rng.random((n, d)).astype(np.float32)
    steps = np.linspace(0.0, 1.0, n, dtype=np.float32)[:, None] ** 8
    ties, places = np.zeros((n, d), np.float32), np.arange(n // 2, n, 8)
    ties[: n // 2, 0], ties[places, 0] = 0.5, 2.0**-23 * (n / 8)
    ties[places[::4], 0] *= 3.0
    up = np.isin(np.arange(n), places) & ~np.isin(np.arange(n), places[::4])
    return [
        (ties, up.astype(int)),
        (positive, ones),
        (positive, half),
        (positive, np.arange(n) % 2),
        (np.tile(positive[:1], (n, 1)), ones),
        (positive * steps, ones),
        (positive * np.float32(1e-40), half),
        (positive * np.float32(1e38), half),
    ]


if __name__ == "__main__":
    memory()
    with threadpool_limits(2):
        for job in (images, digits, table):
            judge(job())
    neighbours()
