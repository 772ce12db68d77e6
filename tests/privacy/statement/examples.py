"""A statement of every kind of certificate, each made once."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

from shiftdp.last_iterate import (
    ExponentialMechanism,
    Geometry,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    Unlearning,
    certify,
)
from shiftdp.last_iterate.assumptions import LOOP_ASSUMPTIONS
from shiftdp.privacy.noisy_sums import NoisySum
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.selection.kinds import AnyCertificate
from shiftdp.privacy.statement import Statement, statement_of
from tests.privacy.selection import examples as selection

DAY = "2026-01-31"
STRONG = Geometry(strong_convexity=0.3, smoothness=2.0, sensitivity=2.0)
REMOVED = Geometry(strong_convexity=0.3, smoothness=2.0, sensitivity=1.0, adjacency="zero_out")
GD: dict[str, Any] = {"n": 12, "steps": 12, "learning_rate": 0.4, "noise": 0.7}
CGD: dict[str, Any] = {"n": 12, "batch_size": 3, "epochs": 4, "learning_rate": 0.4, "noise": 0.7}
SGD: dict[str, Any] = {"n": 40, "batch_size": 4, "learning_rate": 0.4, "noise": 1.5}


@cache
def certificates() -> dict[str, AnyCertificate]:
    """One of every kind that a statement may be about."""
    plain = certify(NoisyGD(**GD), STRONG)
    sums = (NoisySum(kind="moments", column="age", noise=200.0),)
    training = NoisyCGD(**CGD)
    return {
        "gd": plain,
        "gd without end": certify(NoisyGD(**{**GD, "steps": math.inf}), STRONG),
        "cgd": certify(training, STRONG),
        "shuffled": certify(NoisyCGD(**CGD, order="shuffled_once"), STRONG),
        "per step": certify(NoisyGD(**{**GD, "noise": [0.5 + k / 20 for k in range(12)]}), STRONG),
        "poisson": certify(NoisySGD(**SGD, steps=20, sampling="poisson"), REMOVED),
        "without replacement": certify(NoisySGD(**SGD, steps=20), STRONG),
        "allocation": certify(NoisySGD(**SGD, epochs=2, sampling="random_allocation"), REMOVED),
        "releases": certify(NoisyCGD(**CGD, releases=[4, 8]), STRONG),
        "all releases": certify(NoisyGD(**GD, releases="all"), STRONG),
        "stream": certify(
            NoisyStream(batch_size=5, batches_per_release=4, learning_rate=0.4, noise=1.0), STRONG
        ),
        "shuffled stream": certify(
            NoisyStream(
                batch_size=5,
                batches_per_release=4,
                learning_rate=0.4,
                noise=1.0,
                order="shuffled",
            ),
            STRONG,
        ),
        "unlearning": certify(Unlearning(training=training, further_epochs=2), STRONG),
        "people": certify(NoisyGD(**GD, records_per_person=3), STRONG),
        "forgotten person": certify(
            Unlearning(training=NoisyGD(**GD, records_per_person=2), further_steps=3), STRONG
        ),
        "langevin": certify(LangevinMC(steps=30, learning_rate=0.05), STRONG),
        "exponential": certify(ExponentialMechanism(), STRONG),
        "opacus": replace(
            plain,
            assumptions=(
                *plain.assumptions,
                LOOP_ASSUMPTIONS["records"],
                LOOP_ASSUMPTIONS["gradients"],
            ),
        ),
        "pipeline": PipelineCertificate(n=12, adjacency="replace_one", sums=sums, model=plain),
        "preparation": PipelineCertificate(n=12, adjacency="replace_one", sums=sums),
        "search": selection.search(),
        "search with a holdout": selection.search(n=125, held_out=25),
        "search of pipelines": selection.search(
            n=12,
            candidates=(
                PipelineCertificate(n=12, adjacency="replace_one", sums=sums, model=plain),
            ),
        ),
        "score": selection.score(),
    }


KINDS = tuple(certificates())


def stated(kind: str = "gd", **options: Any) -> Statement:
    return statement_of(certificates()[kind], **{"date": DAY, **options})


@cache
def html(kind: str = "gd") -> str:
    return stated(kind).html()
