"""Long runs with random batches, one theorem's certificate, and a bound rebuilt from its proof."""

from __future__ import annotations

import shiftdp as sdp
from shiftdp.last_iterate.certification import bound_by, certificate_of
from shiftdp.last_iterate.theorems.proofs import StochasticProof
from shiftdp.last_iterate.theorems.registry import theorem_of
from shiftdp.last_iterate.theorems.theorem import DELTA as AIM

DELTA = 1e-5
LONG = sdp.NoisySGD(n=1000, batch_size=10, steps=10**6, learning_rate=0.1, noise=3.0)
BALL = sdp.Geometry(strong_convexity=0, smoothness=10, sensitivity=10, diameter=1)
RIDGE = sdp.Geometry(strong_convexity=0.02, smoothness=1, sensitivity=10)


def certificate_by(
    name: str, run: sdp.NoisySGD, geometry: sdp.Geometry, delta: float = AIM
) -> sdp.Certificate:
    """The certificate by the theorem of this name, whether or not it is the best."""
    theorem = theorem_of(name)
    bound = theorem.proved(bound_by(theorem, run, geometry, delta), run, geometry, endless=False)
    return certificate_of(bound, run, geometry)


def b3_of(run: sdp.NoisySGD) -> str:
    """The name of Theorem B3 for the sampling of a run."""
    return "Theorem B3 (Poisson)" if run.sampling == "poisson" else "Theorem B3"


def rebuild(
    name: str, run: sdp.NoisySGD, geometry: sdp.Geometry, proof: StochasticProof, accuracy: float
) -> sdp.TradeoffFunction:
    return theorem_of(name).rebuild(run, geometry, (proof,), accuracy)
