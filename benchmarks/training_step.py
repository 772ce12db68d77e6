"""Claim: a step of private training costs little more than its two matrix products.

All at the size of MNIST (n = 60,000, d = 784, 10 classes, batches of 1,500, float32, random images
of its density), but for the last table:

- an epoch, of a run of 75, against its two products alone: at most 1.2 times. Beside them the
  products in the form that the loop uses for one model, which is the faster one where BLAS has two
  threads;
- noise from the operating system, and from AES where `cryptography` is installed: at most 15% of a
  step, by the time that is spent in making it, between the products as the loop does it;
- twenty stacked runs of ten epochs: at most 1.5 times their own two products, and at least 100
  times faster a run than with a gradient for each record, in the same precision: record by record
  (its gradient, its norm, its clipping, the sum). Beside it the same in double precision, and with
  all gradients of a batch in one array, as textbooks write DP-SGD. With numba, which the extra
  `fast` brings, their products leave out the zeros, and all between the products is one pass;
- the same linear model in Opacus, on PyTorch: with per-sample gradients by its hooks (25 times
  slower), with its ghost clipping through a DataLoader (8 times) and on sliced tensors (3 times).
  Beside them ghost clipping of this one model written by hand in PyTorch, without autograd: no
  library's, and no goal;
- n = 2,000,000, d = 100, full batch: a step at most 1.4 times one read of the data, namely of the
  sum in NumPy by two threads, and memory below twice the data. The maximum is a faster read,
  and is shown as well. With numba, which the extra `fast` brings, the step is one compiled pass.

Wall time, with two threads: the median of the quotients of several rounds in which all take turns,
because a machine that does other things as well is slow for a while, then fast for a while. In the
processor time beside it, waiting threads of the products count as busy.

    python benchmarks/training_step.py
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from _timing import print_table
from threadpoolctl import threadpool_limits

from shiftdp import NoisyCGD, NoisyGD
from shiftdp.training import Aes, Entropy, Logistic, Plan, Seeded, Softmax, System
from shiftdp.training.descent import _run_all
from shiftdp.training.entropy import MissingPackage, Stream
from shiftdp.training.records import prepare

N, D, K, B, ETA, SIGMA, CLIP, L2 = 60_000, 784, 10, 1_500, 0.05, 0.01, 5.0, 0.002
BATCHES = N // B
LONG = 75  # epochs of a run, of which the paper has 50 to 200: enough for numba to be used
STACKED = 10  # epochs of stacked runs
FLOOR = 10  # epochs of the products alone
STEPS = 5  # of each peer in a round
READS = 10  # of the large data, timed together

SECURE: dict[str, Entropy] = {"operating system": System(), "AES": Aes()}

Call = Callable[[], object]


class Several(NamedTuple):
    """A call that does the same thing a number of times."""

    call: Call
    times: int


def repeated(call: Call, times: int) -> Several:
    def calls() -> None:
        for _ in range(times):
            call()

    return Several(calls, times)


class Rounds:
    """Seconds for one of what several calls do that took turns, by the clock and of all threads
    together."""

    def __init__(self, calls: Mapping[str, Several], number: int) -> None:
        self.wall: dict[str, list[float]] = {name: [] for name in calls}
        self.processor: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(number):
            for name, (call, times) in calls.items():
                time.sleep(0.1)  # threads of a product go on turning for a while
                start, spent = time.perf_counter(), time.process_time()
                call()
                self.wall[name].append((time.perf_counter() - start) / times)
                self.processor[name].append((time.process_time() - spent) / times)

    def seconds(self, name: str) -> float:
        return median(self.wall[name])

    def times(self, name: str, other: str) -> float:
        """How many times the other's time it takes: the median of the rounds' quotients."""
        return _quotient(self.wall[name], self.wall[other])

    def times_processor(self, name: str, other: str) -> float:
        return _quotient(self.processor[name], self.processor[other])


def _quotient(times: list[float], others: list[float]) -> float:
    return median(t / other for t, other in zip(times, others, strict=True))


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


def ours(
    X: Any,
    y: Any,
    entropy: Entropy,
    *,
    runs: int = 1,
    epochs: int = 1,
    clipping: Any = "uncertified",
) -> Several:
    """The loop on data that are prepared: epochs of one run."""
    run = NoisyCGD(n=N, batch_size=B, epochs=epochs, learning_rate=ETA, noise=SIGMA)
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
    sources = [entropy, *Seeded(1).several(runs - 1)] if runs > 1 else [entropy]
    openers = [source.open for source in sources]
    return Several(lambda: _run_all(plan, records, openers, None), epochs * runs)


class Silence(Entropy):
    """No noise: what is left of an epoch is what noise does not cost."""

    private = False

    def open(self, role: Any) -> Any:
        return Seeded(1).open(role) if role == "batches" else _Zeros()


class _Zeros(Stream):
    def draw(self, size: int) -> bytes:
        return bytes(size)

    def fill(self, out: Any, compiled: Any = None) -> None:
        out.fill(0)


class Watched(Entropy):
    """A source that adds up how long it takes to make noise, in the middle of everything else."""

    private = True

    def __init__(self, source: Entropy) -> None:
        self._source = source
        self.spent = 0.0

    def open(self, role: Any) -> Any:
        stream = self._source.open(role)
        return _Watch(self, stream) if role == "noise" else stream


class _Watch(Stream):
    def __init__(self, owner: Watched, stream: Stream) -> None:
        self._owner, self._stream = owner, stream

    def draw(self, size: int) -> bytes:
        return self._stream.draw(size)

    def fill(self, out: Any, compiled: Any = None) -> None:
        start = time.perf_counter()
        self._stream.fill(out, compiled)
        self._owner.spent += time.perf_counter() - start


def noise_shares(X: Any, y: Any, source: Entropy, number: int) -> tuple[float, float]:
    """The part of an epoch in which noise is made, and its milliseconds: medians."""
    watched = Watched(source)
    run, epochs = ours(X, y, watched, epochs=LONG)
    found = []
    for _ in range(number):
        time.sleep(0.1)
        watched.spent = 0.0
        start = time.perf_counter()
        run()
        spent = time.perf_counter() - start
        found.append((watched.spent / spent, watched.spent / epochs * 1e3))
    shares, spent = zip(*found, strict=True)
    return median(shares), median(spent)


def per_record(X: Any, y: Any) -> dict[str, Several]:
    """STEPS steps with a gradient of its own for each record, formed, measured and clipped."""

    def steps(call: Call) -> Several:
        call()  # so that all memory has been used before
        return repeated(call, STEPS)

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
        "record by record, float32": steps(one_after_another(np.float32)),
        "record by record, float64": steps(one_after_another(np.float64)),
        "all gradients in one array, float32": steps(in_one_array),
    }


def torch_peers(X: Any, y: Any) -> dict[str, Several]:
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

    peers = {
        "Opacus, hooks": hooks(lambda: loader),
        "Opacus, ghost clipping, DataLoader": ghost(lambda: loader),
        "Opacus, ghost clipping, sliced tensors": ghost(sliced),
        "by hand in PyTorch, DataLoader": by_hand(lambda: loader),
        "by hand in PyTorch, sliced tensors": by_hand(sliced),
    }
    return {name: Several(call, STEPS) for name, call in peers.items()}


PEERS = {
    "Opacus, hooks": 25,
    "Opacus, ghost clipping, DataLoader": 8,
    "Opacus, ghost clipping, sliced tensors": 3,
}


def verdict(claim: str, held: bool) -> None:
    print(f"{claim}: {'yes' if held else 'NO'}")


def mnist_sized() -> None:
    X, y = images()
    calls: dict[str, Several] = {
        "two products": repeated(products(X, 1), FLOOR),
        "two products, turned": repeated(turned_products(X), FLOOR),
        "seeded": ours(X, y, Seeded(1), epochs=LONG),
        "operating system": ours(X, y, System(), epochs=LONG),
        "without noise": ours(X, y, Silence(), epochs=LONG),
        "envelope clipping, seeded": ours(X, y, Seeded(1), clipping="envelope"),
    }
    try:
        Aes().open("noise")
        calls["AES"] = ours(X, y, Aes(), epochs=LONG)
    except MissingPackage:
        print("(cryptography is not installed: no row for AES)")
    calls["seeded"].call()  # compiled
    found = Rounds(calls, 5)
    print_table(
        ("one epoch", "ms", "of the products", "in processor time"),
        [
            (
                name,
                f"{found.seconds(name) * 1e3:.1f}",
                f"{found.times(name, 'two products'):.2f}",
                f"{found.times_processor(name, 'two products'):.2f}",
            )
            for name in calls
        ],
    )
    print()
    ratio = found.times("seeded", "two products")
    verdict(f"epoch within 1.2 of its products ({ratio:.2f})", ratio <= 1.2)
    for name, source in SECURE.items():
        if name in calls:
            share, spent = noise_shares(X, y, source, 3)
            verdict(f"noise of {name} within 15% ({share:.1%}, {spent:.1f} ms)", share <= 0.15)

    stack = ours(X, y, Seeded(1), runs=20, epochs=STACKED)
    stack.call()  # compiled
    singles = per_record(X, y)
    found = Rounds({"products": Several(products(X, 20), 20), "one of 20": stack, **singles}, 7)
    ratio = found.times("one of 20", "products")
    print(f"\ntwenty runs: {found.seconds('one of 20') * 1e3:.1f} ms an epoch of one, ", end="")
    print(f"{found.times_processor('one of 20', 'products'):.2f} in processor time")
    verdict(f"within 1.5 of their products ({ratio:.2f})", ratio <= 1.5)
    gains = {name: found.times(name, "one of 20") * BATCHES for name in singles}
    print()
    print_table(
        ("one epoch of one run", "s", "times one of twenty"),
        [
            (name, f"{found.seconds(name) * BATCHES:.2f}", f"{gain:.0f}")
            for name, gain in gains.items()
        ],
    )
    first = next(iter(gains))
    verdict(f"\n100 times faster than {first}", gains[first] >= 100)

    peers = torch_peers(X, y)
    if peers:
        found = Rounds({**peers, "ours": ours(X, y, Seeded(1))}, 9)
        times = {name: found.times(name, "ours") * BATCHES for name in peers}
        step = found.seconds("ours") / BATCHES
        rows = [(name, f"{found.seconds(name) * 1e3:.2f}", f"{t:.1f}") for name, t in times.items()]
        print()
        print_table(("one step", "ms", "times ours"), [*rows, ("ours", f"{step * 1e3:.2f}", "1")])
        print()
        for name, goal in PEERS.items():
            verdict(f"{goal} times faster than {name}", times[name] >= goal)


def full_batch() -> None:
    n, d, steps = 2_000_000, 100, 50
    rng = np.random.default_rng(0)
    X = rng.random((n, d), dtype=np.float32)
    y = rng.integers(0, 2, n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    run = NoisyGD(n=n, steps=steps, learning_rate=0.1, noise=0.01)
    plan = Plan(run=run, loss=Logistic(), feature_bound=10.0, l2=0.01)
    records = prepare(plan, X, y)
    pool = ThreadPoolExecutor(2)
    halves = [X[: n // 2], X[n // 2 :]]

    def read(reduce: Callable[[Any], object]) -> Several:
        return repeated(lambda: list(pool.map(reduce, (h.ravel() for h in halves))), READS)

    calls: dict[str, Several] = {
        "sum": read(np.add.reduce),
        "maximum": read(np.maximum.reduce),
        "step": Several(lambda: _run_all(plan, records, [System().open], None), steps),
    }
    calls["step"].call()  # compiled
    found = Rounds(calls, 7)
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    one, step = found.seconds("sum"), found.seconds("step")
    print(f"\nn = {n:,}, d = {d}: one read {one * 1e3:.0f} ms, one step {step * 1e3:.0f} ms")
    print(f"{found.times_processor('step', 'sum'):.2f} reads in processor time; ", end="")
    print(f"{found.times('step', 'maximum'):.2f} of the faster read")
    ratio = found.times("step", "sum")
    verdict(f"{ratio:.2f} reads, within 1.4", ratio <= 1.4)
    verdict(f"memory {1 + added / X.nbytes:.2f} times the data, below 2", added < X.nbytes)


if __name__ == "__main__":
    with threadpool_limits(2):
        mnist_sized()
        full_batch()
