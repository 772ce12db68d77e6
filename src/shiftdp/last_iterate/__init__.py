"""What is run, what is assumed, which theorem applies: from a run to a certificate."""

from shiftdp.last_iterate.assumptions import Assumption
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certification import certify
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.last_batch import SmallLastBatch
from shiftdp.last_iterate.runs import (
    ExponentialMechanism,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    Unlearning,
)
from shiftdp.last_iterate.schedules.cooldown import cooldown
from shiftdp.last_iterate.theorems.registry import THEOREMS
from shiftdp.last_iterate.theorems.theorem import Bound, Theorem

__all__ = [
    "THEOREMS",
    "Assumption",
    "Bound",
    "Certificate",
    "ExponentialMechanism",
    "Geometry",
    "LangevinMC",
    "NoisyCGD",
    "NoisyGD",
    "NoisySGD",
    "NoisyStream",
    "SmallLastBatch",
    "Theorem",
    "Unlearning",
    "certify",
    "cooldown",
]
