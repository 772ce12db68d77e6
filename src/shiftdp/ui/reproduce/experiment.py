"""The experiment: descent on all settings, as many of them in one matrix product as there can be.

All runs of NoisyCGD in fixed order, for both regularisers, use the same batches at the same time:
they are one stack for each thread. Where a run draws its own batches, the two regularisers share
them, and runs are shared out among threads. The iterate after 50 epochs of a run of 200 has the law
of the last iterate of a run of 50, so each run is read at all three lengths. (For a release that
would void the guarantee. Here nothing is private: the noise is seeded, and the data are public.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.runs import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.training import Plan, Seeded, Softmax
from shiftdp.training.batches import batches, is_repeated
from shiftdp.training.crew import at_once, cores, single_threaded_products
from shiftdp.training.gradient import Parameters
from shiftdp.training.noise_feed import noise_for
from shiftdp.training.plan import Clipping
from shiftdp.training.records import Records, prepare
from shiftdp.training.stacked import gradient_sum
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
    sources = [each.several(len(setting.ridges)) for each in Seeded(seed).several(runs)]

    # runs on the same batches are one stack for each thread, others one stack each
    stacks = min(cores(), runs) if is_repeated(run) else runs

    def one(k: int, stop: Event) -> NDArray[Any]:
        together = sources[runs * k // stacks : runs * (k + 1) // stacks]
        ridges = [ridge for ridge in setting.ridges for _ in together]
        own = [source for ridge in zip(*together, strict=True) for source in ridge]
        found = []
        for models in trajectories(plan, records, ridges, own, stops, tick, stop):
            train, test = (_right(models, part) for part in (images.train, images.test))
            found.append(list(zip(train, test, strict=True)))
        if stop.is_set():
            return np.empty(0)
        return np.array(found).reshape(len(stops), len(setting.ridges), len(together), 2)

    with single_threaded_products():
        parts = at_once([partial(one, k) for k in range(stacks)], cores())
    table = np.concatenate(parts, axis=2)
    return {
        (ridge, epochs): Accuracies(*(tuple(table[j, i, :, k].tolist()) for k in (0, 1)))
        for j, epochs in enumerate(setting.epochs)
        for i, ridge in enumerate(setting.ridges)
    }


def trajectories(
    plan: Plan,
    records: Records,
    ridges: Sequence[float],
    sources: Sequence[Seeded],
    stops: Sequence[int],
    tick: Tick = lambda steps: None,
    stop: Event | None = None,
) -> Iterator[NDArray[Any]]:
    """The iterates of a stack of models at some steps; one model for each of `ridges`, with noise
    from one of `sources`. Batches that are drawn come from the first of these.

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
    streams = [source.open("noise") for source in sources]
    with (
        gradient_sum(plan, records, at, run.batch_size, among_others=stop is not None) as gradient,
        noise_for(streams, at, run.steps, gradient) as noise,
    ):
        for step, batch in enumerate(batches(run, sources[0].open("batches")), 1):
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
            if stop is not None and stop.is_set():
                return
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
