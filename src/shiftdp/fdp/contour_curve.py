"""`shiftdp.fdp.contour.curve` under the path that the documentation first gave."""

from shiftdp.fdp.contour.curve import estimate_tradeoff

__all__ = ["estimate_tradeoff"]
