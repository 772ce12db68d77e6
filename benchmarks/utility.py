"""Accuracy at a given privacy: the planner and the best in hindsight beside Opacus' DP-SGD.

    python benchmarks/utility.py [--quick] [--data digits,cancer,mnist] [--seeds 10]

delta = 1e-5, zero_out, mean and standard error over seeds (digits and breast cancer: a new split
each). All see the same features, held to the same public bound. MNIST takes
long; its four files are looked for in the folder that SHIFTDP_MNIST names, else in
../shared/data/mnist. The planner's constants were set on digits, cancer and mnist: parity (odd and
even digits) and synthetic are there to test it on what it was not made for.

Opacus' runs are Poisson batches with the noise that its PRV accountant asks for. They are made by
the loop of this library, which is the same mechanism: `--opacus` compares one of them with Opacus
itself. As their Poisson batches are certified here by composition at no more than the same epsilon
(checked for each best run), they count as runs of this library too; "hindsight" is the best of
those, of full batches with falling rates, of the last iterate of cyclic batches, and of the
planner. The last columns show what the cyclic runs cost by the last-iterate theorem, by
composition, and by a Poisson accountant, which does not cover them.
"""

from __future__ import annotations

import argparse
import gzip
import math
import os
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import shiftdp as sdp
from shiftdp.training import Logistic, Plan, Seeded, Softmax, descend
from shiftdp.training.planner import Overrides, plan_for
from shiftdp.training.problem import Problem

DELTA = 1e-5
EPSILONS = (0.1, 0.5, 1.0, 4.0)
ROOT = Path(__file__).parents[1]
MNIST = Path(os.environ.get("SHIFTDP_MNIST", ROOT.parent / "shared" / "data" / "mnist"))


class Data(NamedTuple):
    """Features and labels, for training and for testing."""

    X: Any
    y: Any
    test: Any
    labels: Any


class Task(NamedTuple):
    """A data set with its public facts."""

    name: str
    bound: float
    classes: int
    draws: tuple[Data, ...]

    @property
    def loss(self) -> Any:
        return Logistic() if self.classes == 2 else Softmax(classes=self.classes)

    def problem(self, epsilon: float) -> Problem:
        n, d = self.draws[0].X.shape
        return Problem(
            n=n, features=d, loss=self.loss, feature_bound=self.bound, epsilon=epsilon,
            delta=DELTA, adjacency="zero_out",
        )  # fmt: skip


def held(X: Any, bound: float) -> Any:
    return X * np.minimum(1.0, bound / np.linalg.norm(X, axis=1, keepdims=True)).astype(X.dtype)


def digits(seeds: int) -> Task:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Task("digits", 3.5, 10, tuple(split(X / 16.0, y, seeds)))


def cancer(seeds: int) -> Task:
    """Features scaled by the ranges that the description of the data publishes."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    rows = re.findall(r"\((?:mean|standard error|worst)\):\s+([\d.]+)\s+([\d.]+)", data.DESCR)
    low, high = np.array(rows, dtype=float).T
    return Task(
        "cancer", 3.5, 2, tuple(split(2 * (data.data - low) / (high - low) - 1, data.target, seeds))
    )


def parity(seeds: int) -> Task:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Task("parity", 3.5, 2, tuple(split(X / 16.0, y % 2, seeds)))


def synthetic(seeds: int) -> Task:
    from sklearn.datasets import make_classification

    X, y = make_classification(
        4_000, 25, n_informative=10, n_redundant=5, n_classes=4, random_state=0
    )
    return Task("synthetic", 5.0, 4, tuple(split(X / 2.0, y, seeds)))


def split(X: Any, y: Any, seeds: int) -> Iterator[Data]:
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(X))
        test, train = order[: len(X) // 5], order[len(X) // 5 :]
        yield Data(X[train].astype(np.float32), y[train], X[test], y[test])


def mnist(seeds: int) -> Task:
    def read(part: str, name: str, header: int) -> Any:
        with gzip.open(MNIST / f"{part}-{name}-ubyte.gz") as file:
            return np.frombuffer(file.read(), dtype=np.uint8, offset=header)

    parts = []
    for part in ("train", "t10k"):
        pixels = read(part, "images-idx3", 16).reshape(-1, 784).astype(np.float32)
        parts += [pixels / np.float32(255), read(part, "labels-idx1", 8)]
    return Task("mnist", 8.0, 10, (Data(*parts),) * seeds)


def accuracy(task: Task, plan: Plan, seed: int) -> float:
    """Per cent right on the test records, after one run."""
    data = task.draws[seed]
    w = np.atleast_2d(descend(replace(plan, entropy=Seeded(seed)), data.X, data.y))
    z = held(data.test, task.bound) @ w[:, :-1].T + w[:, -1]
    found = z.argmax(axis=1) if len(w) > 1 else (z[:, 0] > 0)
    return 100.0 * float(np.mean(found == data.labels))


class Result(NamedTuple):
    """What a run reached, over the seeds."""

    what: str
    mean: float
    error: float
    plan: Plan

    def __str__(self) -> str:
        return f"{self.mean:5.1f} ± {self.error:.1f}  {self.what}"


def measured(task: Task, what: str, plan: Plan) -> Result:
    values = [accuracy(task, plan, seed) for seed in range(len(task.draws))]
    return Result(what, float(np.mean(values)), float(np.std(values) / len(values) ** 0.5), plan)


def clipped(task: Task, run: Any, clip: float) -> Plan:
    """A run with plain clipping, as in DP-SGD, certified by composition."""
    return Plan(
        run=run,
        loss=task.loss,
        feature_bound=task.bound,
        clipping="uncertified" if task.classes > 2 else "envelope",
        clip=clip,
        adjacency="zero_out",
        bounds="composition",
    )


def norm_bound(task: Task) -> float:
    return math.hypot(task.bound, 1.0)


def opacus_runs(task: Task, epsilon: float, grid: Grid) -> Iterator[Result]:
    """DP-SGD with Poisson batches, and the noise multiplier that Opacus' PRV accountant gives."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from opacus.accountants.utils import get_noise_multiplier

        R, n = norm_bound(task), len(task.draws[0].X)
        for batches, epochs in grid.dpsgd:
            b = n // batches
            z = get_noise_multiplier(
                target_epsilon=epsilon, target_delta=DELTA, sample_rate=b / n,
                steps=batches * epochs, accountant="prv",
            )  # fmt: skip
            for share in grid.clips:
                clip = share * R
                for reach in grid.reaches[epsilon]:
                    eta = reach / (clip * R * batches * epochs)
                    run = sdp.NoisySGD(
                        n=n, batch_size=b, steps=batches * epochs, learning_rate=eta,
                        noise=z * clip / b, sampling="poisson",
                    )  # fmt: skip
                    what = f"Poisson b={b}, {epochs} epochs, rate {eta:.3g}, clip {clip:.2g}"
                    yield measured(task, what, clipped(task, run, clip))


