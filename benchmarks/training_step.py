"""Claim: a step of private training costs little more than its two matrix products.

All at the size of MNIST (n = 60,000, d = 784, 10 classes, batches of 1,500, float32, random images
of its density), but for the last table:

- an epoch against its two products alone: at most 1.2 times;
- noise from the operating system, and from AES where `cryptography` is installed: at most 15% of a
  step;
- twenty stacked runs: at most 1.5 times their own two products, and at least 100 times faster a run
  than with a gradient formed for each record;
- the same linear model in PyTorch: Opacus with its hooks (25 times slower), ghost clipping through
  a DataLoader (8 times), ghost clipping on sliced tensors (3 times);
- n = 2,000,000, d = 100, full batch: a step at most 1.4 times one read of the data, and memory
  below twice the data.

Wall time, the best of several rounds in which all take turns, with two threads; on a machine that
does other things as well, look at the processor time beside it (in which waiting threads of the
products count as busy).

    python benchmarks/training_step.py
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from _timing import print_table
from threadpoolctl import threadpool_limits

from shiftdp import NoisyCGD, NoisyGD
from shiftdp.training import Aes, Entropy, Logistic, Plan, Seeded, Softmax, System
from shiftdp.training.descent import _run
from shiftdp.training.entropy import MissingPackage
from shiftdp.training.records import prepare

N, D, K, B, ETA, SIGMA, CLIP, L2 = 60_000, 784, 10, 1_500, 0.05, 0.01, 5.0, 0.002
BATCHES = N // B

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


def products(X: Any, runs: int, epochs: int = 1) -> Call:
    """The two products of each batch, and nothing else."""
    W = np.random.default_rng(1).random((K * runs, D), dtype=np.float32) * np.float32(0.01)
    scores, out = np.empty((K * runs, B), np.float32), np.empty_like(W)

    def call() -> None:
        for _ in range(epochs):
            for i in range(BATCHES):
                batch = X[i * B : i * B + B]
                np.matmul(W, batch.T, out=scores)
                np.matmul(scores, batch, out=out)

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


def per_record(X: Any, y: Any) -> Call:
    """One step with a gradient of its own for each record, formed, measured and clipped."""
    W = np.zeros((K, D), np.float32)
    Xb, yb = X[:B], y[:B]

    def call() -> Any:
        z = Xb @ W.T
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(B), yb] -= 1
        gradients = p[:, :, None] * Xb[:, None, :]
        norms = np.sqrt((gradients**2).sum(axis=(1, 2)))
        gradients *= np.minimum(1.0, CLIP / norms)[:, None, None]
        return gradients.mean(axis=0)

    return call


def torch_peers(X: Any, y: Any) -> dict[str, Call]:
    """Five steps each of DP-SGD in PyTorch on the same model."""
    try:
        import torch
        from opacus import GradSampleModule
        from opacus.optimizers import DPOptimizer
    except ImportError:
        print("(PyTorch and Opacus are not installed: pip install 'shiftdp[bench]')")
        return {}
    torch.set_num_threads(2)
    warnings.simplefilter("ignore")
    features, labels = torch.from_numpy(X), torch.from_numpy(y)
    loss = torch.nn.CrossEntropyLoss()
    steps = 5

    def hooks() -> Call:
        model = GradSampleModule(torch.nn.Linear(D, K))
        inner = torch.optim.SGD(model.parameters(), lr=ETA, weight_decay=L2)
        optimizer = DPOptimizer(
            inner,
            noise_multiplier=SIGMA * B / CLIP,
            max_grad_norm=CLIP,
            expected_batch_size=B,
        )
        data = torch.utils.data.TensorDataset(features[: steps * B], labels[: steps * B])
        loader = torch.utils.data.DataLoader(data, batch_size=B)

        def call() -> None:
            for xb, yb in loader:
                optimizer.zero_grad()
                loss(model(xb), yb).backward()
                optimizer.step()

        return call

    def ghost(batches: Callable[[], Any]) -> Call:
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
                        noise = torch.randn_like(weight) * SIGMA
                        weight -= ETA * (g / B + L2 * weight + noise)

        return call

    data = torch.utils.data.TensorDataset(features[: steps * B], labels[: steps * B])
    loader = torch.utils.data.DataLoader(data, batch_size=B)

    def sliced() -> Any:
        for i in range(steps):
            yield features[i * B : i * B + B], labels[i * B : i * B + B]

    return {
        "Opacus, hooks": hooks(),
        "ghost clipping, DataLoader": ghost(lambda: loader),
        "ghost clipping, sliced tensors": ghost(sliced),
    }


def verdict(claim: str, held: bool) -> None:
    print(f"{claim}: {'yes' if held else 'NO'}")


def mnist_sized() -> None:
    X, y = images()
    calls: dict[str, Call] = {"two products": products(X, 1), "seeded": ours(X, y, Seeded(1))}
    calls["operating system"] = ours(X, y, System())
    try:
        Aes().open("noise")
        calls["AES"] = ours(X, y, Aes())
    except MissingPackage:
        print("(cryptography is not installed: no row for AES)")
    calls["envelope clipping, seeded"] = ours(X, y, Seeded(1), clipping="envelope")
    noise = np.empty(K * (D + 1), np.float32)
    for name, source in (("operating system", System()), ("AES", Aes())):
        if name in calls:
            stream = source.open("noise")
            calls[f"noise alone, {name}"] = lambda stream=stream: [
                stream.fill(noise) for _ in range(BATCHES)
            ]
    best = rounds(calls, 15)
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
    for name in ("operating system", "AES"):
        if name in best:
            share = best[f"noise alone, {name}"] / best[name]
            verdict(f"noise of {name} is {share:.1%} of a step, within 15%", share <= 0.15)

    calls = {"two products": products(X, 20), "20 runs": ours(X, y, Seeded(1), runs=20)}
    best = rounds(calls, 5)
    single = rounds({"per record": per_record(X, y)}, 3)["per record"] * BATCHES
    ratio, gain = best["20 runs"] / best["two products"], single / (best["20 runs"] / 20)
    spent = best.processor["20 runs"] / best.processor["two products"]
    print(f"\ntwenty runs: {ratio:.2f} of their products ({spent:.2f} in processor time);")
    print(
        f"{gain:.0f} times faster a run than a gradient for each record ({single:.2f} s an epoch)"
    )
    verdict("within 1.5", ratio <= 1.5)
    verdict("100 times faster", gain >= 100)

    peers = torch_peers(X, y)
    if peers:
        best = rounds({**peers, "ours, seeded": ours(X, y, Seeded(1))}, 5)
        step = best.pop("ours, seeded") / BATCHES
        print()
        rows = [(name, f"{t / 5 * 1e3:.2f}", f"{t / 5 / step:.1f}") for name, t in best.items()]
        print_table(("one step", "ms", "times ours"), [*rows, ("ours", f"{step * 1e3:.2f}", "1")])


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
        "one read of the data": lambda: list(pool.map(np.add.reduce, (h.ravel() for h in halves))),
        f"{steps} steps": lambda: _run(plan, records, 1, System().open, None),
    }
    best = rounds(calls, 7)
    read, step = best["one read of the data"], best[f"{steps} steps"] / steps
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    spent = best.processor[f"{steps} steps"] / steps / best.processor["one read of the data"]
    print(f"\nn = {n:,}, d = {d}: one read {read * 1e3:.0f} ms, one step {step * 1e3:.0f} ms")
    print(f"{spent:.2f} reads in processor time")
    verdict(f"{step / read:.2f} reads, within 1.4", step <= 1.4 * read)
    verdict(f"memory {1 + added / X.nbytes:.2f} times the data, below 2", added < X.nbytes)


if __name__ == "__main__":
    with threadpool_limits(2):
        mnist_sized()
        full_batch()
