"""Runs of batches in turn, with the same noise at every step: the last iterate is cheap."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shiftdp.last_iterate import Geometry, NoisyCGD, certify
from shiftdp.last_iterate.runs import LastBatch, Order
from shiftdp.training.planning.clips import Clip
from shiftdp.training.planning.setting import MOST_STEPS, Listed, Setting, sampled_variance
from shiftdp.training.planning.utility import Segments

__all__ = ["cyclic_batches"]

_BATCHES = (4, 16, 64)  # an epoch
_RIDGES = (0.0, 1e-4, 1e-3, 1e-2)  # of the smoothness
_RATES = (1.0, 0.3, 0.1, 0.03)  # of the largest that a theorem allows
_LONG = 4_000  # steps, unless the epochs are given


def cyclic_batches(setting: Setting, clip: Clip) -> Iterator[Listed | None]:
    """Equal rates up to 2/smoothness, where the last iterate is cheap; ridges too. None stands for
    runs that are too long."""
    n, chosen = setting.problem.n, setting.chosen
    last_batch = chosen.last_batch or "divide_by_b"
    given = chosen.batch_size
    found = {_size(n, k, last_batch) for k in _BATCHES if k <= n}
    for size in sorted(found, reverse=True) if given is None else [given]:
        batches = -(-n // size)
        epochs = max(1, round(setting.at_most(_LONG / batches)))
        if epochs * batches > MOST_STEPS:
            yield None
            continue
        for part in _RIDGES if chosen.l2 is None else (None,):
            l2 = part * setting.smoothness if part is not None else chosen.l2 or 0.0
            yield from _with_ridge(setting, clip, size, epochs, l2, last_batch)


def _with_ridge(
    setting: Setting, clip: Clip, size: int, epochs: int, l2: float, last_batch: LastBatch
) -> Iterator[Listed]:
    given = setting.chosen.learning_rate
    top = 2.0 / (setting.smoothness + 2.0 * l2)
    for eta in [given] if given is not None else [part * top for part in _RATES]:
        run = NoisyCGD(
            n=setting.problem.n,
            batch_size=size,
            epochs=epochs,
            learning_rate=eta,
            noise=1.0,
            last_batch=last_batch,
        )
        noise = setting.noise(_unit_mu(setting, run, l2) * clip.sensitivity / setting.mu)
        if noise is not None:
            yield _one(run, noise, l2, setting.chosen.order or "reshuffled")


def _unit_mu(setting: Setting, run: NoisyCGD, l2: float) -> float:
    """What the run costs with a noise and a sensitivity of 1; clips differ in the latter only."""
    if (run, l2) not in setting.costs:
        geometry = Geometry(
            strong_convexity=l2,
            smoothness=setting.smoothness + l2,
            sensitivity=1.0,
            adjacency=setting.problem.adjacency,
        )
        mu = certify(run, geometry, bounds=setting.bounds(run, l2)).mu
        setting.costs[run, l2] = math.inf if mu is None else mu
    return setting.costs[run, l2]


def _one(run: NoisyCGD, noise: float, l2: float, order: Order) -> Listed:
    rates, one = np.array([[run.learning_rate]]), np.ones(1)
    return Listed(
        Segments(
            rates,
            run.steps,
            np.full_like(rates, noise),
            0.0 * rates,
            l2 * one,
            sampled_variance(run.batch_size) * one,
            in_turn=-(-run.n // run.batch_size),
        ),
        run.epochs,
        lambda _: NoisyCGD(**{**vars(run), "order": order, "noise": noise}),
    )


def _size(n: int, batches: int, last_batch: LastBatch) -> int:
    """A batch size near n/batches; what is left over is little where it is dropped or weighs most.

    >>> _size(1797, 16, "divide_by_b"), _size(1797, 16, "drop"), _size(1797, 16, "own_size")
    (113, 112, 120)
    """
    if last_batch == "divide_by_b":
        return -(-n // batches)
    size = max(1, n // batches)
    if last_batch == "drop":
        return size
    near = range(max(1, size - size // 4), size + size // 4 + 1)
    return max(near, key=lambda b: (((n - 1) % b + 1) / b, -abs(b - size)))