def full_batches(task: Task, epsilon: float, grid: Grid) -> Iterator[Result]:
    """Full batches with rates that fall to 0, by composition."""
    R, n = norm_bound(task), len(task.draws[0].X)
    mu = sdp.GaussianTradeoff.from_budget(epsilon, DELTA).mu
    for t in grid.full:
        shape = np.linspace(2.0, 2.0 / t, t) / (t + 1)
        for share in grid.clips:
            clip = share * R
            for reach in grid.reaches[epsilon]:
                rates = shape * reach / (clip * R)
                noise = math.sqrt(t) * clip / (n * mu) * (1 + 1e-9)
                run = sdp.NoisyGD(n=n, steps=t, learning_rate=rates.tolist(), noise=noise)
                what = f"full batches, {t} steps, rates from {rates[0]:.3g}, clip {clip:.2g}"
                yield measured(task, what, clipped(task, run, clip))


class Grid(NamedTuple):
    """What is tried in hindsight; reaches are in scores, as in docs/planner.md."""

    dpsgd: tuple[tuple[int, int], ...]
    full: tuple[int, ...]
    clips: tuple[float, ...]
    reaches: dict[float, tuple[float, ...]]
    cyclic: bool


def grids(quick: bool) -> dict[str, Grid]:
    low, high = (50, 100, 200), (150, 300, 600)
    small = {0.1: low, 0.5: high, 1.0: (300, 600, 1200), 4.0: (800, 1600, 3200)}
    cancer_small = {0.1: low, 0.5: high, 1.0: (300, 600, 1200), 4.0: (800, 1600, 3200)}
    large = {
        0.1: (800, 1600, 3200),
        0.5: (5000, 10_000),
        1.0: (12_800, 25_600),
        4.0: (25_600, 51_200),
    }
    unseen = {0.1: (30, 100, 300), 0.5: (100, 300, 900), 1.0: (200, 600, 1800)}
    unseen[4.0] = (500, 1500, 4500)
    larger = {epsilon: tuple(2.2 * x for x in row) for epsilon, row in unseen.items()}
    lengths = ((16, 40),) if quick else ((16, 10), (16, 40), (16, 100))
    return {
        "digits": Grid(lengths, (100,), (0.25, 0.5), small, not quick),
        "cancer": Grid(lengths, (100,), (0.125, 0.25), cancer_small, not quick),
        "parity": Grid(((16, 40),), (100,), (0.125, 0.25, 0.5), unseen, False),
        "synthetic": Grid(((16, 40),), (100,), (0.125, 0.25, 0.5), larger, False),
        "mnist": Grid(((40, 20), (10, 60)), (), (0.5,), large, False),
    }


