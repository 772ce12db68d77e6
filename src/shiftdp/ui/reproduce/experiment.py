"""The experiment: descent on all settings, as many of them in one matrix product as there can be.

All runs of NoisyCGD in fixed order, for both regularisers, use the same batches at the same time:
they are one stack. Where a run draws its own batches, the two regularisers share them, and runs are
shared out among threads. The iterate after 50 epochs of a run of 200 has the law of the last
iterate of a run of 50, so each run is read at all three lengths. (For a release that would void the
guarantee. Here nothing is private: the noise is seeded, and the data are public.)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.runs import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.training import Plan, Seeded, Softmax
from shiftdp.training.batches import batches
from shiftdp.training.gradient import GradientSum, Parameters
from shiftdp.training.noise_feed import NoiseFeed
from shiftdp.training.plan import Clipping
from shiftdp.training.records import Records, prepare
from shiftdp.ui.reproduce.images import Images, Part

__all__ = [
    "PUBLISHED",
    "RIGOROUS",
    "Accuracies",
    "Results",
    "Variant",
    "experiment",
    "trajectories",
]

Batching = Literal["fixed", "shuffled_once", "reshuffled", "sampled"]
Tick = Callable[[int], object]


@dataclass(frozen=True)
class Variant:
    """How the experiment is run."""

    name: str
    batching: Batching
    clipping: Clipping


PUBLISHED = (Variant("cgd", "fixed", "uncertified"), Variant("sgd", "sampled", "uncertified"))
"""NoisyCGD and NoisySGD with plain clipping, as in the paper."""

RIGOROUS = (
    Variant("envelope", "fixed", "envelope"),
    Variant("envelope, shuffled once", "shuffled_once", "envelope"),
    Variant("envelope, reshuffled", "reshuffled", "envelope"),
)
"""The same with clipping that keeps the loss convex, so that the theorems cover it."""


@dataclass(frozen=True)
class Accuracies:
    """Per cent right on training and test data, one entry a run."""

    train: tuple[float, ...]
    test: tuple[float, ...]


Results = dict[tuple[float, int], Accuracies]


def experiment(
    images: Images, variant: Variant, runs: int, seed: int, tick: Tick = lambda steps: None
) -> Results:
    """Accuracies by regulariser and number of epochs.

    Args:
        runs: for each of them.
        tick: called with the number of model steps that were made.
    """
    setting = images.setting
    longest = max(setting.epochs)
    stops = [epochs * setting.batches for epochs in setting.epochs]
    run: NoisyCGD | NoisySGD
    if variant.batching == "sampled":
        run = setting.sampled(longest)
    else:
        run = setting.cyclic(longest, variant.batching)
    plan = Plan(
        run=run,
        loss=Softmax(classes=images.classes),
        feature_bound=setting.feature_bound,
        l2=setting.ridges[0],
        clipping=variant.clipping,
        clip=setting.sensitivity / 2.0,
        features=images.train.features.shape[1],
        entropy=Seeded(seed),
    )
    records = prepare(plan, images.train.features, images.train.labels)
    seeds = np.random.SeedSequence(seed).generate_state(runs, np.uint64).tolist()

    def one(stack: tuple[int, Sequence[float]]) -> list[list[tuple[float, float]]]:
        own, ridges = stack
        found = []
        for models in trajectories(plan, records, ridges, stops, Seeded(own), tick):
            train, test = (_right(models, part) for part in (images.train, images.test))
            found.append(list(zip(train, test, strict=True)))
        return found

    if variant.batching == "fixed":
        ridges = [ridge for ridge in setting.ridges for _ in range(runs)]
        scores = np.array(one((seed, ridges)))
        table = scores.reshape(len(stops), len(setting.ridges), runs, 2)
    else:
        with _one_thread_a_product(), ThreadPoolExecutor(_cores()) as pool:
            scores = np.array(list(pool.map(one, [(own, setting.ridges) for own in seeds])))
        table = scores.transpose(1, 2, 0, 3)
    return {
        (ridge, epochs): Accuracies(*(tuple(table[j, i, :, k].tolist()) for k in (0, 1)))
        for j, epochs in enumerate(setting.epochs)
        for i, ridge in enumerate(setting.ridges)
    }


def trajectories(
    plan: Plan,
    records: Records,
    ridges: Sequence[float],
    stops: Sequence[int],
    entropy: Seeded,
    tick: Tick = lambda steps: None,
) -> Iterator[NDArray[Any]]:
    """The iterates of a stack of models at some steps; one model for each entry of `ridges`.

    The loop of `shiftdp.training.descend`, but for a regulariser that differs from model to model,
    and for being read on its way.
    """
    run = plan.run
    eta, sigma = run.learning_rate, run.noise
    if isinstance(run, NoisyGD) or not (isinstance(eta, float) and isinstance(sigma, float)):
        raise InvalidInput("run", run, "is not one of the experiment", "give Setting.cyclic(...)")
    at = Parameters(
        len(ridges), plan.loss.outputs, records.features.shape[1], plan.intercept, records.dtype
    )
    decay = np.repeat(1.0 - eta * np.asarray(ridges), plan.loss.outputs)[:, None]
    decay = decay.astype(records.dtype)
    wanted = set(stops)
    with (
        NoiseFeed(entropy.open("noise"), at.flat.size, run.steps, records.dtype) as noise,
        GradientSum(plan, records, at, run.batch_size) as gradient,
    ):
        for step, batch in enumerate(batches(run, entropy.open("batches")), 1):
            g = gradient(batch.rows)
            g *= eta / batch.divisor
            z = noise.step()
            z *= eta * sigma
            g += z
            at.weights *= decay
            if at.intercepts is not None:
                at.intercepts *= decay
            at.flat -= g
            tick(len(ridges))
            if step in wanted:
                yield at.models()


def _right(models: NDArray[Any], part: Part) -> list[float]:
    """Per cent of the records that each model puts into their class."""
    number, classes, _ = models.shape
    weights = models[:, :, :-1].reshape(number * classes, -1)
    constants = models[:, :, -1].reshape(-1)
    right = np.zeros(number)
    for start in range(0, len(part.labels), 4096):
        block = slice(start, start + 4096)
        scores = part.features[block] @ weights.T + constants
        chosen = scores.reshape(len(scores), number, classes).argmax(axis=2)
        right += (chosen == part.labels[block, None]).sum(axis=0)
    return [float(x) for x in 100.0 * right / len(part.labels)]


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _one_thread_a_product() -> AbstractContextManager[Any]:
    """Threads that make products of their own would wait for one another."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits
