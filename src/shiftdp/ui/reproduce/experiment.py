"""The experiment: descent in all settings, those on the same batches in one matrix product.

All runs of NoisyCGD in fixed order, for both regularisers, use the same batches at the same time:
they are one stack. Where a run draws its own batches, the two regularisers share them. The
iterate after 50 epochs of a run of 200 has the law of the last iterate of a run of 50, so each run
is read at all three lengths. (For a release that would void the guarantee. Here nothing is private:
the noise is seeded, and the data are public.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shiftdp.last_iterate.runs import NoisyCGD, NoisySGD
from shiftdp.training import Plan, Seeded, Softmax
from shiftdp.training.descent.gradient import LocalSource
from shiftdp.training.descent.loop import iterates, starting_point
from shiftdp.training.descent.records import Records, prepare
from shiftdp.training.plan import Clipping
from shiftdp.ui.reproduce.images import Images, Part

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
"""NoisyCGD with clipping that keeps the loss convex, so that the theorems cover it."""


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

    # runs on the same batches are one stack, others follow one another
    stacks = [[source] for source in sources] if run.secret_batches else [sources]
    parts = []
    for together in stacks:
        ridges = [ridge for ridge in setting.ridges for _ in together]
        own = [source for ridge in zip(*together, strict=True) for source in ridge]
        found = []
        for models in trajectories(plan, records, ridges, own, stops, tick):
            train, test = (_right(models, part) for part in (images.train, images.test))
            found.append(list(zip(train, test, strict=True)))
        parts.append(np.array(found).reshape(len(stops), len(setting.ridges), len(together), 2))
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
) -> Iterator[NDArray[Any]]:
    """The iterates of a stack of models at some steps; one model for each of `ridges`, with noise
    from one of `sources`. Batches that are drawn come from the first of these.
    """
    source = LocalSource(records)
    models = starting_point(plan, source, len(ridges))
    wanted = set(stops)
    for step in iterates(plan, source, models, sources, np.array(ridges)):
        tick(len(ridges))
        if step in wanted:
            yield models.copy()


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
