"""The tilt under which a product is composed for a given delta: its saddle point.

For the loss L of a factor, M(s) = E_Q[e^{sL}] is
1 + s(s+1) int_0^inf (e^{se} delta_f(e) + e^{-(s+1)e} delta_{f^-1}(e)) de; put K = sum k log M. By
Chernoff's bound and its refinement, delta(eps) is about e^{K(s) - s eps} / (s (s+1) sqrt(2 pi K''))
at the s with K'(s) = eps. What is found here only steers the numerics: any tilt gives a certified
composition, a bad one a wide interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import NOT_ZERO
from shiftdp.fdp.composition.connect_the_dots import Coarsening
from shiftdp.fdp.tradeoff import TradeoffFunction

# Gauss-Legendre quadrature on panels of [0, 1] that halve towards 0, six nodes on each
_PANELS = 18  # the first ends at 2^-17
_EDGES = np.append(0.0, 0.5 ** np.arange(_PANELS - 1, -1, -1.0))  # 0, 2^-17, ..., 1/2, 1
_HALF, _MIDDLE = 0.5 * np.diff(_EDGES)[:, None], 0.5 * (_EDGES[1:] + _EDGES[:-1])[:, None]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)  # on [-1, 1]
_UNIT_NODES, _UNIT_WEIGHTS = (_MIDDLE + _HALF * _NODES).ravel(), (_HALF * _WEIGHTS).ravel()
_LARGEST = 300.0  # of theta times the reach: powers of e must not overflow
_TILTS, _LEAST_TILT = 24, 1e-3  # at which log delta is tabulated; the least is this over 1 + reach
_LEAST_REACH, _FARTHEST = 1e-12, 700.0  # between which the largest loss of a factor is looked for
_NEARBY = 5.0  # a smooth profile that ends before it needs no closer look at where it ends
_COARSE_LOOK, _CLOSE_LOOK, _LOOK_NEAR = 80, 10, 14  # points of such a search
_LEFT_OUT = 1e-8  # what negative losses that are left out may move epsilon by
_TINY = 1e-9  # part of delta that may be lost to infinite losses, all factors together
# the same at most, in parts of a hundredth of delta, where losses that are hardly ever met reach so
# many times farther than others; from 8 times on no tilt would be left for those
_LITTLE = ((2.0, 0.2), (8.0, 8.0))
_MORE = 2.0  # times what lies beyond is lost, so that a tail that falls slowly is all left out
_SHORTER = (
    2.0  # times, at least, the farthest reach has to become shorter for anything to be left out
)
_STRIDES = ((8, 5e-4), (64, 8e-6))  # wider cells, and the tilted mass beyond which they add 3%


@dataclass(frozen=True)
class Saddle:
    """How a product is to be composed for one delta.

    Attributes:
        theta: the tilt: losses L are weighted by e^{theta L}.
        reaches: for each factor, the largest loss that has to be on the grid, and minus the
            smallest.
        coarsenings: for each factor, how the grid may be thinned out to the right and to the left.
        central: a tilt that moves the total loss by three of its standard deviations.
        spread: the standard deviation of the total loss under the tilt theta.
        lost: at most so likely is it that a loss is beyond the reaches, if they were cut short.
    """

    theta: float
    reaches: tuple[tuple[float, float], ...]
    coarsenings: tuple[tuple[Coarsening, Coarsening], ...]
    central: float
    spread: float
    lost: float = 0.0

    @property
    def farthest(self) -> float:
        return max(max(pair) for pair in self.reaches)


@dataclass(frozen=True, eq=False)
class _Side:
    """Quadrature of one profile: nodes, weights, delta, and Q(loss > x) where it is known."""

    x: Array
    weights: Array
    profile: Array
    tail: Array | None

    def coarsening(self, order: float) -> Coarsening:
        """Wider cells from where little mass, tilted by e^{order x}, is left."""
        if self.tail is None:
            return ()
        tilted = np.exp(order * self.x) * self.tail
        beyond = tilted + order * np.cumsum((self.weights * tilted)[::-1])[::-1]
        found = []
        for stride, part in _STRIDES:
            little = beyond <= part * beyond[0]
            if little.any():
                found.append((float(self.x[np.argmax(little)]), stride))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class _Curve:
    """Quadratures of a factor's profile and of its inverse's."""

    right: _Side
    left: _Side

    def log_moments(self, s: Array) -> tuple[Array, Array, Array]:
        """log M and its first two derivatives at each s."""
        x, y = self.right.x, self.left.x
        grow = np.exp(np.multiply.outer(s, x)) * (self.right.weights * self.right.profile)
        fall = np.exp(np.multiply.outer(-1.0 - s, y)) * (self.left.weights * self.left.profile)
        t0 = grow.sum(axis=1) + fall.sum(axis=1)
        t1 = grow @ x - fall @ y
        t2 = grow @ (x * x) + fall @ (y * y)
        square = s * (s + 1.0)
        m0 = 1.0 + square * t0
        m1 = ((2.0 * s + 1.0) * t0 + square * t1) / m0
        m2 = (2.0 * t0 + 2.0 * (2.0 * s + 1.0) * t1 + square * t2) / m0
        return np.log1p(square * t0), m1, m2 - m1 * m1

    def coarsenings(self, far: float, theta: float) -> tuple[Coarsening, Coarsening]:
        """Where the grids of positive and of negative losses may be coarser.

        Each is judged under the tilt that leaves most of its mass: `far`, the largest tilt, for
        positive losses, and theta for negative ones.
        """
        right = self.right.coarsening(far)
        return right, right if self.left is self.right else self.left.coarsening(-1.0 - theta)

    def left_reach(self, theta: float, k: int) -> float:
        """How far to the left the grid has to reach: what is left out moves eps by < _LEFT_OUT.

        A tilt by theta all but removes very negative losses. To be on the safe side the effect on
        eps, of all k factors together, is judged under half of the tilt.
        """
        order, left = 0.5 * theta + 1.0, self.left.x
        beyond = k * order * np.exp(-order * left) * self.left.profile <= _LEFT_OUT
        beyond &= left >= 0.25 * left[-1]
        return float(left[np.argmax(beyond)]) if beyond.any() else math.inf


def find_saddle(
    factors: Sequence[tuple[TradeoffFunction, int]],
    delta: float,
    smallest: float,
    *,
    cut: bool = False,
) -> Saddle:
    """The tilt for delta, from the saddle-point approximation of log delta on a few tilts.

    Losses are followed until what lies beyond is negligible beside `smallest`, the least delta for
    which the composition will be used; or, with `cut`, until it is little (see `_cut_short`).

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> saddle = find_saddle([(GaussianTradeoff(1.0), 1)], 1e-5, 1e-5)
    >>> 3.5 < saddle.theta < 4.5
    True
    """
    share = smallest / sum(k for _, k in factors)
    reaches: list[tuple[float, float]] = []
    for f, _ in factors:
        near = reaches[-1] if reaches else (math.nan, math.nan)
        right = _reach(f, _TINY * share, near[0])
        left = right if f.symmetric else _reach(f.inverse(), _TINY * share, near[1])
        reaches.append((right, left))
    lost = 0.0
    if cut:
        reaches, lost = _shortened(factors, share, reaches)
    curves = [_curve(f, pair) for (f, _), pair in zip(factors, reaches, strict=True)]
    farthest = max(max(pair) for pair in reaches)
    s = _spaced(_LEAST_TILT / (1.0 + farthest), _LARGEST / farthest, _TILTS)
    k0, k1, k2 = np.zeros(s.size), np.zeros(s.size), np.zeros(s.size)
    with np.errstate(over="ignore", invalid="ignore"):
        for curve, (_f, k) in zip(curves, factors, strict=True):
            part = curve.log_moments(s)
            k0, k1, k2 = k0 + k * part[0], k1 + k * part[1], k2 + k * part[2]
    if not np.isfinite([k0, k1, k2]).all():
        raise OverflowError("losses whose moments no float holds")
    central = 3.0 / math.sqrt(max(float(k2[0]), NOT_ZERO))
    # log delta at the eps of each saddle
    poles = np.log(s * (s + 1.0))
    width = 0.5 * np.log(2.0 * math.pi * np.maximum(k2, NOT_ZERO))
    log_delta = k0 - s * k1 - poles - np.maximum(width, -poles)
    smooth = any(f._smooth for f, _ in factors)
    theta, far = (_tilt(s, log_delta, math.log(d), smooth, central) for d in (delta, smallest))
    trimmed = [
        # cut off earlier, a profile that ends in a straight line would be lowered all along it
        (right, min(left, curve.left_reach(theta, k)) if f._smooth else left)
        for (right, left), curve, (f, k) in zip(reaches, curves, factors, strict=True)
    ]
    coarsenings = [curve.coarsenings(far, theta) for curve in curves]
    variance = float(np.interp(theta, s, k2))
    spread = math.sqrt(max(variance, 0.0))
    return Saddle(theta, tuple(trimmed), tuple(coarsenings), central, spread, lost)


def _tilt(s: Array, log_delta: Array, goal: float, smooth: bool, central: float) -> float:
    """The tilt at which log delta passes the goal, interpolated between the tabulated ones.

    In s^2, in which log delta is nearly linear.
    """
    above = log_delta > goal
    if above.all() and not smooth:
        # the largest loss alone has more mass than delta, so that every tilt does
        return min(central, float(s[-1]))
    if above.all() or not above[0]:
        return float(s[-1] if above[0] else s[0])
    i = int(np.argmin(above))
    low, high = float(s[i - 1]), float(s[i])
    part = (float(log_delta[i - 1]) - goal) / float(log_delta[i - 1] - log_delta[i])
    return math.sqrt(low * low + part * (high * high - low * low))


def _shortened(
    factors: Sequence[tuple[TradeoffFunction, int]],
    share: float,
    reaches: list[tuple[float, float]],
) -> tuple[list[tuple[float, float]], float]:
    """Reaches without losses that are hardly ever met, and what is lost by leaving them out.

    Unless some other factor has to be followed as far: then nothing would be won.
    """
    shorter, lost = [], 0.0
    for (f, k), (right, left) in zip(factors, reaches, strict=True):
        nearer, beyond = _cut_short(f, share, right)
        shorter.append((nearer, nearer if f.symmetric else _cut_short(f.inverse(), share, left)[0]))
        lost += k * beyond
    if _SHORTER * max(map(max, shorter)) > max(map(max, reaches)):
        return reaches, 0.0
    return shorter, lost


def _cut_short(f: TradeoffFunction, share: float, reach: float) -> tuple[float, float]:
    """How far to follow the losses of a factor if not as far as its reach, and what is lost by it.

    A law that was rounded up has a little mass at its largest loss, perhaps a thousandth of delta
    at a hundred times what matters. To follow it that far takes many points, and leaves no tilt for
    the losses that do matter, which may cost far more than to count that mass as infinite.
    """
    for times, little in _LITTLE if reach >= _NEARBY else ():
        nearer = reach / times
        beyond = _MORE * float(_profile(f, np.array([nearer]))[0])
        if beyond <= little * share:
            shorter = min(nearer, _reach(f, beyond, math.nan))
            return shorter, float(_profile(f, np.array([shorter]))[0])
    return reach, 0.0


def _reach(f: TradeoffFunction, lost: float, near: float) -> float:
    """About the least eps at which the profile is below `lost`.

    `near` is a first guess, such as the answer for the factor before, or nan.
    """
    low, high, counts = _LEAST_REACH, _FARTHEST, [_COARSE_LOOK, _CLOSE_LOOK]
    if math.isfinite(near):
        low, high, counts = 0.5 * near, min(2.0 * near, _FARTHEST), [_LOOK_NEAR]
    for points in counts:
        e = _spaced(low, high, points)
        beyond = _profile(f, e) <= max(lost, NOT_ZERO)
        i = int(np.argmax(beyond))
        if points == _LOOK_NEAR and (i == 0 or not beyond[i]):
            return _reach(f, lost, math.nan)
        if not beyond[i]:  # losses may be infinite
            return _FARTHEST
        low, high = float(e[max(i - 1, 0)]), float(e[i])
        if f._smooth and high < _NEARBY:  # wide cells there cost little
            break
    return high


def _spaced(low: float, high: float, points: int) -> Array:
    """A geometric progression; the library's own takes longer than all else here."""
    return np.asarray(low * (high / low) ** (np.arange(points) / (points - 1.0)))


def _curve(f: TradeoffFunction, reaches: tuple[float, float]) -> _Curve:
    """Gauss-Legendre on panels that shrink geometrically towards 0."""
    right = _side(f, reaches[0])
    return _Curve(right, right if f.symmetric else _side(f.inverse(), reaches[1]))


def _side(f: TradeoffFunction, reach: float) -> _Side:
    x, weights = reach * _UNIT_NODES, reach * _UNIT_WEIGHTS
    if not f._smooth:
        return _Side(x, weights, f._delta(x), None)
    profile, slope = f._tangents(x)
    return _Side(x, weights, profile, profile + np.exp(x) * slope)


def _profile(f: TradeoffFunction, epsilon: Array) -> Array:
    return f._tangents(epsilon)[0] if f._smooth else f._delta(epsilon)
