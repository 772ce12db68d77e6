"""The tradeoff functions, one a file."""

from shiftdp.fdp.functions.approx_dp import ApproxDPTradeoff
from shiftdp.fdp.functions.envelope import Maximum, Minimum
from shiftdp.fdp.functions.failure import WithFailure
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.functions.hidden import HiddenExchange, HiddenReplaceOne, HiddenZeroOut
from shiftdp.fdp.functions.identity import Identity
from shiftdp.fdp.functions.laplace import LaplaceTradeoff
from shiftdp.fdp.functions.mixture import Mixture
from shiftdp.fdp.functions.piecewise_linear import PiecewiseLinear
from shiftdp.fdp.functions.poisson import PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.functions.shifted_subsampling import ShiftedSubsampled, shifted_subsampled
from shiftdp.fdp.functions.subsampling import Subsampled

__all__ = [
    "ApproxDPTradeoff",
    "GaussianTradeoff",
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
    "ShiftedSubsampled",
    "Subsampled",
    "WithFailure",
    "shifted_subsampled",
]
