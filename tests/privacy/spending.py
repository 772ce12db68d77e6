"""What a run spends of a budget, by certifying it; and settings to ask this of."""

from __future__ import annotations

from typing import Any

from shiftdp import Geometry, NoisyCGD, certify
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.runs import Run
from shiftdp.privacy import budget_of

MNIST = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
CYCLIC = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
STRONG = Geometry(strong_convexity=0.2, smoothness=2.0, sensitivity=2.0, gradient_bound=1.0)


def spent(terms: dict[str, Any], run: Run, geometry: Geometry, bounds: Bounds = "best") -> float:
    return budget_of(**terms).cost(certify(run, geometry, bounds=bounds))


def met(terms: dict[str, Any], run: Run, geometry: Geometry, bounds: Bounds = "best") -> bool:
    return spent(terms, run, geometry, bounds) <= budget_of(**terms).limit
