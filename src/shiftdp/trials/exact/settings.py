"""Small runs of every kind, at which theorems are shown."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from shiftdp._errors import UnmetHypothesis
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certification import bound_by, certificate_of
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import (
    ExponentialMechanism,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    Run,
    Unlearning,
    has_releases,
)
from shiftdp.last_iterate.theorems.theorem import Theorem

# Rates between 1/M and 1/m: slopes may be anything from 0 to the largest, and Theorem B5 is exact.
_TURNS: dict[str, Any] = {"n": 30, "batch_size": 10, "learning_rate": 0.4, "noise": 0.4}
_FULL = NoisyGD(n=30, steps=20, learning_rate=0.4, noise=0.4)  # the same rate and noise
_CYCLIC = NoisyCGD(**_TURNS, epochs=6)
# Long enough for what is left of the beginning to be bounded by the diameter.
_LONG = NoisyGD(n=30, steps=200, learning_rate=0.4, noise=0.4)
_LONG_CYCLIC = NoisyCGD(**_TURNS, epochs=40)  # as long, in turns
# Batches of a twentieth of the records, in as many steps as 15 epochs have.
_RANDOM: dict[str, Any] = {
    "n": 200, "batch_size": 10, "steps": 300, "learning_rate": 0.1, "noise": 3.0,
}  # fmt: skip
_NOT_REPLACED = NoisySGD(**_RANDOM)
_POISSON = NoisySGD(**_RANDOM, sampling="poisson")
_ALLOCATED = NoisySGD(**_RANDOM, sampling="random_allocation")
_RESHUFFLED = NoisyCGD(**_TURNS, epochs=6, order="reshuffled")

# Losses with a ridge and without, on sets of several sizes, with and without bounded gradients.
_RIDGE = Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=3.0)
_BALL = Geometry(strong_convexity=0.0, smoothness=4.0, sensitivity=3.0, diameter=0.5)
_SMALL = Geometry(
    strong_convexity=0.5, smoothness=4.0, sensitivity=3.0, diameter=0.7
)  # pure DP is best
_STEEP = Geometry(strong_convexity=3.0, smoothness=4.0, sensitivity=3.0, diameter=9.0)
_BOUNDED = Geometry(strong_convexity=0.2, smoothness=1.0, sensitivity=10.0, gradient_bound=5.0)  # G
# For Poisson sampling and random allocation, where a record is there or not.
_ALONE = Geometry(strong_convexity=0.2, smoothness=1.0, sensitivity=5.0, adjacency="zero_out")
_BODY = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=10.0, diameter=1.0)

# Every kind of run, with the rates and the noise of those above.
_ONE_RECORD: tuple[tuple[Run, Geometry], ...] = (
    (_FULL, _RIDGE),
    (_CYCLIC, _RIDGE),
    (_RESHUFFLED, _RIDGE),
    (_LONG, _BALL),
    (_LONG_CYCLIC, _BALL),
    (_NOT_REPLACED, _BOUNDED),
    (_POISSON, _ALONE),
    (_ALLOCATED, _ALONE),
    (_NOT_REPLACED, _BODY),
    (NoisyCGD(**_TURNS, epochs=6, releases=[4, 9]), _RIDGE),
    (NoisyCGD(**_TURNS, epochs=6, order="reshuffled", releases="epochs"), _RIDGE),
    (
        NoisyStream(
            batch_size=10, batches_per_release=3, learning_rate=0.4, noise=0.4, order="shuffled"
        ),
        _RIDGE,
    ),
    (LangevinMC(steps=30, learning_rate=0.1), _RIDGE),
    (LangevinMC(steps=math.inf, learning_rate=0.1), _RIDGE),
    (ExponentialMechanism(), _BALL),
    (ExponentialMechanism(), _SMALL),
    (ExponentialMechanism(), _STEEP),
)

_SHOWN = 1e-5  # the delta that bounds with free parameters are made for


def settings() -> Iterator[tuple[Run, Geometry]]:
    """Runs with their losses: single records first, then people, then deletions."""
    yield from _ONE_RECORD
    several = [(grouped, losses) for run, losses in _ONE_RECORD for grouped in _of_people(run)]
    yield from several
    for run, losses in (*_ONE_RECORD, *several):
        if run.trainable and not has_releases(run):
            yield Unlearning(training=run, further_steps=7), losses


def _of_people(run: Any) -> Iterator[Run]:
    """A run in which a person has two records, anywhere or in different batches."""
    if not run.trainable or has_releases(run):
        return
    fields = {**vars(run), "records_per_person": 2}
    yield type(run)(**fields)
    if run.cyclic:
        yield NoisyCGD(**{**fields, "arrangement": "one_per_batch"})


def shown_by(theorem: Theorem, *, delta: float = _SHOWN) -> list[Certificate]:
    """The certificates by a theorem at the settings that it is about: the first, and of our own
    theorems on single records every one.

    None for a theorem on other runs than these.
    """
    found: list[Certificate] = []
    every = theorem.family == "ours" and not hasattr(theorem, "base")
    for run, losses in settings():
        if found and not (every and (run, losses) in _ONE_RECORD):
            break
        if not theorem.applies_to(run):
            continue
        try:
            bound = bound_by(theorem, run, losses, delta)
        except UnmetHypothesis:
            continue
        found.append(certificate_of(theorem.proved(bound, run, losses, endless=False), run, losses))
    return found
