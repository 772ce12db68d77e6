"""E[e^{sL}] of a privacy loss on points with log masses, its logarithm to full relative accuracy.

A density is brought to points by Gauss-Legendre on panels. Its integrand e^psi has psi'' >= -c with
a known c, so where psi is within 45 of its maximum its slope is at most sqrt(90 c), and panels of
width 2/sqrt(c) are short enough; and a coarse grid of spacing H that has a value below the largest
one by more than (sqrt(45) + H sqrt(c/8))^2 lies outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shiftdp._checks import Array
from shiftdp.fdp.losses.quadrature import on_panels

__all__ = ["NEAR", "exp_excess", "log_moment", "log_total", "nodes"]

NEAR = 1.0
"""How small log M is where it is worth summing M from 1."""

_REACH = 45.0  # e^-45 is below a rounding error
_PANELS, _PARTS, _MOST_PANELS = 512, 8, 40_000
_TERMS = 18
_FACTORIALS = [1.0 / math.factorial(k) for k in range(_TERMS, 1, -1)]


def log_moment(
    s: float, loss: Array, log_q: Array, missing: tuple[float, float] = (0.0, 0.0)
) -> float:
    """log sum_i q_i e^{s x_i}, of finite losses x_i.

    The moment is 1 at s = 0 and s = -1, up to the masses missing under Q and P. Near 1 it is summed
    from 1, as E[e^{sL} - 1 - s (1 - e^-L)], or under P for s < -1/2, without first-order terms.
    """
    terms = log_q + s * loss
    value = log_total(terms)
    if not abs(value) < NEAR:
        return value
    # under P it is the same with t = s + 1 for s and -L for L
    forward = s >= -0.5
    t = s if forward else s + 1.0
    sign = 1.0 if forward else -1.0
    mass, other = log_q, log_q - loss
    (mass, other) = (mass, other) if forward else (other, mass)
    weight = np.exp(mass)
    small = np.abs(loss) * (1.0 + abs(t)) < 1.0
    x = np.where(small, loss, 0.0)
    near = weight * (exp_excess(t * x) + sign * t * exp_excess(-sign * x))
    far = _gain(weight, np.exp(terms), t * loss)
    far += sign * t * _gain(weight, np.exp(other), -sign * loss)
    lost, lost_other = missing if forward else missing[::-1]
    total = float(np.where(small, near, far).sum()) - lost + sign * t * (lost_other - lost)
    return math.log1p(total) if total > -0.75 else value


def _gain(weight: Array, raised: Array, y: Array) -> Array:
    """w e^y - w, given both terms, of which neither may overflow."""
    small = np.abs(y) < 1.0
    return np.where(small, weight * np.expm1(np.where(small, y, 0.0)), raised - weight)


def log_total(terms: Array) -> float:
    """log of a sum of exponentials."""
    top = float(terms.max(initial=-math.inf))
    return top + math.log(float(np.exp(terms - top).sum())) if math.isfinite(top) else top


def exp_excess(y: Array) -> Array:
    """e^y - 1 - y, to full relative precision."""
    small = np.abs(y) < 1.0
    near, total = np.where(small, y, 0.0), np.zeros(np.shape(y))
    for coefficient in _FACTORIALS:
        total = total * near + coefficient
    return np.where(small, total * near * near, np.expm1(y) - y)


def nodes(
    integrands: Callable[[Array], list[Array]],
    low: float,
    high: float,
    curvature: float,
    widest: float = math.inf,
) -> tuple[Array, Array] | None:
    """Points and weights on [low, high] for integrands e^psi with psi'' >= -curvature.

    Panels on which each of them is negligible against its own maximum are left out, if there are
    many; None if too many remain. A maximum at an end need not be stationary: beyond the first
    panel the slope is then at most 90/H, which costs another 45.
    """
    width = min(2.0 / math.sqrt(curvature), widest)
    count = math.ceil(min((high - low) / width, 1e300))
    if count <= _PANELS:
        return on_panels(low + (high - low) / max(count, 1) * np.arange(max(count, 1) + 1.0))
    step = (high - low) / _PANELS
    left: Array = low + step * np.arange(float(_PANELS))
    while step > width:
        margin = (math.sqrt(_REACH) + step * math.sqrt(curvature / 8.0)) ** 2 + _REACH
        keep = (left <= low) | (left + 1.5 * step >= high)
        for psi in integrands(left + 0.5 * step):
            keep |= psi >= psi.max() - margin
        step /= _PARTS
        if keep.sum() * _PARTS > _MOST_PANELS:
            return None
        left = np.add.outer(left[keep], step * np.arange(float(_PARTS))).ravel()
    x, weights = on_panels(np.array([0.0, step]))
    return np.add.outer(left, x).ravel(), np.tile(weights, left.size)
