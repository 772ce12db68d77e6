"""Rough, quick estimates of epsilon of a schedule of sampled steps, which only steer searches.

With r = dP/dQ and x ~ Q = N(0, 1), the moment generating function M(theta) of the privacy loss is

    E[r^{theta+1}]                              of a pair (P, Q) as it stands,
    1 + E[(r^{theta+1} - 1)(1 - r^{-theta}); r > 1]     of the symmetric law with its profile,

the latter because 1 + theta(theta+1) int_0^inf (e^{theta e} + e^{-(theta+1) e}) (r - e^e)_+ de is
that. Both are integrals over a line. The saddle-point approximation turns the sum K of log M into
eps: log delta = K - theta eps - log(theta (theta+1)) - log(2 pi K'')/2. Nothing here is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import NOT_ZERO, ROOMY_EXPONENT

Pair = Literal["symmetric", "one_sided", "two_sided"]

_MESH, _FINE = 0.8, 0.4  # between points of the line, in standard deviations; near r = 1
_EDGE = 8.0  # standard deviations beyond which the integrands are negligible
_FARTHEST = 60.0  # the largest (theta + 1) s: integrals further out would take many points
_WIDE = 12.0  # the largest (theta + 1) a for which the grid of the symmetric law reaches far enough
_HUGE = 300.0  # the s beyond which two components do not overlap at all
# a first look at theta: how many, from where or from which part of the largest, and up to where
_ORDERS, _LEAST_ORDER, _FIRST, _LARGEST_ORDER = 24, 0.02, 0.1, 1e4
_CLOSE = 1.12  # the ratio of thetas in a closer look
_SPACED_CLOSELY = 1.2  # a ratio below which differences of K give its second derivative
_COUNTS, _COUNTS_AROUND = 13, 7  # numbers of steps in a first look, and in each closer one
_POLISH, _POLISH_STEP = 6, 0.4  # rounds of a coordinate search, and its first step
_NEWTON = 8  # steps of Newton's method, which converges from the first on
_CLIPPED = 500.0  # exponents of a logistic function that is 0 or 1 to the last digit
Groups = Sequence[tuple[float, int]]


def orders(s: float, around: float | None = None) -> Array:
    """Values of theta to try: a few far apart, or close together around one."""
    top = min(_LARGEST_ORDER, max(_FARTHEST / max(s, NOT_ZERO) - 1.0, 1.0))
    if around is None:
        return np.geomspace(min(_LEAST_ORDER, _FIRST * top), top, _ORDERS)
    return np.asarray(around * _CLOSE ** np.arange(-4.0, 5.0))


def log_moments(pair: Pair, p: float, a: Array, s: float, theta: Array) -> Array:
    """log M(theta) of one step, in rows by a and columns by theta.

    >>> log_moments("symmetric", 1.0, np.array([0.5]), 1.0, np.array([2.0]))  # 3 1.5^2
    array([[6.75]])
    """
    if p == 1.0 or s == 0.0:
        far = a + (0.0 if s == 0.0 else 2.0 * s if pair == "two_sided" else s)
        return np.asarray(0.5 * theta * (theta + 1.0) * np.square(far)[:, None])
    if s > _HUGE:  # who took part is certain: the larger of the moments of the two components
        far = a + (2.0 * s if pair == "two_sided" else s)
        plain = 0.5 * theta * (theta + 1.0) * np.square(a)[:, None]
        seen = 0.5 * theta * (theta + 1.0) * np.square(far)[:, None] + (theta + 1.0) * math.log(p)
        return np.asarray(np.maximum(plain, seen))
    top = (float(theta[-1]) + 1.0) * s + _EDGE
    if pair != "symmetric":
        return _mixture_moments(p, a, s, theta, top, two_sided=pair == "two_sided")
    wide = np.multiply.outer(a, theta + 1.0) > _WIDE
    found = _symmetric(p, a, s, theta, top + _WIDE)
    rows = wide.any(axis=1)
    if rows.any():  # there r < 1 contributes nothing, and the grid does not reach far enough
        found[rows] = np.where(
            wide[rows], _mixture_moments(p, a[rows], s, theta, top, two_sided=False), found[rows]
        )
    return found


def _symmetric(p: float, a: Array, s: float, theta: Array, top: float) -> Array:
    """Moments of S_p(a, s), but for small losses, where its profile is a little larger."""
    near = np.arange(0.0, min(_EDGE + 2.0, top), _FINE)
    far = np.arange(near[-1] + _FINE, top, _MESH)
    x = np.concatenate([near, far])
    weight = np.concatenate([np.full(near.size, _FINE), np.full(far.size, _MESH)])
    if far.size:
        weight[near.size - 1 : near.size + 1] = 0.5 * (_FINE + _MESH)
    x = _unit_ratio(p, a, s)[:, None] + x
    log_r = a[:, None] * x - 0.5 * np.square(a)[:, None]
    log_r += math.log1p(-p) + _softplus(
        math.log(p) - math.log1p(-p) + s * x - (s * a)[:, None] - 0.5 * s * s
    )
    log_r = np.maximum(log_r, 0.0)
    log_weight = np.log(weight) - 0.5 * np.square(x) - 0.5 * math.log(2.0 * math.pi)
    up = log_r[:, None, :] * (theta + 1.0)[:, None]
    down = log_r[:, None, :] * theta[:, None]
    size = np.exp(np.minimum(up + log_weight[:, None, :], ROOMY_EXPONENT))
    return np.asarray(np.log1p((size * np.expm1(-up) * np.expm1(-down)).sum(axis=2)))


def _unit_ratio(p: float, a: Array, s: float) -> Array:
    """x with r(x) = 1, by Newton's method on log r, which is convex: from the right."""
    x = 0.5 * (a + s)
    odds = math.log(p) - math.log1p(-p)
    for _ in range(_NEWTON):
        u = odds + s * x - s * a - 0.5 * s * s
        value = a * x - 0.5 * a * a + math.log1p(-p) + _softplus(u)
        x = x - value / (a + s / (1.0 + np.exp(-np.clip(u, -_CLIPPED, _CLIPPED))))
    return np.asarray(x)


