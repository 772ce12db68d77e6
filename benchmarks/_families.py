"""Runs that `utility.py` tries in hindsight: full and Poisson batches by composition, placed noise.

Every run is certified by the library and made by its training loop. Reaches, how far all steps
together could move the score of a record, are spread over three powers of ten around those that
budgets of this size can use (docs/planner.md); so rates are far below and far above 2/smoothness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from _tasks import DELTA, Task
from wall.environments import server

import shiftdp as sdp
from shiftdp.training import Plan, Seeded, descend
from shiftdp.training.centring import with_sums

Measure = Callable[[int], float]
"""Per cent right on the test records of the split of a seed."""

Multiplier = Callable[[Task, float, int, int], float]
"""The noise over the clip for a task, an epsilon, a batch size and so many steps."""


class Try(NamedTuple):
    what: str
    measure: Measure


@dataclass(frozen=True)
class Grid:
    """How finely families are searched.

    Args:
        reaches: how many reaches, or first rates, are tried.
        batches: how many Poisson batches an epoch has, in few passes.
        clips: norms that gradients are clipped to, in those at the start.
    """

    reaches: int
    batches: tuple[int, ...]
    clips: tuple[float, ...]


QUICK = Grid(reaches=5, batches=(16, 64), clips=(0.5,))
FULL = Grid(reaches=8, batches=(16, 64, 256), clips=(0.25, 0.5, 1.0))


def of_plan(task: Task, plan: Plan) -> Measure:
    def measure(seed: int) -> float:
        data = task.draws[seed % len(task.draws)]
        w = descend(replace(plan, entropy=Seeded(seed)), data.X, data.y)
        return data.right(task.bound, w)

    return measure


def full_batches(task: Task, epsilon: float, steps: int, grid: Grid) -> Iterator[Try]:
    """Equal rates and equal noise; rates that fall to 0, with equal noise, and with more of it late
    (variances as 1/rate), where it counts less."""
    mu, n = sdp.GaussianTradeoff.from_budget(epsilon, DELTA).mu, task.n
    fall = np.linspace(2.0, 2.0 / steps, steps) / (steps + 1)
    shapes = {"equal rates": (np.full(steps, 1.0 / steps), np.ones(steps))}
    if steps > 1:
        shapes["falling rates"] = fall, np.ones(steps)
        shapes["falling rates, late noise"] = fall, fall**-0.5
    for clip, (kind, (rates, noise)) in product(_clips(task, grid), shapes.items()):
        # the sum of (sensitivity/(n sigma_k))^2 is mu^2
        scale = task.changes * clip / (n * mu) * math.sqrt(float(np.sum(noise**-2.0)))
        for reach in _reaches(task, epsilon, grid):
            run = sdp.NoisyGD(
                n=n, steps=steps, learning_rate=(rates * reach / (clip * task.norm_bound)).tolist(),
                noise=(noise * scale * (1.0 + 1e-9)).tolist(),
            )  # fmt: skip
            what = f"{steps} full batches, {kind}, reach {reach:.0f}, clip {clip:.2g}"
            yield Try(what, of_plan(task, _composed(task, run, clip)))


def centred(task: Task, epsilon: float, steps: int, grid: Grid) -> Iterator[Try]:
    """The same on centred rows, for a tenth of mu^2 (Theorem P2), with rates that fall and more
    noise late."""
    mu, n = sdp.GaussianTradeoff.from_budget(epsilon, DELTA).mu, task.n
    fall = np.linspace(2.0, 2.0 / steps, steps) / (steps + 1)
    for clip in _clips(task, grid):
        unit = task.changes * clip / (n * mu)
        noise = fall**-0.5 * unit * math.sqrt(float(np.sum(fall)) / 0.9) * (1.0 + 1e-6)
        sums = (unit / math.sqrt(0.08) * (1.0 + 1e-6), unit / math.sqrt(0.02) * (1.0 + 1e-6))
        for reach in _reaches(task, epsilon, grid):
            rates = (fall * reach / (clip * task.norm_bound)).tolist()
            run = sdp.NoisyGD(n=n, steps=steps, learning_rate=rates, noise=noise.tolist())
            plan = replace(_composed(task, with_sums(run, *sums), clip), centred=True)
            what = f"{steps} full batches on centred rows, reach {reach:.0f}, clip {clip:.2g}"
            yield Try(what, of_plan(task, plan))


def poisson(
    task: Task, epsilon: float, passes: int, grid: Grid, multiplier: Multiplier
) -> Iterator[Try]:
    """Several batch sizes; rates that are equal, or fall to 0."""
    n = task.n
    for batches in grid.batches if passes <= _FEW else (16,):
        size, steps = max(1, n // batches), batches * passes
        z = multiplier(task, epsilon, size, steps)
        shapes = {
            "equal rates": np.full(steps, 1.0 / steps),
            "falling rates": np.linspace(2.0, 2.0 / steps, steps) / (steps + 1),
        }
        for clip, (kind, rates) in product(_clips(task, grid), shapes.items()):
            for reach in _reaches(task, epsilon, grid):
                run = sdp.NoisySGD(
                    n=n, batch_size=size, steps=steps, noise=z * clip / size, sampling="poisson",
                    learning_rate=(rates * reach / (clip * task.norm_bound)).tolist(),
                )  # fmt: skip
                what = (
                    f"Poisson b={size}, {passes} passes, {kind}, reach {reach:.0f}, clip {clip:.2g}"
                )
                yield Try(what, of_plan(task, _composed(task, run, clip)))


def placed(task: Task, epsilon: float, passes: int, grid: Grid) -> Iterator[Try]:
    """Small batches in turn, rates up to 2/smoothness that fall, noise by Theorem P1. The grid is
    smaller, as these runs take longest."""
    n, stages = task.n, max(16, passes)
    size = max(1, -(-n * passes // 8_000))
    where = np.arange(-(-n // size) * passes)
    falling = 1.0 - np.floor(where * stages / len(where)) / stages
    shapes = {"falling rates": falling, "rates held for half": np.minimum(1.0, 2.0 * falling)}
    for clip in _clips(task, grid)[:2]:
        plan = Plan(
            run=sdp.NoisyGD(n=n, steps=1, learning_rate=1.0, noise=1.0), loss=task.loss,
            feature_bound=task.bound, clipping="envelope", clip=clip, adjacency=task.adjacency,
        )  # fmt: skip
        parts = np.geomspace(1.0, 1.0 / 32.0, grid.reaches // 2 + 2)
        for (kind, levels), part in product(shapes.items(), parts):
            rates = (levels * part * 2.0 / plan.geometry.smoothness).tolist()
            run = sdp.NoisyCGD(
                n=n, batch_size=size, epochs=passes, learning_rate=rates, noise=1.0,
                order="reshuffled", last_batch="divide_by_b",
            )  # fmt: skip
            noisy = sdp.placed_noise(run, plan.geometry, epsilon=epsilon * (1 - 1e-6), delta=DELTA)
            what = f"placed noise, b={size}, {passes} passes, {kind} from {rates[0]:.3g}, clip {clip:.2g}"  # noqa: E501
            yield Try(what, of_plan(task, replace(plan, run=noisy)))


def own_multiplier(task: Task, epsilon: float, size: int, steps: int) -> float:
    """The noise over the clip that is enough here; the last factor is room for rounding."""
    unit = sdp.NoisySGD(
        n=task.n, batch_size=size, steps=steps, learning_rate=1.0, noise=1.0 / size,
        sampling="poisson",
    )  # fmt: skip
    geometry = sdp.Geometry(
        strong_convexity=-math.inf, smoothness=math.inf, sensitivity=task.changes,
        adjacency=task.adjacency,
    )  # fmt: skip
    run = sdp.calibrate_noise(unit, geometry, bounds="composition", epsilon=epsilon, delta=DELTA)
    assert isinstance(run.noise, float)
    return run.noise * size * (1.0 + 1e-9)


def opacus_multiplier(task: Task, epsilon: float, size: int, steps: int) -> float:
    """The noise over the clip that Opacus' PRV accountant asks for; for zero_out."""
    given = {"rate": size / task.n, "steps": steps, "epsilon": epsilon, "delta": DELTA}
    return float(server("opacus").ask("calibrate", given, warm=False)[1])


_FEW = 5  # passes; with more, one size of Poisson batches is tried


def _composed(task: Task, run: Any, clip: float) -> Plan:
    """A run with plain clipping, as in DP-SGD, certified by composition."""
    return Plan(
        run=run, loss=task.loss, feature_bound=task.bound, clipping="plain", clip=clip,
        adjacency=task.adjacency, bounds="composition",
    )  # fmt: skip


def _clips(task: Task, grid: Grid) -> list[float]:
    """Norms, from shares of that of a record's gradient at the start."""
    return [share * task.loss.initial_residual * task.norm_bound for share in grid.clips]


def _reaches(task: Task, epsilon: float, grid: Grid) -> Any:
    """From a fiftieth of 15 n mu / sqrt(d), where runs of few steps settle, to five times that."""
    mu = sdp.GaussianTradeoff.from_budget(epsilon, DELTA).mu / task.changes
    middle = 15.0 * task.n * mu / math.sqrt(task.draws[0].X.shape[1] + 1)
    return middle * np.geomspace(0.02, 5.0, grid.reaches)
