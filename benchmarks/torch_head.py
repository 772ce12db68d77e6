"""Claim: a private head takes a tenth of the time of the same linear model in Opacus with hooks.

A head of 10 classes on features of a frozen network, n = 60,000, d = 784, batches of 1,500 in a
fixed order: the same model, loss, plain clipping, batches, learning rate, ridge and noise. Two
kinds of arithmetic, the same on both sides: features and all sums in float64; and features in
float32, which Opacus also sums in float32 and we, as the proof asks, in float64.

- Opacus: `GradSampleModule`, whose hooks form the gradient of each record, and `DPOptimizer`, on
  slices of tensors, without the cost of a loader; its ghost clipping, which forms norms only, is
  shown beside it.
- Ours: the loop of a `PrivateHead`, noise from the operating system included. The claim is about
  the plain clipping of Opacus, so that both compute the same; a `PrivateHead` clips by the
  envelope, which is shown beside it.

Before anything is timed, both compute the clipped sum of one batch at the same weights, which has
to be the same to rounding, but for the 1e-6 that Opacus adds to norms. Processor seconds of one
thread a step, the median of several rounds in which all take turns.

    python benchmarks/torch_head.py
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import torch
from _timing import print_table
from opacus import GradSampleModule
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from threadpoolctl import threadpool_limits
from wall import Claim, Here, same

from shiftdp import NoisyCGD
from shiftdp.training import Plan, Softmax
from shiftdp.training.descent.loop import descend_on
from shiftdp.training.descent.records import prepare
from shiftdp.training.descent.source import Source
from shiftdp.training.heads.source import source_of

N, D, CLASSES, BATCH = 60_000, 784, 10, 1_500
ETA, SIGMA, CLIP, L2 = 0.05, 0.01, 5.0, 0.002
BOUND = 30.0  # no row is longer, so that both sides see the same features
STEPS, ROUNDS = 8, 7
WANTED = 10.0  # times faster

Call = Callable[[], object]


def features(kind: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Like the outputs of a network that ends in a rectifier: a fifth of them is above 0."""
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(N, D, generator=generator, dtype=kind)
    X *= torch.rand(N, D, generator=generator) < 0.19
    return X, torch.randint(0, CLASSES, (N,), generator=generator)


def our_source(X: torch.Tensor, y: torch.Tensor) -> tuple[Plan, Source]:
    """What `PrivateHead` runs, with the plan of the comparison."""
    run = NoisyCGD(n=N, batch_size=BATCH, steps=STEPS, learning_rate=ETA, noise=SIGMA)
    plan = Plan(
        run=run,
        loss=Softmax(classes=CLASSES),
        feature_bound=BOUND,
        l2=L2,
        clipping="plain",
        clip=CLIP,
        bounds="composition",
    )
    return plan, source_of(plan, prepare(plan, X.numpy(), y.numpy()), torch.device("cpu"))


def opacus_steps(X: torch.Tensor, y: torch.Tensor, ghost: bool) -> Call:
    """As many steps of Opacus on the same batches."""
    layer = torch.nn.Linear(D, CLASSES, dtype=X.dtype)
    wrapper: Any = DPOptimizerFastGradientClipping if ghost else DPOptimizer
    model: Any = (
        GradSampleModuleFastGradientClipping(layer, max_grad_norm=CLIP, use_ghost_clipping=True)
        if ghost
        else GradSampleModule(layer)
    )
    optimizer = wrapper(
        torch.optim.SGD(model.parameters(), lr=ETA, weight_decay=L2),
        noise_multiplier=SIGMA * BATCH / CLIP,
        max_grad_norm=CLIP,
        expected_batch_size=BATCH,
    )
    criterion: Any = torch.nn.CrossEntropyLoss()
    if ghost:
        criterion = DPLossFastGradientClipping(model, optimizer, criterion)

    def call() -> None:
        for step in range(STEPS):
            rows = slice(step * BATCH, (step + 1) * BATCH)
            optimizer.zero_grad()
            criterion(model(X[rows]), y[rows]).backward()
            optimizer.step()

    return call