def _mixture_moments(
    p: float, a: Array, s: float, theta: Array, top: float, *, two_sided: bool
) -> Array:
    """((1-p) N(a) + p N(a+s), N(0)), or ((1-p) N(-a) + p N(-a-s), (1-p) N(0) + p N(s)).

    Completing the square in the exponent leaves an integral in which a only shifts the odds.
    """
    x = np.arange(-top if two_sided else -_EDGE, top + _MESH, _MESH)
    log_weight = -0.5 * x * x + math.log(_MESH / math.sqrt(2.0 * math.pi))
    odds = math.log(p) - math.log1p(-p) - 0.5 * s * s
    shift = s * np.multiply.outer(a, theta)
    power = (theta + 1.0)[None, :, None]
    exponent = power * (math.log1p(-p) + _softplus(odds + shift[:, :, None] + s * x))
    if two_sided:
        away = shift + s * a[:, None]
        exponent -= theta[None, :, None] * (
            math.log1p(-p) + _softplus(odds - away[:, :, None] - s * x)
        )
    exponent += log_weight
    most = exponent.max(axis=2)
    total = np.log(np.exp(exponent - most[:, :, None]).sum(axis=2)) + most
    gauss = 0.5 * theta * (theta + 1.0) * np.square(a)[:, None]
    return np.asarray(gauss + np.maximum(total, 0.0))


def _softplus(u: Array) -> Array:
    return np.asarray(np.maximum(u, 0.0) + np.log1p(np.exp(-np.abs(u))))


def epsilon_estimates(cumulant: Array, theta: Array, delta: float) -> tuple[Array, Array]:
    """eps(delta) for each row of K(theta), and the theta that belongs to it.

    K'' comes from differences where the thetas are close together, else it is taken to be that of
    the Gaussian with the same K.
    """
    gauss = 2.0 * cumulant / (theta * (theta + 1.0))
    if theta[1] < _SPACED_CLOSELY * theta[0]:
        rise = np.diff(cumulant, axis=1) / np.diff(theta)
        bend = 2.0 * np.diff(rise, axis=1) / (theta[2:] - theta[:-2])
        gauss[:, 1:-1] = np.maximum(bend, 0.0)
    peak = cumulant - np.log(theta * (theta + 1.0)) - math.log(delta)
    width = gauss + 1.0 / theta**2 + 1.0 / (theta + 1.0) ** 2
    bound, value = peak / theta, (peak - 0.5 * np.log(2.0 * math.pi * width)) / theta
    rows = np.arange(cumulant.shape[0])
    best = np.clip(np.argmin(bound, axis=1), 1, theta.size - 2)
    # the best of the thetas as they are: K may rise too steeply to interpolate between them
    return np.maximum(value[rows, best], 0.0), theta[best]


def best_count(
    cumulants: Callable[[Sequence[int], Array], Array], s: float, longest: int, delta: float
) -> tuple[int, float]:
    """How many steps to look back, 1 to `longest`, and the estimate of eps there.

    `cumulants(counts, theta)` has a row of K(theta) for each count. A coarse look at all orders of
    magnitude, then finer ones around the best.
    """
    theta, counts = orders(s), _between(1, longest, _COUNTS)
    best, value = 1, math.inf
    for points in (_COUNTS_AROUND, _COUNTS_AROUND, 0):
        eps, at = epsilon_estimates(cumulants(counts, theta), theta, delta)
        i = int(np.argmin(eps))
        best, value = counts[i], float(eps[i])
        low, high = counts[max(0, i - 1)], counts[min(len(counts) - 1, i + 1)]
        theta = orders(s, float(at[i]))
        counts = _between(low, high, points) if points else counts
    return best, value


def polish(
    cost: Callable[[float, float], float], at: tuple[float, float], step: float = _POLISH_STEP
) -> tuple[tuple[float, float], float]:
    """A better point near this one, by coordinate search: steps along both axes, then halved."""
    best, value = at, cost(*at)
    for _ in range(_POLISH):
        x, y = best
        tried = [
            ((u, v), cost(u, v))
            for u, v in ((x, y + step), (x, y - step), (x + step, y), (x - step, y))
        ]
        point, found = min(tried, key=lambda item: item[1])
        if found < value:
            best, value = point, found
        else:
            step *= 0.5
    return best, value


def _between(low: int, high: int, points: int) -> list[int]:
    return sorted({round(x) for x in np.geomspace(low, high, points).tolist()})
