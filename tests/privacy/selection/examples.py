"""A certificate of a run, of a search and of a score, for the tests of this room."""

from __future__ import annotations

from typing import Any

from shiftdp import Certificate, Geometry, NoisyGD, certify
from shiftdp.fdp.selection.trials import Trials
from shiftdp.privacy.noisy_sums import NoisySum
from shiftdp.privacy.selection.score_certificate import ScoreCertificate
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate

TRIALS = Trials("negative_binomial", 0.2, 1.0)
ACCURACY = NoisySum(kind="gains", column="accuracy", noise=10.0)


def fit(noise: float = 0.4, adjacency: Any = "replace_one") -> Certificate:
    geometry = Geometry(strong_convexity=1, smoothness=10, sensitivity=2.0, adjacency=adjacency)
    return certify(NoisyGD(n=100, steps=50, learning_rate=0.1, noise=noise), geometry)


def search(**changes: Any) -> SelectionCertificate:
    fields: dict[str, Any] = {
        "n": 100,
        "held_out": 0,
        "adjacency": "replace_one",
        "trials": TRIALS,
        "score": ACCURACY,
        "candidates": (fit(), fit(0.5)),
    }
    return SelectionCertificate(**(fields | changes))


def score(**changes: Any) -> ScoreCertificate:
    fields: dict[str, Any] = {"n": 1000, "adjacency": "replace_one", "sums": (ACCURACY,)}
    return ScoreCertificate(**(fields | changes))
