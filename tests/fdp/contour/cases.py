"""Products for the contour, and how closely the reference knows them."""

from __future__ import annotations

from shiftdp.fdp import GaussianTradeoff, PiecewiseLinear, TradeoffFunction

NOISE = 1e-8  # of the reference: its masses are second differences of profiles
Parts = list[tuple[TradeoffFunction, int]]


def subsampled(p: float, mu: float) -> TradeoffFunction:
    return GaussianTradeoff(mu).subsample(p)


ASYMMETRIC = PiecewiseLinear([0, 0.1, 0.5, 1], [1, 0.7, 0.2, 0])
