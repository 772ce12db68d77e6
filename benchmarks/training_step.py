"""Claim: a step of private training costs little more than its two matrix products.

All at the size of MNIST (n = 60,000, d = 784, 10 classes, batches of 1,500, float32, random images
of its density), but for the last table:

- an epoch against its two products alone: at most 1.2 times. Beside them the products in the form
  that the loop uses for one model, which is the faster one where BLAS has two threads;
- noise from the operating system, and from AES where `cryptography` is installed: at most 15% of a
  step;
- twenty stacked runs: at most 1.5 times their own two products, and at least 100 times faster a run
  than with a gradient for each record, in the same precision: record by record (its gradient, its
  norm, its clipping, the sum). Beside it the same in double precision, and with all gradients of a
  batch in one array, as textbooks write DP-SGD;
- the same linear model in Opacus, on PyTorch: with per-sample gradients by its hooks (25 times
  slower), with its ghost clipping through a DataLoader (8 times) and on sliced tensors (3 times).
  Beside them ghost clipping of this one model written by hand in PyTorch, without autograd: no
  library's, and no goal;
- n = 2,000,000, d = 100, full batch: a step at most 1.4 times one read of the data, namely of the
  sum in NumPy by two threads, and memory below twice the data. The maximum is a faster read,
  and is shown as well. With numba, which the extra `fast` brings, the step is one compiled pass.

Wall time, the best of several rounds in which all take turns, with two threads; on a machine that
does other things as well, look at the processor time beside it (in which waiting threads of the
products count as busy), and distrust both: two threads of a product wait for one another.

    python benchmarks/training_step.py
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from _timing import print_table
from threadpoolctl import threadpool_limits

from shiftdp import NoisyCGD, NoisyGD
from shiftdp.training import Aes, Entropy, Logistic, Plan, Seeded, Softmax, System
from shiftdp.training.descent import _run
from shiftdp.training.entropy import MissingPackage, Stream
from shiftdp.training.noise_feed import NoiseFeed
from shiftdp.training.records import prepare

N, D, K, B, ETA, SIGMA, CLIP, L2 = 60_000, 784, 10, 1_500, 0.05, 0.01, 5.0, 0.002
BATCHES = N // B
LONG = 5  # epochs of noise that are timed together: threads take a while to wake up

SECURE: dict[str, Entropy] = {"operating system": System(), "AES": Aes()}

Call = Callable[[], object]


class Best(dict[str, float]):
    """Seconds of each call by the clock, and, in `processor`, of all its threads together."""

    def __init__(self, names: Mapping[str, Call]) -> None:
        super().__init__(dict.fromkeys(names, float("inf")))
        self.processor = dict(self)


def rounds(calls: Mapping[str, Call], number: int) -> Best:
    """The best of `number` rounds in which the calls take turns."""
    best = Best(calls)
    for _ in range(number):
        for name, call in calls.items():
            time.sleep(0.1)  # threads of a product go on turning for a while
            start, spent = time.perf_counter(), time.process_time()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
            best.processor[name] = min(best.processor[name], time.process_time() - spent)
    return best


def images() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.random((N, D), dtype=np.float32)
    X *= rng.random((N, D), dtype=np.float32) < 0.19
    return X, rng.integers(0, K, N)


def products(X: Any, runs: int) -> Call:
    """The two products of each batch, and nothing else: scores as rows, gradient as rows."""
    W = np.random.default_rng(1).random((K * runs, D), dtype=np.float32) * np.float32(0.01)
    scores, out = np.empty((K * runs, B), np.float32), np.empty_like(W)

    def call() -> None:
        for i in range(BATCHES):
            batch = X[i * B : i * B + B]
            np.matmul(W, batch.T, out=scores)
            np.matmul(scores, batch, out=out)

    return call


def turned_products(X: Any) -> Call:
    """The same two products with scores and gradient as columns, as the loop makes them for one
    model: what BLAS is asked for is then its other case."""
    W = np.random.default_rng(1).random((K, D), dtype=np.float32) * np.float32(0.01)
    scores, out = np.empty((B, K), np.float32), np.empty((D, K), np.float32)
    rows = np.zeros((K, B), np.float32)

    def call() -> None:
        for i in range(BATCHES):
            batch = X[i * B : i * B + B]
            np.matmul(batch, W.T, out=scores)
            np.matmul(batch.T, rows.T, out=out)

    return call


def ours(X: Any, y: Any, entropy: Entropy, *, runs: int = 1, clipping: Any = "uncertified") -> Call:
    """One epoch of the loop on data that are prepared."""
    run = NoisyCGD(n=N, batch_size=B, epochs=1, learning_rate=ETA, noise=SIGMA)
    plan = Plan(
        run=run,
        loss=Softmax(classes=K),
        feature_bound=8.0,
        l2=L2,
        clipping=clipping,
        clip=CLIP,
        entropy=entropy,
    )
    records = prepare(plan, X, y)
    return lambda: _run(plan, records, runs, entropy.open, None)


class Silence(Entropy):
    """No noise: what is left of an epoch is what noise does not cost."""

    private = False

    def open(self, role: Any) -> Any:
        return Seeded(1).open(role) if role == "batches" else _Zeros()


class _Zeros(Stream):
    def draw(self, size: int) -> bytes:
        return bytes(size)

    def fill(self, out: Any) -> None:
        out.fill(0)


def noise_alone(source: Entropy) -> None:
    """The noise of LONG epochs, made as the loop makes it at this size: between the steps."""
    dtype, steps = np.dtype(np.float32), LONG * BATCHES
    with NoiseFeed(source.open("noise"), K * (D + 1), steps, dtype, ahead=False) as feed:
        for _ in range(steps):
            feed.step()


def per_record(X: Any, y: Any) -> dict[str, Call]:
    """One step with a gradient of its own for each record, formed, measured and clipped."""

    def one_after_another(dtype: Any) -> Call:
        Xb, yb = X[:B].astype(dtype), y[:B]
        W = np.zeros((K, D), dtype)

        def call() -> Any:
            total = np.zeros((K, D), dtype)
            for x, label in zip(Xb, yb, strict=True):
                p = np.exp(W @ x)
                p /= p.sum()
                p[label] -= 1
                gradient = np.outer(p, x)
                norm = np.linalg.norm(gradient)
                if norm > CLIP:
                    gradient = gradient / norm * CLIP
                total += gradient
            return total / B

        return call

    def in_one_array() -> Any:
        Xb, yb = X[:B], y[:B]
        z = Xb @ np.zeros((D, K), np.float32)
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(B), yb] -= 1
        gradients = p[:, :, None] * Xb[:, None, :]
        norms = np.sqrt((gradients**2).sum(axis=(1, 2)))
        gradients *= np.minimum(1.0, CLIP / norms)[:, None, None]
        return gradients.mean(axis=0)

    return {
        "record by record, float32": one_after_another(np.float32),
        "record by record, float64": one_after_another(np.float64),
        "all gradients in one array, float32": in_one_array,
    }


STEPS = 5  # of each peer in a round


def torch_peers(X: Any, y: Any) -> dict[str, Call]:
    """A few steps each of DP-SGD in PyTorch on the same model."""
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
    features, labels = torch.from_numpy(X), torch.from_numpy(y)
    data = torch.utils.data.TensorDataset(features[: STEPS * B], labels[: STEPS * B])
    loader = torch.utils.data.DataLoader(data, batch_size=B)
    noise = {"noise_multiplier": SIGMA * B / CLIP, "max_grad_norm": CLIP, "expected_batch_size": B}

    def sliced() -> Any:
        for i in range(STEPS):
            yield features[i * B : i * B + B], labels[i * B : i * B + B]

    def library(model: Any, wrapper: Any, loss: Callable[..., Any], batches: Any) -> Call:
        inner = torch.optim.SGD(model.parameters(), lr=ETA, weight_decay=L2)
        optimizer = wrapper(inner, **noise)
        criterion = loss(model, optimizer)

        def call() -> None:
            for xb, yb in batches():
                optimizer.zero_grad()
                criterion(model(xb), yb).backward()
                optimizer.step()

        return call

    def hooks(batches: Any) -> Call:
        model = GradSampleModule(torch.nn.Linear(D, K))
        return library(model, DPOptimizer, lambda *_: torch.nn.CrossEntropyLoss(), batches)

    def ghost(batches: Any) -> Call:
        model = GradSampleModuleFastGradientClipping(
            torch.nn.Linear(D, K), max_grad_norm=CLIP, use_ghost_clipping=True
        )

        def loss(model: Any, optimizer: Any) -> Any:
            return DPLossFastGradientClipping(model, optimizer, torch.nn.CrossEntropyLoss())

        return library(model, DPOptimizerFastGradientClipping, loss, batches)

    def by_hand(batches: Any) -> Call:
        model = torch.nn.Linear(D, K)

        def call() -> None:
            for xb, yb in batches():
                with torch.no_grad():
                    z = model(xb)
                    p = torch.softmax(z, dim=1)
                    p[torch.arange(len(yb)), yb] -= 1
                    norms = p.norm(dim=1) * (xb.square().sum(dim=1) + 1).sqrt()
                    p *= (CLIP / norms).clamp(max=1.0)[:, None]
                    for weight, g in ((model.weight, p.T @ xb), (model.bias, p.sum(dim=0))):
                        weight -= ETA * (g / B + L2 * weight + torch.randn_like(weight) * SIGMA)

        return call

    return {
        "Opacus, hooks": hooks(lambda: loader),
        "Opacus, ghost clipping, DataLoader": ghost(lambda: loader),
        "Opacus, ghost clipping, sliced tensors": ghost(sliced),
        "by hand in PyTorch, DataLoader": by_hand(lambda: loader),
        "by hand in PyTorch, sliced tensors": by_hand(sliced),
    }


PEERS = {
    "Opacus, hooks": 25,
    "Opacus, ghost clipping, DataLoader": 8,
    "Opacus, ghost clipping, sliced tensors": 3,
}


def verdict(claim: str, held: bool) -> None:
    print(f"{claim}: {'yes' if held else 'NO'}")


def mnist_sized() -> None:
    X, y = images()
    calls: dict[str, Call] = {
        "two products": products(X, 1),
        "two products, turned": turned_products(X),
        "seeded": ours(X, y, Seeded(1)),
        "operating system": ours(X, y, System()),
    }
    try:
        Aes().open("noise")
        calls["AES"] = ours(X, y, Aes())
    except MissingPackage:
        print("(cryptography is not installed: no row for AES)")
    calls["envelope clipping, seeded"] = ours(X, y, Seeded(1), clipping="envelope")
    calls["without noise"] = ours(X, y, Silence())
    best = rounds(calls, 15)
    sources = {name: source for name, source in SECURE.items() if name in calls}
    noise = rounds({name: partial(noise_alone, source) for name, source in sources.items()}, 15)
    floor = best["two products"]
    print_table(
        ("one epoch", "ms", "of the products", "in processor time"),
        [
            (
                name,
                f"{t * 1e3:.1f}",
                f"{t / floor:.2f}",
                f"{best.processor[name] / best.processor['two products']:.2f}",
            )
            for name, t in best.items()
        ],
    )
    verdict("\nepoch within 1.2 of its products", best["seeded"] <= 1.2 * floor)
    for name, spent in noise.items():
        alone, bare = spent / LONG, best["without noise"]
        share, more = alone / (bare + alone), 1.0 - bare / best[name]
        text = f"noise of {name}: {more:.1%} of a step ({alone * 1e3:.1f} ms alone, {share:.1%})"
        verdict(f"{text}, within 15%", more <= 0.15)

    calls = {"two products": products(X, 20), "20 runs": ours(X, y, Seeded(1), runs=20)}
    best = rounds(calls, 7)
    ratio = best["20 runs"] / best["two products"]
    spent = best.processor["20 runs"] / best.processor["two products"]
    run = best["20 runs"] / 20
    print(f"\ntwenty runs: {run * 1e3:.1f} ms an epoch of one, {ratio:.2f} of their products")
    print(f"({spent:.2f} in processor time)")
    verdict("within 1.5", ratio <= 1.5)
    singles = rounds(per_record(X, y), 3)
    gains = {name: t * BATCHES / run for name, t in singles.items()}
    print()
    print_table(
        ("one epoch of one run", "s", "times one of twenty"),
        [(name, f"{singles[name] * BATCHES:.2f}", f"{gain:.0f}") for name, gain in gains.items()],
    )
    first = next(iter(gains))
    verdict(f"\n100 times faster than {first}", gains[first] >= 100)

    peers = torch_peers(X, y)
    if peers:
        best = rounds({**peers, "ours, seeded": ours(X, y, Seeded(1))}, 7)
        step = best.pop("ours, seeded") / BATCHES
        times = {name: t / STEPS / step for name, t in best.items()}
        print()
        rows = [(name, f"{best[name] / STEPS * 1e3:.2f}", f"{t:.1f}") for name, t in times.items()]
        print_table(("one step", "ms", "times ours"), [*rows, ("ours", f"{step * 1e3:.2f}", "1")])
        print()
        for name, goal in PEERS.items():
            verdict(f"{goal} times faster than {name}", times[name] >= goal)


def full_batch() -> None:
    n, d, steps = 2_000_000, 100, 5
    rng = np.random.default_rng(0)
    X = rng.random((n, d), dtype=np.float32)
    y = rng.integers(0, 2, n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    run = NoisyGD(n=n, steps=steps, learning_rate=0.1, noise=0.01)
    plan = Plan(run=run, loss=Logistic(), feature_bound=10.0, l2=0.01)
    records = prepare(plan, X, y)
    pool = ThreadPoolExecutor(2)
    halves = [X[: n // 2], X[n // 2 :]]
    calls: dict[str, Call] = {
        "sum": lambda: list(pool.map(np.add.reduce, (h.ravel() for h in halves))),
        "maximum": lambda: list(pool.map(np.maximum.reduce, (h.ravel() for h in halves))),
        f"{steps} steps": lambda: _run(plan, records, 1, System().open, None),
    }
    best = rounds(calls, 7)
    read, step = best["sum"], best[f"{steps} steps"] / steps
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    spent = best.processor[f"{steps} steps"] / steps / best.processor["sum"]
    print(f"\nn = {n:,}, d = {d}: one read {read * 1e3:.0f} ms, one step {step * 1e3:.0f} ms")
    print(f"{spent:.2f} reads in processor time; {step / best['maximum']:.2f} of the faster read")
    verdict(f"{step / read:.2f} reads, within 1.4", step <= 1.4 * read)
    verdict(f"memory {1 + added / X.nbytes:.2f} times the data, below 2", added < X.nbytes)


if __name__ == "__main__":
    with threadpool_limits(2):
        mnist_sized()
        full_batch()
