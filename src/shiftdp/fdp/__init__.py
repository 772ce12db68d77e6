"""Tradeoff functions, their algebra, and exact conversions between notions of privacy."""

from shiftdp.fdp.clt import subsampled_clt
from shiftdp.fdp.comparison import Comparison, dominates
from shiftdp.fdp.functions.approx_dp import ApproxDPTradeoff
from shiftdp.fdp.functions.envelope import Maximum, Minimum
from shiftdp.fdp.functions.failure import WithFailure
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.functions.group import GroupTradeoff
from shiftdp.fdp.functions.hidden import HiddenExchange, HiddenReplaceOne, HiddenZeroOut
from shiftdp.fdp.functions.identity import Identity
from shiftdp.fdp.functions.laplace import LaplaceTradeoff
from shiftdp.fdp.functions.mixture import Mixture
from shiftdp.fdp.functions.piecewise_linear import PiecewiseLinear
from shiftdp.fdp.functions.poisson import PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.functions.shifted_subsampling import ShiftedSubsampled, shifted_subsampled
from shiftdp.fdp.functions.subsampling import Subsampled
from shiftdp.fdp.losses import privacy_loss
from shiftdp.fdp.renyi.conversions import RenyiConversion, renyi_epsilon, zcdp_epsilon
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = [
    "ApproxDPTradeoff",
    "Comparison",
    "GaussianTradeoff",
    "GroupTradeoff",
    "HiddenExchange",
    "HiddenReplaceOne",
    "HiddenZeroOut",
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
