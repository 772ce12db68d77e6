"""Small runs and losses of every kind, for the examples of the theorems that are about them."""

from __future__ import annotations

from typing import Any

from shiftdp.last_iterate import (
    Geometry,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    Unlearning,
    cooldown,
)
from shiftdp.last_iterate.runs import Run

Examples = dict[str, tuple[Run, Geometry]]
"""By the name of a theorem, a run and losses that it is about."""

GD = NoisyGD(n=30, steps=20, learning_rate=0.2, noise=0.4)
CYCLIC: dict[str, Any] = {"n": 30, "batch_size": 10, "learning_rate": 0.2, "noise": 0.4}
CGD = NoisyCGD(**CYCLIC, epochs=6)
SHUFFLED = NoisyCGD(**CYCLIC, epochs=6, order="reshuffled")
RANDOM: dict[str, Any] = {
    "n": 200, "batch_size": 10, "steps": 300, "learning_rate": 0.1, "noise": 3.0,
}  # fmt: skip
SGD, POISSON = NoisySGD(**RANDOM), NoisySGD(**RANDOM, sampling="poisson")
COOLED = NoisySGD(**{**RANDOM, "noise": cooldown(300, 3.0, last=20, factor=2)})
RELEASED = NoisyCGD(**CYCLIC, epochs=6, releases=[4, 9])
EPOCHS = NoisyCGD(**CYCLIC, epochs=6, order="reshuffled", releases="epochs")
STREAM = NoisyStream(
    batch_size=10, batches_per_release=3, learning_rate=0.2, noise=0.4, order="shuffled"
)
ALLOCATED = NoisySGD(**RANDOM, sampling="random_allocation")

RIDGE = Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=3.0)
BALL = Geometry(strong_convexity=0.0, smoothness=4.0, sensitivity=3.0, diameter=1.5)
SMALL = Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=3.0, diameter=0.7)
STEEP = Geometry(strong_convexity=3.0, smoothness=4.0, sensitivity=3.0, diameter=9.0)
LOSSES = Geometry(strong_convexity=0.2, smoothness=1, sensitivity=10, gradient_bound=5)
ALONE = Geometry(strong_convexity=0.2, smoothness=1, sensitivity=5, adjacency="zero_out")
BODY = Geometry(strong_convexity=0.0, smoothness=1, sensitivity=10, diameter=1)

SEVERAL: dict[str, Any] = {"records_per_person": 2}


def with_people(run: Any) -> Run:
    """The same run where a person has two records."""
    return type(run)(**{**vars(run), **SEVERAL})  # type: ignore[no-any-return]


def deleted(run: Any) -> Run:
    """The same run, after which a record, or a person, is deleted and some steps follow."""
    return Unlearning(training=run, further_steps=7)
