"""Long runs with random batches, and a bound rebuilt from its proof."""

from __future__ import annotations

import shiftdp as sdp
from shiftdp.last_iterate.theorems.proofs import StochasticProof
from shiftdp.last_iterate.theorems.registry import theorem_of

DELTA = 1e-5
LONG = sdp.NoisySGD(n=1000, batch_size=10, steps=10**6, learning_rate=0.1, noise=3.0)
BALL = sdp.Geometry(strong_convexity=0, smoothness=10, sensitivity=10, diameter=1)
RIDGE = sdp.Geometry(strong_convexity=0.02, smoothness=1, sensitivity=10)


def rebuild(
    name: str, run: sdp.NoisySGD, geometry: sdp.Geometry, proof: StochasticProof, accuracy: float
) -> sdp.TradeoffFunction:
    return theorem_of(name).rebuild(run, geometry, (proof,), accuracy)
