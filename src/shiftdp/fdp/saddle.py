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
_EDGES = np.append(0.0, 0.6 ** np.arange(_PANELS - 1, -1, -1.0))  # panels on [0, 1]
_HALF, _MIDDLE = 0.5 * np.diff(_EDGES)[:, None], 0.5 * (_EDGES[1:] + _EDGES[:-1])[:, None]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)
_UNIT_NODES, _UNIT_WEIGHTS = (_MIDDLE + _HALF * _NODES).ravel(), (_HALF * _WEIGHTS).ravel()
_LARGEST = 300.0  # of theta times the reach: powers of e must not overflow
_TILTS = 16
_LEAST_REACH, _FARTHEST = 1e-12, 700.0
_LEFT_OUT = 1e-8
_TINY = 1e-9  # part of delta that may be lost to infinite losses, all factors together


@dataclass(frozen=True)
class Saddle:
    """The tilt, and how far the losses of each factor have to be followed to either side."""

    theta: float
    reaches: tuple[tuple[float, float], ...]
    central: float  # a tilt by three standard deviations of the total loss

    @property
    def farthest(self) -> float:
        return max(max(pair) for pair in self.reaches)


@dataclass(frozen=True, eq=False)
class _Curve:
    """Quadrature of one factor's profile."""

    right: Array
    right_weights: Array
    left: Array
    left_weights: Array
    left_profile: Array

    def log_moments(self, s: Array) -> tuple[Array, Array, Array]:
        """log M and its first two derivatives at each s."""
        x, y = self.right, self.left
        grow = np.exp(np.multiply.outer(s, x)) * self.right_weights
        fall = np.exp(np.multiply.outer(-1.0 - s, y)) * self.left_weights
        t0 = grow.sum(axis=1) + fall.sum(axis=1)
        t1 = grow @ x - fall @ y
        t2 = grow @ (x * x) + fall @ (y * y)
        square = s * (s + 1.0)
        m0 = 1.0 + square * t0
        m1 = ((2.0 * s + 1.0) * t0 + square * t1) / m0
        m2 = (2.0 * t0 + 2.0 * (2.0 * s + 1.0) * t1 + square * t2) / m0
        return np.log1p(square * t0), m1, m2 - m1 * m1

    def left_reach(self, theta: float, k: int) -> float:
        """How far negative losses count once they are tilted, if only half as much: beyond, they
        move eps by less than _LEFT_OUT, all k factors together.
        """
        order = 0.5 * theta + 1.0
        beyond = k * order * np.exp(-order * self.left) * self.left_profile <= _LEFT_OUT
        beyond &= self.left >= 0.25 * self.left[-1]
        return float(self.left[np.argmax(beyond)]) if beyond.any() else math.inf


def find_saddle(
    factors: Sequence[tuple[TradeoffFunction, int]], delta: float, smallest: float
) -> Saddle:
    """The tilt for delta, from the saddle-point approximation of log delta on a few tilts.

    The reaches are such that what lies beyond them does not count against `smallest` either.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> saddle = find_saddle([(GaussianTradeoff(1.0), 1)], 1e-5, 1e-5)
    >>> 3.5 < saddle.theta < 4.5
    True
    """
    lost = _TINY * smallest / sum(k for _, k in factors)
    reaches: list[tuple[float, float]] = []
    for f, _ in factors:
        near = reaches[-1] if reaches else (math.nan, math.nan)
        right = _reach(f, lost, near[0])
        reaches.append((right, right if f.symmetric else _reach(f.inverse(), lost, near[1])))
    curves = [_curve(f, pair) for (f, _), pair in zip(factors, reaches, strict=True)]
    farthest = max(max(pair) for pair in reaches)
    low, high = 1e-3 / (1.0 + farthest), _LARGEST / farthest
    central = math.inf
    for _ in range(2):
        s = _spaced(low, high, _TILTS)
        k0, k1, k2 = np.zeros(s.size), np.zeros(s.size), np.zeros(s.size)
        for curve, (_f, k) in zip(curves, factors, strict=True):
            part = curve.log_moments(s)
            k0, k1, k2 = k0 + k * part[0], k1 + k * part[1], k2 + k * part[2]
        if math.isinf(central):
            central = 3.0 / math.sqrt(max(float(k2[0]), 1e-300))
        # log delta at the eps of each saddle
        poles = np.log(s * (s + 1.0))
        spread = 0.5 * np.log(2.0 * math.pi * np.maximum(k2, 1e-300))
        above = k0 - s * k1 - poles - np.maximum(spread, -poles) > math.log(delta)
        if above.all() and not any(f._smooth for f, _ in factors):
            # the largest loss has more mass than delta: no tilt is too large, nor need it be large
            above = s < central
        i = s.size - 1 if above.all() else int(np.argmin(above))
        low, high = float(s[max(i - 1, 0)]), float(s[i])
    theta = math.sqrt(low * high)
    trimmed = [
        # a profile that ends in a straight line would be pulled down all along it
        (right, min(left, curve.left_reach(theta, k)) if f._smooth else left)
        for (right, left), curve, (f, k) in zip(reaches, curves, factors, strict=True)
    ]
    return Saddle(theta, tuple(trimmed), central)


def _reach(f: TradeoffFunction, lost: float, near: float) -> float:
    """An eps beyond which the profile is below `lost`, and not much less: perhaps `near` one."""
    low, high, counts = _LEAST_REACH, _FARTHEST, [28, 12]
    if math.isfinite(near):
        low, high, counts = 0.5 * near, min(2.0 * near, _FARTHEST), [14]
    for points in counts:
        e = _spaced(low, high, points)
        beyond = _profile(f, e) <= max(lost, 1e-300)
        i = int(np.argmax(beyond))
        if points == 14 and (i == 0 or not beyond[i]):
            return _reach(f, lost, math.nan)
        if not beyond[i]:  # losses may be infinite
            return _FARTHEST
        low, high = float(e[max(i - 1, 0)]), float(e[i])
    return high


def _spaced(low: float, high: float, points: int) -> Array:
    """A geometric progression; the library's own takes longer than all else here."""
    return np.asarray(low * (high / low) ** (np.arange(points) / (points - 1.0)))


def _curve(f: TradeoffFunction, reaches: tuple[float, float]) -> _Curve:
    """Gauss-Legendre on panels that shrink geometrically towards 0."""
    x, weights, profile = _nodes(f, reaches[0])
    left = (x, weights, profile) if f.symmetric else _nodes(f.inverse(), reaches[1])
    return _Curve(x, weights * profile, left[0], left[1] * left[2], left[2])


def _nodes(f: TradeoffFunction, reach: float) -> tuple[Array, Array, Array]:
    """Nodes, weights, and the profile there."""
    nodes = reach * _UNIT_NODES
    return nodes, reach * _UNIT_WEIGHTS, _profile(f, nodes)


def _profile(f: TradeoffFunction, epsilon: Array) -> Array:
    return f._tangents(epsilon)[0] if f._smooth else f._delta(epsilon)
