"""Claim: private training costs little more than its two matrix products, in float64.

Three jobs of users, features stored as float32:

- images: n = 60,000, d = 784, 10 classes, batches of 1,500 (random images of MNIST's density);
- table: n = 2,000,000, d = 100, two classes, full batches (with `--full`);
- digits: n = 1,500, d = 64, 10 classes, full batches.

A fit takes at most 1.5 times its own two products: the scores and the sum of residuals times
features, in float64 on features that are float64 already. On the digits 2 times is claimed, and 1.5
is out of reach: a fit whose noise costs nothing takes 1.52 times its products. docs/benchmarks.md
has what the time is made of.

Beside it what float64 costs: the same two products in float32, which nothing proves anything about.
A step on the images is at least 10 times faster than that of the same model in Opacus, with
per-sample gradients by its hooks; its ghost clipping is shown as well, both on sliced tensors.
Memory for the table stays below twice the data (`--full`).

And the figures that the float64 is for: how far apart the sums of neighbouring data sets are at
most, over data that were made to show it, in units of L = 2G, beside the certified bound.

All sides have one thread, and take turns in processor time.

    python benchmarks/training_step.py [--full]
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits
from wall import Claim, Here, Limit, Peer, Reads, same, show, within

from shiftdp import NoisyCGD, NoisyGD
from shiftdp.training import Logistic, Plan, Seeded, Softmax, System, descend
from shiftdp.training.descent.gradient import LocalSource
from shiftdp.training.descent.loop import descend_on
from shiftdp.training.descent.records import prepare

ETA, SIGMA, CLIP, L2 = 0.05, 0.01, 5.0, 0.002
STEPS = 5  # of Opacus in a round
EVERY = 97  # which weights of a step are compared
PRODUCTS, FEW_FEATURES, HOOKS, APART, MEMORY = 1.5, 2.0, 10.0, 1.001, 2.0

Call = Callable[[], dict[str, Any]]


class Job(NamedTuple):
    """What a user trains on, and for how many steps a round goes on."""

    name: str
    X: Any
    y: Any
    classes: int
    batch: int
    steps: int

    @property
    def sizes(self) -> dict[str, Any]:
        """What a step works on: two sides are compared only if it is the same."""
        return {"batch": self.batch, "features": self.X.shape[1], "classes": self.classes}


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


def plan_of(job: Job, run: Any, entropy: Any) -> Plan:
    return Plan(
        run=run,
        loss=Logistic() if job.classes == 2 else Softmax(classes=job.classes),
        feature_bound=30.0,
        l2=L2,
        clipping="plain",
        clip=CLIP,
        bounds="composition",
        entropy=entropy,
    )


def fit(job: Job) -> Call:
    """All steps on data that were checked."""
    n = len(job.X)
    run: Any = (
        NoisyGD(n=n, steps=job.steps, learning_rate=ETA, noise=SIGMA)
        if job.batch == n
        else NoisyCGD(n=n, batch_size=job.batch, steps=job.steps, learning_rate=ETA, noise=SIGMA)
    )
    plan = plan_of(job, run, System())
    records, update = LocalSource(prepare(plan, job.X, job.y)), first_update(job)

    def call() -> dict[str, Any]:
        with threadpool_limits(1):
            w = descend_on(plan, records)
        return {**job.sizes, "finite": bool(np.all(np.isfinite(w))), "update": update}

    return call


def products(job: Job, dtype: type) -> Call:
    """The two products of each step, and nothing else."""
    outputs = 1 if job.classes == 2 else job.classes
    X = job.X.astype(dtype)
    W = np.random.default_rng(1).random((outputs, X.shape[1])).astype(dtype)
    scores, out = np.empty((outputs, job.batch), dtype), np.empty_like(W)
    batches = len(X) // job.batch

    def call() -> dict[str, Any]:
        with threadpool_limits(1):
            for step in range(job.steps):
                start = step % batches * job.batch
                batch = X[start : start + job.batch]
                np.matmul(W, batch.T, out=scores)
                np.matmul(scores, batch, out=out)
        return {**job.sizes, "finite": True}

    return call


def first_update(job: Job) -> list[float]:
    """Every so many-th weight after one step from zero, with next to no noise."""
    batch = Job(job.name, job.X[: job.batch], job.y[: job.batch], job.classes, job.batch, 1)
    run = NoisyGD(n=batch.batch, steps=1, learning_rate=ETA, noise=1e-12)
    w = np.atleast_2d(descend(plan_of(batch, run, Seeded(0)), batch.X, batch.y))
    return [float(value) for value in w[:, :-1].ravel()[::EVERY]]


def same_step(ours: Any, theirs: Any) -> str | None:
    """The same sizes, and without noise the same step, to what float32 has."""
    sizes = same("batch", "features", "classes", "finite")(ours, theirs)
    return sizes or within(1e-7, 1e-4)(ours["update"], theirs["update"])


def judged(job: Job) -> Iterator[Claim]:
    """A step of a fit beside its products and, for the images, beside Opacus."""
    ours = Here("fit", fit(job), per=job.steps)
    agree = same("batch", "features", "classes", "finite")
    what = f"a step of training, {job.name}: batches of {job.batch:,} by {job.X.shape[1]}"
    most = FEW_FEATURES if job.name == "digits" else PRODUCTS
    for kind, goal in ((np.float64, most), (np.float32, None)):
        name = "products" if kind is np.float64 else "products in float32"
        yield Claim(
            name=f"training_step/{name}{'' if job.name == 'images' else ', ' + job.name}",
            what=what,
            ours=ours,
            other=Here(f"its two {name}", products(job, kind), per=job.steps),
            agree=agree,
            accuracy="the same sizes",
            kind="floor",
            goal=goal,
        )
    if job.name != "images":
        return
    n, d = job.X.shape
    given = {"n": n, "d": d, "batch": job.batch, "steps": STEPS, "classes": job.classes}
    given |= {"rate": ETA, "noise": SIGMA, "clip": CLIP, "l2": L2, "every": EVERY}
    for way, goal in (("hooks", HOOKS), ("ghost clipping", None)):
        yield Claim(
            name=f"training_step/opacus{'' if way == 'hooks' else ', ' + way}",
            what=f"{what}, by {way}",
            ours=ours,
            other=Peer("opacus", "training_steps", {"way": way, **given}, per=STEPS),
            agree=same_step,
            accuracy="a step without noise is the same to a relative 1e-4; the peer is in float32",
            goal=goal,
        )


def memory() -> Claim:
    def alone() -> tuple[float, str]:
        command = [sys.executable, __file__, "--memory"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return float(output), "table"

    return Claim(
        name="training_step/memory",
        what="memory of training on the table, in units of the data",
        ours=Reads("fit", alone),
        other=Limit("limit", MEMORY, "table"),
        agree=same(),
        kind="limit",
        goal=1.0,
        rounds=1,
        unit="",
    )


def used_memory() -> float:
    """The peak of a fit on the table, the data included, over the data."""
    job = table()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    fit(job)()
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    return float(1 + added / job.X.nbytes)


def apart(power: int) -> tuple[float, float]:
    """The largest distance of neighbouring sums of 2^power records, in units of L, dense or
    sparse, and the bound that is certified."""
    n, d = 2**power, 8
    run = NoisyGD(n=n, steps=1, learning_rate=1.0, noise=1e-12)
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, intercept=False, entropy=Seeded(1))
    L = 2.0 * plan.gradient_bound
    seen = 0.0
    for X, y in worst_sums(n, d):
        other = X.copy()
        X[0], other[0] = 0.0, 0.0
        X[0, 0], other[0, 0] = 0.9, -0.9
        for form in (np.asarray, sp.csr_array):
            one, two = (descend(plan, form(each), y) for each in (X, other))
            seen = max(seen, float(np.linalg.norm(one - two)) * n / L)
    return seen, plan.sensitivity / L


def neighbours(power: int) -> Iterator[Claim]:
    seen, certified = apart(power)
    for name, figure, goal, other in (
        ("neighbours", certified, APART, Limit("L", 1.0, power)),
        ("neighbours, seen", seen, 1.0, Limit("the certified bound", certified, power)),
    ):
        yield Claim(
            name=f"training_step/{name} 2^{power}",
            what=f"sums of neighbouring data sets of 2^{power} records, in units of L: "
            + ("certified" if name == "neighbours" else "the furthest seen"),
            ours=Reads("sums", lambda figure=figure: (figure, power)),
            other=other,
            agree=same(),
            kind="limit",
            goal=goal,
            rounds=1,
            unit="",
        )


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


def claims(full: bool) -> Iterator[Claim]:
    for job in (images, digits, table) if full else (images, digits):
        yield from judged(job())
    for power in (14, 18, 20) if full else (14,):
        yield from neighbours(power)
    if full:
        yield memory()


if __name__ == "__main__":
    if "--memory" in sys.argv:
        print(used_memory())
    else:
        show(claims(full="--full" in sys.argv))