def cyclic(task: Task, epsilon: float) -> tuple[Result, str]:
    """The last iterate of an ordinary shuffled loader, ten batches an epoch."""
    n = len(task.draws[0].X)
    size = -(-n // 10)
    chosen = Overrides(algorithm="cgd", order="shuffled_once", batch_size=size, epochs=100)
    plan = plan_for(task.problem(epsilon), chosen).plan
    run = plan.run
    assert isinstance(run, sdp.NoisyCGD)
    assert isinstance(run.learning_rate, float)
    assert isinstance(run.noise, float)
    beside = sdp.certify(run, plan.geometry, bounds="composition").epsilon(DELTA)
    poisson = sdp.NoisySGD(
        n=n, batch_size=size, steps=run.steps, learning_rate=run.learning_rate,
        noise=run.noise, sampling="poisson",
    )  # fmt: skip
    charged = sdp.certify(poisson, plan.geometry, bounds="composition").epsilon(DELTA)
    costs = (
        f"epsilon {plan.certificate.epsilon(DELTA):.3g} by the last iterate, {beside:.3g} by "
        f"composition; {charged:.3g} if the batches were Poisson, which they are not"
    )
    return measured(task, f"cyclic, shuffled once, ridge {plan.l2:.2g}", plan), costs


def table(task: Task, epsilon: float, grid: Grid) -> None:
    began = time.time()
    peer = max(opacus_runs(task, epsilon, grid), key=lambda one: one.mean)
    planned = plan_for(task.problem(epsilon)).plan
    planner = measured(task, type(planned.run).__name__, planned)
    found = [peer, planner, *full_batches(task, epsilon, grid)]
    costs = ""
    if grid.cyclic:
        result, costs = cyclic(task, epsilon)
        found.append(result)
    best = max(found, key=lambda one: one.mean)
    own = peer.plan.certificate.epsilon(DELTA)
    print(f"\n{task.name}, epsilon = {epsilon:g}   [{time.time() - began:.0f} s]")
    print(f"  Opacus, hindsight   {peer}")
    print(f"                      certified here at epsilon = {own:.5g}")
    print(f"  shiftdp, hindsight  {best}")
    print(f"  shiftdp, planner    {planner}  ({planner.mean - best.mean:+.1f})")
    if costs:
        print(f"  last iterate        {result}\n                      {costs}", flush=True)


def real_opacus(task: Task, seeds: int) -> None:
    """One configuration with Opacus itself, and with the loop here."""
    import warnings

    import torch
    from opacus import PrivacyEngine

    warnings.simplefilter("ignore")
    n, d = task.draws[0].X.shape
    batches, epochs, R = 16, 20, norm_bound(task)
    clip = 0.5 * R
    eta = 400 / (clip * R * batches * epochs)
    values, multiplier = [], 0.0
    for seed in range(seeds):
        torch.manual_seed(seed)
        data = task.draws[seed]
        X = torch.tensor(held(data.X, task.bound), dtype=torch.float32)
        y = torch.tensor(data.y, dtype=torch.long)
        model = torch.nn.Linear(d, task.classes)
        for parameter in model.parameters():
            torch.nn.init.zeros_(parameter)
        loader = torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(X, y), batch_size=n // batches
        )
        optimiser = torch.optim.SGD(model.parameters(), lr=eta)
        engine = PrivacyEngine(accountant="prv")
        model, optimiser, loader = engine.make_private_with_epsilon(
            module=model, optimizer=optimiser, data_loader=loader, target_epsilon=1.0,
            target_delta=DELTA, epochs=epochs, max_grad_norm=clip,
        )  # fmt: skip
        multiplier = optimiser.noise_multiplier
        for _ in range(epochs):
            for inputs, labels in loader:
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(model(inputs), labels).backward()
                optimiser.step()
        test = torch.tensor(held(data.test, task.bound), dtype=torch.float32)
        found = model(test).argmax(dim=1).numpy()
        values.append(100.0 * float(np.mean(found == data.labels)))
    b = n / len(loader)
    run = sdp.NoisySGD(
        n=n, batch_size=round(b), steps=len(loader) * epochs, learning_rate=eta,
        noise=multiplier * clip / b, sampling="poisson",
    )  # fmt: skip
    ours = measured(task, "the loop here", clipped(task, run, clip))
    error = float(np.std(values)) / len(values) ** 0.5
    print(f"\n{task.name}, epsilon = 1, one configuration, {seeds} seeds")
    print(f"  {np.mean(values):5.1f} ± {error:.1f}  Opacus itself\n  {ours}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, few seeds, small grid")
    parser.add_argument(
        "--data", default=None, help="digits,cancer (the default), mnist, parity, synthetic"
    )
    parser.add_argument("--seeds", type=int, default=None)
    parser.add_argument("--opacus", action="store_true", help="one run with Opacus itself, only")
    options = parser.parse_args()
    seeds = options.seeds or (3 if options.quick else 10)
    if options.opacus:
        real_opacus(digits(seeds), seeds)
        return
    names = (options.data or "digits,cancer").split(",")
    makers = {
        "digits": digits,
        "cancer": cancer,
        "mnist": mnist,
        "parity": parity,
        "synthetic": synthetic,
    }
    for name in names:
        task = makers[name](seeds)
        for epsilon in EPSILONS:
            table(task, epsilon, grids(options.quick)[name])


if __name__ == "__main__":
    main()
