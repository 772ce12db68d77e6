"""For each theorem of the library, by name, a run and losses that it is about."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, cast

from shiftdp.last_iterate import (
    THEOREMS,
    Certificate,
    ExponentialMechanism,
    Geometry,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    Unlearning,
    cooldown,
)
from shiftdp.last_iterate.certification import bound_by, certificate_of
from shiftdp.last_iterate.runs import Run
from shiftdp.last_iterate.theorems.theorem import DELTA

__all__ = ["CATALOGUE", "SCHEDULED", "certificate_by"]

GD = NoisyGD(n=30, steps=20, learning_rate=0.2, noise=0.4)
CYCLIC: dict[str, Any] = {"n": 30, "batch_size": 10, "learning_rate": 0.2, "noise": 0.4}
CGD = NoisyCGD(**CYCLIC, epochs=6)
SHUFFLED = NoisyCGD(**CYCLIC, epochs=6, order="reshuffled")
RANDOM: dict[str, Any] = {
    "n": 200, "batch_size": 10, "steps": 300, "learning_rate": 0.1, "noise": 3.0,
}  # fmt: skip
SGD, POISSON = NoisySGD(**RANDOM), NoisySGD(**RANDOM, sampling="poisson")
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

CATALOGUE: dict[str, tuple[Run, Geometry]] = {
    "Thm gd (composition)": (GD, RIDGE),
    "Thm mgd (composition)": (CGD, RIDGE),
    "Thm sgd (composition)": (SGD, LOSSES),
    "Poisson (composition)": (POISSON, ALONE),
    "Random allocation (composition)": (ALLOCATED, ALONE),
    "Theorem A1 (composition)": (ALLOCATED, ALONE),
    "pure DP": (ExponentialMechanism(), SMALL),
    "Thm gd-sc": (GD, RIDGE),
    "Thm mgd-sc": (CGD, RIDGE),
    "Thm gd-proj": (GD, BALL),
    "Thm mgd-proj": (CGD, BALL),
    "Thm sgd-sc": (SGD, LOSSES),
    "Thm sgd-proj": (SGD, BODY),
    "Theorem B3": (SGD, LOSSES),
    "Theorem B3 (Poisson)": (POISSON, ALONE),
    "Theorem B7": (SGD, LOSSES),
    "Theorem B6": (SGD, LOSSES),
    "Theorem B1": (CGD, RIDGE),
    "Theorem B4": (SHUFFLED, RIDGE),
    "Theorem V1": (RELEASED, RIDGE),
    "Theorem V1 (independent segments)": (EPOCHS, RIDGE),
    "Theorem V2": (STREAM, RIDGE),
    "Prop lmc": (LangevinMC(steps=30, learning_rate=0.1), RIDGE),
    "Cor expmechsc": (LangevinMC(steps=math.inf, learning_rate=0.1), RIDGE),
    "Cor expmechconvex": (ExponentialMechanism(), BALL),
    "Cor expmechsc and pure DP": (ExponentialMechanism(), STEEP),
    "Cor expmechconvex and pure DP": (ExponentialMechanism(), SMALL),
}

SEVERAL: dict[str, Any] = {"records_per_person": 2}
ARRANGED = NoisyCGD(**CYCLIC, epochs=6, **SEVERAL, arrangement="one_per_batch")
FEW_POISSON = NoisySGD(**RANDOM, sampling="poisson", **SEVERAL)


def with_people(run: Any) -> Run:
    """The same run where a person has two records."""
    return type(run)(**{**vars(run), **SEVERAL})  # type: ignore[no-any-return]


def deleted(run: Any) -> Run:
    """The same run, after which a record, or a person, is deleted and some steps follow."""
    return Unlearning(training=run, further_steps=7)


for _theorem in THEOREMS:
    _name, _base = _theorem.name, cast(Any, getattr(_theorem, "base", None))
    if _name in ("Theorem V4", "Theorem V4 (composition, one per batch)"):
        CATALOGUE[_name] = (ARRANGED, RIDGE)
    elif _name in ("Theorem V4 (Poisson composition)", "Theorem V4 (hidden)"):
        CATALOGUE[_name] = (FEW_POISSON, ALONE)
    elif _name == "Theorem V3":
        CATALOGUE[_name] = (deleted(CGD), RIDGE)
    elif _name == "Theorem V3 (distance)":
        CATALOGUE[_name] = (deleted(SGD), LOSSES)
    elif _name.startswith("Theorem V3 ("):
        _run, _losses = CATALOGUE[_base.name]
        CATALOGUE[_name] = (deleted(_run), _losses)
    elif _base is not None:
        _run, _losses = CATALOGUE[_base.name]
        CATALOGUE[_name] = (with_people(_run), _losses)
COOLED = NoisySGD(**{**RANDOM, "noise": cooldown(300, 3.0, last=20, factor=2)})
SCHEDULED: dict[str, tuple[Run, Geometry]] = {
    "Thm sgd (composition)": (COOLED, LOSSES),
    "Theorem B3": (COOLED, LOSSES),
    "Theorem B7": (COOLED, LOSSES),
    "Theorem B6": (COOLED, LOSSES),
}
"""The same with steps that differ, for theorems that treat them in another way."""


@cache
def certificate_by(name: str, *, scheduled: bool = False) -> Certificate:
    """The certificate by the theorem of this name, whether or not it is the best."""
    (theorem,) = (theorem for theorem in THEOREMS if theorem.name == name)
    run, geometry = (SCHEDULED if scheduled else CATALOGUE)[name]
    bound = bound_by(theorem, run, geometry, DELTA)
    return certificate_of(theorem.proved(bound, run, geometry, endless=False), run, geometry)
