"""Tradeoff functions, their algebra, and exact conversions between notions of privacy."""

from shiftdp.fdp.approx_dp import ApproxDPTradeoff
from shiftdp.fdp.clt import subsampled_clt
from shiftdp.fdp.comparison import Comparison, dominates
from shiftdp.fdp.envelope import Maximum, Minimum
from shiftdp.fdp.failure import WithFailure
from shiftdp.fdp.gaussian import GaussianTradeoff
from shiftdp.fdp.identity import Identity
from shiftdp.fdp.laplace import LaplaceTradeoff
from shiftdp.fdp.mixture import Mixture
from shiftdp.fdp.piecewise_linear import PiecewiseLinear
from shiftdp.fdp.poisson import PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.privacy_loss import privacy_loss
from shiftdp.fdp.renyi import RenyiConversion, renyi_epsilon, zcdp_epsilon
from shiftdp.fdp.shifted_subsampling import ShiftedSubsampled, shifted_subsampled
from shiftdp.fdp.subsampling import Subsampled
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = [
    "ApproxDPTradeoff",
    "Comparison",
    "GaussianTradeoff",
    "Identity",
    "LaplaceTradeoff",
    "Maximum",
    "Minimum",
    "Mixture",
    "PiecewiseLinear",
    "PoissonReplaceOne",
    "PoissonZeroOut",
    "RenyiConversion",
    "ShiftedSubsampled",
    "Subsampled",
    "TradeoffFunction",
    "WithFailure",
    "dominates",
    "privacy_loss",
    "renyi_epsilon",
    "shifted_subsampled",
    "subsampled_clt",
    "zcdp_epsilon",
]
