"""Privacy-loss laws of steps with random participation, on the line where their pairs live.

Of a pair of densities P and Q on the line whose likelihood ratio rises, the loss at x is known in
closed form, so a quadrature over x needs no threshold: nodes x, the losses there, and the masses of
P and Q. What e^{sL} turns by on a panel is |s| times the slope of L times its width; L has branch
points at a distance of pi/s from the line, s being the sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp.fdp.losses.quadrature import MOST_PANELS, TURN, LossLaw, Quadrature, on_panels
from shiftdp.fdp.pairs.likelihood_ratio import OneSidedRatio, TwoSidedRatio

__all__ = ["PoissonReplaceOneLaw", "PoissonZeroOutLaw", "ShiftedSubsampledLaw"]

_WIDEST = 4.0
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def _density(x: Array) -> Array:
    return np.asarray(np.exp(-0.5 * x * x - _LOG_SQRT_2PI))


@dataclass(frozen=True, eq=False)
class _Panels:
    x: Array
    weights: Array
    reach: float
    error: float


def _panels(
    low: float, high: float, widest: float, slope: Callable[[Array], Array], reach: float
) -> _Panels:
    """Gauss-Legendre on panels short enough for e^{sL}, |s| <= reach."""
    edges = np.linspace(low, high, max(1, math.ceil((high - low) / widest)) + 1)
    # slopes change little on a panel, or rise all along it
    steepest = 1.1 * np.maximum(slope(edges[:-1]), slope(edges[1:]))
    turns = np.diff(edges) * steepest
    parts = np.maximum(np.ceil(turns * reach / TURN), 1.0)
    error = 0.0
    if parts.sum() > MOST_PANELS:
        parts, error = np.ones(parts.size), math.inf
    steps = np.repeat(np.diff(edges) / parts, parts.astype(int))
    x, weights = on_panels(np.append(low, low + np.cumsum(steps)))
    return _Panels(x, weights, TURN / float(np.max(turns / parts)), error)


def _spread(log_floor: float) -> float:
    return math.sqrt(-2.0 * log_floor)


@dataclass(frozen=True)
class ShiftedSubsampledLaw(LossLaw):
    """S_p(a, s) for a > 0. [Theorem B2]

    Losses up to a d/2 have the density of a mixture of the losses of G(a) and G(d); beyond, they
    are those of (1-p) N(a) + p N(d) against N(0) right of x = (a + d)/2.
    """

    p: float
    a: float
    d: float

    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        p, a, d = self.p, self.a, self.d
        ratio, knot = OneSidedRatio(p, a, d), 0.5 * a * d
        near = _panels(0.0, knot, _WIDEST * a, np.ones_like, reach)
        down_near = near.weights * sum(
            (weight / m) * _density(near.x / m + 0.5 * m) for weight, m in ((1.0 - p, a), (p, d))
        )
        widest = min(_WIDEST, _WIDEST / (d - a))
        far = _panels(0.5 * (a + d), d + _spread(log_floor), widest, ratio.slope, reach)
        x = np.concatenate([near.x, ratio(far.x)])
        down = np.concatenate([down_near, far.weights * _density(far.x)])
        return Quadrature(
            x, down * np.exp(x), down,
            error=near.error + far.error, reach=min(near.reach, far.reach),
        )  # fmt: skip


@dataclass(frozen=True)
class PoissonReplaceOneLaw(LossLaw):
    """(1-p) N(a) + p N(a+s) against (1-p) N(0) + p N(-s), symmetric about a/2."""

    p: float
    a: float
    s: float

    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        p, a, s = self.p, self.a, self.s
        ratio, below = TwoSidedRatio(p, a, s), OneSidedRatio(p, 0.0, s)
        widest = min(_WIDEST, _WIDEST / s)
        panels = _panels(0.5 * a, a + s + _spread(log_floor), widest, ratio.slope, reach)
        x = ratio(panels.x)
        # the other mixture, mirrored
        down = panels.weights * np.exp(below(-panels.x)) * _density(panels.x)
        return Quadrature(x, down * np.exp(x), down, error=panels.error, reach=panels.reach)


@dataclass(frozen=True)
class PoissonZeroOutLaw(LossLaw):
    """T((1-p) N(a) + p N(d), N(0)), or with `swapped` T(N(0), (1-p) N(a) + p N(d))."""

    p: float
    a: float
    d: float
    swapped: bool

    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        ratio = OneSidedRatio(self.p, self.a, self.d)
        zero, spread = ratio.zero(), _spread(log_floor)
        widest = min(_WIDEST, _WIDEST / (self.d - self.a))
        left = _panels(min(-spread, zero - 1.0), zero, widest, ratio.slope, reach)
        right = _panels(zero, max(self.d + spread, zero + 1.0), widest, ratio.slope, reach)
        x = np.concatenate([left.x, right.x])
        log_ratio = ratio(x)
        mass = np.concatenate([left.weights, right.weights]) * _density(x)
        if self.swapped:
            mass = mass * np.exp(log_ratio)
        high = (np.arange(x.size) >= left.x.size) == self.swapped
        return Quadrature(
            np.abs(log_ratio), np.where(high, mass, 0.0), np.where(high, 0.0, mass),
            symmetric=False, error=left.error + right.error, reach=min(left.reach, right.reach),
        )  # fmt: skip
