"""One certificate of every kind."""

from __future__ import annotations

import math
from typing import Any

from shiftdp.last_iterate import (
    Certificate,
    ExponentialMechanism,
    Geometry,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    certify,
)
from shiftdp.last_iterate.theorems.proofs import Proof
from tests.last_iterate.random_runs import BOUNDS, LAST_BATCHES, ORDERS

STRONG: dict[str, Any] = {"strong_convexity": 0.3, "smoothness": 2.0, "sensitivity": 2.0}
CONVEX = {**STRONG, "strong_convexity": 0.0}
WEAK = {**STRONG, "strong_convexity": -0.2}
CGD: dict[str, Any] = {"n": 11, "batch_size": 3, "steps": 18, "learning_rate": 0.4, "noise": 0.7}
GD = NoisyGD(n=9, steps=12, learning_rate=0.4, noise=0.7)
DECAYING = [0.9 * 0.8**k for k in range(18)]
WHOLE = {**CGD, "n": 12, "steps": 16}


def _certificates() -> dict[str, Certificate]:
    kinds: dict[str, Certificate] = {}
    for name, loss in (("strong", STRONG), ("convex", CONVEX), ("weak", WEAK)):
        for D in (math.inf, 0.5):
            geometry = Geometry(**loss, diameter=D)
            kinds[f"gd {name} {D}"] = certify(GD, geometry)
            kinds[f"langevin {name} {D}"] = certify(
                LangevinMC(steps=30, learning_rate=0.05), geometry
            )
            for order in ORDERS:
                run = NoisyCGD(**CGD, order=order)
                kinds[f"cgd {name} {D} {order}"] = certify(run, geometry)
                for last_batch in LAST_BATCHES[1:]:
                    other = NoisyCGD(**CGD, order=order, last_batch=last_batch)
                    kinds[f"cgd {name} {D} {order} {last_batch}"] = certify(other, geometry)
    for order in ORDERS:
        for bounds in BOUNDS[1:]:
            for D in (math.inf, 0.5):
                run = NoisyCGD(**WHOLE, order=order)
                kinds[f"cgd {order} {bounds} {D}"] = certify(
                    run,
                    Geometry(**STRONG, diameter=D),
                    bounds=bounds,
                )
        per_step = NoisyCGD(
            **{**CGD, "learning_rate": DECAYING, "noise": [0.5 + 0.1 * k for k in range(18)]},
            order=order,
        )
        kinds[f"per step {order}"] = certify(per_step, Geometry(**STRONG, diameter=0.5))
    for bounds in BOUNDS[1:]:
        kinds[f"gd {bounds}"] = certify(GD, Geometry(**STRONG), bounds=bounds)
        kinds[f"langevin {bounds}"] = certify(
            LangevinMC(steps=30, learning_rate=0.05),
            Geometry(**STRONG),
            bounds=bounds,
        )
        kinds[f"exponential {bounds}"] = certify(
            ExponentialMechanism(),
            Geometry(**STRONG, diameter=0.5),
            bounds=bounds,
        )
    for D in (math.inf, 0.5):
        geometry = Geometry(**STRONG, diameter=D)
        kinds[f"exponential {D}"] = certify(ExponentialMechanism(), geometry)
        endless = LangevinMC(steps=math.inf, learning_rate=0.05)
        kinds[f"stationary {D}"] = certify(endless, geometry)
    removed = Geometry(**STRONG, adjacency="zero_out")
    kinds["zero out"] = certify(NoisyCGD(**CGD), removed)
    rough = Geometry(strong_convexity=-math.inf, smoothness=math.inf, sensitivity=1.0)
    kinds["rough"] = certify(GD, rough)
    return kinds


CERTIFICATES = _certificates()


def proofs_in(cert: Certificate) -> list[Proof]:
    """The proofs by shifts that a certificate carries."""
    return [*Proof.among(cert.proofs)]
