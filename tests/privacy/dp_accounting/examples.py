"""The runs that are counted, and the neighbours in the words of dp_accounting."""

from __future__ import annotations

from typing import Any

from dp_accounting import NeighboringRelation

import shiftdp as sdp

ONE, SPECIAL = NeighboringRelation.REPLACE_ONE, NeighboringRelation.REPLACE_SPECIAL
RUN = sdp.NoisyCGD(n=300, batch_size=30, epochs=5, learning_rate=0.1, noise=0.5)
SGD = sdp.NoisySGD(n=1000, batch_size=10, steps=200, learning_rate=0.1, noise=0.2)
POISSON = sdp.NoisySGD(
    n=1000, batch_size=50, steps=400, learning_rate=0.3, noise=0.03, sampling="poisson"
)


def geometry(adjacency: Any = "replace_one") -> sdp.Geometry:
    return sdp.Geometry(strong_convexity=0.5, smoothness=5.0, sensitivity=2.0, adjacency=adjacency)
