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

__version__ = "0.1.0"

__all__ = [
    "ApproxDPTradeoff",
    "GaussianTradeoff",
    "Identity",
    "InvalidInput",
    "LaplaceTradeoff",
    "Maximum",
    "Minimum",
    "Mixture",
    "NoClosedForm",
    "PiecewiseLinear",
    "ShiftdpError",
    "TradeoffFunction",
    "Uncertified",
    "UnmetHypothesis",
    "VerificationFailed",
    "dominates",
]
