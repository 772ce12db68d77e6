"""Products by contour integration: fast estimates, never certificates."""

from shiftdp.fdp.contour.curve import estimate_tradeoff
from shiftdp.fdp.contour.estimate import ContourEstimate, estimate_delta, estimate_epsilon
from shiftdp.fdp.contour.line import ContourRefusal

__all__ = [
    "ContourEstimate",
    "ContourRefusal",
    "estimate_delta",
    "estimate_epsilon",
    "estimate_tradeoff",
]