def require_equal_sums(X: torch.Tensor, y: torch.Tensor) -> float:
    """How far apart the two sums over a batch are, relative to their largest entry.

    Ours is compared with the sum of the gradients that the hooks of Opacus form, each scaled to
    the clip, and with what its optimizer makes of them.
    """
    layer = torch.nn.Linear(D, CLASSES, dtype=X.dtype)
    with torch.no_grad():
        layer.weight.copy_(torch.linspace(-0.5, 0.5, CLASSES * D).reshape(CLASSES, D))
        layer.bias.copy_(torch.linspace(-1.0, 1.0, CLASSES))
    model = GradSampleModule(layer)
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=ETA),
        noise_multiplier=0.0,
        max_grad_norm=CLIP,
        expected_batch_size=BATCH,
    )
    torch.nn.CrossEntropyLoss()(model(X[:BATCH]), y[:BATCH]).backward()
    samples = torch.cat([layer.weight.grad_sample, layer.bias.grad_sample[:, :, None]], dim=2)
    factors = (CLIP / samples.flatten(1).double().norm(dim=1)).clamp(max=1.0)
    assert (factors < 1.0).double().mean() > 0.5, "the clip does not act"
    exact = torch.einsum("i,ijk->jk", factors, samples.double())
    optimizer.clip_and_accumulate()
    theirs = torch.cat([layer.weight.summed_grad, layer.bias.summed_grad[:, None]], dim=1).double()
    models = torch.cat([layer.weight, layer.bias[:, None]], dim=1).detach().double().numpy()[None]
    plan, source = our_source(X, y)
    with source.gradient(plan, models) as gradient:
        ours = gradient(models, slice(0, BATCH)).copy()[0]
    scale = np.abs(ours).max()
    apart = float(np.abs(ours - exact.numpy()).max() / scale)
    assert apart <= (1e-12 if X.dtype == torch.float64 else 1e-5), apart
    # Opacus divides by the norm plus 1e-6, which is more than the rounding of float64
    assert float(np.abs(ours - theirs.numpy()).max() / scale) <= 1e-6 + apart
    return apart


def seconds_a_step(calls: dict[str, Call]) -> dict[str, float]:
    for call in calls.values():
        call()
    busy: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            before = time.process_time()
            call()
            busy[name].append(time.process_time() - before)
    return {name: median(times) / STEPS for name, times in busy.items()}


def claims(full: bool) -> Iterator[Claim]:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    X, y = features(torch.float64)
    problem = {"records": N, "features": D, "classes": CLASSES, "batch": BATCH, "steps": STEPS}
    require_equal_sums(X, y)
    plan, source = our_source(X, y)

    def side(name: str, call: Call) -> Here:
        def alone() -> dict[str, int]:
            with threadpool_limits(1):
                call()
            return problem

        return Here(name, alone, per=STEPS)

    ours = side("PrivateHead, a step", lambda: descend_on(plan, source))
    for name, ghost, goal in (("hooks", False, WANTED), ("ghost clipping", True, None)):
        yield Claim(
            name=f"torch_head/Opacus, {name}",
            what="a step of a head of 10 classes on 784 features in float64, plainly clipped",
            ours=ours,
            other=side(f"Opacus, {name}", opacus_steps(X, y, ghost=ghost)),
            agree=same(),
            accuracy="the same problem; clipped sums were equal to rounding",
            goal=goal,
        )


def judge(kind: torch.dtype) -> bool:
    X, y = features(kind)
    apart = require_equal_sums(X, y)
    plan, source = our_source(X, y)
    enveloped = replace(plan, clipping="envelope", bounds="best")
    found = seconds_a_step(
        {
            "ours, plain clipping": lambda: descend_on(plan, source),
            "ours, envelope": lambda: descend_on(enveloped, source),
            "Opacus, hooks": opacus_steps(X, y, ghost=False),
            "Opacus, ghost clipping": opacus_steps(X, y, ghost=True),
        }
    )
    ours = found["ours, plain clipping"]
    name = str(kind).removeprefix("torch.")
    print(f"\n{name} features; clipped sums equal to {apart:.1e} of themselves")
    rows = [(who, f"{1e3 * one:.2f}", f"{one / ours:.1f}") for who, one in found.items()]
    print_table(("who", "processor ms a step", "times ours"), rows)
    held = found["Opacus, hooks"] >= WANTED * ours
    print(f"{WANTED:g} times faster than Opacus: {'yes' if held else 'NO'}")
    return held


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with threadpool_limits(1):
        held = [judge(kind) for kind in (torch.float64, torch.float32)]
    raise SystemExit(0 if all(held) else 1)
