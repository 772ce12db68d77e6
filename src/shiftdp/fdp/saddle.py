"""Where the mass of a product has to be moved for a given delta: the saddle point.

For the loss L of a factor, M(s) = E_Q[e^{sL}] is
1 + s(s+1) int_0^inf (e^{se} delta_f(e) + e^{-(s+1)e} delta_{f^-1}(e)) de; put K = sum k log M. By
Chernoff's bound and its refinement, delta(eps) is about e^{K(s) - s eps} / (s (s+1) sqrt(2 pi K''))
at the s with K'(s) = eps. What is found here only steers the numerics: any s would do, with larger
errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["Saddle", "find_saddle"]

_PANELS = 24
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)
_LARGEST = 300.0  # of theta times the reach: powers of e must not overflow
_TINY = 1e-9  # part of delta that may be lost to infinite losses, all factors together


@dataclass(frozen=True)
class Saddle:
    """The tilt, and how far the losses of each factor have to be followed."""

    theta: float
    reaches: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _Curve:
    """Quadrature of one factor's profile."""

    nodes: Array
    right: Array
    left: Array

    def log_moment(self, s: float) -> float:
        with np.errstate(over="ignore"):
            total = float(np.exp(s * self.nodes) @ self.right)
            total += float(np.exp(-(s + 1.0) * self.nodes) @ self.left)
        return math.log1p(s * (s + 1.0) * total) if math.isfinite(total) else math.inf


def find_saddle(
    factors: Sequence[tuple[TradeoffFunction, int]], delta: float, smallest: float
) -> Saddle:
    """The tilt for delta, by bisection of the saddle-point approximation of log delta.

    The reaches are such that what lies beyond them does not count against `smallest` either.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> saddle = find_saddle([(GaussianTradeoff(1.0), 1)], 1e-5, 1e-5)
    >>> 3.5 < saddle.theta < 4.5
    True
    """
    lost = _TINY * smallest / sum(k for _, k in factors)
    reaches = [_reach(f, lost) for f, _ in factors]
    curves = [_curve(f, reach) for (f, _), reach in zip(factors, reaches, strict=True)]
    counts = [k for _, k in factors]

    def cumulant(s: float) -> float:
        return math.fsum(k * c.log_moment(s) for c, k in zip(curves, counts, strict=True))

    goal = math.log(delta)

    def excess(log_s: float) -> float:
        """log delta at the eps of this saddle, less the goal."""
        s = math.exp(log_s)
        step = 1e-4 * s
        before, here, after = cumulant(s - step), cumulant(s), cumulant(s + step)
        if not math.isfinite(after):
            return -math.inf
        first = (after - before) / (2.0 * step)
        second = max((after - 2.0 * here + before) / (step * step), 1e-300)
        gauss = 0.5 * math.log(2.0 * math.pi * second)
        return (
            here - s * first - math.log(s * (s + 1.0)) - max(gauss, -math.log(s * (s + 1.0))) - goal
        )

    low = high = math.log(1e-3 / (1.0 + max(reaches)))
    largest = math.log(_LARGEST / max(reaches))
    while excess(high) > 0.0 and high < largest:
        low, high = high, min(high + 2.0, largest)
    for _ in range(12):
        middle = 0.5 * (low + high)
        if excess(middle) > 0.0:
            low = middle
        else:
            high = middle
    return Saddle(math.exp(0.5 * (low + high)), tuple(reaches))


def _reach(f: TradeoffFunction, lost: float) -> float:
    """An eps beyond which both profiles are below `lost`."""
    at = np.array([max(lost, 1e-300)])
    reach = float(f._epsilon(at)[0])
    if not f.symmetric:
        reach = max(reach, float(f.inverse()._epsilon(at)[0]))
    return max(reach, 1e-12) if math.isfinite(reach) else 700.0


def _curve(f: TradeoffFunction, reach: float) -> _Curve:
    """Gauss-Legendre on panels that shrink geometrically towards 0."""
    edges = np.concatenate([[0.0], reach * 0.6 ** np.arange(_PANELS - 1, -1, -1)])
    half = 0.5 * np.diff(edges)
    nodes = (edges[:-1] + half)[:, None] + half[:, None] * _NODES
    weights = half[:, None] * _WEIGHTS
    flat = nodes.ravel()
    right = f._delta(flat) * weights.ravel()
    left = right if f.symmetric else f.inverse()._delta(flat) * weights.ravel()
    return _Curve(flat, right, left)
