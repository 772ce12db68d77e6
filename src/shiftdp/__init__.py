"""shiftdp: what the last iterate of noisy gradient descent really costs in privacy."""

from shiftdp._errors import (
    InvalidInput,
    NoClosedForm,
    ShiftdpError,
    UnmetHypothesis,
    VerificationFailed,
)
from shiftdp._kinds import Uncertified
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    LaplaceTradeoff,
    Maximum,
    Minimum,
    Mixture,
    PiecewiseLinear,
    TradeoffFunction,
    dominates,
)
from shiftdp.last_iterate import (
    Certificate,
    ExponentialMechanism,
    Geometry,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    certify,
)
from shiftdp.privacy import compare

__version__ = "0.1.0"

__all__ = [
    "ApproxDPTradeoff",
    "Certificate",
    "ExponentialMechanism",
    "GaussianTradeoff",
    "Geometry",
    "Identity",
    "InvalidInput",
    "LangevinMC",
    "LaplaceTradeoff",
    "Maximum",
    "Minimum",
    "Mixture",
    "NoClosedForm",
    "NoisyCGD",
    "NoisyGD",
    "NoisySGD",
    "PiecewiseLinear",
    "ShiftdpError",
    "TradeoffFunction",
    "Uncertified",
    "UnmetHypothesis",
    "VerificationFailed",
    "certify",
    "compare",
    "dominates",
]
