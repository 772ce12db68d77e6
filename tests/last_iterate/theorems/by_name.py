"""The theorems that apply to a run, or do not, by their names."""

from __future__ import annotations

from typing import Any

from shiftdp.last_iterate import Geometry, NoisyCGD, NoisyGD
from shiftdp.last_iterate.certification import evaluate
from shiftdp.last_iterate.theorems.theorem import Bound

CLASS: dict[str, Any] = {"strong_convexity": 0.5, "smoothness": 4.0, "sensitivity": 3.0}
GD = NoisyGD(n=30, steps=20, learning_rate=0.2, noise=0.4)
CGD = NoisyCGD(n=30, batch_size=10, epochs=20, learning_rate=0.2, noise=0.4)


def bounds(run: Any, **changes: Any) -> dict[str, Bound]:
    return {bound.name: bound for bound in evaluate(run, Geometry(**{**CLASS, **changes})).found}
