"""Edited certificates: what is accepted holds, and everything else is refused, at once."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from shiftdp import Geometry, NoisySGD, certify
from shiftdp.last_iterate import Certificate
from tests.last_iterate.every_kind import CERTIFICATES
from tests.last_iterate.mutations import DELTAS, judged, mutated, paths

SGD: dict[str, Any] = {
    "n": 200,
    "batch_size": 10,
    "steps": 300,
    "learning_rate": 0.1,
    "noise": 3.0,
}
BALL = Geometry(strong_convexity=0, smoothness=1, sensitivity=10, diameter=1, gradient_bound=5)
RIDGE = Geometry(strong_convexity=0.2, smoothness=1, sensitivity=10, gradient_bound=5)
OUT = Geometry(strong_convexity=0.2, smoothness=1, sensitivity=5, adjacency="zero_out")


def _kinds() -> dict[str, Certificate]:
    kinds = dict(CERTIFICATES)
    for name, geometry in (("ball", BALL), ("ridge", RIDGE)):
        for bounds in ("best", "paper", "composition"):
            kinds[f"sgd {name} {bounds}"] = certify(NoisySGD(**SGD), geometry, bounds=bounds)
    for name, geometry in (("out", OUT), ("ridge", RIDGE)):
        kinds[f"poisson {name}"] = certify(NoisySGD(**SGD, sampling="poisson"), geometry)
    return kinds


KINDS = _kinds()
# what the numbers of a certificate follow from: an edit here is another run, with its own truth
PREMISES = {"run", "geometry", "training"}


def check(edits_of_each: int, seed: int) -> dict[str, int]:
    """Edit every kind; count how the texts were received."""
    rng = random.Random(seed)
    counts = {"holds": 0, "refused": 0}
    for name, cert in KINDS.items():
        document = json.loads(cert.to_json())
        floor = {delta: cert.epsilon_interval(delta)[0] for delta in DELTAS}
        places = paths(document)
        conclusions = [place for place in places if place[0] not in PREMISES]
        for _ in range(edits_of_each):
            edits = rng.choice((1, 1, 2))
            # an edited run may be a noisier one, for which less is true
            inside = rng.random() < 0.6
            chosen = conclusions if inside else places
            text = mutated(document, rng, chosen, edits)
            verdict = judged(text, floor if inside else {})
            assert verdict in counts, f"{name}: {verdict}: {text[:3000]}"
            counts[verdict] += 1
    return counts


def test_hundreds_of_edits_are_refused_or_hold() -> None:
    counts = check(8, seed=1)
    assert counts["refused"] > 400
    assert sum(counts.values()) > 500


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 7))
def test_thousands_of_edits_are_refused_or_hold(seed: int) -> None:
    counts = check(100, seed)
    assert sum(counts.values()) > 5_000
    assert counts["refused"] > 0.9 * sum(counts.values())
